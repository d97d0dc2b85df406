//! Fetches the file of an address into the cache.

use std::path::PathBuf;

use halite_call::{Call, CallError, FileClient, SaltUrl};
use halite_proto::{Map, Value};

use super::sums::Sum;
use super::{Scheme, http, local_path, scheme};
use crate::core::hash;

/// What is to be in the cache.
#[derive(Clone, Debug)]
pub(crate) struct FetchRequest<'a> {
    /// The address.
    pub(crate) url: &'a str,
    /// The environment of `salt://` where the address names none.
    pub(crate) saltenv: &'a str,
    /// What the file must be; a cached file that is it is not fetched again.
    pub(crate) sum: Option<&'a Sum>,
    /// Ask the server whether the cached file is still the one it has.
    pub(crate) use_etag: bool,
    /// Check certificates.
    pub(crate) verify_ssl: bool,
}

impl<'a> FetchRequest<'a> {
    /// The file of now, whatever it is.
    pub(crate) fn fresh(url: &'a str, saltenv: &'a str) -> Self {
        Self {
            url,
            saltenv,
            sum: None,
            use_etag: false,
            verify_ssl: true,
        }
    }
}

/// Path and environment that a `salt://` address means.
pub(crate) fn salt_place(call: &Call<'_>, url: &str, saltenv: &str) -> Option<(String, String)> {
    let parsed = SaltUrl::parse(url)?;
    let env = match parsed.saltenv {
        Some(env) => env,
        None if saltenv.is_empty() => FileClient::new(call.ctx).default_env(),
        None => saltenv.to_owned(),
    };
    Some((parsed.path, env))
}

/// Where the file is once it is here; nothing if there is none.
///
/// # Errors
/// When the master or server cannot be asked.
pub(crate) fn cache(
    call: &Call<'_>,
    wanted: &FetchRequest<'_>,
) -> Result<Option<PathBuf>, CallError> {
    match scheme(wanted.url) {
        Scheme::Salt => {
            let Some((path, env)) = salt_place(call, wanted.url, wanted.saltenv) else {
                return Ok(None);
            };
            let client = FileClient::new(call.ctx);
            // What is known to be the file of now needs no question.
            if let Some(sum) = wanted.sum
                && let Ok(cached) = client.cache_path(&path, &env)
                && local_sum(&cached, &sum.hash_type).as_deref() == Some(sum.hsum.as_str())
            {
                return Ok(Some(cached));
            }
            Ok(client.cache(&path, &env)?)
        }
        Scheme::Local => {
            let path = PathBuf::from(local_path(wanted.url));
            Ok(path.is_file().then_some(path))
        }
        Scheme::Remote => http::cache(call, wanted).map(Some),
        Scheme::Other => Ok(None),
    }
}

/// Where the file would lie in the cache.
pub(crate) fn cached_at(call: &Call<'_>, url: &str, saltenv: &str) -> Option<PathBuf> {
    match scheme(url) {
        Scheme::Salt => {
            let (path, env) = salt_place(call, url, saltenv)?;
            FileClient::new(call.ctx).cache_path(&path, &env).ok()
        }
        Scheme::Local => Some(local_path(url).into()),
        Scheme::Remote => Some(FileClient::new(call.ctx).web_path(url, saltenv)),
        Scheme::Other => None,
    }
}

/// Hash and stat of a source as its place has it: `hash_type` and `hsum`, and
/// the mode. One that is `to_use` may come along into the cache.
pub(crate) fn hash_of(
    call: &Call<'_>,
    url: &str,
    saltenv: &str,
    to_use: bool,
) -> Result<Option<(Sum, Option<u32>)>, CallError> {
    let Some((path, env)) = salt_place(call, url, saltenv) else {
        return Ok(None);
    };
    let client = FileClient::new(call.ctx);
    let found = if to_use {
        client.hash_and_stat_to_use(&path, &env)?
    } else {
        client.hash_and_stat(&path, &env)?
    };
    Ok(found.and_then(|(sum, stat)| {
        let sum = Sum::from_value(&sum.into())?;
        Some((sum, mode_of(&stat)))
    }))
}

fn mode_of(stat: &Value) -> Option<u32> {
    let mode = match stat {
        Value::List(list) => list.first()?.as_i64(),
        Value::Map(map) => map.get("st_mode").or_else(|| map.get("mode"))?.as_i64(),
        _ => None,
    };
    mode.and_then(|mode| u32::try_from(mode & 0o7777).ok())
}

/// The hash of a local file, if it has one of this type.
pub(crate) fn local_sum(path: &std::path::Path, hash_type: &str) -> Option<String> {
    let hash_type = halite_crypto::HashType::parse(hash_type).ok()?;
    hash::of_file(path, hash_type).ok()
}

/// The environment a state's files come from: `saltenv` of the arguments, of
/// the chunk, of the options.
pub(crate) fn state_env(call: &Call<'_>, kwargs: &Map) -> String {
    let text = |value: Option<&Value>| {
        value
            .and_then(Value::as_str)
            .filter(|env| !env.is_empty())
            .map(str::to_owned)
    };
    let low = call.job.state.as_ref().map(|scope| &scope.low);
    text(kwargs.get("saltenv"))
        .or_else(|| text(low.and_then(|low| low.get("__env__"))))
        .or_else(|| text(Some(call.opt("saltenv"))))
        .unwrap_or_else(|| "base".to_owned())
}
