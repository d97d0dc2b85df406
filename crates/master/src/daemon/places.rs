//! Where a master keeps its data: the directories and key files that it makes at its
//! start, and the stores that its configuration names.

use std::fs;
use std::path::{Path, PathBuf};

use halite_crypto::files;
use halite_proto::{Map, Value};
use halite_store::{Places, StoreOptions, in_the_clear, open_with_spool, returner_place};

use super::settings::Settings;
use crate::access::local_keys::{Holders, LocalKeys, system_users};
use crate::error::StartError;
use crate::keys::SESSIONS_DIR;
use crate::settings::General;
use crate::store_health::ExtJobs;

/// Directories below `cachedir` that programs of Salt expect to be there.
const CACHE_DIRS: [&str; 5] = ["jobs", "proc", "queues", "syndics", "tokens"];

/// Directory below `pki_dir` for approvals by name.
const AUTOSIGN_DIR: &str = "minions_autosign";

pub(super) fn make_dirs(general: &General) -> Result<(), StartError> {
    // An admin's choice of modes for these two stays.
    make_dir("the cache directory", &general.cachedir)?;
    make_dir("the socket directory", &general.sock_dir)?;
    if general.own_cachedir != general.cachedir {
        make_dir("the master's own cache directory", &general.own_cachedir)?;
    }
    for dir in private_dirs(general) {
        files::ensure_private_dir(&dir, None).map_err(|source| StartError::File {
            what: "the master's directories",
            source,
        })?;
    }
    Ok(())
}

/// The directories that nobody else looks into.
pub(super) fn private_dirs(general: &General) -> Vec<PathBuf> {
    let in_cache = CACHE_DIRS.iter().map(|name| general.cachedir.join(name));
    let others = [
        general.cachedir.join(SESSIONS_DIR),
        general.pki_dir.join(AUTOSIGN_DIR),
    ];
    in_cache.chain(others).collect()
}

fn make_dir(what: &'static str, dir: &Path) -> Result<(), StartError> {
    fs::create_dir_all(dir).map_err(|source| StartError::File {
        what,
        source: files::FileError::MakeDir {
            path: dir.to_owned(),
            source,
        },
    })
}

pub(super) fn local_keys(settings: &Settings) -> Result<LocalKeys, StartError> {
    let Settings {
        general, access, ..
    } = settings;
    let holders = Holders {
        configured: &general.user,
        running: &general.running_user,
        publisher_acl: &access.publisher_acl,
        only_existing: access.client_acl_verify,
        system: &system_users(),
    };
    LocalKeys::prepared_or_load(&general.cachedir, &holders).map_err(|source| StartError::File {
        what: "the key files of local users",
        source,
    })
}

/// Where the configuration says that things are kept.
pub(super) fn places(general: &General) -> Result<Places, StartError> {
    let places = Places::from_opts(&general.opts, &general.cachedir, general.hash_type);
    places.map_err(|error| StartError::Option {
        option: error.option,
        why: error.to_string(),
    })
}

/// Warns of stores on other machines to which connections are not encrypted.
pub(super) fn warn_in_the_clear(opts: &Map) {
    for found in in_the_clear(opts) {
        tracing::warn!("{}: {}", found.option, found.text);
    }
}

/// The store of `ext_job_cache` with its spool; `None` if the option names one that is
/// not built in.
pub(super) fn ext_jobs(general: &General, waiting: &Path) -> Result<Option<ExtJobs>, StartError> {
    const OPTION: &str = "ext_job_cache";
    let name = general.opts.get(OPTION).and_then(Value::as_str);
    let place = returner_place(OPTION, name.unwrap_or_default(), &general.opts);
    let place = place.map_err(|error| StartError::Option {
        option: OPTION,
        why: error.why,
    })?;
    let Some(place) = place else {
        return Ok(None);
    };
    let store = open_with_spool(&StoreOptions::all(place.clone()), &waiting.join("ext"));
    let jobs = store.map_err(StartError::Waiting)?.jobs;
    Ok(Some(ExtJobs { place, jobs }))
}
