//! High data and results of a run in the minion's cache.
//!
//! Salt 3008.5: `<cachedir>/highstate.cache.p` (used again with `cache=True`) and
//! `<cachedir>/sls.p`.

use std::path::{Path, PathBuf};

use halite_call::{Call, MinionContext, paths};
use halite_crypto::files::{self, WriteOptions};
use halite_proto::msgpack::{self, Packing};
use halite_proto::{Map, Value};

use crate::applied::Applied;
use crate::limits::OWN_FILE_BYTES_MAX;

const SUFFIX: &str = ".cache.p";

/// The high data of an earlier run, if the caller wants that.
pub(crate) fn wanted(call: &Call<'_>) -> Option<Map> {
    if !call.get("cache").is_some_and(Value::is_true) {
        return None;
    }
    match read(&high_path(call)?) {
        Some(Value::Map(high)) => Some(high),
        _ => None,
    }
}

/// Keeps what a run has made.
pub(crate) fn keep(call: &Call<'_>, applied: &Applied, with_results: bool) {
    let Applied::Results { results, origin } = applied else {
        return;
    };
    if let Some(high) = &origin.packed
        && let Some(path) = high_path(call)
    {
        write_packed(&path, high);
    }
    if with_results {
        write(call.ctx.cachedir().join("sls.p"), results);
    }
}

/// Removes all kept high data; the names of the files.
pub(crate) fn clear(ctx: &dyn MinionContext) -> Value {
    let Ok(entries) = std::fs::read_dir(ctx.cachedir()) else {
        return Value::List(Vec::new());
    };
    let mut removed: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let ours = name.ends_with(SUFFIX) && entry.path().is_file();
            (ours && paths::remove_file(entry.path()).is_ok()).then_some(name)
        })
        .collect();
    removed.sort_unstable();
    Value::List(removed.into_iter().map(Value::from).collect())
}

/// Reads a file of the run's own.
pub(crate) fn read(path: &Path) -> Option<Value> {
    let bytes = files::read_limited(path, OWN_FILE_BYTES_MAX).ok()?;
    msgpack::unpack_wire(&bytes).ok()
}

/// A map as such files hold it; a failure is told in the log alone.
pub(crate) fn packed(map: &Map) -> Option<Vec<u8>> {
    msgpack::pack_map(map, Packing::Wire)
        .inspect_err(|error| tracing::error!(%error, "the cache of states could not be written"))
        .ok()
}

/// Writes a file of the run's own; a failure is told in the log alone.
pub(crate) fn write(path: PathBuf, map: &Map) {
    if let Some(bytes) = packed(map) {
        write_packed(&path, &bytes);
    }
}

fn write_packed(path: &Path, bytes: &[u8]) {
    let options = WriteOptions {
        mode: 0o600,
        owner: None,
        durable: false,
    };
    if let Err(error) = files::write_atomic(path, options, bytes) {
        tracing::error!(path = %path.display(), %error, "the cache of states could not be written");
    }
}

/// Where the high data goes; the name is the caller's and must be plain.
fn high_path(call: &Call<'_>) -> Option<PathBuf> {
    let name = call.get("cache_name").filter(|name| name.is_true());
    let name = name.map_or_else(|| "highstate".to_owned(), halite_proto::python::str);
    let plain = !name.contains(['/', '\0']) && !name.starts_with('.');
    plain.then(|| call.ctx.cachedir().join(format!("{name}{SUFFIX}")))
}
