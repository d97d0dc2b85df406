//! The state that all requests share, and its use.

use std::sync::{Arc, Mutex, PoisonError};

use halite_client::{Caller, ClientSettings, LocalClient};
use halite_config::MasterConfig;
use halite_metrics::Instruments;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use super::Peer;
use super::stats::Stats;
use crate::error::ServeError;
use crate::events::Events;
use crate::fault::Fault;
use crate::limits::{
    BODY_SMALL, LARGE_BODIES_BYTES_MAX, LARGE_BODIES_PER_ORIGIN_MAX, LOGINS_MAX,
    LOGINS_PER_ORIGIN_MAX, STREAMS_MAX, STREAMS_PER_USER_MAX, TOKENS_ASKED_MAX, UNPROVEN_PART,
};
use crate::low::Runner;
use crate::masters::Masters;
use crate::meters::{self, Gauge, Meters};
use crate::sessions::Sessions;
use crate::settings::ApiSettings;
use crate::slots::{Holder, Shares, Slots};
use crate::throttle::Throttle;

/// Everything that requests share.
pub struct App {
    pub(super) settings: Arc<ApiSettings>,
    pub(super) runner: Runner,
    pub(super) sessions: Sessions,
    pub(super) throttle: Throttle,
    pub(super) events: Events,
    pub(super) masters: Arc<Masters>,
    /// A place for each command that may run.
    pub(super) commands: Slots,
    /// Those of them for commands with a password.
    pub(super) unproven: Slots,
    /// Logins that the master is asked about.
    pub(super) logins: Shares,
    /// Tokens that the master is asked about.
    pub(super) tokens: Semaphore,
    /// Room for large bodies without a session, in parts of [`BODY_SMALL`] bytes.
    pub(super) large_bodies: Semaphore,
    /// What each address has of these bodies.
    pub(super) large_body_shares: Shares,
    /// A place for each stream of events, by user.
    pub(super) streams: Shares<Holder>,
    pub(super) stats: Stats,
    pub(super) meters: Option<Meters>,
    /// The page of metrics, until it is served.
    pub(super) instruments: Mutex<Option<Instruments>>,
    pub(super) ending: watch::Sender<bool>,
}

impl App {
    /// Makes the API of a configuration. Runs within a runtime: it begins to
    /// listen to the master's events.
    ///
    /// # Errors
    /// When the configuration has a mistake.
    pub fn new(config: &MasterConfig) -> Result<Self, ServeError> {
        let settings = ApiSettings::new(config).map_err(|mistake| {
            ServeError::Settings(format!("{}: {}", mistake.option, mistake.why))
        })?;
        let settings = Arc::new(settings);
        let client = || -> Result<LocalClient, ServeError> {
            let to_master = ClientSettings::from_opts(config.opts())?;
            Ok(LocalClient::without_key(to_master, Caller::current(None)))
        };
        let (meters, instruments) = settings.metrics.as_ref().map(Meters::new).unzip();
        let events = Events::listen(client()?);
        let masters = Masters::new(&settings, client()?, &events)?;
        Ok(Self {
            runner: Runner {
                client: client()?,
                masters: Arc::clone(&masters),
                settings: Arc::clone(&settings),
            },
            sessions: Sessions::default(),
            throttle: Throttle::new(settings.login_failures_max),
            events,
            masters,
            commands: Slots::new(settings.commands_max),
            unproven: Slots::new(settings.commands_max / UNPROVEN_PART),
            logins: Shares::new(LOGINS_PER_ORIGIN_MAX, LOGINS_MAX),
            tokens: Semaphore::new(TOKENS_ASKED_MAX),
            large_bodies: Semaphore::new(
                LARGE_BODIES_BYTES_MAX
                    .max(settings.body_bytes_max)
                    .div_ceil(BODY_SMALL),
            ),
            large_body_shares: Shares::new(LARGE_BODIES_PER_ORIGIN_MAX, usize::MAX),
            streams: Shares::new(STREAMS_PER_USER_MAX, STREAMS_MAX),
            stats: Stats::default(),
            meters,
            instruments: Mutex::new(instruments),
            ending: watch::Sender::new(false),
            settings,
        })
    }

    /// The settings.
    pub fn settings(&self) -> &ApiSettings {
        &self.settings
    }

    /// Serves the page of metrics, where one is asked for, until the task is ended.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub(crate) fn serve_metrics(self: &Arc<Self>) -> Result<Option<JoinHandle<()>>, ServeError> {
        let mut kept = self
            .instruments
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match (&self.settings.metrics, kept.take()) {
            (Some(settings), Some(on)) => meters::serve(settings, on, self.gauges()).map(Some),
            _ => Ok(None),
        }
    }

    /// The gauges that are read whenever the metrics page is requested.
    fn gauges(self: &Arc<Self>) -> Vec<Gauge> {
        let gauge = |name, help, read: fn(&Self) -> usize| -> Gauge {
            let app = Arc::downgrade(self);
            let read = move || app.upgrade().map_or(0, |app| read(&app));
            (name, help, Box::new(read))
        };
        vec![
            gauge("halite.api.sessions", "Sessions", Self::sessions_now),
            gauge(
                "halite.api.event_streams",
                "Streams of events",
                Self::streams_now,
            ),
            gauge(
                "halite.api.events.kept_bytes",
                "Bytes of the events kept for slow streams",
                Self::event_bytes_kept,
            ),
            gauge(
                "halite.api.bus.connected",
                "Whether the event bus of the master is connected",
                |app| usize::from(app.events.are_heard()),
            ),
            gauge(
                "halite.api.commands.running",
                "Commands that run or wait to run",
                |app| app.commands.taken(),
            ),
            gauge(
                "halite.api.masters.away",
                "Masters that cannot be reached",
                Self::masters_away,
            ),
        ]
    }

    /// Sessions that there are.
    pub(crate) fn sessions_now(&self) -> usize {
        self.sessions.len()
    }

    /// Streams of events that are open.
    pub(crate) fn streams_now(&self) -> usize {
        self.streams.taken()
    }

    /// Bytes of the events that are kept for streams.
    fn event_bytes_kept(&self) -> usize {
        self.events.kept_bytes() + self.masters.event_bytes_kept()
    }

    /// Masters that are known to be away.
    pub(crate) fn masters_away(&self) -> usize {
        self.masters.away_count()
    }

    /// Whether other masters have a part in the answer to somebody.
    pub(super) fn has_others(&self, peer: Peer) -> bool {
        !peer.is_relayed && !self.masters.is_alone()
    }

    /// Begins to look which masters can be reached.
    pub(crate) fn begin_looking(&self) {
        self.masters.begin_looking();
    }

    /// Tells another API at once that the master cannot be reached, instead of letting it
    /// wait.
    pub(super) async fn check_relayed(&self, peer: Peer) -> Result<(), Fault> {
        match peer.is_relayed && !self.masters.own_was_there().await {
            true => Err(Fault::untouched()),
            false => Ok(()),
        }
    }

    /// Ends all streams of events.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }
}
