//! The shell around the schedule: gives it the time, runs due jobs, saves it, and
//! receives requests from functions and over the local event bus.
//!
//! There is one schedule, whatever the number of masters. Invariant: while it has
//! no job, nothing wakes the minion up for it.

use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_crypto::{files, random_bytes};
use halite_proto::returns::ReturnJid;
use halite_proto::time::JidClock;
use halite_proto::{Map, Value};
use halite_schedule::{Due, Now, Returned, Table, stamped};
use halite_yaml::{DumpOptions, dump};
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::error;

use crate::core::sign_in::chain;
use crate::jobs::executor::Executor;
use crate::jobs::own_jobs::{OwnJob, Returns};
use crate::managed;
use crate::minion::{Answer, Managed, Minion, SCHEDULE_REQUESTS, unix_micros};
use crate::returners::{ChosenReturners, texts};

/// The mode of the saved schedule: jobs may have secrets in their arguments.
const SAVED_MODE: u32 = 0o600;

/// The schedule of a running minion.
pub(crate) struct Scheduler {
    minion: Arc<Minion>,
    executor: Arc<Executor>,
    table: Mutex<Table>,
    jids: Mutex<JidClock>,
    /// One save at a time, the latest last.
    saving: Mutex<()>,
    wake: Notify,
    started: Instant,
}

impl Scheduler {
    /// The schedule of the minion's configuration; nothing runs yet.
    pub(crate) fn new(minion: Arc<Minion>, executor: Arc<Executor>) -> Arc<Self> {
        let none = Map::new();
        let schedule = minion.opts.get("schedule").and_then(Value::as_map);
        let seed = u64::from_le_bytes(random_bytes());
        let table = Table::new(schedule.unwrap_or(&none), seed);
        Arc::new(Self {
            minion,
            executor,
            table: Mutex::new(table),
            jids: Mutex::new(JidClock::new()),
            saving: Mutex::new(()),
            wake: Notify::new(),
            started: Instant::now(),
        })
    }

    /// Runs jobs and hears requests for as long as the minion runs.
    pub(crate) async fn run(self: Arc<Self>) {
        let this = Arc::clone(&self);
        tokio::join!(
            self.run_jobs(),
            managed::hear(&self.minion, SCHEDULE_REQUESTS, move |request| {
                Arc::clone(&this).manage(request)
            }),
            managed::follow_pillar(&self.minion, |pillar| self.heed_pillar(&pillar)),
        );
    }

    async fn run_jobs(self: &Arc<Self>) {
        // Jobs begin with the first connection, unless that is not to be waited
        // for.
        let at_once = self.minion.opts.get("scheduler_before_connect");
        if !at_once.is_some_and(Value::is_true) {
            managed::until_connected(&self.minion).await;
        }
        loop {
            let (due, wait) = {
                let mut table = self.table();
                if table.is_empty() {
                    (Vec::new(), None)
                } else {
                    let now = self.now();
                    (table.poll(now), table.next_timeout(now))
                }
            };
            for due in due {
                self.start(due);
            }
            tokio::select! {
                () = self.wake.notified() => {}
                () = sleep_for(wait) => {}
            }
        }
    }

    fn start(self: &Arc<Self>, due: Due) {
        let named = texts(due.returner.as_ref());
        let option = texts(self.minion.opts.get("schedule_returner"));
        let returners = ChosenReturners::of(named.into_iter().chain(option));
        let jid = {
            let mut jids = self.jids.lock().unwrap_or_else(PoisonError::into_inner);
            jids.next(unix_micros())
        };
        let own = OwnJob {
            jid,
            fun: due.function,
            args: due.args,
            kwargs: due.kwargs,
            schedule: Some(due.name.clone()),
            metadata: due
                .metadata
                .map(|metadata| stamped(metadata, &jiff::Zoned::now()).into()),
            is_shown: due.is_shown,
            returns: match due.returned {
                Returned::No => Returns::Nobody,
                Returned::Stored => Returns::ToAll(ReturnJid::Req),
                Returned::NotStored => Returns::ToAll(ReturnJid::NoCache),
            },
            returners,
            returner_options: due.returner_options,
        };
        let this = Arc::clone(self);
        tokio::spawn(async move {
            Arc::clone(&this.executor).run_own_job(own).await;
            this.table().finished(&due.name);
            // One that was held up by it may run now.
            this.wake.notify_one();
        });
    }

    /// Uses the schedule of a new pillar.
    fn heed_pillar(&self, pillar: &Map) {
        let grains = self.minion.grains();
        self.table().set_pillar(pillar, &grains);
        self.wake.notify_one();
    }

    fn save(&self, saved: Map) {
        let _one_at_a_time = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let path = saved_file(&self.minion.opts);
        let document = Map::from([("schedule", saved)]);
        let text = dump(&document.into(), DumpOptions::block());
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = made {
            return error!(%error, "the schedule cannot be saved");
        }
        if let Err(error) = files::create_private(&path, SAVED_MODE, text.as_bytes()) {
            error!("the schedule cannot be saved: {}", chain(&error));
        }
    }

    fn now(&self) -> Now {
        Now {
            local: jiff::Zoned::now().datetime().into(),
            steady: self.started.elapsed(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Managed for Scheduler {
    /// Carries out a request, as Salt's event `manage_schedule` has it. Writes
    /// files: not for async threads.
    fn manage(self: Arc<Self>, request: &Map) -> Answer {
        let (managed, saved) = {
            let mut table = self.table();
            let managed = table.manage(request, self.now());
            let saved = managed.persist.then(|| table.to_save());
            (managed, saved)
        };
        if let Some(saved) = saved {
            self.save(saved);
        }
        if let Some(due) = managed.run {
            let this = Arc::clone(&self);
            self.minion.runtime.spawn(async move { this.start(due) });
        }
        self.wake.notify_one();
        managed
            .answer
            .ok_or_else(|| "the scheduler has no such function".to_owned())
    }
}

/// The file that Salt saves its schedule in; the next start reads it with the
/// others of that directory.
pub(crate) fn saved_file(opts: &Map) -> PathBuf {
    let text = |name: &str| opts.get(name).and_then(Value::as_str);
    let dir = PathBuf::from(text("config_dir").unwrap_or("/etc/salt"));
    let include = text("default_include").unwrap_or("minion.d/*.conf");
    let folder = std::path::Path::new(include).parent();
    dir.join(folder.unwrap_or_else(|| "minion.d".as_ref()))
        .join("_schedule.conf")
}

async fn sleep_for(wait: Option<Duration>) {
    match wait {
        Some(wait) => sleep(wait).await,
        None => pending().await,
    }
}
