//! Commanding minions through the master on this machine.
//!
//! The proof of who commands is the content of a key file; the command goes to
//! the master's request port in the clear, and the returns come over its event
//! bus. Invariant: the bus is connected before a command is sent, so no return
//! can be missed.

pub mod args;
mod batches;
mod caller;
mod connected;
mod error;
mod look;
mod nodegroup;
mod progress;
mod runner;
mod runner_watch;
mod session;
mod settings;
mod silence;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use halite_crypto::Secret;
use halite_key::{KeyState, KeyStore};
use halite_proto::clear::{BatchRequest, Credentials, PublishReply, PublishRequest, TokenRequest};
use halite_proto::publish::FunSpec;
use halite_proto::{Jid, Map, MinionId, Value};
use halite_target::{TargetError, range};
use halite_transport::fleet::{Requester, RequesterOptions};
use halite_transport::ipc::{ConnectError, EventSubscriber};

pub use batches::{BatchRules, BatchRun, Pinged};
pub use caller::Caller;

pub use error::ClientError;
pub use halite_gather as collect;
pub use nodegroup::{NodegroupError, Nodegroups};
pub use progress::{FleetProgress, MinionProgress, WISH};
pub use runner::{RunnerJob, RunnerNews, RunnerSession};
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

    /// What the client knows of the configuration.
    pub fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    /// Sends a command and does not wait for returns. `timeout` is how long
    /// the master has to answer.
    ///
    /// # Errors
    /// When no master answers, or it refuses. `Ok(None)`: no minion is meant.
    pub async fn publish(
        &self,
        job: &Job,
        timeout: Duration,
    ) -> Result<Option<Published>, ClientError> {
        self.check_running()?;
        let mut request = self.request(job, timeout).await?;
        // Either that, or nobody waits for the returns.
        if self.settings.master_is_ours() {
            request.say_listens();
        }
        let mut reply = self.ask(&request, timeout).await?;
        if reply == PublishReply::Nothing && self.login.is_none() {
            // The key may have changed since it was read.
            let key = self
                .caller
                .read_key(&self.settings.cachedir, &self.settings.user);
            if *key.expose() != self.key() {
                *self.key.lock().unwrap_or_else(PoisonError::into_inner) = key;
                request.credentials = self.credentials();
                reply = self.ask(&request, timeout).await?;
            }
        }
        published(reply)
    }

    /// Gives a command to the master that is to go to a few minions at a time.
    ///
    /// # Errors
    /// When no master answers, it refuses, or it does not know how.
    /// `Ok(None)`: no minion is meant.
    pub async fn publish_batch(
        &self,
        job: &Job,
        batch: &BackgroundBatch,
        timeout: Duration,
    ) -> Result<Option<Published>, ClientError> {
        self.check_running()?;
        // A master of Salt would log the question as an error.
        if !self.settings.master_is_ours() {
            return Err(no_batches());
        }
        let request = BatchRequest {
            publish: self.request(job, timeout).await?,
            size: batch.size.clone(),
            wait_s: batch.wait.as_secs_f64(),
            failhard: batch.failhard,
        };
        let reply = self.ask_clear(request.to_map(), timeout).await?;
        match PublishReply::from_value(reply).map_err(ClientError::ReplyFields)? {
            // What a master of Salt says to what it does not know.
            PublishReply::Nothing => Err(no_batches()),
            reply => published(reply),
        }
    }

    /// Sends a command and waits for the returns, `timeout` for each sign of
    /// life.
    ///
    /// # Errors
    /// When no master answers, or it refuses. `Ok(None)`: no minion is meant.
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

    /// Asks some minions whether they work on the job; the job that asks, or
    /// nothing where nobody could be asked.
    async fn ask_working(&self, jid: &Jid, minions: &[String]) -> Option<Jid> {
        let (pki_dir, place) = (
            self.settings.keys_dir.clone(),
            self.settings.places.keys.clone(),
        );
        let minions = minions.to_vec();
        let accepted = blocking(move || {
            let keys = KeyStore::open_existing_at(&pki_dir, place.as_ref()).ok();
            minions
                .into_iter()
                .filter(|id| is_accepted(keys.as_ref(), id))
                .map(Value::from)
                .collect::<Vec<_>>()
        })
        .await;
        if accepted.is_empty() {
            return None;
        }
        let job = Job {
            target: Value::List(accepted),
            target_kind: "list".to_owned(),
            function: FunSpec::One("saltutil.find_job".to_owned()),
            arguments: vec![Value::from(jid)],
            returners: String::new(),
            options: Map::from([("delimiter", ":")]),
            jid: None,
        };
        let timeout = self.settings.gather_job_timeout;
        let reply = match self.request(&job, timeout).await {
            Ok(request) => self.ask(&request, timeout).await,
            Err(error) => Err(error),
        };
        match reply.and_then(published) {
            Ok(published) => published.map(|published| published.jid),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "could not ask who is still working on the job");
                None
            }
        }
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

    async fn request(&self, job: &Job, timeout: Duration) -> Result<PublishRequest, ClientError> {
        let nodegroups = Nodegroups {
            groups: &self.settings.nodegroups,
            file: &self.settings.conf_file,
        };
        let (target, kind) = match (job.target_kind.as_str(), &job.target) {
            ("nodegroup", Value::Str(name)) => (nodegroups.expand(name)?.into(), "compound"),
            ("compound", Value::Str(text)) => (nodegroups.expand_in(text)?.into(), "compound"),
            ("range", Value::Str(expression)) => {
                let server = self.settings.range_server.clone();
                let expression = expression.clone();
                let hosts = blocking(move || server.expand(&expression)).await?;
                (
                    Value::List(hosts.into_iter().map(Value::from).collect()),
                    "list",
                )
            }
            (kind, target) => (target.clone(), kind),
        };
        // Minions need not know the server.
        let target = match &target {
            Value::Str(text) if kind == "compound" && range::is_in(text) => {
                let server = self.settings.range_server.clone();
                let compound = text.clone();
                let written = blocking(move || range::write_out(&compound, &server)).await;
                let failed = |error: TargetError| ClientError::RangeWithin(error.render(text));
                written.map_err(failed)?.into()
            }
            _ => target,
        };
        let mut returners = job.returners.clone();
        if !self.settings.ext_job_cache.is_empty() {
            if !returners.is_empty() {
                returners.push(',');
            }
            returners.push_str(&self.settings.ext_job_cache);
        }
        let to = self
            .settings
            .syndic_wait
            .map(|_| Value::from(timeout.as_secs()));
        Ok(PublishRequest {
            tgt: target,
            tgt_type: kind.to_owned(),
            fun: job.function.clone(),
            arg: job.arguments.clone(),
            credentials: self.credentials(),
            ret: returners,
            jid: job.jid.clone(),
            kwargs: job.options.clone(),
            user: Some(self.caller.name.clone()),
            to,
            extra: Map::new(),
        })
    }

    async fn ask(
        &self,
        request: &PublishRequest,
        timeout: Duration,
    ) -> Result<PublishReply, ClientError> {
        let reply = self.ask_clear(request.to_map(), timeout).await?;
        PublishReply::from_value(reply).map_err(ClientError::ReplyFields)
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

/// Only ids with accepted keys can be asked. Who may not see the keys asks
/// everyone.
fn is_accepted(keys: Option<&KeyStore>, id: &str) -> bool {
    let Ok(id) = MinionId::parse(id) else {
        return false;
    };
    let version = |keys: &KeyStore| keys.version(KeyState::Accepted, &id);
    keys.is_none_or(|keys| version(keys).map_or(true, |version| version.is_some()))
}

fn no_batches() -> ClientError {
    let why = "this master cannot run batches by itself; run them without --async";
    ClientError::Refused(why.to_owned())
}

fn published(reply: PublishReply) -> Result<Option<Published>, ClientError> {
    match reply {
        PublishReply::Accepted {
            jid,
            minions,
            missing,
            is_ours,
            trouble,
        } => {
            if let Some(trouble) = trouble {
                tracing::warn!("{trouble}");
            }
            tracing::debug!(%jid, minions = minions.len(), "the job is published");
            Ok(Some(Published {
                jid,
                minions: minions.into_iter().map(String::from).collect(),
                missing,
                master_is_ours: is_ours,
            }))
        }
        PublishReply::NoMinions { error } => {
            tracing::debug!(error, "the master found nobody");
            Ok(None)
        }
        PublishReply::Denied(error) => Err(ClientError::Denied(error.message)),
        PublishReply::Error(text) => Err(ClientError::Refused(text)),
        PublishReply::Refused(refusal) => Err(ClientError::Refused(halite_proto::python::str(
            &refusal.to_value(),
        ))),
        PublishReply::Nothing => Err(ClientError::Nothing),
    }
}
