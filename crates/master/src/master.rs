//! The parts of a master, as the daemon puts them together.

use std::sync::{Arc, Mutex};

use crate::access::Access;
use crate::batches::Batches;
use crate::cluster::Cluster;
use crate::core::questions::Questions;
use crate::events::bus::Bus;
use crate::events::minion_events::MinionEvents;
use crate::files::Files;
use crate::fleet::Fleet;
use crate::functions::Functions;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::pillar::pillars::Pillars;
use crate::publishing::Publishing;
use crate::reactor::Reactor;
use crate::registers::KeyRegisters;
use crate::runner::Runners;
use crate::settings::General;
use crate::shared_data::SharedData;
use crate::shared_roots::SharedRoots;
use crate::telemetry::Telemetry;
use crate::under_way::UnderWay;
use crate::wheel::Wheel;

/// The parts behind the ports; each guards itself. What handles a request or an
/// event takes the parts that it uses, not all of them.
pub(crate) struct Master {
    pub(crate) general: Arc<General>,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) functions: Arc<Functions>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) minion_events: MinionEvents,
    pub(crate) cluster: Option<Arc<Cluster>>,
    pub(crate) keys: Arc<Keys>,
    /// Of a cluster without shared files.
    pub(crate) registers: Option<Arc<KeyRegisters>>,
    /// Of a cluster whose masters have no place in common for it.
    pub(crate) shared_data: Option<Arc<SharedData>>,
    /// Of any cluster.
    pub(crate) shared_roots: Option<Arc<SharedRoots>>,
    /// Of any cluster.
    pub(crate) under_way: Option<Arc<UnderWay>>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) access: Arc<Access>,
    pub(crate) publishing: Arc<Publishing>,
    pub(crate) files: Arc<Files>,
    pub(crate) pillars: Arc<Pillars>,
    pub(crate) batches: Arc<Batches>,
    pub(crate) wheel: Arc<Wheel>,
    pub(crate) runners: Arc<Runners>,
    pub(crate) reactor: Arc<Reactor>,
    /// The questions of other masters that were answered.
    pub(crate) questions: Mutex<Questions>,
}
