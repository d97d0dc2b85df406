//! The minion as a daemon: connects to its masters, runs jobs and sends returns until it
//! is stopped.

mod bus_requests;
mod greeting;
mod own_work;
pub mod status_report;
pub mod telemetry;

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use halite_call::MinionContext;
use halite_call::extensions::{self, Engines};
use halite_crypto::random_bytes;
use halite_proto::chance::Chance;
use halite_proto::time::JidClock;
use halite_proto::{Map, Value};
use tokio::spawn;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;
use tracing::{debug, error, info, warn};

use self::own_work::own_work;
use crate::beacons::Beacons;
use crate::context::{JobContext, Route};
use crate::core::conductor::{Conductor, Input, Output};
use crate::courier::Courier;
use crate::fleet::Fleet;
use crate::jobs::executor::Executor;
use crate::jobs::own_jobs::{self, OwnJob, Returns};
use crate::jobs::taking::take;
use crate::limits::{DRAIN_RETURNS_TIMEOUT, DRAIN_TIMEOUT, JOBS_RUNNING_MAX};
use crate::link::task::sleep_until;
use crate::link::words::LinkOutput;
use crate::managed::scheduler::Scheduler;
use crate::minion::{Minion, unix_micros};
use crate::records::proc_files::ProcDir;
use crate::returners::ChosenReturners;
use crate::start::Started;

/// Why the minion ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was stopped.
    Stopped,
    /// Every master has rejected its key.
    Rejected,
}

/// Runs until `stop` resolves or no master wants this minion.
pub async fn run(
    started: Started,
    courier: Arc<Courier>,
    rejected_retry: bool,
    stop: impl Future<Output = ()>,
) -> Ended {
    let Started {
        minion,
        fleet,
        conductor,
    } = started;
    recall(&minion, &courier);
    let places = job_places(&minion.opts);
    let executor = Executor::new(Arc::clone(&minion), Arc::clone(&courier), places);
    let tasks = Tasks::start(&minion, &courier, &executor);
    let mut links = Links {
        start_states: own_jobs::startup_states(&minion.opts),
        rejected_by: HashSet::new(),
        rejected_retry,
        minion,
        fleet,
        conductor,
        courier,
        executor,
    };
    let ended = links.serve(stop).await;
    tasks.end(&links.minion).await;
    links.fleet.stop().await;
    ended
}

/// The minion's own tasks while it runs.
struct Tasks {
    /// Stopped before the jobs have ended.
    at_once: Vec<JoinHandle<()>>,
    /// Ended when the returns have left.
    last: Vec<JoinHandle<()>>,
    engines: Option<Engines>,
    beacons: Arc<Beacons>,
    courier: Arc<Courier>,
}

impl Tasks {
    fn start(minion: &Arc<Minion>, courier: &Arc<Courier>, executor: &Arc<Executor>) -> Self {
        let scheduler = Scheduler::new(Arc::clone(minion), Arc::clone(executor));
        let _ = minion
            .scheduler
            .set(Arc::<Scheduler>::downgrade(&scheduler));
        let beacons = Beacons::new(Arc::clone(minion));
        let _ = minion.beacons.set(Arc::<Beacons>::downgrade(&beacons));
        let answering =
            status_report::answer_again_and_again(Arc::clone(minion), Arc::clone(courier));
        Self {
            at_once: vec![
                spawn(own_work(Arc::clone(executor))),
                spawn(scheduler.run()),
                spawn(Arc::clone(&beacons).run()),
                spawn(bus_requests::heed(Arc::clone(minion))),
                spawn(answering),
            ],
            last: vec![
                spawn(Arc::clone(courier).run()),
                spawn(Arc::clone(&beacons).carry()),
            ],
            engines: engines(minion),
            beacons,
            courier: Arc::clone(courier),
        }
    }

    /// Waits for the end of jobs and for returns to be sent, within limits.
    async fn end(self, minion: &Minion) {
        let Self {
            at_once,
            last,
            engines,
            beacons,
            courier,
        } = self;
        // They wait for threads of theirs to end.
        let _ = spawn_blocking(move || drop(engines)).await;
        at_once.iter().for_each(JoinHandle::abort);
        let told = timeout(DRAIN_RETURNS_TIMEOUT, beacons.until_carried());
        let _ = tokio::join!(drain(minion), told);
        last.iter().for_each(JoinHandle::abort);
        courier.say_what_is_lost();
        beacons.say_what_is_lost();
    }
}

/// The links to all masters, and what comes over them.
struct Links {
    minion: Arc<Minion>,
    fleet: Fleet,
    conductor: Conductor,
    courier: Arc<Courier>,
    executor: Arc<Executor>,
    /// The states to apply with the first master that connects.
    start_states: Option<(&'static str, Vec<Value>)>,
    /// The masters that have rejected the minion's key.
    rejected_by: HashSet<usize>,
    rejected_retry: bool,
}

impl Links {
    /// Runs until `stop` resolves or no master wants this minion.
    async fn serve(&mut self, stop: impl Future<Output = ()>) -> Ended {
        let mut chance = Chance::new(u64::from_le_bytes(random_bytes()));
        let startup = tokio::time::sleep(chance.up_to(self.minion.startup_delay));
        let mut has_begun = false;
        tokio::pin!(stop, startup);
        loop {
            while let Some(output) = self.conductor.poll() {
                conduct(&self.minion, &self.fleet, output).await;
            }
            let output = tokio::select! {
                () = &mut stop => return Ended::Stopped,
                () = &mut startup, if !has_begun => {
                    has_begun = true;
                    self.conductor.handle(now(), Input::Start);
                    continue;
                }
                () = sleep_until(self.conductor.next_timeout()) => {
                    self.conductor.handle_timeout(now());
                    continue;
                }
                output = self.fleet.next() => output,
            };
            let Some((master, output)) = output else {
                return Ended::Stopped;
            };
            if let Some(ended) = self.handle(master, output) {
                return ended;
            }
        }
    }

    /// Handles what a link has put out; why the minion ends, if it does.
    fn handle(&mut self, master: usize, output: LinkOutput) -> Option<Ended> {
        match output {
            LinkOutput::Job(job) => take(&self.minion, &self.executor, master, job),
            LinkOutput::Missed(jobs) => {
                for job in jobs {
                    take(&self.minion, &self.executor, master, job);
                }
            }
            LinkOutput::Ready { first } => self.ready(master, first),
            LinkOutput::Renewed => self.fleet.ask_missed(master, &self.minion),
            LinkOutput::Lost => {
                self.conductor.handle(now(), Input::Lost(master));
                fire(&self.minion, "__master_disconnected", master);
            }
            LinkOutput::Rejected => {
                self.rejected_by.insert(master);
                // Salt ends here at once; with several masters one of them
                // must not take the minion away from the others.
                let by_all = self.rejected_by.len() == self.minion.masters.len();
                if !self.rejected_retry && by_all {
                    error!("every master has rejected this minion's key");
                    return Some(Ended::Rejected);
                }
            }
            LinkOutput::Stuck(_) => self.conductor.handle(now(), Input::Stuck(master)),
            LinkOutput::Answered => self.conductor.handle(now(), Input::Answered(master)),
        }
        None
    }

    /// A master serves this minion now.
    fn ready(&mut self, master: usize, first: bool) {
        self.rejected_by.remove(&master);
        self.courier.link_is_ready(master);
        self.conductor.handle(now(), Input::Ready(master));
        self.fleet.replay(master, &self.minion);
        if let Some((fun, args)) = self.start_states.take() {
            apply_at_start(&self.executor, master, fun, args);
        }
        spawn(greeting::greet(Arc::clone(&self.minion), master, first));
    }
}

/// The engines of the options, which end when what is returned is dropped.
fn engines(minion: &Arc<Minion>) -> Option<Engines> {
    let option = minion.opts.get("engines").unwrap_or(&Value::Nil);
    let engines = extensions::engines(option)
        .map_err(|why| error!("{why}"))
        .ok()
        .filter(|engines| !engines.is_empty())?;
    let ctx: Arc<dyn MinionContext> = Arc::new(JobContext::new(Arc::clone(minion), Route::Any));
    Engines::start(engines, "minion", &ctx)
        .map_err(|cause| error!(%cause, "engines could not be started"))
        .ok()
}

/// `startup_states`, with the first master that is there.
fn apply_at_start(executor: &Arc<Executor>, master: usize, fun: &str, args: Vec<Value>) {
    let own = OwnJob {
        jid: JidClock::new().next(unix_micros()),
        fun: fun.to_owned(),
        args,
        kwargs: Map::new(),
        schedule: None,
        metadata: None,
        is_shown: true,
        returns: Returns::To(master),
        returners: ChosenReturners::default(),
        returner_options: Map::new(),
    };
    spawn(Arc::clone(executor).run_own_job(own));
}

/// Handles what earlier runs have left: interrupted jobs are reported, and none that had
/// started is run again.
fn recall(minion: &Minion, courier: &Courier) {
    let earlier = minion.claims.earlier();
    let was_ours = |jid: &str| earlier.iter().any(|claim| claim.jid.as_str() == jid);
    for left in minion.proc.left_behind(was_ours) {
        courier.report_cut_off(&left, &earlier);
        // Now that the report is in the spool; a death before tells it again.
        ProcDir::forget(&left);
    }
    let mut jobs = minion.jobs();
    for claim in &earlier {
        jobs.claim(claim);
    }
}

async fn conduct(minion: &Minion, fleet: &Fleet, output: Output) {
    let name = |link: usize| minion.masters.get(link).map(|master| master.name.as_str());
    match output {
        Output::Up(link) => {
            debug!(master = name(link), "link up");
            fleet.up(link).await;
        }
        Output::Down(link) => {
            debug!(master = name(link), "link down");
            fleet.down(link).await;
        }
        Output::Ping(link) => fleet.ping(link),
        Output::FailBack(link) => {
            info!(master = name(link), "the preferred master is back");
            fire(minion, "__master_failback", link);
        }
        Output::NoneLeft => error!(
            "No master could be reached or all masters denied the minion's connection attempt."
        ),
    }
}

/// Fires an event about a master on the local bus.
fn fire(minion: &Minion, tag: &str, master: usize) {
    let name = minion
        .masters
        .get(master)
        .map(|master| master.name.as_str());
    if let Err(error) = minion.fire_local(tag, Map::from([("master", Value::from(name))])) {
        debug!(error, "could not fire an event on the local bus");
    }
}

/// `process_count_max`, within our own bound.
fn job_places(opts: &Map) -> usize {
    let configured = opts
        .get("process_count_max")
        .and_then(Value::as_i64)
        .unwrap_or(-1);
    usize::try_from(configured)
        .ok()
        .filter(|&count| count > 0)
        .unwrap_or(JOBS_RUNNING_MAX)
}

fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// Waits for the end of running jobs and for their returns to be sent.
async fn drain(minion: &Minion) {
    let running = || minion.jobs().all_running().count();
    let jobs_end = until_none(minion, "waiting for jobs", running);
    let in_time = timeout(DRAIN_TIMEOUT, jobs_end).await.is_ok();
    let outstanding = || minion.outstanding.load(Ordering::Relaxed);
    let returns_leave = until_none(minion, "waiting for returns", outstanding);
    if in_time {
        let _ = timeout(DRAIN_RETURNS_TIMEOUT, returns_leave).await;
    } else {
        let jobs = minion.jobs();
        for (jid, job) in jobs.all_running() {
            warn!(%jid, "stopped with the minion");
            job.cancel.signal(nix::libc::SIGTERM);
        }
    }
}

async fn until_none(minion: &Minion, what: &str, count: impl Fn() -> usize) {
    loop {
        let next = minion.job_ended.notified();
        tokio::pin!(next);
        next.as_mut().enable();
        let count = count();
        if count == 0 {
            return;
        }
        info!(count, "{what}");
        next.await;
    }
}
