//! Packages: the execution module `pkg` over the package managers.

mod apk;
pub(crate) mod apt;
pub(crate) mod changes;
mod derived;
pub(crate) mod dnf;
mod downloaded;
pub(crate) mod error;
mod functions;
mod holds;
pub(crate) mod lists;
pub(crate) mod low;
mod pacman;
pub(crate) mod provider;
pub(crate) mod repo_file;
pub(crate) mod repositories;
pub(crate) mod requirement;
pub(crate) mod resource;
mod rpm;
pub(crate) mod targets;
pub(crate) mod this_machine;
pub(crate) mod version;
mod zypper;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub(crate) use functions::{MODULE, hold_targets as hold_names};
use halite_call::{Call, host, paths};
use halite_proto::Value;

/// The file whose presence says that lists are to be read again before the
/// next package is installed.
pub(crate) fn refresh_tag(call: &Call<'_>) -> PathBuf {
    call.ctx.cachedir().join("pkg_refresh")
}

/// Nothing needs to be read again.
pub(crate) fn clear_refresh_tag(call: &Call<'_>) {
    if let Err(error) = paths::remove_file(refresh_tag(call))
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "could not remove the mark of a refresh");
    }
}

/// Whether to read lists again: asked for, or marked and not forbidden.
pub(crate) fn check_refresh(call: &Call<'_>, refresh: &Value) -> bool {
    host::is_true(refresh) || (refresh != &Value::Bool(false) && refresh_tag(call).is_file())
}

/// Whether `path` was changed within the last `seconds`.
pub(crate) fn is_younger(path: &Path, seconds: f64) -> bool {
    let Ok(limit) = Duration::try_from_secs_f64(seconds) else {
        return false;
    };
    let changed = path.metadata().and_then(|meta| meta.modified());
    changed.is_ok_and(|changed| {
        SystemTime::now()
            .duration_since(changed)
            .map_or(true, |age| age < limit)
    })
}
