//! The daemon: binds everything, puts the parts together, runs until it is
//! told to stop, and leaves nothing behind.

mod agree;
mod assemble;
mod background;
mod engines;
mod event_database;
mod event_returns;
mod hand_over;
mod health;
mod health_page;
mod highstates_page;
mod key_watch;
mod lost_events;
mod maintenance;
mod metrics_page;
mod open_files;
mod page_port;
mod places;
mod scheduler;
mod settings;
mod undecided_jobs;
mod unused_copies;
mod upkeep;

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use halite_config::MasterConfig;
use halite_metrics::pages::PagePort;
use halite_store::{Places, StoreOptions, open_with_spool};
use halite_transport::Endpoint;
use halite_transport::fleet::{LocalPublishSocket, PublishPort, RequestPort};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use self::assemble::{Opened, assemble};
use self::background::{Background, stop};
use self::hand_over::HandOver;
use self::health::Health;
use self::key_watch::watch_keys;
use self::maintenance::maintain;
use self::open_files::say_room;
use self::places::{ext_jobs, local_keys, make_dirs, places, warn_in_the_clear};
use self::settings::{Settings, TaskSettings};
use self::upkeep::Upkeep;
use crate::cluster::Cluster;
use crate::error::StartError;
use crate::fleet::attendance::Attendance;
use crate::limits::{DRAIN_MAX, HAND_OVER_LOOK, TURN_AWAY_MAX};
use crate::master::Master;
use crate::publishing::pushed::publish_pushed;
use crate::runner::{end_left_runners, left_runners};
use crate::serving::server::Server;
use crate::serving::sockets::{Bound, Marks, listen_at};
use crate::telemetry::meters::Meters;

/// Below `cachedir`: what is to be stored on a server that is away.
const WAITING_DIR: &str = "waiting";

/// A master that listens.
pub struct Daemon {
    master: Arc<Master>,
    request_port: RequestPort,
    local_publish: LocalPublishSocket,
    server: Arc<Server>,
    health: Health,
    tasks: TaskSettings,
    publish_port: PublishPort,
    marks: Marks,
    pages: Vec<PagePort>,
    has_health_page: bool,
}

impl Daemon {
    /// Checks what options mean, without touching anything.
    ///
    /// # Errors
    /// When an option cannot be used.
    pub fn check(config: &MasterConfig) -> Result<(), StartError> {
        let settings = Settings::from_config(config)?;
        let sockets = &settings.sockets;
        for port in [sockets.ret_port, sockets.publish_port] {
            listen_at(sockets, port)?;
        }
        Ok(())
    }

    /// Starts a master: it listens when this returns.
    ///
    /// # Errors
    /// When a port or socket is in use, or a key, file or directory cannot be
    /// used.
    pub fn start(config: &MasterConfig) -> Result<Self, StartError> {
        let settings = Settings::from_config(config)?;
        let places = places(&settings.general)?;
        warn_in_the_clear(&settings.general.opts);
        let started = Self::start_on(settings, &places)?;
        say_room(config.max_open_files);
        Ok(started)
    }

    /// As [`start`](Self::start), on another store than that of the
    /// configuration: a test's, which fails.
    ///
    /// # Errors
    /// As those of `start`.
    pub fn start_with_store(
        config: &MasterConfig,
        store: &StoreOptions,
    ) -> Result<Self, StartError> {
        Self::start_on(Settings::from_config(config)?, &Places::of(store.clone()))
    }

    fn start_on(mut settings: Settings, places: &Places) -> Result<Self, StartError> {
        make_dirs(&settings.general)?;
        let waiting = settings.general.own_cachedir.join(WAITING_DIR);
        let store = open_with_spool(&places.store, &waiting).map_err(StartError::Waiting)?;
        let ext_jobs = ext_jobs(&settings.general, &waiting)?;
        // Before the sockets: programs read their key when they see them.
        let local_keys = local_keys(&settings)?;
        join_cluster(&settings)?;
        let attendance = Attendance::begin(settings.cluster.is_some());
        let Bound {
            request_port,
            publish_port,
            local_publish,
            bus,
            marks,
        } = Bound::bind(
            &settings.sockets,
            &settings.general.sock_dir,
            attendance.watch(),
        )?;
        let health = Health::begin(settings.health_dir());
        // What minions are told is where they can connect.
        if let Some(port) = publish_port.endpoints().iter().find_map(Endpoint::port) {
            settings.fleet.publish_port = port;
        }
        let mesh = Arc::default();
        let mut pages: Vec<PagePort> = Vec::new();
        let has_health_page = settings.sockets.health_port.is_some();
        if let Some(port) = settings.sockets.health_port {
            let interface = &settings.sockets.interface;
            pages.push(health_page::open(interface, port, &health, &mesh)?);
        }
        let metrics = settings.metrics.clone();
        let (meters, instruments) = metrics.as_ref().map(Meters::new).unzip();
        let opened = Opened {
            publish_port: publish_port.clone(),
            bus,
            attendance,
            local_keys,
            store,
            ext_jobs,
            places: places.clone(),
            meters,
        };
        let (serving, tasks) = assemble(settings, opened)?;
        let master = Arc::clone(&serving.master);
        if let Some(cluster) = &master.cluster {
            let _ = mesh.set(cluster.mesh.clone());
        }
        let server = Server::start(serving, &request_port.replies());
        let server = Arc::new(server.map_err(StartError::Threads)?);
        if let Some((settings, instruments)) = metrics.zip(instruments) {
            let page = metrics_page::open(&settings, instruments, &master, &server)?;
            pages.push(page);
        }
        health.ready();
        tell_endpoints(request_port.endpoints(), publish_port.endpoints());
        Ok(Self {
            master,
            request_port,
            local_publish,
            server,
            health,
            tasks,
            publish_port,
            marks,
            pages,
            has_health_page,
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
            tasks,
            publish_port,
            marks,
            pages,
            has_health_page,
        } = self;
        let upkeep = Upkeep::new(marks.up().to_owned());
        let maintenance = tokio::spawn(maintain(Arc::clone(&master), health.clone(), upkeep));
        let key_watch = tokio::spawn(watch_keys(Arc::clone(&master), health.clone()));
        open(&master);
        let pages: Vec<_> = pages
            .into_iter()
            .map(|page| tokio::spawn(page.serve()))
            .collect();
        let hand_over = master.cluster.clone().map(|cluster| {
            Arc::new(HandOver {
                cluster,
                fleet: Arc::clone(&master.fleet),
                health: health.clone(),
                publish_port: publish_port.clone(),
                has_health_page,
            })
        });
        let draining = hand_over
            .clone()
            .map(|hand_over| tokio::spawn(async move { hand_over.when_asked().await }));
        let background = Background::start(&master, tasks, maintenance);
        // Requests are served until the minions are with other masters.
        let shutdown = async {
            shutdown.await;
            if let Some(hand_over) = &hand_over {
                hand_over.ask().await;
            }
        };
        tokio::select! {
            () = server.serve(&mut request_port) => tracing::error!("the request port has failed"),
            () = publish_pushed(&master.publishing, &mut local_publish) => {
                tracing::error!("the socket for publications has failed");
            }
            () = shutdown => {}
        }
        // A balancer leads nobody here from now on.
        health.end().await;
        stop(key_watch).await;
        turn_away(&server, &mut request_port).await;
        if let Some(draining) = draining {
            stop(draining).await;
        }
        drop(hand_over);
        let telling = background.stop().await;
        master.runners.registry.close();
        master.batches.close();
        drain(server).await;
        telling.finish().await;
        let deadline = Instant::now() + DRAIN_MAX;
        let left = || deadline.saturating_duration_since(Instant::now());
        let _ = timeout(left(), local_publish.close()).await;
        let _ = timeout(left(), request_port.close()).await;
        // The bus closes with it, and the handle here is the publish port's last.
        drop(master);
        let _ = timeout(left(), publish_port.close()).await;
        // To the end, so that a balancer hears that it is not ready.
        for page in pages {
            stop(page).await;
        }
        drop(marks);
    }
}

/// Joins the cluster, if this master is to be in one and is new there.
fn join_cluster(settings: &Settings) -> Result<(), StartError> {
    let Some(cluster) = &settings.cluster else {
        return Ok(());
    };
    let own_keys = settings.keys.master_keys(&settings.general.id);
    Cluster::join(&settings.general, cluster, &own_keys)
}

fn tell_endpoints(requests: &[Endpoint], publications: &[Endpoint]) {
    for endpoint in requests {
        tracing::info!("taking requests at {endpoint}");
    }
    for endpoint in publications {
        tracing::info!("publishing at {endpoint}");
    }
}

/// Opens runners and batches, and reports the end of runners that the previous process of
/// this master has left.
fn open(master: &Master) {
    let left = left_runners(&master.runners);
    master.runners.registry.open(Handle::current());
    let ended = Arc::clone(&master.runners);
    spawn_blocking(move || end_left_runners(&ended, left));
    master.batches.open(Handle::current());
}

/// Answers what minions ask, and has each look for another master then: what is asked
/// of a port that nobody serves any more is lost.
async fn turn_away(server: &Server, port: &mut RequestPort) {
    let replies = port.replies();
    port.turn_away();
    let all_gone = async {
        while replies.connections() > 0 {
            sleep(HAND_OVER_LOOK).await;
        }
    };
    let served = async {
        tokio::select! {
            () = server.serve(port) => {}
            () = all_gone => {}
        }
    };
    let _ = timeout(TURN_AWAY_MAX, served).await;
}

async fn drain(server: Arc<Server>) {
    let deadline = Instant::now() + DRAIN_MAX;
    match spawn_blocking(move || server.drain(deadline)).await {
        Ok(true) => {}
        Ok(false) => tracing::warn!("stopping before all requests are answered"),
        Err(error) => tracing::error!("could not finish the queued requests: {error}"),
    }
}
