//! `master_job_cache` with a custom name: jobs and their returns go to a returner
//! in Python, in addition to the files of this master.
//!
//! Invariant: nothing waits for the returner, its queue is bounded, and the files
//! hold everything in any case: they tell whether a return is a repetition.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use halite_call::{
    Cancel, Job, TimeLimit,
    extensions::{ExtensionKind, plugin},
    run_plugin, within_call,
};
use halite_config::JobCacheName;
use halite_proto::msgpack::{Packing, packed_len};
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId, Value};

use crate::functions::Functions;
use crate::limits::{JOB_MIRROR_BYTES_MAX, JOB_MIRROR_CALL_MAX};

/// How often the log says that jobs cannot be given on.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(60);

/// A call of the returner.
struct Write {
    /// `save_load`, `returner` ...
    function: &'static str,
    args: Vec<Value>,
    /// Its size for the limit.
    bytes: usize,
}

/// Where jobs go beside our files, if anywhere.
#[derive(Default)]
pub(crate) struct JobMirror(Mutex<Option<Waiting>>);

/// The calls that wait for the returner, and a channel that reports when they are done.
struct Waiting {
    queue: Sender<Write>,
    bytes: Arc<AtomicUsize>,
    done: Receiver<()>,
    complained: Complained,
}

/// When a failure was last logged.
#[derive(Default)]
struct Complained(Option<Instant>);

impl Complained {
    /// Whether it is time to tell it of another one.
    fn is_time(&mut self) -> bool {
        let is_time = |last: Instant| last.elapsed() >= COMPLAINT_INTERVAL;
        let is_time = self.0.is_none_or(is_time);
        if is_time {
            self.0 = Some(Instant::now());
        }
        is_time
    }
}

/// The returner that `master_job_cache` names, if it is not the files alone.
pub(crate) fn configured(opts: &Map) -> Option<&str> {
    let name = opts.get("master_job_cache").and_then(Value::as_str);
    name.filter(|name| !matches!(*name, "" | JobCacheName::LOCAL))
        // One that the store itself is on.
        .filter(|name| !halite_store::is_own_job_cache(name))
}

impl JobMirror {
    /// Starts passing jobs to the returner, if the configuration names one.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub(crate) fn start(&self, opts: &Map, functions: &Arc<Functions>) -> std::io::Result<()> {
        let Some(name) = configured(opts).map(str::to_owned) else {
            return Ok(());
        };
        let (queue, waiting) = mpsc::channel();
        let (tell, done) = mpsc::channel();
        let bytes = Arc::new(AtomicUsize::default());
        let writer = Writer {
            name,
            functions: Arc::clone(functions),
            bytes: Arc::clone(&bytes),
            complained: Complained::default(),
        };
        thread::Builder::new()
            .name("job-mirror".to_owned())
            .spawn(move || {
                writer.write(&waiting);
                // Nobody may wait any more.
                let _ = tell.send(());
            })?;
        *self.waiting() = Some(Waiting {
            queue,
            bytes,
            done,
            complained: Complained::default(),
        });
        Ok(())
    }

    /// Whether jobs are passed to a returner.
    pub(crate) fn is_on(&self) -> bool {
        self.waiting().is_some()
    }

    /// Passes the waiting calls to the returner, for at most this time.
    pub(crate) fn finish(&self, longest: Duration) {
        let Some(Waiting { queue, done, .. }) = self.waiting().take() else {
            return;
        };
        drop(queue);
        if done.recv_timeout(longest).is_err() {
            tracing::warn!("stopping before master_job_cache has stored all jobs");
        }
    }

    /// A job that was published.
    pub(crate) fn load(&self, jid: &Jid, load: &Map, minions: Option<&[MinionId]>) {
        self.write("save_load", || {
            let ids = minions.map(|ids| ids.iter().map(Value::from).collect::<Vec<_>>());
            vec![
                jid.into(),
                load.clone().into(),
                ids.map_or(Value::Nil, Value::List),
            ]
        });
    }

    /// Stores the return of a minion.
    pub(crate) fn returned(&self, jid: &Jid, id: &MinionId, job: &JobReturn) {
        self.write("returner", || {
            let mut load = job.to_map();
            load.insert("cmd", "_return");
            load.insert("jid", jid);
            load.insert("id", id);
            vec![load.into()]
        });
    }

    /// When the last return of a job came.
    pub(crate) fn ended(&self, jid: &Jid, at: &str) {
        self.write("update_endtime", || vec![jid.into(), at.into()]);
    }

    /// Old jobs may go.
    pub(crate) fn clean(&self) {
        self.write("clean_old_jobs", Vec::new);
    }

    fn write(&self, function: &'static str, args: impl FnOnce() -> Vec<Value>) {
        let mut waiting = self.waiting();
        let Some(waiting) = waiting.as_mut() else {
            return;
        };
        let args = args();
        let sizes = args.iter().map(|arg| packed_len(arg, Packing::Modern));
        let bytes = sizes.sum();
        let before = waiting.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > JOB_MIRROR_BYTES_MAX {
            waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
            if waiting.complained.is_time() {
                tracing::error!(
                    "master_job_cache is too slow: skipped a call of {function}; this master's \
                     files have the job"
                );
            }
            return;
        }
        let write = Write {
            function,
            args,
            bytes,
        };
        // A thread that is gone has said why.
        let _ = waiting.queue.send(write);
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Option<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls the returner, one call after the other.
struct Writer {
    name: String,
    functions: Arc<Functions>,
    bytes: Arc<AtomicUsize>,
    complained: Complained,
}

impl Writer {
    fn write(mut self, waiting: &Receiver<Write>) {
        while let Ok(write) = waiting.recv() {
            let called = call(&self.functions, &self.name, write.function, write.args);
            self.bytes.fetch_sub(write.bytes, Ordering::Relaxed);
            match called {
                Ok(_) => {}
                // Not every returner keeps these.
                Err(CallFailed::NoFunction(_))
                    if matches!(write.function, "update_endtime" | "clean_old_jobs") => {}
                Err(error) => self.complain(&error),
            }
        }
    }

    fn complain(&mut self, error: &CallFailed) {
        if self.complained.is_time() {
            tracing::error!("master_job_cache: {error}; this master's files have the jobs");
        }
    }
}

/// Why a returner gave nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallFailed {
    /// The returner does not exist or has no such function.
    #[error(
        "no such returner: {0} exists neither among users' returners (`salt-run \
         saltutil.sync_returners` fetches those of `_returners`) nor in an installed Salt"
    )]
    NoFunction(String),
    /// It failed; the text is Python's traceback, where there is one.
    #[error("{0}")]
    Failed(String),
}

/// Calls a function of a returner in Python.
pub(crate) fn call(
    functions: &Functions,
    returner: &str,
    function: &str,
    args: Vec<Value>,
) -> Result<Value, CallFailed> {
    let context = functions.context();
    let name = format!("{returner}.{function}");
    let Some(found) = plugin(context, ExtensionKind::Returners, &name) else {
        return Err(CallFailed::NoFunction(name));
    };
    let cancel = Cancel::default();
    let _limit = TimeLimit::start(cancel.clone(), JOB_MIRROR_CALL_MAX, "a returner of jobs");
    let job = Job {
        cancel,
        ..Job::default()
    };
    within_call(context, &job, |call| {
        run_plugin(call, found, args, Map::new())
    })
    .map_err(|error| {
        CallFailed::Failed(
            error
                .trace()
                .map_or_else(|| error.to_string(), str::to_owned),
        )
    })
}
