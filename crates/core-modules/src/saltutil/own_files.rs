//! The minion's files on disk: caches, keys, custom modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use halite_proto::{Map, Value};

use halite_call::{Call, CallResult, os_error, paths};

/// Removes caches by name: what else lies there (jobs, returns that wait for a
/// master) is no cache.
pub(super) fn clear_cache(call: &Call<'_>) -> CallResult {
    const CACHES: &[&str] = &[
        "accumulator",
        "extmods",
        "extrn_files",
        "files",
        "grains.cache.p",
        "highstate.cache.p",
        "localfiles",
        "module_refresh",
        "pillar_cache",
        "sls.p",
    ];
    let directory = call.ctx.cachedir();
    for name in CACHES {
        if let Err(error) = remove(&directory.join(name)) {
            tracing::error!(
                "Attempt to clear cache with saltutil.clear_cache FAILED with: {error}"
            );
            return Ok(false.into());
        }
    }
    Ok(true.into())
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => paths::remove_dir_all(path),
        Ok(_) => paths::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn regen_keys(call: &Call<'_>) -> CallResult {
    let directory = call
        .opt_text("pki_dir")
        .unwrap_or_else(|| "/etc/salt/pki/minion".to_owned());
    for name in ["minion.pem", "minion.pub", "minion_master.pub"] {
        let path = Path::new(&directory).join(name);
        remove(&path).map_err(|error| os_error(&error, &path))?;
    }
    Ok(Value::Nil)
}

pub(super) fn revoke_auth(call: &Call<'_>) -> CallResult {
    let load = Map::from([
        ("cmd", Value::from("revoke_auth")),
        ("id", call.ctx.id().into()),
        (
            "preserve_minion_cache",
            call.flag("preserve_minion_cache").into(),
        ),
    ]);
    match call
        .ctx
        .upstream()
        .and_then(|masters| masters.request_every(load))
    {
        Ok(answer) => Ok(answer),
        Err(error) => {
            tracing::error!(%error, "the key was not revoked");
            Ok(false.into())
        }
    }
}

/// The names of users' modules that were fetched, by kind.
pub(super) fn list_extmods(call: &Call<'_>) -> CallResult {
    let Some(root) = halite_pyworker::synced(call.ctx.opts(), "") else {
        return Ok(Map::new().into());
    };
    let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in fs::read_dir(&root).into_iter().flatten().flatten() {
        let names = fs::read_dir(entry.path()).into_iter().flatten().flatten();
        let names: BTreeSet<String> = names.filter_map(|name| module_of(&name.path())).collect();
        if !names.is_empty() {
            kinds.insert(entry.file_name().to_string_lossy().into_owned(), names);
        }
    }
    let listed = |names: BTreeSet<String>| names.into_iter().map(Value::from).collect::<Vec<_>>();
    let kinds = kinds.into_iter().map(|(kind, names)| (kind, listed(names)));
    Ok(kinds.collect::<Map>().into())
}

/// The name of the module that a file is, or a package.
fn module_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    if name.starts_with("__") {
        return None;
    }
    let stem = match path.is_dir() {
        true => &*name,
        false => name.rsplit_once('.').map_or(&*name, |(stem, _)| stem),
    };
    Some(stem.to_owned())
}
