//! The daemon: binds everything, puts the parts together, runs until it is
//! told to stop, and leaves nothing behind.

pub(crate) mod engines;
mod maintenance;
mod scheduler;

use std::fs;
use std::future::Future;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use halite_config::MasterConfig;
use halite_crypto::files;
use halite_fileserver::{FileServer, Inbox};
use halite_key::{Autosign, KeyStore, MasterKeys};
use halite_proto::Map;
use halite_range::RangeServer;
use halite_store::{StoreOptions, open as open_store};
use halite_transport::Endpoint;
use halite_transport::fleet::{LocalPublishSocket, PublishPort, RequestPort};
use halite_transport::ipc::EventBus;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use self::maintenance::{Health, maintain};
use self::scheduler::keep_schedule;
use crate::batches::{Batches, adopt};
use crate::core::counters::Counters;
use crate::core::own_jobs::OwnJobs;
use crate::error::StartError;
use crate::events::bus::{Bus, Style};
use crate::events::event_returns::return_events;
use crate::fleet::attendance::{Attendance, tell_presence};
use crate::jobs::job_mirror::JobMirror;
use crate::jobs::missed::MissedJobs;
use crate::keys::accepted::AcceptedKeys;
use crate::keys::local_keys::{Holders, LocalKeys, let_others_enter, system_users};
use crate::keys::sessions::Sessions;
use crate::limits::DRAIN_MAX;
use crate::master::{Master, TurnsOfMinions};
use crate::pillar::pillars::{Pillars, PillarsError};
use crate::publishing::publisher::{Publisher, PublisherSettings};
use crate::publishing::pushed::publish_pushed;
use crate::reactor::{Reactor, react};
use crate::runner::Runners;
use crate::serving::server::Server;
use crate::serving::sockets::{Bound, Marks, listen_at};
use crate::serving::stats::Stats;
use crate::settings::Settings;
use crate::tokens::Tokens;

/// A master that listens.
pub struct Daemon {
    master: Arc<Master>,
    request_port: RequestPort,
    local_publish: LocalPublishSocket,
    server: Arc<Server>,
    health: Health,
    publish_port: PublishPort,
    marks: Marks,
}

impl Daemon {
    /// Checks what options mean, without touching anything.
    ///
    /// # Errors
    /// When an option cannot be used.
    pub fn check(config: &MasterConfig) -> Result<(), StartError> {
        let settings = Settings::from_config(config)?;
        for port in [settings.ret_port, settings.publish_port] {
            listen_at(&settings, port)?;
        }
        Ok(())
    }

    /// Starts a master: it listens when this returns.
    ///
    /// # Errors
    /// When a port or socket is in use, or a key, file or directory cannot be
    /// used.
    pub fn start(config: &MasterConfig) -> Result<Self, StartError> {
        let mut settings = Settings::from_config(config)?;
        make_dirs(&settings)?;
        // Before the sockets: programs read their key when they see them.
        let local_keys = local_keys(&settings)?;
        let attendance = Attendance::begin();
        let Bound {
            request_port,
            publish_port,
            local_publish,
            bus,
            marks,
        } = Bound::bind(&settings, attendance.watch())?;
        let health = Health::begin(&settings.cachedir);
        // What minions are told is where they can connect.
        if let Some(port) = publish_port.endpoints().iter().find_map(Endpoint::port) {
            settings.publish_port = port;
        }
        let master = Arc::new(assemble(
            settings,
            config.opts().clone(),
            publish_port.clone(),
            bus,
            attendance,
            local_keys,
        )?);
        master.pillars.connect(&master);
        let server = Server::start(Arc::clone(&master), &request_port.replies())
            .map_err(StartError::Threads)?;
        health.ready();
        for endpoint in request_port.endpoints() {
            tracing::info!("taking requests at {endpoint}");
        }
        for endpoint in publish_port.endpoints() {
            tracing::info!("publishing at {endpoint}");
        }
        Ok(Self {
            master,
            request_port,
            local_publish,
            server: Arc::new(server),
            health,
            publish_port,
            marks,
        })
    }

    /// Where requests are taken, with the ports that were free.
    pub fn request_endpoints(&self) -> &[Endpoint] {
        self.request_port.endpoints()
    }

    /// Where publications go out, with the ports that were free.
    pub fn publish_endpoints(&self) -> &[Endpoint] {
        self.publish_port.endpoints()
    }

    /// Runs until `shutdown` is done or the request port fails, then finishes
    /// what has begun and closes everything.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self {
            master,
            mut request_port,
            mut local_publish,
            server,
            health,
            publish_port,
            marks,
        } = self;
        let maintenance = tokio::spawn(maintain(Arc::clone(&master), health.clone()));
        master.runners.open(tokio::runtime::Handle::current());
        let presence = master
            .settings
            .presence_events
            .then(|| tokio::spawn(tell_presence(Arc::clone(&master))));
        let reactor = tokio::spawn(react(Arc::clone(&master)));
        let returners = EventReturns::start(&master);
        let adopter = tokio::spawn(adopt(Arc::clone(&master)));
        let schedule = tokio::spawn(keep_schedule(Arc::clone(&master)));
        let engines = engines::start(&master);
        if let Err(error) = JobMirror::start(&master) {
            tracing::error!("master_job_cache gets no jobs: {error}");
        }
        tokio::select! {
            () = server.serve(&mut request_port) => tracing::error!("the request port has failed"),
            () = publish_pushed(&master, &mut local_publish) => {
                tracing::error!("the socket for publications has failed");
            }
            () = shutdown => {}
        }
        health.end();
        // They wait for threads of theirs to end.
        let _ = spawn_blocking(move || drop(engines)).await;
        stop(maintenance).await;
        if let Some(presence) = presence {
            stop(presence).await;
        }
        stop(reactor).await;
        stop(schedule).await;
        stop(adopter).await;
        master.runners.close();
        master.batches.close();
        drain(server).await;
        if let Some(returners) = returners {
            returners.finish().await;
        }
        let mirrored = Arc::clone(&master);
        let _ = spawn_blocking(move || mirrored.job_mirror.finish(DRAIN_MAX)).await;
        let deadline = Instant::now() + DRAIN_MAX;
        let left = || deadline.saturating_duration_since(Instant::now());
        let _ = timeout(left(), local_publish.close()).await;
        let _ = timeout(left(), request_port.close()).await;
        // The bus closes with it, and the handle here is the publish port's last.
        drop(master);
        let _ = timeout(left(), publish_port.close()).await;
        drop(marks);
    }
}

/// The task that gives events to returners.
struct EventReturns {
    task: JoinHandle<()>,
    end: oneshot::Sender<()>,
}

impl EventReturns {
    /// Begins, if there is a returner.
    fn start(master: &Arc<Master>) -> Option<Self> {
        let plan = master.settings.event_returns.clone();
        if plan.is_empty() {
            return None;
        }
        let (end, ended) = oneshot::channel::<()>();
        let master = Arc::clone(master);
        let task = tokio::spawn(async move {
            // Told so, or left alone: both are the end.
            let shutdown = async {
                let _ = ended.await;
            };
            return_events(plan, &master, shutdown).await;
        });
        Some(Self { task, end })
    }

    /// Lets it give them what has happened until now.
    async fn finish(self) {
        let _ = self.end.send(());
        if timeout(DRAIN_MAX, self.task).await.is_err() {
            tracing::warn!("stopping before all events are stored");
        }
    }
}

async fn stop(task: JoinHandle<()>) {
    task.abort();
    let _ = task.await;
}

async fn drain(server: Arc<Server>) {
    let deadline = Instant::now() + DRAIN_MAX;
    match spawn_blocking(move || server.drain(deadline)).await {
        Ok(true) => {}
        Ok(false) => tracing::warn!("stopping before all requests are answered"),
        Err(error) => tracing::error!("could not finish what was queued: {error}"),
    }
}

/// Directories below `cachedir` that programs of Salt expect to be there.
const CACHE_DIRS: [&str; 5] = ["jobs", "proc", "queues", "syndics", "tokens"];

/// Directory below `pki_dir` for approvals by name.
const AUTOSIGN_DIR: &str = "minions_autosign";

fn make_dirs(settings: &Settings) -> Result<(), StartError> {
    // An admin's choice of modes for these two stays.
    make_dir("the cache directory", &settings.cachedir)?;
    make_dir("the socket directory", &settings.sock_dir)?;
    let in_cache = CACHE_DIRS.iter().map(|name| settings.cachedir.join(name));
    let private = in_cache.chain([settings.sessions_dir(), settings.pki_dir.join(AUTOSIGN_DIR)]);
    for dir in private {
        files::ensure_private_dir(&dir, None).map_err(|source| StartError::File {
            what: "the master's directories",
            source,
        })?;
    }
    Ok(())
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

fn local_keys(settings: &Settings) -> Result<LocalKeys, StartError> {
    let holders = Holders {
        configured: &settings.user,
        running: &settings.running_user,
        publisher_acl: &settings.publisher_acl,
        only_existing: settings.client_acl_verify,
        system: &system_users(),
    };
    LocalKeys::prepared_or_load(&settings.cachedir, &holders).map_err(|source| StartError::File {
        what: "the key files of local users",
        source,
    })
}

fn assemble(
    settings: Settings,
    opts: Map,
    port: PublishPort,
    bus: EventBus,
    attendance: Arc<Attendance>,
    local_keys: LocalKeys,
) -> Result<Master, StartError> {
    let keys = KeyStore::open(&settings.pki_dir, None)?;
    let identity = MasterKeys::load_or_generate(&keys, &settings.master_key_options())?;
    let publisher = Publisher::new(
        port,
        identity.private().clone(),
        PublisherSettings {
            signing: settings.publish_signing,
        },
    )?;
    if !settings.publisher_acl.is_empty() {
        let_others_enter(&settings.sock_dir).map_err(|source| StartError::File {
            what: "the socket directory for the users of publisher_acl",
            source,
        })?;
    }
    let files = FileServer::open(&settings.files).map_err(StartError::Files)?;
    let files = Arc::new(files);
    let pillars = Pillars::start(
        &opts,
        settings.worker_threads,
        halite_states::registry(),
        Arc::clone(&files),
    )
    .map_err(|error| match error {
        PillarsError::Thread(source) => StartError::Threads(source),
        error => StartError::Option {
            option: "ext_pillar",
            why: error.to_string(),
        },
    })?;
    let store = open_store(&StoreOptions::local_fs(
        &settings.cachedir,
        settings.hash_type,
    ));
    let missed = MissedJobs::open(
        &settings.cachedir.join("replay"),
        settings.job_replay_window_s,
        &store.jobs,
    )
    .map_err(StartError::Replay)?;
    let master = Master {
        accepted: AcceptedKeys::new(keys.clone()),
        autosign: Autosign::new(&settings.pki_dir, settings.autosign.clone()),
        sessions: Sessions::new(settings.sessions_dir(), settings.publish_session_s),
        bus: Bus::new(
            bus,
            Style {
                offset: true,
                event_bytes_max: settings.event_bytes_max,
            },
        ),
        jobs: store.jobs,
        job_mirror: JobMirror::default(),
        missed,
        attendance,
        tokens: Tokens::new(&settings.cachedir, settings.hash_type),
        batches: Batches::default(),
        reactor: Reactor::new(settings.reactor_rules.clone()),
        runners: Runners::new(),
        data: store.data,
        banks: store.banks,
        inbox: Inbox::new(settings.inbox.clone()),
        counters: Counters::default(),
        stats: Stats::new(settings.master_stats_every),
        jids: Mutex::default(),
        filing: Mutex::default(),
        undecided: AtomicUsize::default(),
        complaints: Mutex::default(),
        elsewhere: Mutex::default(),
        told: Mutex::default(),
        heard: Mutex::default(),
        own_jobs: Mutex::new(OwnJobs::new(
            settings.own_jobs_bytes_max,
            settings.keep_jobs,
        )),
        turns: TurnsOfMinions::default(),
        settings,
        range_server: RangeServer::from_opts(&opts),
        opts,
        keys,
        identity,
        publisher,
        files,
        pillars,
        local_keys,
    };
    master.count_undecided();
    Ok(master)
}
