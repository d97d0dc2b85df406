//! What exists once per minion while it runs, and its masters.
//!
//! It holds what jobs, links and the parts around them share, and does nothing by
//! itself: it knows none of its users.

mod clusters;
mod managed;
mod master;
mod meters;
mod own_files;
pub mod pace;

use std::future::Future;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use halite_call::{Cancel, Recall, Registry};
use halite_grains::Want;
pub(crate) use halite_process::clock::unix_micros;
use halite_proto::event::{EVENT_SIZE_MAX_DEFAULT, Event};
use halite_proto::publish::PublishLoad;
use halite_proto::{Map, MinionId, Nonce, Tag, Value};
use halite_transport::Endpoint;
use halite_transport::ipc::EventBus;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

pub(crate) use self::clusters::Greeted;
pub(crate) use self::managed::{
    Answer, BEACON_REQUESTS, Managed, ManagedBeacons, SCHEDULE_REQUESTS,
};
use self::master::MadeGrains;
pub use self::master::Master;
pub(crate) use self::meters::Meters;
pub(crate) use self::own_files::OwnFiles;
use self::pace::Pace;
use crate::core::jobs::Jobs;
use crate::core::rotation::Rotation;
use crate::limits::FIRST_PILLAR_WAIT;
use crate::link::channel::Patience;
use crate::records::claims::Claims;
use crate::records::proc_files::ProcDir;

/// A job that runs.
#[derive(Debug)]
pub struct RunningJob {
    /// What its proc file holds.
    pub load: Map,
    /// How to end it.
    pub cancel: Cancel,
}

/// How grains are collected.
pub(crate) type CollectGrains = Box<dyn Fn(Want) -> Map + Send + Sync>;

/// The minion.
pub struct Minion {
    /// Its id.
    pub id: MinionId,
    /// What tells this process from others with the same id and key.
    pub(crate) process: Nonce,
    /// The merged options.
    pub opts: Map,
    /// `cachedir`.
    pub cachedir: PathBuf,
    /// Its grains; replaced as a whole when they are refreshed.
    pub grains: RwLock<Arc<Map>>,
    /// How to collect them again.
    pub collect_grains: CollectGrains,
    /// Files and pillar, where no master is asked for them.
    pub own_files: Option<OwnFiles>,
    /// Its masters, in the order of the `master:` list.
    pub masters: Vec<Master>,
    /// Whose turn it is for requests that any master can answer.
    pub rotation: Mutex<Rotation>,
    /// One registry of jobs for all masters.
    pub jobs: Mutex<Jobs<RunningJob>>,
    /// The jobs that have begun, for a later start.
    pub claims: Claims,
    /// Jobs that run, or whose return is still on its way.
    pub outstanding: AtomicUsize,
    /// Told whenever one of them is through.
    pub job_ended: Notify,
    /// The proc files.
    pub proc: ProcDir,
    /// Which clusters of masters know that it has started.
    pub(crate) greeted: Greeted,
    /// How long requests wait.
    pub patience: Patience,
    /// `random_startup_delay`: its links wait up to so long.
    pub startup_delay: Duration,
    /// The minion's own event bus.
    pub bus: EventBus,
    /// The schedule, once it runs; missing in `salt-call`.
    pub scheduler: OnceLock<Weak<dyn Managed>>,
    /// The beacons, once they run; missing in `salt-call`.
    pub beacons: OnceLock<Weak<dyn ManagedBeacons>>,
    /// What monitoring reads, where the option is on.
    pub(crate) meters: OnceLock<Meters>,
    /// Which files compiled states were read from.
    pub recall: Recall,
    /// Where the bus of the minion that runs here is, for `salt-call`.
    pub daemon_bus: Option<(Endpoint, Endpoint)>,
    /// The async thread, for job threads that make requests.
    pub runtime: Handle,
    /// The functions that it has.
    pub functions: &'static Registry,
    /// When its jobs begin; none: at once.
    pub pace: Option<Arc<dyn Pace>>,
}

impl Minion {
    /// The grains of now.
    pub fn grains(&self) -> Arc<Map> {
        let grains = self.grains.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&grains)
    }

    /// The grains as one master sees them: the grain `master` is that master,
    /// whatever else is in the list.
    pub fn grains_at(&self, master: Option<usize>) -> Arc<Map> {
        let grains = self.grains();
        let Some(master) = master.and_then(|master| self.masters.get(master)) else {
            return grains;
        };
        let host = master.host.as_str();
        if grains.get("master").and_then(Value::as_str) == Some(host) {
            return grains;
        }
        let mut kept = master.grains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|kept| Arc::ptr_eq(&kept.of, &grains)) {
            return Arc::clone(&kept.made);
        }
        let mut own = Map::clone(&grains);
        own.insert("master", host);
        let made = Arc::new(own);
        *kept = Some(MadeGrains {
            of: grains,
            made: Arc::clone(&made),
        });
        made
    }

    /// The options as the jobs of one master see them: `master` and what goes
    /// with it mean that one, whatever else is in the list.
    pub fn opts_at(&self, master: Option<usize>) -> &Map {
        let Some(master) = master.and_then(|master| self.masters.get(master)) else {
            return &self.opts;
        };
        master.opts.get_or_init(|| {
            let mut own = self.opts.clone();
            own.insert("master", master.host.as_str());
            own.insert("master_port", i64::from(master.uri.port()));
            own.insert("master_uri", master.uri.to_string());
            if master.host.parse::<IpAddr>().is_ok() {
                own.insert("master_ip", master.host.as_str());
            }
            own
        })
    }

    /// Collects the grains again. Takes milliseconds: not for async threads.
    pub fn refresh_grains(&self) {
        let grains = Arc::new((self.collect_grains)(Want::New));
        *self.grains.write().unwrap_or_else(PoisonError::into_inner) = grains;
    }

    /// The pillar of one master, waiting for the first one for a while.
    pub async fn first_pillar(&self, master: usize) -> Arc<Map> {
        let Some(master) = self.masters.get(master) else {
            return Arc::default();
        };
        let mut pillars = master.pillar.subscribe();
        let first = pillars.wait_for(Option::is_some);
        match tokio::time::timeout(FIRST_PILLAR_WAIT, first).await {
            Ok(Ok(pillar)) => pillar.clone().unwrap_or_default(),
            _ => Arc::default(),
        }
    }

    /// Lets the async thread do `work` while this job thread waits; nothing if
    /// the minion ends first. (`Handle::block_on` panics then: its timers are
    /// gone before the job threads are.)
    pub fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (told, done) = oneshot::channel();
        self.runtime.spawn(async move {
            // Whoever waited may be gone.
            let _ = told.send(work.await);
        });
        done.blocking_recv().ok()
    }

    /// The registry of jobs.
    pub fn jobs(&self) -> MutexGuard<'_, Jobs<RunningJob>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The masters to ask, best first, for a request that any can answer. With
    /// no link ready those come that are at least signed in.
    pub fn turn(&self) -> Vec<usize> {
        self.live(&mut self.rotation())
    }

    /// The masters to ask after `first`, best first. Nobody's turn is used up by
    /// that: most requests never get to them.
    pub fn live_besides(&self, first: usize) -> Vec<usize> {
        let mut others = self.live(&mut self.rotation().clone());
        others.retain(|master| *master != first);
        others
    }

    fn rotation(&self) -> MutexGuard<'_, Rotation> {
        self.rotation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self, rotation: &mut Rotation) -> Vec<usize> {
        let is = |test: fn(&Master) -> bool| {
            move |index: usize| self.masters.get(index).is_some_and(test)
        };
        let ready: Vec<usize> = rotation
            .turn(self.masters.len(), is(Master::is_ready))
            .collect();
        if ready.is_empty() {
            let signed_in = is(|master| master.channel.is_signed_in());
            return rotation.turn(self.masters.len(), signed_in).collect();
        }
        ready
    }

    /// The content of a job's proc file: the publication and the process that runs it.
    pub fn proc_load(load: &Map) -> Map {
        let mut proc = Map::with_capacity(load.len() + 1);
        proc.insert("pid", std::process::id());
        proc.extend(load.clone());
        proc
    }

    /// Fires an event on the minion's own bus.
    ///
    /// # Errors
    /// When the tag is none or the data cannot be packed; the text says why.
    pub fn fire_local(&self, tag: &str, data: Map) -> Result<(), String> {
        let tag = Tag::parse(tag).map_err(|error| error.to_string())?;
        let mut event = Event::new(tag, data);
        event.stamp(unix_micros(), true);
        let packed = event.pack_trimmed(EVENT_SIZE_MAX_DEFAULT);
        self.bus.fire(&packed.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Waits as long as a job is to wait before it begins.
    pub(crate) async fn pause_before(&self, load: &PublishLoad) {
        let pause = self.pace.as_ref().map(|pace| pace.pause(load));
        if let Some(pause) = pause.filter(|pause| !pause.is_zero()) {
            tokio::time::sleep(pause).await;
        }
    }

    /// A job is through.
    pub(crate) fn is_through(&self, acknowledged: bool) {
        if let Some(pace) = &self.pace {
            pace.through(acknowledged);
        }
    }

    /// An option that counts seconds.
    pub fn opt_seconds(&self, name: &str, default: f64) -> Duration {
        let seconds = self
            .opts
            .get(name)
            .and_then(Value::as_f64)
            .unwrap_or(default);
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }
}
