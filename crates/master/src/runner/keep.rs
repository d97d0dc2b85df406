//! What is kept of runners: a file while they run, a job when they have ended.

use std::path::PathBuf;

use halite_crypto::files::{self, MODE_SECRET, WriteOptions};
use halite_proto::event::stamp;
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};

use crate::clock::now_micros;
use crate::error::chain;
use crate::master::Master;

/// The file that shows a runner to `jobs.master`, for as long as this lives.
pub(super) struct Running(PathBuf);

impl Running {
    /// Writes the file; a runner runs without it, too.
    pub(super) fn note(master: &Master, jid: &Jid, data: &Map) -> Self {
        let path = master.settings.cachedir.join("proc").join(jid.as_str());
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
                    tracing::warn!("could not note a running runner: {}", chain(&error));
                }
            }
            Err(error) => tracing::warn!("could not note a running runner: {}", chain(&error)),
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

/// Keeps what came of a runner or a wheel function, as the return of a minion
/// with the master's name.
pub(crate) fn store(master: &Master, jid: &Jid, data: &Map) {
    let settings = &master.settings;
    if !(settings.stores_runner_returns && settings.stores_returns) {
        return;
    }
    let Ok(id) = MinionId::parse(settings.id.as_str()) else {
        return;
    };
    let args = data.get("fun_args").and_then(Value::as_list);
    let fun = data.get("fun").and_then(Value::as_str).unwrap_or_default();
    let load = Map::from([
        ("fun", Value::from(fun)),
        ("arg", Value::List(Vec::new())),
        ("tgt", (&id).into()),
        ("tgt_type", "list".into()),
        ("jid", jid.into()),
        ("user", data.get("user").cloned().unwrap_or_default()),
        ("id", (&id).into()),
    ]);
    let ret = JobReturn::new(
        ReturnJid::Jid(jid.clone()),
        FunSpec::One(fun.to_owned()),
        args.unwrap_or_default().to_vec(),
        data.clone().into(),
        data.get("retcode").and_then(Value::as_i64).unwrap_or(0),
    );
    let stored = master
        .jobs
        .save_load(jid, &load, Some(std::slice::from_ref(&id)))
        .and_then(|()| master.jobs.save_return(jid, &id, &ret));
    master
        .job_mirror
        .load(jid, &load, Some(std::slice::from_ref(&id)));
    master.job_mirror.returned(jid, &id, &ret);
    if let Err(error) = stored {
        tracing::error!(%jid, "could not keep what a runner returned: {}", chain(&error));
    }
}

/// The runners that run now, the one that asks among them.
pub(super) fn running(master: &Master) -> Vec<Value> {
    const FILE_BYTES_MAX: u64 = 1024 * 1024;
    let dir = master.settings.cachedir.join("proc");
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
