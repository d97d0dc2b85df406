//! The versions on disk. Lost versions are fetched from the other masters again, at
//! no other cost.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use halite_cluster::PeerId;
use halite_cluster::data::Exchange;
use halite_crypto::files::{MODE_SECRET, WriteOptions, write_atomic};
use halite_proto::Value;
use halite_proto::msgpack::{pack_modern, unpack_modern};

use crate::error::chain;
use crate::limits::DATA_VERSIONS_WRITTEN_EVERY;

/// The file, and what it holds.
pub(super) struct Kept {
    path: PathBuf,
    last: Mutex<Last>,
}

struct Last {
    at: Instant,
    packed: Vec<u8>,
}

impl Kept {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            last: Mutex::new(Last {
                at: Instant::now(),
                packed: Vec::new(),
            }),
        }
    }

    /// The versions in the file; none if it is missing or cannot be read.
    pub(super) fn read(&self, me: &PeerId) -> Exchange {
        let packed = match fs::read(&self.path) {
            Ok(packed) => packed,
            Err(error) if error.kind() == ErrorKind::NotFound => return Exchange::new(me.clone()),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), "could not read the file: {error}");
                return Exchange::new(me.clone());
            }
        };
        let restored = match unpack_modern(&packed) {
            Ok(value) => Exchange::restore(me.clone(), value).map_err(|error| chain(&error)),
            Err(error) => Err(chain(&error)),
        };
        restored.unwrap_or_else(|why| {
            tracing::warn!(
                path = %self.path.display(),
                "the file is damaged, starting with an empty one: {why}"
            );
            Exchange::new(me.clone())
        })
    }

    /// Whether the file was not written for long.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        now.saturating_duration_since(last.at) >= DATA_VERSIONS_WRITTEN_EVERY
    }

    /// Writes the file, if it holds something else.
    pub(super) fn write(&self, versions: &Value) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.at = Instant::now();
        let packed = match pack_modern(versions) {
            Ok(packed) if packed != last.packed => packed,
            Ok(_) => return,
            Err(error) => {
                return tracing::error!(
                    "could not pack the versions of shared data: {}",
                    chain(&error)
                );
            }
        };
        match write_atomic(&self.path, WriteOptions::new(MODE_SECRET), &packed) {
            Ok(()) => last.packed = packed,
            Err(error) => tracing::error!(
                path = %self.path.display(),
                "could not write the file: {}",
                chain(&error)
            ),
        }
    }
}
