//! Copies files from the master to the cache.

use std::fs::File;
use std::path::{Path, PathBuf};

use halite_crypto::HashType;
use halite_proto::Value;
use halite_target::glob::fnmatch;
use halite_target::pcre;

use super::{place, saltenv};
use halite_call::{
    Call, CallError, CallResult, FileClient, FileError, SaltUrl, WebFile,
    file_client::{below, hash_of, private_dirs},
    os_error, paths, python,
    replace::{Dress, place_followed, umask},
};

/// The path of a file as functions return it; `False` where there is none.
pub(super) fn path_value(path: Option<PathBuf>) -> Value {
    path.map_or(Value::Bool(false), |path| path.display().to_string().into())
}

/// What comes over protocols that are not there yet is refused by name.
pub(super) fn refuse_remote(url: &str) -> Result<(), CallError> {
    match url.split_once("://") {
        Some((scheme, _)) if !matches!(scheme, "salt" | "file") && !WebFile::is_web(url) => {
            Err(CallError::command(format!(
                "{scheme}:// sources are not supported by this minion yet: {url}"
            )))
        }
        _ => Ok(()),
    }
}

/// Caches what an address names; the path of a local file is its own.
pub(super) fn cache_one(call: &Call<'_>, url: &str) -> Result<Option<PathBuf>, CallError> {
    refuse_remote(url)?;
    let client = FileClient::new(call.ctx);
    if WebFile::is_web(url) {
        let env = call.get("saltenv").filter(|env| env.is_true());
        let env = env.map_or_else(|| client.default_env(), python::str);
        return Ok(Some(web(call, &client, url, &env)?));
    }
    match SaltUrl::parse(url) {
        Some(salt) => {
            let (path, env) = place(call, &client, &salt);
            let cached = client.cache(&path, &env)?;
            if cached.is_none() {
                tracing::error!("Unable to cache file '{url}' from saltenv '{env}'.");
            }
            Ok(cached)
        }
        None => Ok(Some(url.strip_prefix("file://").unwrap_or(url).into())),
    }
}

/// A file of the web, in the cache; one that has the `source_hash` already is
/// not fetched again.
fn web(
    call: &Call<'_>,
    client: &FileClient<'_>,
    url: &str,
    env: &str,
) -> Result<PathBuf, CallError> {
    let hash = call.get("source_hash").and_then(Value::as_str);
    let hash = hash.map(|hash| hash.split_once('=').map_or(hash, |(_, hash)| hash));
    let cached = client.web_path(url, env);
    let kinds = [
        (32, "md5"),
        (40, "sha1"),
        (56, "sha224"),
        (64, "sha256"),
        (96, "sha384"),
        (128, "sha512"),
    ];
    let kind = hash.and_then(|hash| kinds.iter().find(|(length, _)| *length == hash.len()));
    let own = kind
        .and_then(|(_, kind)| HashType::parse(kind).ok())
        .and_then(|kind| hash_of(&cached, kind).ok());
    if own.is_some() && own.as_deref() == hash {
        return Ok(cached);
    }
    let flag = |name: &str, default: bool| call.get(name).map_or(default, Value::is_true);
    let file = WebFile {
        url,
        saltenv: env,
        use_etag: flag("use_etag", false),
        verify_ssl: flag("verify_ssl", true),
    };
    Ok(client.cache_web(&file, call.cancel())?)
}

pub(super) fn cache_file(call: &Call<'_>) -> CallResult {
    Ok(path_value(cache_one(call, &call.text("path"))?))
}

pub(super) fn cache_files(call: &Call<'_>) -> CallResult {
    let mut cached = Vec::new();
    for url in call.texts("paths") {
        cached.push(path_value(cache_one(call, &url)?));
    }
    Ok(cached.into())
}

pub(super) fn cache_master(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let env = saltenv(call, &client);
    let mut cached = Vec::new();
    for path in client.files(&env, "")? {
        cached.push(path_value(client.cache(&path, &env)?));
    }
    Ok(cached.into())
}

/// Whether a path is wanted by the patterns that say what to take and leave.
fn wanted(call: &Call<'_>, path: &str) -> bool {
    let matches = |pattern: &str| match pattern.strip_prefix("E@") {
        Some(regex) => pcre::Pcre::searching(regex)
            .and_then(|regex| regex.is_in(path))
            .unwrap_or(false),
        None => fnmatch(pattern, path),
    };
    let include = call
        .text_opt("include_pat")
        .is_none_or(|pattern| matches(&pattern));
    let exclude = call
        .text_opt("exclude_pat")
        .is_some_and(|pattern| matches(&pattern));
    include && !exclude
}

pub(super) fn cache_dir(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let url = call.text("path");
    let Some(salt) = SaltUrl::parse(&url) else {
        return Err(FileError::Unsupported(url).into());
    };
    let (mut prefix, env) = place(call, &client, &salt);
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
    let mut cached = Vec::new();
    for path in client.files(&env, "")? {
        if path.starts_with(&prefix)
            && wanted(call, &path)
            && let Some(file) = client.cache(&path, &env)?
        {
            cached.push(file.display().to_string());
        }
    }
    if call.flag("include_empty") {
        for path in client.empty_dirs(&env, "")? {
            if path.starts_with(&prefix) && wanted(call, &path) {
                let directory = client.cache_path(&path, &env)?;
                make_dirs(&directory)?;
                cached.push(directory.display().to_string());
            }
        }
    }
    cached.sort();
    Ok(cached
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

fn make_dirs(path: &Path) -> Result<(), CallError> {
    private_dirs(path).map_err(|error| os_error(&error, path))
}

pub(super) fn cache_local_file(call: &Call<'_>) -> CallResult {
    let path = call.text("path");
    if !Path::new(&path).is_file() {
        return Ok("".into());
    }
    let cached = local_cache_path(call, &path)?;
    if let Some(directory) = cached.parent() {
        make_dirs(directory)?;
    }
    copy_whole(Path::new(&path), &cached).map_err(|error| os_error(&error, &path))?;
    Ok(cached.display().to_string().into())
}

/// A copy that is whole from its first moment; one that was there keeps its
/// owner and mode, but for a new one the mode is that of the original.
pub(super) fn copy_whole(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut file = paths::open_to_read(from)?;
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions());
    let write = |new: &mut File| std::io::copy(&mut file, new).map(drop);
    place_followed(to, Dress::kept(mode & !umask()), write).map(drop)
}

/// Where a local file's copy lies in the cache.
pub(super) fn local_cache_path(call: &Call<'_>, path: &str) -> Result<PathBuf, CallError> {
    let root = call.ctx.cachedir().join("localfiles");
    Ok(below(&root, &[path.trim_start_matches('/')])?)
}

pub(super) fn cache_dest(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let url = call.text("url");
    if let Some(salt) = SaltUrl::parse(&url) {
        let (path, env) = place(call, &client, &salt);
        return Ok(client.cache_path(&path, &env)?.display().to_string().into());
    }
    // A file of this machine is used where it is.
    let Some((_, rest)) = url
        .split_once("://")
        .filter(|(scheme, _)| *scheme != "file")
    else {
        let path = url.strip_prefix("file://").unwrap_or(&url);
        return Ok(path.into());
    };
    // Elsewhere: host (without user and colon), path, and the query behind a
    // dash.
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or_default().replace(':', "");
    let path = path.replacen('?', "-", 1);
    let env = saltenv(call, &client);
    let root = call.ctx.cachedir().join("extrn_files");
    Ok(below(&root, &[&env, &host, &path])?
        .display()
        .to_string()
        .into())
}
