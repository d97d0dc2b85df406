//! Commands minions through the master on this machine.
//!
//! The content of a key file proves the caller; the command goes to the master's
//! request port in the clear, and the returns come over its event bus. Invariant:
//! the bus is connected before a command is sent, so no return can be missed.

pub mod args;
mod batches;
mod bus_news;
mod caller;
mod connected;
mod error;
mod look;
mod nodegroup;
mod progress;
mod publishing;
mod runner;
mod runner_watch;
mod session;
mod settings;
mod silence;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use halite_crypto::Secret;
use halite_proto::clear::{Credentials, LogOutRequest, TokenRequest};
use halite_proto::publish::FunSpec;
use halite_proto::{Jid, Map, Value};
use halite_transport::fleet::{Requester, RequesterOptions};
use halite_transport::ipc::{ConnectError, EventSubscriber};

pub use batches::{BatchRules, BatchRun, Pinged};
pub use caller::Caller;

pub use error::ClientError;
pub use halite_gather as collect;
pub use nodegroup::{NodegroupError, Nodegroups};
pub use progress::{FleetProgress, MinionProgress, WISH};
pub use runner::{RunnerEnd, RunnerJob, RunnerNews, RunnerSession};
pub use session::{Report, Session};
pub use settings::{ClientSettings, SettingsError};

/// A command for minions.
#[derive(Clone, Debug)]
pub struct Job {
    /// The target: text, or a list of ids.
    pub target: Value,
    /// The kind of target.
    pub target_kind: String,
    /// The function or functions.
    pub function: FunSpec,
    /// The arguments.
    pub arguments: Vec<Value>,
    /// Returners, separated by commas.
    pub returners: String,
    /// Options that go along, by Salt's names.
    pub options: Map,
    /// The job id to use.
    pub jid: Option<Jid>,
}

/// How a master cuts a command into batches by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundBatch {
    /// How many minions at a time: `10`, `25%`.
    pub size: String,
    /// How long a place is kept free behind a return.
    pub wait: Duration,
    /// A failure ends it.
    pub failhard: bool,
}

/// A command that the master has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The job.
    pub jid: Jid,
    /// Who should return.
    pub minions: Vec<String>,
    /// Who was named and is not known.
    pub missing: Vec<String>,
    /// Whether the master has said that it is one of Halite.
    pub master_is_ours: bool,
}

/// The way to the master of this machine.
pub struct LocalClient {
    settings: ClientSettings,
    caller: Caller,
    key: Mutex<Secret<String>>,
    /// How the user has logged in, where that is shown instead of the key.
    login: Option<Credentials>,
    requester: Requester,
    places: FleetProgress,
}

impl LocalClient {
    /// Makes a client; nothing is connected before it is needed.
    pub fn new(settings: ClientSettings, caller: Caller) -> Self {
        let key = caller.read_key(&settings.cachedir, &settings.user);
        let options = RequesterOptions {
            transport: settings.transport,
            ..RequesterOptions::default()
        };
        let requester = Requester::connect(settings.master.clone(), options);
        Self {
            settings,
            caller,
            key: Mutex::new(key),
            login: None,
            requester,
            places: FleetProgress::default(),
        }
    }

    /// A client of a program that acts for others: it shows no key, so that a
    /// command without a login is one without rights.
    pub fn without_key(settings: ClientSettings, caller: Caller) -> Self {
        let options = RequesterOptions {
            transport: settings.transport,
            ..RequesterOptions::default()
        };
        let requester = Requester::connect(settings.master.clone(), options);
        Self {
            settings,
            caller,
            key: Mutex::new(Secret::default()),
            login: Some(Credentials::default()),
            requester,
            places: FleetProgress::default(),
        }
    }

    /// The same way to the master for somebody who has logged in; connections
    /// are shared.
    #[must_use]
    pub fn for_login(&self, login: Credentials) -> Self {
        Self {
            settings: self.settings.clone(),
            caller: self.caller.clone(),
            key: Mutex::new(Secret::default()),
            login: Some(login),
            requester: self.requester.clone(),
            places: FleetProgress::default(),
        }
    }

    /// How far the state runs of its jobs are, where minions tell.
    pub fn places(&self) -> FleetProgress {
        self.places.clone()
    }

    /// Shows these proofs from now on, or the key.
    pub fn log_in(&mut self, login: Option<Credentials>) {
        self.login = login;
    }

    fn key(&self) -> String {
        let key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        key.expose().clone()
    }

    /// Whether the key could be read.
    pub fn has_key(&self) -> bool {
        !self.key().is_empty()
    }

    /// The user, as the master is told.
    pub fn caller_name(&self) -> &str {
        &self.caller.name
    }

    /// The events of the master's bus from now on.
    ///
    /// # Errors
    /// When no master runs here.
    pub async fn events(&self) -> Result<EventSubscriber, ClientError> {
        self.check_running()?;
        EventSubscriber::connect(&self.settings.event_pub)
            .await
            .map_err(|source| ClientError::Bus { source })
    }

    /// Asks for a token; what it stands for, or an empty text.
    ///
    /// # Errors
    /// When no master answers.
    pub async fn ask_token(&self, request: &TokenRequest) -> Result<Value, ClientError> {
        self.check_running()?;
        let timeout = self.settings.timeout.max(self.settings.publish_timeout);
        self.ask_clear(request.to_map(), timeout).await
    }

    /// What a token stands for: nothing if it is none, or too old.
    ///
    /// # Errors
    /// When no master answers.
    pub async fn token_data(&self, token: &str) -> Result<Value, ClientError> {
        self.check_running()?;
        let load = Map::from([("cmd", "get_token"), ("token", token)]);
        self.ask_clear(load, self.settings.timeout).await
    }

    /// Has a token ended, at the other masters of its cluster too. False if the master does
    /// not know the token, or is one of Salt, which cannot be asked.
    ///
    /// # Errors
    /// When no master answers.
    pub async fn log_out(&self, token: &str) -> Result<bool, ClientError> {
        self.check_running()?;
        let settings = self.settings.clone();
        if !blocking(move || settings.master_is_ours()).await {
            return Ok(false);
        }
        let load = LogOutRequest::load(token);
        let answer = self.ask_clear(load, self.settings.timeout).await?;
        Ok(LogOutRequest::has_ended(&answer))
    }

    /// What the client knows of the configuration.
    pub fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    /// Sends a command and waits for the returns, `timeout` for each sign of
    /// life.
    ///
    /// # Errors
    /// When no master answers, or it refuses. `Ok(None)`: the target matches no minion.
    pub async fn start(
        &self,
        job: &Job,
        timeout: Duration,
    ) -> Result<Option<Session<'_>>, ClientError> {
        self.check_running()?;
        let bus = match EventSubscriber::connect(&self.settings.event_pub).await {
            Ok(bus) => Some(bus),
            // Users of `publisher_acl` may not hear everybody's events: the
            // master is asked for the returns of their own jobs.
            Err(ConnectError::Denied { .. }) => None,
            Err(source) => return Err(ClientError::Bus { source }),
        };
        // A login may take its time: a module of PAM, a slow answer to a wrong
        // password. How much of it, who logs in does not say.
        let patience = match &self.login {
            Some(_) => self.settings.timeout.max(self.settings.publish_timeout),
            None => timeout,
        };
        let Some(published) = self.publish(job, patience).await? else {
            return Ok(None);
        };
        Ok(Some(Session::new(self, bus, published, timeout)))
    }

    /// Whether there is a sign of a master on this machine.
    ///
    /// # Errors
    /// When there is none, or it cannot be seen.
    pub fn check_running(&self) -> Result<(), ClientError> {
        if self.settings.ipc_is_tcp {
            return Ok(());
        }
        let sock_dir = || self.settings.sock_dir.clone();
        match self.settings.running_mark().try_exists() {
            Ok(true) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                Err(ClientError::Hidden {
                    user: self.caller.name.clone(),
                    sock_dir: sock_dir(),
                })
            }
            Ok(false) | Err(_) => Err(ClientError::NotRunning {
                sock_dir: sock_dir(),
            }),
        }
    }
}

/// Does what waits for files or a server where it holds up nobody else.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and this with it.
            Err(_) => std::future::pending().await,
        },
    }
}
