//! Puts the parts of a master together.

use std::sync::{Arc, Mutex};

use halite_pillar::GitPillars;
use halite_store::{Banks, Places, Store};
use halite_transport::fleet::PublishPort;
use halite_transport::ipc::EventBus;

use super::agree::{registers, shared_data, shared_roots, under_way};
use super::settings::{Settings, TaskSettings};
use crate::access::Access;
use crate::access::local_keys::{LocalKeys, let_others_enter};
use crate::access::settings::AccessSettings;
use crate::batches::{Batches, BatchesParts};
use crate::cluster::Cluster;
use crate::cluster::settings::ClusterSettings;
use crate::error::StartError;
use crate::events::bus::{Bus, Style};
use crate::events::minion_events::MinionEvents;
use crate::events::reactor_rules::ReactorRules;
use crate::files::Files;
use crate::files::settings::FileSettings;
use crate::fleet::Fleet;
use crate::fleet::attendance::Attendance;
use crate::functions::Functions;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::keys::settings::KeySettings;
use crate::master::Master;
use crate::pillar::pillars::{Pillars, PillarsError};
use crate::pillar::tops::Tops;
use crate::publishing::publisher::Publisher;
use crate::publishing::settings::PublishingSettings;
use crate::publishing::{Publishing, PublishingGroups};
use crate::reactor::{Reactor, ReactorSettings};
use crate::runner::{RunnerGroups, RunnerSettings, Runners, run_within_functions};
use crate::serving::Serving;
use crate::settings::General;
use crate::store_health::ExtJobs;
use crate::telemetry::Telemetry;
use crate::telemetry::meters::Meters;
use crate::under_way::UnderWay;
use crate::wheel::Wheel;

/// What is opened before the parts are put together.
pub(super) struct Opened {
    /// Where things are kept.
    pub(super) places: Places,
    pub(super) publish_port: PublishPort,
    pub(super) bus: EventBus,
    pub(super) attendance: Arc<Attendance>,
    pub(super) local_keys: LocalKeys,
    pub(super) meters: Option<Meters>,
    pub(super) store: Store,
    /// The place of `ext_job_cache`, if it is one that is known here.
    pub(super) ext_jobs: Option<ExtJobs>,
}

/// Puts a master together; what it does by itself is not begun yet.
///
/// # Errors
/// When a key, a file or an option cannot be used.
pub(super) fn assemble(
    settings: Settings,
    opened: Opened,
) -> Result<(Serving, TaskSettings), StartError> {
    let general = Arc::new(settings.general);
    let bus = event_bus(opened.bus, settings.event_bytes_max, opened.meters.as_ref());
    let telemetry = Arc::new(Telemetry::new(settings.stats_every, opened.meters));
    let places = &opened.places;
    let cluster = cluster(&general, settings.cluster, &settings.keys, places)?;
    let keys = Arc::new(Keys::open(
        &general,
        places.keys.as_ref(),
        settings.keys,
        Arc::clone(&bus),
        cluster.as_ref(),
    )?);
    let port = opened.publish_port;
    let publisher = publisher(port, &keys, &settings.publishing, cluster.as_deref())?;
    let_publishers_enter(&general, &settings.access)?;
    let threads = settings.serving.worker_threads;
    let compiling = Compiling::open(&general, settings.files, settings.tops, threads)?;
    let store = opened.store;
    let jobs = Arc::new(Jobs::open(
        Arc::clone(&general),
        settings.jobs,
        (places, store.jobs),
        opened.ext_jobs,
        Arc::clone(&telemetry),
        cluster.clone(),
    )?);
    let fleet = Arc::new(Fleet::new(
        Arc::clone(&general),
        settings.fleet,
        (store.data, store.banks.clone()),
        Arc::clone(&keys),
        opened.attendance,
        compiling.pillars.cache.clone(),
    ));
    answer_signs(&fleet, &jobs);
    let access = Arc::new(Access::new(
        Arc::clone(&general),
        settings.access,
        opened.local_keys,
        store.tokens,
        Arc::clone(&compiling.functions),
        Arc::clone(&telemetry),
    ));
    let parts = PublishingGroups {
        cluster,
        general,
        telemetry: Arc::clone(&telemetry),
        bus,
        keys,
        jobs,
        fleet,
        access,
    };
    let publishing = Publishing::new(publisher, settings.publishing, parts.clone());
    let publishing = Arc::new(publishing);
    let reactor_rules = ReactorRules::new(settings.reactor_rules);
    let kept = (places, store.banks);
    let groups = runner_groups(parts, publishing, compiling, reactor_rules, kept)?;
    let master = master(groups, telemetry, settings.runners, settings.reactor);
    let serving = Serving {
        master: Arc::new(master),
        settings: settings.serving,
    };
    Ok((serving, settings.tasks))
}

fn event_bus(bus: EventBus, event_bytes_max: usize, meters: Option<&Meters>) -> Arc<Bus> {
    let fired = meters.map(|meters| meters.fired.clone());
    let style = Style {
        offset: true,
        event_bytes_max,
    };
    Arc::new(Bus::new(bus, style, fired))
}

/// Has signs of life answered with whether a minion is to ask for jobs: it may have missed
/// one, or it may be several machines.
fn answer_signs(fleet: &Arc<Fleet>, jobs: &Arc<Jobs>) {
    let (jobs, machines) = (Arc::downgrade(jobs), Arc::downgrade(fleet));
    fleet.attendance.on_question(Box::new(move |id| {
        let has_missed = jobs.upgrade()?.missed.has_missed(id)?;
        Some(has_missed || machines.upgrade()?.may_be_several(id))
    }));
}

/// The cluster, if this master is in one.
fn cluster(
    general: &General,
    settings: Option<ClusterSettings>,
    keys: &KeySettings,
    places: &Places,
) -> Result<Option<Arc<Cluster>>, StartError> {
    let Some(settings) = settings else {
        return Ok(None);
    };
    let own_keys = keys.master_keys(&general.id);
    let cluster = Cluster::open(general, settings, &own_keys, places.shared_cache())?;
    Ok(Some(Arc::new(cluster)))
}

/// What compiles pillars and states on the master: its files, the functions that templates
/// call, and the pillars themselves.
struct Compiling {
    files: Arc<Files>,
    functions: Arc<Functions>,
    pillars: Pillars,
}

impl Compiling {
    fn open(
        general: &General,
        files: FileSettings,
        tops: Tops,
        threads: usize,
    ) -> Result<Self, StartError> {
        let files = Arc::new(Files::open(files)?);
        let (registry, server) = (halite_state_run::registry(), Arc::clone(&files.server));
        let functions = Arc::new(Functions::new(&general.opts, registry, server));
        let pillars = pillars(general, threads, &functions, tops)?;
        Ok(Self {
            files,
            functions,
            pillars,
        })
    }
}

/// What runners use: all parts but those that use runners themselves.
fn runner_groups(
    parts: PublishingGroups,
    publishing: Arc<Publishing>,
    compiling: Compiling,
    reactor_rules: ReactorRules,
    (places, banks): (&Places, Banks),
) -> Result<RunnerGroups, StartError> {
    let under_way = under_way(&parts);
    Ok(RunnerGroups {
        registers: registers(&parts, &publishing)?,
        shared_data: shared_data(&parts, places),
        shared_roots: shared_roots(&parts),
        functions: compiling.functions,
        files: compiling.files,
        pillars: Arc::new(compiling.pillars),
        batches: Arc::new(batches(&parts, &publishing, under_way.clone())),
        under_way,
        reactor_rules: Arc::new(reactor_rules),
        wheel: Arc::new(wheel(&parts, &publishing)),
        publishing,
        banks,
        general: parts.general,
        bus: parts.bus,
        keys: parts.keys,
        jobs: parts.jobs,
        fleet: parts.fleet,
        access: parts.access,
        cluster: parts.cluster,
    })
}

/// The runners, which functions run as well.
fn runners(settings: RunnerSettings, groups: &RunnerGroups) -> Arc<Runners> {
    let runners = Arc::new(Runners::new(settings, groups.clone()));
    run_within_functions(&runners);
    runners
}

/// What publishes with the key of this master, or that of its cluster.
fn publisher(
    port: PublishPort,
    keys: &Keys,
    settings: &PublishingSettings,
    cluster: Option<&Cluster>,
) -> Result<Publisher, StartError> {
    let private = keys.identity.private().clone();
    let shared_key = cluster.map(|cluster| cluster.dir.publish_key());
    Ok(Publisher::new(
        port,
        private,
        settings.clone(),
        shared_key.transpose()?,
    )?)
}

/// What compiles pillars, with their sources in git.
fn pillars(
    general: &General,
    threads: usize,
    functions: &Arc<Functions>,
    tops: Tops,
) -> Result<Pillars, StartError> {
    let git = GitPillars::open(&general.opts, &general.cachedir);
    let git = git.map_err(|why| StartError::Option {
        option: "ext_pillar",
        why,
    })?;
    let functions = Arc::clone(functions);
    Pillars::start(general, Arc::new(git), threads, functions, tops).map_err(pillars_error)
}

/// Has the users of `publisher_acl` reach the sockets.
fn let_publishers_enter(general: &General, access: &AccessSettings) -> Result<(), StartError> {
    if access.publisher_acl.is_empty() {
        return Ok(());
    }
    let_others_enter(&general.sock_dir).map_err(|source| StartError::File {
        what: "the socket directory for the users of publisher_acl",
        source,
    })
}

fn batches(
    parts: &PublishingGroups,
    publishing: &Arc<Publishing>,
    under_way: Option<Arc<UnderWay>>,
) -> Batches {
    Batches::new(BatchesParts {
        general: Arc::clone(&parts.general),
        bus: Arc::clone(&parts.bus),
        jobs: Arc::clone(&parts.jobs),
        fleet: Arc::clone(&parts.fleet),
        publishing: Arc::clone(publishing),
        under_way,
    })
}

fn wheel(parts: &PublishingGroups, publishing: &Arc<Publishing>) -> Wheel {
    Wheel {
        general: Arc::clone(&parts.general),
        bus: Arc::clone(&parts.bus),
        keys: Arc::clone(&parts.keys),
        jobs: Arc::clone(&parts.jobs),
        fleet: Arc::clone(&parts.fleet),
        publishing: Arc::clone(publishing),
    }
}

fn reactor(settings: ReactorSettings, groups: &RunnerGroups, runners: &Arc<Runners>) -> Reactor {
    Reactor {
        settings,
        rules: Arc::clone(&groups.reactor_rules),
        general: Arc::clone(&groups.general),
        functions: Arc::clone(&groups.functions),
        bus: Arc::clone(&groups.bus),
        fleet: Arc::clone(&groups.fleet),
        publishing: Arc::clone(&groups.publishing),
        files: Arc::clone(&groups.files),
        wheel: Arc::clone(&groups.wheel),
        runners: Arc::clone(runners),
    }
}

fn master(
    groups: RunnerGroups,
    telemetry: Arc<Telemetry>,
    runner_settings: RunnerSettings,
    reactor_settings: ReactorSettings,
) -> Master {
    let runners = runners(runner_settings, &groups);
    let reactor = reactor(reactor_settings, &groups, &runners);
    Master {
        minion_events: MinionEvents::new(Arc::clone(&groups.bus)),
        telemetry,
        runners,
        reactor: Arc::new(reactor),
        questions: Mutex::default(),
        cluster: groups.cluster,
        registers: groups.registers,
        shared_data: groups.shared_data,
        shared_roots: groups.shared_roots,
        under_way: groups.under_way,
        general: groups.general,
        functions: groups.functions,
        bus: groups.bus,
        keys: groups.keys,
        jobs: groups.jobs,
        fleet: groups.fleet,
        access: groups.access,
        publishing: groups.publishing,
        files: groups.files,
        pillars: groups.pillars,
        batches: groups.batches,
        wheel: groups.wheel,
    }
}

fn pillars_error(error: PillarsError) -> StartError {
    match error {
        PillarsError::Thread(source) => StartError::Threads(source),
        error @ PillarsError::Backend(_) => StartError::Option {
            option: "pillar_cache_backend",
            why: error.to_string(),
        },
        error => StartError::Option {
            option: "ext_pillar",
            why: error.to_string(),
        },
    }
}
