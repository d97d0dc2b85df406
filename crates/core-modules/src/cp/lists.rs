//! Lists the files on the master and in the cache.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use halite_crypto::HashType;
use halite_proto::{Map, Value};

use super::cache::local_cache_path;
use super::{place, saltenv};
use crate::limits::CACHED_FILES_MAX;
use halite_call::{
    Call, CallError, CallResult, FileClient, SaltUrl, WebFile, file_client::hash_of,
};

fn list(call: &Call<'_>, cmd: &str) -> CallResult {
    let client = FileClient::new(call.ctx);
    let env = saltenv(call, &client);
    Ok(client.list(cmd, &env, &call.text("prefix"))?)
}

pub(super) fn list_master(call: &Call<'_>) -> CallResult {
    list(call, "_file_list")
}

pub(super) fn list_master_dirs(call: &Call<'_>) -> CallResult {
    list(call, "_dir_list")
}

pub(super) fn list_master_symlinks(call: &Call<'_>) -> CallResult {
    list(call, "_symlink_list")
}

pub(super) fn list_states(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let env = saltenv(call, &client);
    let names: BTreeSet<String> = client
        .files(&env, "")?
        .iter()
        .filter_map(|path| path.strip_suffix(".sls"))
        .map(|path| path.strip_suffix("/init").unwrap_or(path).replace('/', "."))
        .collect();
    Ok(names
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

pub(super) fn envs(call: &Call<'_>) -> CallResult {
    Ok(call.ctx.files().ask(Map::from([("cmd", "_file_envs")]))?)
}

pub(super) fn list_minion(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let env = saltenv(call, &client);
    let cache = call.ctx.cachedir();
    let mut found = Vec::new();
    walk(&cache.join("files").join(env), &mut found);
    walk(&cache.join("localfiles"), &mut found);
    found.sort();
    Ok(found
        .into_iter()
        .map(|path| Value::from(path.display().to_string()))
        .collect::<Vec<_>>()
        .into())
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if found.len() >= CACHED_FILES_MAX {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), found),
            Ok(_) => found.push(entry.path()),
            Err(_) => {}
        }
    }
}

pub(super) fn hash_file(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let url = call.text("path");
    if let Some(salt) = SaltUrl::parse(&url) {
        let (path, env) = place(call, &client, &salt);
        return Ok(match client.hash_and_stat(&path, &env)? {
            Some((hash, _)) => hash.into(),
            None => "".into(),
        });
    }
    let path = url.strip_prefix("file://").unwrap_or(&url);
    let name = call
        .opt_text("hash_type")
        .unwrap_or_else(|| "sha256".to_owned());
    let hash_type = HashType::parse(&name)
        .map_err(|_| CallError::exception("ValueError", format!("unsupported hash type {name}")))?;
    match hash_of(Path::new(path), hash_type) {
        Ok(sum) => Ok(Map::from([("hsum", sum), ("hash_type", name)]).into()),
        Err(error) => {
            tracing::warn!("specified file {path} is not present to generate hash: {error}");
            Ok(Map::new().into())
        }
    }
}

pub(super) fn stat_file(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let url = call.text("path");
    let mode = match SaltUrl::parse(&url) {
        Some(salt) => {
            let (path, env) = place(call, &client, &salt);
            client
                .hash_and_stat(&path, &env)?
                .and_then(|(_, stat)| stat.as_list()?.first()?.as_i64())
        }
        None => {
            let path = url.strip_prefix("file://").unwrap_or(&url);
            fs::metadata(path)
                .ok()
                .map(|data| data.permissions().mode().into())
        }
    };
    Ok(match mode {
        None => Value::Nil,
        Some(mode) if call.flag("octal") => format!("{:04o}", mode & 0o7777).into(),
        Some(mode) => mode.into(),
    })
}

pub(super) fn is_cached(call: &Call<'_>) -> CallResult {
    let client = FileClient::new(call.ctx);
    let url = call.text("path");
    let path = match SaltUrl::parse(&url) {
        Some(salt) => {
            let (path, env) = place(call, &client, &salt);
            client.cache_path(&path, &env)?
        }
        None if WebFile::is_web(&url) => client.web_path(&url, &saltenv(call, &client)),
        None => local_cache_path(call, &url)?,
    };
    Ok(if path.exists() {
        path.display().to_string().into()
    } else {
        "".into()
    })
}
