//! Runners: functions of the master, each on a thread of its own.
//!
//! Programs request them with the clear `runner` command. Their results are fired
//! on the event bus and kept in the job cache, like a job of a minion named after
//! the master. Invariant: a runner ends with exactly one `ret` event, however it
//! ends.

mod asked;
mod auth;
mod banks;
mod batch;
mod cache;
mod call;
mod cluster;
mod cluster_roots;
mod config;
mod error;
mod event;
mod fileserver;
mod gather;
mod git_locks;
mod git_pillar;
mod http;
mod job_list;
mod job_source;
mod jobs;
mod left;
#[cfg(test)]
mod listed;
mod manage;
mod masters;
mod matching;
mod migrate;
mod mine;
mod minions;
mod network;
mod orchestra;
mod pillar;
mod places;
mod proc_files;
mod promotion;
mod python;
mod queue;
mod queue_items;
mod reactor;
mod registry;
mod root_gifts;
mod run;
mod running;
mod salt;
mod saltutil;
mod sdb;
mod search;
mod settings;
mod state;
mod store;
mod survey;
mod table;
mod test;
mod unavailable;
mod within;

use std::ops::Deref;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use halite_proto::{Jid, Map, Value};
use halite_store::Banks;

pub(crate) use asked::{Asked, NotStarted};
pub(crate) use call::Call;
pub(crate) use error::RunnerError;
pub(crate) use left::{end_left_runners, left_runners};
pub(crate) use run::Run;
pub(crate) use settings::RunnerSettings;
pub(crate) use within::run_within_functions;

use crate::access::Access;
use crate::batches::Batches;
use crate::cluster::Cluster;
use crate::core::turns::Turns;
use crate::events::bus::Bus;
use crate::events::reactor_rules::ReactorRules;
use crate::files::Files;
use crate::fleet::Fleet;
use crate::functions::Functions;
use crate::jobs::Jobs;
use crate::jobs::stop::Stop;
use crate::keys::Keys;
use crate::limits::{PEER_RUNNERS_MAX, PEER_RUNNERS_PER_MINION_MAX};
use crate::pillar::pillars::Pillars;
use crate::publishing::Publishing;
use crate::registers::KeyRegisters;
use crate::settings::General;
use crate::shared_data::SharedData;
use crate::shared_roots::SharedRoots;
use crate::under_way::UnderWay;
use crate::wheel::Wheel;
use places::Place;
use registry::Registry;

/// The runners of a master, and the parts of it that they use.
pub(crate) struct Runners {
    pub(crate) settings: RunnerSettings,
    /// The running ones.
    pub(crate) registry: Registry,
    /// The running ones of minions (`peer_run`).
    pub(crate) peer_turns: Turns,
    groups: RunnerGroups,
}

/// The parts of the master that runners use.
#[derive(Clone)]
pub(crate) struct RunnerGroups {
    pub(crate) general: Arc<General>,
    pub(crate) functions: Arc<Functions>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) access: Arc<Access>,
    pub(crate) publishing: Arc<Publishing>,
    pub(crate) files: Arc<Files>,
    pub(crate) pillars: Arc<Pillars>,
    pub(crate) batches: Arc<Batches>,
    pub(crate) reactor_rules: Arc<ReactorRules>,
    /// What runners and templates keep.
    pub(crate) banks: Banks,
    pub(crate) wheel: Arc<Wheel>,
    pub(crate) cluster: Option<Arc<Cluster>>,
    /// Of a cluster without shared files.
    pub(crate) registers: Option<Arc<KeyRegisters>>,
    /// Of a cluster whose masters have no place in common for it.
    pub(crate) shared_data: Option<Arc<SharedData>>,
    /// Of any cluster.
    pub(crate) shared_roots: Option<Arc<SharedRoots>>,
    /// Of any cluster.
    pub(crate) under_way: Option<Arc<UnderWay>>,
}

impl Runners {
    /// None run.
    pub(crate) fn new(settings: RunnerSettings, groups: RunnerGroups) -> Self {
        Self {
            settings,
            registry: Registry::new(),
            peer_turns: Turns::new(PEER_RUNNERS_PER_MINION_MAX, PEER_RUNNERS_MAX),
            groups,
        }
    }
}

impl Deref for Runners {
    type Target = RunnerGroups;

    fn deref(&self) -> &RunnerGroups {
        &self.groups
    }
}

/// Starts a runner on a thread of its own; what it returns comes as an event.
pub(crate) fn start(runners: &Arc<Runners>, asked: Asked) -> Result<(Jid, String), NotStarted> {
    start_if(runners, asked, || true, |_| {})
}

/// Starts a runner, and hands on what its `ret` event carries. `may` is asked last: a job
/// id may have been long in coming.
pub(crate) fn start_if(
    runners: &Arc<Runners>,
    asked: Asked,
    may: impl FnOnce() -> bool,
    then: impl FnOnce(&Map) + Send + 'static,
) -> Result<(Jid, String), NotStarted> {
    let place = runners.registry.place_for(&asked.fun)?;
    start_at(runners, asked, place, may, then)
}

/// Starts a runner for a reaction, as soon as there is a place for it. Blocks until then.
///
/// # Errors
/// When there is none until `deadline`, or the runner cannot be started.
pub(crate) fn start_for_reaction(
    runners: &Arc<Runners>,
    asked: Asked,
    deadline: Instant,
) -> Result<(), NotStarted> {
    let place = runners.registry.place_for_reaction(&asked.fun, deadline)?;
    start_at(runners, asked, place, || true, |_| {}).map(drop)
}

fn start_at(
    runners: &Arc<Runners>,
    asked: Asked,
    place: Place,
    may: impl FnOnce() -> bool,
    then: impl FnOnce(&Map) + Send + 'static,
) -> Result<(Jid, String), NotStarted> {
    let runtime = runners.registry.runtime()?;
    let run = Run::begin(runners, asked, Stop::new(), place)?;
    if !may() {
        return Err(NotStarted::Elsewhere);
    }
    let listed = Registry::list(runners, &run)?;
    let begun = (run.jid.clone(), run.tag.clone());
    tracing::info!(user = run.asked.user, jid = %run.jid, "runner {}", run.asked.fun);
    let runners = Arc::clone(runners);
    thread::Builder::new()
        .name("runner".to_owned())
        .spawn(move || {
            let told = run.run(&runners, &runtime);
            drop(listed);
            then(&told);
        })
        .map_err(NotStarted::Thread)?;
    Ok(begun)
}

/// Whether a runner of that name exists.
///
/// # Errors
/// In words, when there is none.
pub(crate) fn is_there(runners: &Arc<Runners>, fun: &str) -> Result<(), String> {
    match table::find(runners, fun) {
        Ok(_) => Ok(()),
        Err(None) => Err("there is no such runner".to_owned()),
        Err(Some(why)) => Err(format!("there is no such runner. {why}")),
    }
}

/// Runs a runner for a minion; what it returns. Blocks until it ends.
pub(crate) fn run_to_end(runners: &Arc<Runners>, asked: Asked) -> Result<Value, NotStarted> {
    let mut told = run_and_tell(runners, asked, Stop::new())?;
    Ok(told.remove("return").unwrap_or_default())
}

/// Runs a runner; what its `ret` event carries. Blocks until it ends.
fn run_and_tell(runners: &Arc<Runners>, asked: Asked, stop: Stop) -> Result<Map, NotStarted> {
    let runtime = runners.registry.runtime()?;
    let place = runners.registry.place_for(&asked.fun)?;
    let run = Run::begin(runners, asked, stop, place)?;
    let _listed = Registry::list(runners, &run)?;
    Ok(run.run(runners, &runtime))
}
