//! Puts the parts of a master together.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use halite_crypto::files;
use halite_metrics::Count;
use halite_pillar::GitPillars;
use halite_proto::Value;
use halite_store::{Places, Store, StoreOptions, open_with_spool, returner_place};
use halite_transport::fleet::PublishPort;
use halite_transport::ipc::EventBus;

use super::agree::{registers, shared_data, shared_roots, under_way};
use super::settings::{Settings, TaskSettings};
use crate::access::Access;
use crate::access::local_keys::{Holders, LocalKeys, let_others_enter, system_users};
use crate::access::settings::AccessSettings;
use crate::batches::{Batches, BatchesParts};
use crate::cluster::Cluster;
use crate::error::StartError;
use crate::events::bus::{Bus, Style};
use crate::events::minion_events::MinionEvents;
use crate::events::reactor_rules::ReactorRules;
use crate::files::Files;
use crate::fleet::Fleet;
use crate::fleet::attendance::Attendance;
use crate::functions::Functions;
use crate::jobs::Jobs;
use crate::keys::{Keys, SESSIONS_DIR};
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
use crate::telemetry::Telemetry;
use crate::telemetry::meters::Meters;
use crate::under_way::UnderWay;
use crate::wheel::Wheel;

/// Directories below `cachedir` that programs of Salt expect to be there.
const CACHE_DIRS: [&str; 5] = ["jobs", "proc", "queues", "syndics", "tokens"];

/// Directory below `pki_dir` for approvals by name.
const AUTOSIGN_DIR: &str = "minions_autosign";

pub(super) fn make_dirs(general: &General) -> Result<(), StartError> {
    // An admin's choice of modes for these two stays.
    make_dir("the cache directory", &general.cachedir)?;
    make_dir("the socket directory", &general.sock_dir)?;
    if general.own_cachedir != general.cachedir {
        make_dir("the master's own cache directory", &general.own_cachedir)?;
    }
    for dir in private_dirs(general) {
        files::ensure_private_dir(&dir, None).map_err(|source| StartError::File {
            what: "the master's directories",
            source,
        })?;
    }
    Ok(())
}

/// The directories that nobody else looks into.
pub(super) fn private_dirs(general: &General) -> Vec<PathBuf> {
    let in_cache = CACHE_DIRS.iter().map(|name| general.cachedir.join(name));
    let others = [
        general.cachedir.join(SESSIONS_DIR),
        general.pki_dir.join(AUTOSIGN_DIR),
    ];
    in_cache.chain(others).collect()
}

fn make_dir(what: &'static str, dir: &Path) -> Result<(), StartError> {
    fs::create_dir_all(dir).map_err(|source| StartError::File {
        what,
        source: files::FileError::MakeDir {
            path: dir.to_owned(),
            source,
        },
    })
}

pub(super) fn local_keys(settings: &Settings) -> Result<LocalKeys, StartError> {
    let Settings {
        general, access, ..
    } = settings;
    let holders = Holders {
        configured: &general.user,
        running: &general.running_user,
        publisher_acl: &access.publisher_acl,
        only_existing: access.client_acl_verify,
        system: &system_users(),
    };
    LocalKeys::prepared_or_load(&general.cachedir, &holders).map_err(|source| StartError::File {
        what: "the key files of local users",
        source,
    })
}

/// Where the configuration says that things are kept.
pub(super) fn places(general: &General) -> Result<Places, StartError> {
    let places = Places::from_opts(&general.opts, &general.cachedir, general.hash_type);
    places.map_err(|error| StartError::Option {
        option: error.option,
        why: error.to_string(),
    })
}

/// The place of `ext_job_cache`, with what waits for it; `None` if it is none that is
/// known here.
pub(super) fn ext_jobs(
    general: &General,
    waiting: &Path,
) -> Result<Option<halite_store::Jobs>, StartError> {
    const OPTION: &str = "ext_job_cache";
    let name = general.opts.get(OPTION).and_then(Value::as_str);
    let place = returner_place(OPTION, name.unwrap_or_default(), &general.opts);
    let place = place.map_err(|error| StartError::Option {
        option: OPTION,
        why: error.why,
    })?;
    let Some(place) = place else {
        return Ok(None);
    };
    let store = open_with_spool(&StoreOptions::all(place), &waiting.join("ext"));
    Ok(Some(store.map_err(StartError::Waiting)?.jobs))
}

/// What was opened before the parts are put together.
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
    pub(super) ext_jobs: Option<halite_store::Jobs>,
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
    let fired = opened.meters.as_ref().map(|meters| meters.fired.clone());
    let telemetry = Arc::new(Telemetry::new(settings.stats_every, opened.meters));
    let bus = event_bus(opened.bus, settings.event_bytes_max, fired);
    let own_keys = settings.keys.master_keys(&general.id);
    let shared = opened.places.shared_cache();
    let open = |cluster| Cluster::open(&general, cluster, &own_keys, shared);
    let cluster = settings.cluster.map(open).transpose()?.map(Arc::new);
    let keys = Arc::new(Keys::open(
        &general,
        opened.places.keys.as_ref(),
        settings.keys,
        Arc::clone(&bus),
        cluster.as_ref(),
    )?);
    let publisher = publisher(
        opened.publish_port,
        &keys,
        settings.publishing.clone(),
        cluster.as_deref(),
    )?;
    let_publishers_enter(&general, &settings.access)?;
    let files = Arc::new(Files::open(settings.files)?);
    let (registry, server) = (halite_state_run::registry(), Arc::clone(&files.server));
    let functions = Arc::new(Functions::new(&general.opts, registry, server));
    let threads = settings.serving.worker_threads;
    let pillars = pillars(&general, threads, &functions, settings.tops)?;
    let store = opened.store;
    let jobs = Arc::new(Jobs::open(
        Arc::clone(&general),
        settings.jobs,
        (&opened.places, store.jobs),
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
        pillars.cache.clone(),
    ));
    let access = Arc::new(Access::new(
        Arc::clone(&general),
        settings.access,
        opened.local_keys,
        store.tokens,
        Arc::clone(&functions),
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
    let under_way = under_way(&parts);
    let groups = RunnerGroups {
        registers: registers(&parts, &publishing)?,
        shared_data: shared_data(&parts, &opened.places),
        shared_roots: shared_roots(&parts),
        functions,
        files,
        pillars: Arc::new(pillars),
        batches: Arc::new(batches(&parts, &publishing, under_way.clone())),
        under_way,
        reactor_rules: Arc::new(ReactorRules::new(settings.reactor_rules)),
        wheel: Arc::new(wheel(&parts, &publishing)),
        publishing,
        banks: store.banks,
        general: parts.general,
        bus: parts.bus,
        keys: parts.keys,
        jobs: parts.jobs,
        fleet: parts.fleet,
        access: parts.access,
        cluster: parts.cluster,
    };
    let runners = runners(settings.runners, &groups);
    let reactor = reactor(settings.reactor, &groups, &runners);
    let serving = Serving {
        master: Arc::new(master(groups, telemetry, runners, reactor)),
        settings: settings.serving,
    };
    Ok((serving, settings.tasks))
}

fn event_bus(bus: EventBus, event_bytes_max: usize, fired: Option<Count>) -> Arc<Bus> {
    let style = Style {
        offset: true,
        event_bytes_max,
    };
    Arc::new(Bus::new(bus, style, fired))
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
    settings: PublishingSettings,
    cluster: Option<&Cluster>,
) -> Result<Publisher, StartError> {
    let private = keys.identity.private().clone();
    let shared_key = cluster.map(|cluster| cluster.dir.publish_key());
    Ok(Publisher::new(
        port,
        private,
        settings,
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
    runners: Arc<Runners>,
    reactor: Reactor,
) -> Master {
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
