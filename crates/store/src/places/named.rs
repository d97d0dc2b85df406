//! Places that are named one by one: by an option about a returner, or by a
//! command.

use std::path::Path;

use halite_crypto::HashType;
use halite_proto::Map;
use halite_store_servers::Address;

use super::{JOBS_IN_FILES, PlaceError, Reader, STORE, files, with_causes, wrong};
use crate::backend::BackendOptions;

/// The database of one of Salt's returners, by the master's options; `None` for a
/// returner that runs in Python.
///
/// # Errors
/// When an option of the returner names no place, or asks for a protection that
/// there is not.
pub fn returner_place(
    option: &'static str,
    name: &str,
    opts: &Map,
) -> Result<Option<BackendOptions>, PlaceError> {
    Reader { opts }.returner(option, name)
}

/// Where `event_return` stores events by this program itself: the database of a returner
/// of Salt's, or, with the name `store`, that of the option `store`; `None` for a returner
/// in Python. Salt's returner for Redis stores no events.
///
/// # Errors
/// When the options name no such place.
pub fn event_place(name: &str, opts: &Map) -> Result<Option<BackendOptions>, PlaceError> {
    const OPTION: &str = "event_return";
    let reader = Reader { opts };
    if name != STORE {
        let place = reader.returner(OPTION, name)?;
        return Ok(place.filter(BackendOptions::keeps_events));
    }
    match reader.url()? {
        Some(place) if place.keeps_events() => Ok(Some(place)),
        Some(_) => Err(wrong(
            OPTION,
            "Redis and etcd cannot store events: name a returner, or set store to PostgreSQL or \
             MySQL"
                .to_owned(),
        )),
        None => Err(wrong(OPTION, "the option store is not set".to_owned())),
    }
}

/// Whether a command names a place by a URL. Such a place says by itself which files
/// are read for it, and where what is in them is sent: not everybody may name one.
pub fn is_url(name: &str) -> bool {
    name.contains("://")
}

/// A store of jobs as a command names it: `local_cache`, a returner of Salt's with its
/// options, or a URL.
///
/// # Errors
/// When it is no such place, or the URL has a password in it: command lines are
/// seen by others.
pub fn job_place(
    name: &str,
    opts: &Map,
    cachedir: &Path,
    hash_type: HashType,
) -> Result<BackendOptions, PlaceError> {
    const WHAT: &str = "place of jobs";
    if name == JOBS_IN_FILES {
        // Of minions nothing is kept there.
        return Ok(files(cachedir, hash_type, false));
    }
    let reader = Reader { opts };
    match reader.shown_url(WHAT, name)? {
        Some(place) if !place.keeps_jobs() => {
            let why = format!("{} cannot store jobs", place.status().place);
            Err(wrong(WHAT, why))
        }
        Some(place) => Ok(place),
        None => reader.returner(WHAT, name)?.ok_or_else(|| {
            let why = format!(
                "{name} cannot store jobs; use local_cache, redis, pgjsonb, postgres, mysql or a \
                 URL"
            );
            wrong(WHAT, why)
        }),
    }
}

/// A place of the cache as a command names it: `localfs`, a driver of Salt's with
/// its options, or a URL.
///
/// # Errors
/// As those of [`job_place`].
pub fn cache_place(
    name: &str,
    opts: &Map,
    cachedir: &Path,
    hash_type: HashType,
) -> Result<BackendOptions, PlaceError> {
    const WHAT: &str = "place of the cache";
    let reader = Reader { opts };
    if let Some(place) = reader.shown_url(WHAT, name)? {
        return Ok(place);
    }
    let driver = reader.driver(WHAT, name)?;
    Ok(match driver {
        Some(place) => place,
        None => files(cachedir, hash_type, reader.copies_for_3006(None)?),
    })
}

impl Reader<'_> {
    /// The store at a URL on a command line; `None` if the text is not a URL.
    fn shown_url(
        &self,
        what: &'static str,
        text: &str,
    ) -> Result<Option<BackendOptions>, PlaceError> {
        if !is_url(text) {
            return Ok(None);
        }
        let address = Address::parse(text).map_err(|source| {
            wrong(
                what,
                format!("not a valid store URL: {}", with_causes(&source)),
            )
        })?;
        let is_elsewhere = ["password_file=", "password_env="];
        if address.password.is_some() && !is_elsewhere.iter().any(|it| text.contains(it)) {
            return Err(wrong(
                what,
                "a password must not stand in a command: use password_file=".to_owned(),
            ));
        }
        self.at(what, address).map(Some)
    }
}
