//! The minion as a daemon: links up, jobs in, returns out, until told to stop.

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
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{debug, error, info, warn};

use crate::beacons::Beacons;
use crate::bus_requests;
use crate::context::{JobContext, Route};
use crate::core::conductor::{Input, Output};
use crate::courier::Courier;
use crate::executor::Executor;
use crate::fleet::Fleet;
use crate::greeting;
use crate::limits::{DRAIN_RETURNS_TIMEOUT, DRAIN_TIMEOUT, JOBS_RUNNING_MAX};
use crate::link_task::{LinkOutput, sleep_until};
use crate::own_jobs::{self, OwnJob, Returns};
use crate::own_work::own_work;
use crate::proc_files::ProcDir;
use crate::returners::ChosenReturners;
use crate::scheduler::Scheduler;
use crate::start::Started;
use crate::state::{Minion, unix_micros};
use crate::status_report;
use crate::taking::take;

/// Why the minion ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was told to.
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
        mut fleet,
        mut conductor,
    } = started;
    recall(&minion, &courier);
    let places = job_places(&minion.opts);
    let executor = Executor::new(Arc::clone(&minion), Arc::clone(&courier), places);
    let own_work = tokio::spawn(own_work(Arc::clone(&executor)));
    let carrying = tokio::spawn(Arc::clone(&courier).run());
    let scheduler = Scheduler::new(Arc::clone(&minion), Arc::clone(&executor));
    let _ = minion.scheduler.set(Arc::downgrade(&scheduler));
    let scheduling = tokio::spawn(scheduler.run());
    let beacons = Beacons::new(Arc::clone(&minion));
    let _ = minion.beacons.set(Arc::downgrade(&beacons));
    let looking = tokio::spawn(Arc::clone(&beacons).run());
    let telling = tokio::spawn(Arc::clone(&beacons).carry());
    let engines = engines(&minion);
    let mut start_states = own_jobs::startup_states(&minion.opts);
    let heeding = tokio::spawn(bus_requests::heed(Arc::clone(&minion)));
    let answering = tokio::spawn(status_report::answer_again_and_again(
        Arc::clone(&minion),
        Arc::clone(&courier),
    ));
    let mut rejected_by = HashSet::new();
    let mut chance = Chance::new(u64::from_le_bytes(random_bytes()));
    let startup = tokio::time::sleep(chance.up_to(minion.startup_delay));
    let mut has_begun = false;
    tokio::pin!(stop, startup);
    let ended = loop {
        while let Some(output) = conductor.poll() {
            conduct(&minion, &fleet, output).await;
        }
        let (master, output) = tokio::select! {
            () = &mut stop => break Ended::Stopped,
            () = &mut startup, if !has_begun => {
                has_begun = true;
                conductor.handle(now(), Input::Start);
                continue;
            }
            () = sleep_until(conductor.next_timeout()) => {
                conductor.handle_timeout(now());
                continue;
            }
            output = fleet.next() => match output {
                Some(output) => output,
                None => break Ended::Stopped,
            },
        };
        match output {
            LinkOutput::Job(job) => take(&minion, &executor, master, job),
            LinkOutput::Missed(jobs) => {
                for job in jobs {
                    take(&minion, &executor, master, job);
                }
            }
            LinkOutput::Ready { first } => {
                rejected_by.remove(&master);
                courier.link_is_ready(master);
                conductor.handle(now(), Input::Ready(master));
                fleet.replay(master, &minion);
                if let Some((fun, args)) = start_states.take() {
                    apply_at_start(&executor, master, fun, args);
                }
                tokio::spawn(greeting::greet(Arc::clone(&minion), master, first));
            }
            LinkOutput::Renewed => fleet.ask_missed(master, &minion),
            LinkOutput::Lost => {
                conductor.handle(now(), Input::Lost(master));
                fire(&minion, "__master_disconnected", master);
            }
            LinkOutput::Rejected => {
                rejected_by.insert(master);
                // Salt ends here at once; with several masters one of them
                // must not take the minion away from the others.
                if !rejected_retry && rejected_by.len() == minion.masters.len() {
                    error!("every master has rejected this minion's key");
                    break Ended::Rejected;
                }
            }
            LinkOutput::Stuck(_) => conductor.handle(now(), Input::Stuck(master)),
            LinkOutput::Answered => conductor.handle(now(), Input::Answered(master)),
        }
    };
    // They wait for threads of theirs to end.
    let _ = spawn_blocking(move || drop(engines)).await;
    own_work.abort();
    scheduling.abort();
    looking.abort();
    answering.abort();
    heeding.abort();
    let told = timeout(DRAIN_RETURNS_TIMEOUT, beacons.until_carried());
    let _ = tokio::join!(drain(&minion), told);
    telling.abort();
    carrying.abort();
    courier.say_what_is_lost();
    beacons.say_what_is_lost();
    fleet.stop().await;
    ended
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
    tokio::spawn(Arc::clone(executor).run_own_job(own));
}

/// Takes up what earlier runs have left: jobs that were cut off are reported,
/// and none that began is run again.
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

/// Tells the local bus about a master.
fn fire(minion: &Minion, tag: &str, master: usize) {
    let name = minion
        .masters
        .get(master)
        .map(|master| master.name.as_str());
    if let Err(error) = minion.fire_local(tag, Map::from([("master", Value::from(name))])) {
        debug!(error, "no local event");
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

/// Lets running jobs come to their end and their returns go out.
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
            warn!(%jid, "ended with the minion");
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
