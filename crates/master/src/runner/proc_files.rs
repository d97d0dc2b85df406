//! The proc files of running runners.

use std::path::{Path, PathBuf};

use halite_crypto::files::{self, MODE_SECRET, WriteOptions};
use halite_proto::event::stamp;
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Jid, Map, Value};

use crate::clock::now_micros;
use crate::error::chain;

/// The file that shows a runner to `jobs.master`, for as long as this lives.
pub(super) struct Running(PathBuf);

impl Running {
    /// Writes the file; a runner runs without it, too.
    pub(super) fn write(cachedir: &Path, jid: &Jid, data: &Map) -> Self {
        let path = cachedir.join("proc").join(jid.as_str());
        let mut data = data.clone();
        data.insert("pid", i64::from(std::process::id()));
        data.insert("_stamp", stamp(now_micros(), true));
        let options = WriteOptions {
            durable: false,
            ..WriteOptions::new(MODE_SECRET)
        };
        match pack_modern(&data.into()) {
            Ok(packed) => {
                if let Err(error) = files::write_atomic(&path, options, &packed) {
                    tracing::warn!(
                        "could not write the file of a running runner: {}",
                        chain(&error)
                    );
                }
            }
            Err(error) => tracing::warn!(
                "could not write the file of a running runner: {}",
                chain(&error)
            ),
        }
        Self(path)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may never have been there.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The runners that run now, the one that asks among them.
pub(super) fn running(cachedir: &Path) -> Vec<Value> {
    const FILE_BYTES_MAX: u64 = 1024 * 1024;
    let dir = cachedir.join("proc");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_none_or(|name| name.starts_with('.')) {
            continue;
        }
        let bytes = files::read_limited(&entry.path(), FILE_BYTES_MAX);
        if let Ok(Value::Map(data)) = bytes.map_or(Ok(Value::Nil), |bytes| unpack_modern(&bytes)) {
            found.push(data.into());
        }
    }
    found
}
