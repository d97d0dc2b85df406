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

/// Removes and returns the files of runners that had not ended when their master was
/// killed. Must be called before any runner starts, because a restarted master may have
/// the process id of the one before.
pub(super) fn left(cachedir: &Path) -> Vec<(Jid, Map)> {
    let runs = |data: &Map| {
        let pid = data.get("pid").and_then(Value::as_i64);
        let others = pid.filter(|pid| *pid != i64::from(std::process::id()));
        others.is_some_and(|pid| Path::new(&format!("/proc/{pid}")).exists())
    };
    let mut left = Vec::new();
    for found in running(cachedir) {
        let Value::Map(mut data) = found else {
            continue;
        };
        let jid = data.get("jid").and_then(Value::as_str);
        let Some(jid) = jid.and_then(|jid| Jid::parse(jid).ok()) else {
            continue;
        };
        if runs(&data) {
            continue;
        }
        drop(Running(cachedir.join("proc").join(jid.as_str())));
        data.remove("pid");
        data.remove("_stamp");
        left.push((jid, data));
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_master_has_left_is_taken_once_and_what_runs_stays() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        let jid = |n: usize| Jid::parse(format!("20261128{n:012}")).unwrap();
        let write = |n: usize, pid: u32| {
            let data = Map::from([("jid", Value::from(&jid(n))), ("fun", "runner.x.y".into())]);
            std::mem::forget(Running::write(dir.path(), &jid(n), &data));
            let path = dir.path().join("proc").join(jid(n).as_str());
            let mut data = data;
            data.insert("pid", i64::from(pid));
            std::fs::write(path, pack_modern(&data.into()).unwrap()).unwrap();
        };
        // One of a process that is gone, of one with this one's number, and of the first
        // process of the machine.
        write(1, u32::MAX);
        write(2, std::process::id());
        write(3, 1);
        let mut taken = left(dir.path());
        taken.sort_by(|(a, _), (b, _)| a.cmp(b));
        let jids: Vec<_> = taken.iter().map(|(jid, _)| jid.clone()).collect();
        assert_eq!(jids, [jid(1), jid(2)]);
        assert_eq!(taken[0].1.get("pid"), None);
        assert!(left(dir.path()).is_empty());
        assert_eq!(running(dir.path()).len(), 1);
    }
}
