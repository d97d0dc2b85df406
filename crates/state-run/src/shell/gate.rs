//! Pauses: files beside the run that pause it before a state, or end it softly.
//!
//! Salt 3008.5: `<cachedir>/state_pause/<jid>`, a map of state ids (or `__all__`)
//! to `duration` and `kill`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use halite_call::{CallError, Cancel, paths};
use halite_crypto::files::{self, WriteOptions};
use halite_proto::{Jid, Map, Value, msgpack};
use halite_state::run::Gate;

use crate::limits::{OWN_FILE_BYTES_MAX, PAUSE_LOOK};

/// What stands for every state.
pub(crate) const ALL: &str = "__all__";

/// Where pause files are.
pub(crate) fn pause_dir(cachedir: &Path) -> PathBuf {
    cachedir.join("state_pause")
}

/// The pauses of one job.
#[derive(Debug)]
pub(crate) struct Pauses {
    path: PathBuf,
}

impl Pauses {
    /// The pauses of the job `jid`; nothing if that is no job id.
    pub(crate) fn of(cachedir: &Path, jid: &str) -> Option<Self> {
        let jid = Jid::parse(jid).ok()?;
        Some(Self {
            path: pause_dir(cachedir).join(jid.as_str()),
        })
    }

    /// What the file says; empty if there is none.
    pub(crate) fn read(&self) -> Map {
        let bytes = files::read_limited(&self.path, OWN_FILE_BYTES_MAX);
        match bytes
            .ok()
            .and_then(|bytes| msgpack::unpack_wire(&bytes).ok())
        {
            Some(Value::Map(map)) => map,
            _ => Map::new(),
        }
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(&self, pauses: Map) -> Result<(), CallError> {
        let failed = |error: &dyn std::fmt::Display| CallError::command(error.to_string());
        if let Some(dir) = self.path.parent() {
            files::ensure_private_dir(dir, None).map_err(|error| failed(&error))?;
        }
        let bytes = msgpack::pack_wire(&pauses.into()).map_err(|error| failed(&error))?;
        let options = WriteOptions {
            mode: 0o600,
            owner: None,
            durable: false,
        };
        files::write_atomic(&self.path, options, &bytes).map_err(|error| failed(&error))
    }

    /// Removes the file: the job is over.
    pub(crate) fn clear(&self) {
        if self.path.exists() {
            let _ = paths::remove_file(&self.path);
        }
    }

    /// Waits before the state `id` while that is paused.
    pub(crate) fn gate(&self, id: &str, cancel: &Cancel) -> Gate {
        let begun = Instant::now();
        loop {
            if !self.path.exists() {
                return Gate::Open;
            }
            let pauses = self.read();
            let Some(pause) = pauses.get(id).or_else(|| pauses.get(ALL)) else {
                return Gate::Open;
            };
            let duration = pause.get("duration").and_then(Value::as_f64);
            if duration.is_some_and(|seconds| begun.elapsed().as_secs_f64() > seconds) {
                return Gate::Open;
            }
            if pause.get("kill").is_some_and(Value::is_true) {
                return Gate::Killed;
            }
            if !cancel.sleep(PAUSE_LOOK) {
                return Gate::Killed;
            }
        }
    }
}
