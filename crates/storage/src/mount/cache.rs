//! The file with the mounts that states have made.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use halite_call::{Call, CallError, CallResult};
use halite_crypto::files;
use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump};

/// Bytes of the file; a larger one counts as none.
const CACHE_BYTES_MAX: u64 = 4 << 20;

/// The mode of the file: options may hold passwords.
const CACHE_MODE: u32 = 0o600;

/// One change at a time.
static CHANGING: Mutex<()> = Mutex::new(());

fn cache_file(call: &Call<'_>) -> PathBuf {
    call.ctx.cachedir().join("mounts")
}

fn cached(call: &Call<'_>) -> Map {
    let bytes = files::read_limited(&cache_file(call), CACHE_BYTES_MAX).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let loaded = halite_yaml::load(&text, "mounts").map(halite_yaml::Node::into_value);
    match loaded {
        Ok(Value::Map(mut all)) => match all.remove("mounts") {
            Some(Value::Map(mounts)) => mounts,
            _ => Map::new(),
        },
        _ => Map::new(),
    }
}

fn keep(call: &Call<'_>, mounts: Map) -> Result<(), CallError> {
    let text = dump(
        &Map::from([("mounts", mounts)]).into(),
        DumpOptions::block(),
    );
    files::create_private(&cache_file(call), CACHE_MODE, text.as_bytes()).map_err(|error| {
        tracing::error!(%error, "the mounts are not kept");
        CallError::command("Unable to write mount cache.")
    })
}

pub(super) fn read_mount_cache(call: &Call<'_>) -> CallResult {
    let found = cached(call).get(&call.text("name")).cloned();
    Ok(found.unwrap_or_else(|| Map::new().into()))
}

pub(super) fn write_mount_cache(call: &Call<'_>) -> CallResult {
    let _one_at_a_time = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut mounts = cached(call);
    let arg = |name: &str| call.arg(name).clone();
    mounts.insert(
        arg("real_name"),
        Map::from([
            ("device", arg("device")),
            ("fstype", arg("fstype")),
            ("mkmnt", arg("mkmnt")),
            ("opts", arg("mount_opts")),
        ]),
    );
    keep(call, mounts)?;
    Ok(true.into())
}

pub(super) fn delete_mount_cache(call: &Call<'_>) -> CallResult {
    let _one_at_a_time = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut mounts = cached(call);
    if mounts.remove(&call.text("real_name")).is_some() {
        keep(call, mounts)?;
    }
    Ok(true.into())
}
