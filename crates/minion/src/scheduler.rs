//! The shell around the schedule: tells it the time, runs what is due, saves
//! it, and hears requests, of functions and over the local event bus.
//!
//! There is one schedule, whatever the number of masters. Invariant: while it
//! has no job, nothing wakes the minion up for it.

use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_crypto::{files, random_bytes};
use halite_proto::returns::ReturnJid;
use halite_proto::time::JidClock;
use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{debug, error};

use crate::core::link::Phase;
use crate::core::schedule::clock::Day;
use crate::core::schedule::{Due, Local, Now, Returned, Table};
use crate::core::sign_in::chain;
use crate::executor::Executor;
use crate::own_jobs::{OwnJob, Returns};
use crate::returners::{Wanted, texts};
use crate::state::{Minion, unix_micros};

/// The tag of requests on the event bus.
pub(crate) const REQUEST_TAG: &str = "manage_schedule";

/// The mode of the saved schedule: jobs may have secrets in their arguments.
const SAVED_MODE: u32 = 0o600;

/// The schedule of a running minion.
pub struct Scheduler {
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
    pub fn new(minion: Arc<Minion>, executor: Arc<Executor>) -> Arc<Self> {
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
    pub async fn run(self: Arc<Self>) {
        let mut pillars = JoinSet::new();
        for master in 0..self.minion.masters.len() {
            pillars.spawn(Arc::clone(&self).follow_pillar(master));
        }
        tokio::join!(self.run_jobs(), self.hear());
    }

    async fn run_jobs(self: &Arc<Self>) {
        self.until_connected().await;
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

    /// Jobs begin with the first connection, unless that is not to be waited
    /// for.
    async fn until_connected(&self) {
        let option = self.minion.opts.get("scheduler_before_connect");
        if option.is_some_and(Value::is_true) || self.minion.masters.is_empty() {
            return;
        }
        let mut ready = JoinSet::new();
        for master in &self.minion.masters {
            let mut phase = master.phase.clone();
            ready.spawn(async move { phase.wait_for(|at| *at == Phase::Ready).await.is_ok() });
        }
        ready.join_next().await;
    }

    fn start(self: &Arc<Self>, due: Due) {
        let named = texts(due.returner.as_ref());
        let option = texts(self.minion.opts.get("schedule_returner"));
        let returners = Wanted::of(named.into_iter().chain(option));
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
            metadata: due.metadata.map(|metadata| stamped(metadata).into()),
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

    /// Carries out a request, as Salt's event `manage_schedule` has it. Writes
    /// files: not for async threads.
    ///
    /// # Errors
    /// The text says why there is no answer.
    pub fn manage(self: &Arc<Self>, request: &Map) -> Result<(&'static str, Map), String> {
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
            let this = Arc::clone(self);
            self.minion.runtime.spawn(async move { this.start(due) });
        }
        self.wake.notify_one();
        managed
            .answer
            .ok_or_else(|| "the scheduler has no such function".to_owned())
    }

    /// Hears requests on the event bus: of other programs, Salt's own included.
    async fn hear(self: &Arc<Self>) {
        let mut requests = self.minion.bus.subscribe_to(vec![REQUEST_TAG.to_owned()]);
        while let Some(request) = requests.recv().await {
            let Ok(event) = request.unpack() else {
                continue;
            };
            let this = Arc::clone(self);
            let managed = tokio::task::spawn_blocking(move || this.manage(&event.data)).await;
            match managed {
                Ok(Ok((tag, answer))) => {
                    if let Err(error) = self.minion.fire_local(tag, answer) {
                        debug!(error, "no answer about the schedule");
                    }
                }
                Ok(Err(error)) => debug!(error, "a request to the scheduler"),
                Err(cause) => error!(%cause, "a request to the scheduler died"),
            }
        }
    }

    /// Takes over the schedule of the pillar whenever that is compiled anew.
    async fn follow_pillar(self: Arc<Self>, master: usize) {
        let Some(master) = self.minion.masters.get(master) else {
            return;
        };
        let mut pillars = master.pillar.subscribe();
        while pillars.changed().await.is_ok() {
            let mut masters = self.minion.masters.iter();
            // The same master's for as long as there is one, whoever is first.
            let pillar = masters.find_map(|master| master.pillar.borrow().clone());
            let grains = self.minion.grains();
            self.table()
                .set_pillar(&pillar.unwrap_or_default(), &grains);
            self.wake.notify_one();
        }
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
            local: local_now(),
            steady: self.started.elapsed(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
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

/// What the clock on the wall shows.
fn local_now() -> Local {
    let now = jiff::Zoned::now().datetime();
    let day = Day {
        year: now.year().into(),
        month: now.month().into(),
        day: now.day().into(),
    };
    let second =
        i64::from(now.hour()) * 3600 + i64::from(now.minute()) * 60 + i64::from(now.second());
    let Local(ms) = Local::new(day, second);
    Local(ms + i64::from(now.millisecond()))
}

/// Metadata with the time of the run, as Salt adds it.
fn stamped(mut metadata: Map) -> Map {
    let now = jiff::Zoned::now();
    let utc = now.with_time_zone(jiff::tz::TimeZone::UTC);
    let form =
        |form: &str, at: &jiff::Zoned| jiff::fmt::strtime::format(form, at).unwrap_or_default();
    metadata.insert("_TOS", form("%z", &now));
    metadata.insert("_TS", form("%a %b %e %H:%M:%S %Y", &now));
    metadata.insert("_TT", form("%Y %B %d %a %H %m", &utc));
    metadata
}

async fn sleep_for(wait: Option<Duration>) {
    match wait {
        Some(wait) => sleep(wait).await,
        None => pending().await,
    }
}
