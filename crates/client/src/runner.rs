//! Functions of the master: runners, started by a request and followed on its
//! event bus, and wheel functions, whose answer comes at once.

use std::time::{Duration, Instant};

use halite_proto::clear::{Credentials, LowRequest};
use halite_proto::envelope::RequestEnvelope;
use halite_proto::event::{Event, is_trimmed, may_be_trimmed};
use halite_proto::msgpack::unpack_wire;
use halite_proto::{Jid, Map, Value};
use halite_transport::ipc::{BusEvent, EventSubscriber};

use super::bus_news::{BACK_WITHIN, BusNews, RECONNECT_PAUSE, next_event};
use super::runner_watch::{self, LOOK_EVERY, RunnerWatch};
use super::session::CACHE_TRIES_MAX;
use super::{ClientError, ClientSettings, LocalClient, blocking};

/// A runner to start.
#[derive(Clone, Debug)]
pub struct RunnerJob {
    /// The function.
    pub fun: String,
    /// Its arguments by position.
    pub args: Vec<Value>,
    /// Its arguments by name.
    pub kwargs: Map,
    /// The job id to use.
    pub jid: Option<Jid>,
    /// How long the function is to wait for minions.
    pub timeout: Option<i64>,
}

/// What a runner tells.
#[derive(Clone, Debug)]
pub enum RunnerNews {
    /// Something before its end: the last part of the tag, and the event.
    Progress(String, Map),
    /// It has ended.
    Done(Map),
}

/// How a runner has ended.
#[derive(Clone, Debug)]
pub enum RunnerEnd {
    /// What its last event says, as it came.
    Event(BusEvent),
    /// What the job cache has of it.
    Kept(Map),
}

/// What is heard of a runner.
enum Heard {
    /// An event, and the last part of its tag.
    Event(String, BusEvent),
    /// It has ended, and this is what the job cache has of it.
    Kept(Map),
}

/// What its last event is called.
const END: &str = "ret";

/// A runner that was started.
pub struct RunnerSession<'a> {
    settings: &'a ClientSettings,
    /// The job.
    pub jid: Jid,
    /// What its events are under.
    pub tag: String,
    bus: Option<EventSubscriber>,
    /// Events that overtook the master's answer.
    early: Vec<BusEvent>,
    /// When a bus that is away means that the master is gone.
    gone_at: Option<Instant>,
    /// Kept where the runner may end without a word.
    watch: Option<RunnerWatch>,
    next_look: Instant,
}

/// The beginning of the tags of all runners.
const TAGS: &str = "salt/run/";

/// Events that are kept while the master's answer is awaited; a busy bus has
/// more, but not under these tags.
const EARLY_MAX: usize = 4096;

impl LocalClient {
    /// Starts a runner.
    ///
    /// # Errors
    /// When no master answers, or it refuses.
    pub async fn start_runner(
        &self,
        job: &RunnerJob,
        timeout: Duration,
    ) -> Result<RunnerSession<'_>, ClientError> {
        self.check_running()?;
        let mut bus = EventSubscriber::connect(&self.settings.event_pub)
            .await
            .map_err(|source| ClientError::Bus { source })?;
        let mut early = Vec::new();
        let reply = {
            let asking = self.ask_runner(job, timeout);
            tokio::pin!(asking);
            loop {
                tokio::select! {
                    reply = &mut asking => break reply?,
                    event = bus.next() => match event {
                        Ok(Some(event)) => {
                            if event.tag().starts_with(TAGS) && early.len() < EARLY_MAX {
                                early.push(event);
                            }
                        }
                        Ok(None) | Err(_) => return Err(ClientError::Lost),
                    }
                }
            }
        };
        let text = |name: &str| reply.get(name).and_then(Value::as_str);
        let jid = text("jid").and_then(|jid| Jid::parse(jid).ok());
        let (Some(jid), Some(tag)) = (jid, text("tag")) else {
            return Err(refused(&reply));
        };
        Ok(RunnerSession {
            settings: &self.settings,
            jid,
            tag: tag.to_owned(),
            bus: Some(bus),
            early,
            gone_at: None,
            watch: (!self.settings.master_is_ours()).then(RunnerWatch::default),
            next_look: Instant::now() + LOOK_EVERY,
        })
    }

    async fn ask_runner(&self, job: &RunnerJob, timeout: Duration) -> Result<Value, ClientError> {
        let low = Map::from([
            ("arg", Value::List(job.args.clone())),
            ("kwarg", job.kwargs.clone().into()),
        ]);
        let mut fields = Map::from([("kwarg", low)]);
        if let Some(jid) = &job.jid {
            fields.insert("jid", jid);
        }
        if let Some(timeout) = job.timeout {
            fields.insert("timeout", timeout);
        }
        let request = LowRequest {
            fun: Some(job.fun.clone()),
            credentials: self.credentials(),
            user: Some(self.caller.name.clone()),
            fields,
        };
        self.ask_clear(request.to_map("runner"), timeout).await
    }

    /// Runs a wheel function with arguments by name; what it returns.
    ///
    /// # Errors
    /// When no master answers, it refuses, or the function fails.
    pub async fn wheel(
        &self,
        fun: &str,
        kwargs: Map,
        timeout: Duration,
    ) -> Result<Value, ClientError> {
        let reply = self.wheel_reply(fun, kwargs, timeout).await?;
        let data = reply.get("data").and_then(Value::as_map);
        let Some(data) = data else {
            return Err(refused(&reply));
        };
        let ret = data.get("return").cloned().unwrap_or_default();
        match data.get("success") {
            Some(Value::Bool(true)) => Ok(ret),
            _ => Err(ClientError::Refused(halite_proto::python::str(&ret))),
        }
    }

    /// Runs a wheel function with arguments by name; the whole answer: its tag,
    /// and what was done and returned as its data.
    ///
    /// # Errors
    /// When no master answers, or it refuses.
    pub async fn wheel_reply(
        &self,
        fun: &str,
        kwargs: Map,
        timeout: Duration,
    ) -> Result<Value, ClientError> {
        let request = LowRequest {
            fun: Some(fun.to_owned()),
            credentials: self.credentials(),
            user: None,
            fields: kwargs,
        };
        let reply = self.ask_clear(request.to_map("wheel"), timeout).await?;
        match reply.get("error") {
            Some(_) => Err(refused(&reply)),
            None => Ok(reply),
        }
    }

    /// The proofs that go with a request: how the user has logged in, else the
    /// key.
    pub(super) fn credentials(&self) -> Credentials {
        match &self.login {
            Some(login) => login.clone(),
            None => Credentials {
                key: Some(self.key()),
                ..Credentials::default()
            },
        }
    }

    /// Sends a load in the clear; the answer as it comes.
    pub(super) async fn ask_clear(
        &self,
        load: Map,
        timeout: Duration,
    ) -> Result<Value, ClientError> {
        let packed = RequestEnvelope::clear(load)
            .encode()
            .map_err(ClientError::TooLarge)?;
        let reply = self.requester.request(packed, timeout).await?;
        unpack_wire(&reply).map_err(ClientError::Reply)
    }
}

/// Why the master did not start it.
fn refused(reply: &Value) -> ClientError {
    let error = reply.get("error");
    let part = |name: &str| {
        let part = error.and_then(|error| error.get(name));
        part.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (name, message) = (part("name"), part("message"));
    match (name.as_str(), message.is_empty()) {
        (_, true) => ClientError::Refused(halite_proto::python::str(reply)),
        (name, false) if name.ends_with("AuthenticationError") => ClientError::Denied(message),
        _ => ClientError::Refused(message),
    }
}

/// Waits for a moment, or for ever where there is none.
async fn reached(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

impl RunnerSession<'_> {
    /// What it tells next.
    ///
    /// # Errors
    /// When the master goes away and does not come back.
    pub async fn next(&mut self) -> Result<RunnerNews, ClientError> {
        loop {
            let (suffix, event) = match self.heard().await? {
                Heard::Kept(data) => return Ok(RunnerNews::Done(data)),
                Heard::Event(suffix, event) => (suffix, event),
            };
            let Ok(Event { data, .. }) = event.unpack() else {
                continue;
            };
            return match suffix.as_str() {
                END => Ok(RunnerNews::Done(self.untrimmed(data).await?)),
                _ => Ok(RunnerNews::Progress(suffix, data)),
            };
        }
    }

    /// How it ends, for somebody whom nothing before that concerns.
    ///
    /// # Errors
    /// When the master goes away and does not come back.
    pub async fn end(&mut self) -> Result<RunnerEnd, ClientError> {
        loop {
            match self.heard().await? {
                Heard::Kept(data) => return Ok(RunnerEnd::Kept(data)),
                Heard::Event(suffix, event) if suffix == END => {
                    if !may_be_trimmed(event.data()) {
                        return Ok(RunnerEnd::Event(event));
                    }
                    if let Ok(Event { data, .. }) = event.unpack() {
                        return Ok(RunnerEnd::Kept(self.untrimmed(data).await?));
                    }
                }
                Heard::Event(..) => {}
            }
        }
    }

    async fn heard(&mut self) -> Result<Heard, ClientError> {
        loop {
            if !self.early.is_empty() {
                let event = self.early.remove(0);
                if let Some(suffix) = self.suffix(&event) {
                    return Ok(Heard::Event(suffix, event));
                }
                continue;
            }
            // On a busy bus events never end.
            let next_look = self.watch.is_some().then_some(self.next_look);
            let news = tokio::select! {
                biased;
                () = reached(next_look) => None,
                news = next_event(&mut self.bus, &self.settings.event_pub) => Some(news),
                () = reached(self.gone_at) => return Err(ClientError::RunnersMaster),
            };
            match news {
                Some(BusNews::Event(event)) => {
                    if let Some(suffix) = self.suffix(&event) {
                        if let Some(watch) = &mut self.watch {
                            watch.heard();
                        }
                        return Ok(Heard::Event(suffix, event));
                    }
                }
                Some(BusNews::Lost) => self.gone_at = Some(Instant::now() + BACK_WITHIN),
                Some(BusNews::Back) => {
                    self.gone_at = None;
                    // A master that was restarted has ended it.
                    self.watch.get_or_insert_default().heard();
                    if let Some(data) = self.kept().await {
                        return Ok(Heard::Kept(data));
                    }
                }
                None => {
                    self.next_look = Instant::now() + LOOK_EVERY;
                    if self.is_lost() {
                        let kept = self.kept().await.map(Heard::Kept);
                        return kept.ok_or(ClientError::RunnerLost);
                    }
                }
            }
        }
    }

    /// Whether it has ended, for all that can be seen, without a word.
    fn is_lost(&mut self) -> bool {
        let is_there = runner_watch::is_there(&self.settings.cachedir, &self.jid);
        match (&mut self.watch, is_there) {
            (Some(watch), Some(is_there)) => watch.is_lost(Instant::now(), is_there),
            _ => false,
        }
    }

    /// What its events have in their tags behind its own.
    fn suffix(&self, event: &BusEvent) -> Option<String> {
        let rest = event.tag().strip_prefix(self.tag.as_str())?;
        rest.strip_prefix('/').map(str::to_owned)
    }

    /// What it has returned as the job cache has it, where that was too large
    /// for an event.
    async fn untrimmed(&mut self, data: Map) -> Result<Map, ClientError> {
        if !data.get("return").is_some_and(is_trimmed) {
            return Ok(data);
        }
        // Salt's masters tell of it before they have kept it.
        for _ in 0..CACHE_TRIES_MAX {
            if let Some(kept) = self.kept().await {
                return Ok(kept);
            }
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
        Err(ClientError::TrimmedOnly)
    }

    /// What was kept of the runner while the bus was away.
    async fn kept(&mut self) -> Option<Map> {
        let (settings, jid) = (self.settings.clone(), self.jid.clone());
        let returns = blocking(move || settings.store().jobs.returns(&jid)).await;
        let (_, stored) = returns.ok()?.into_iter().next()?;
        stored.ret().as_map().cloned()
    }
}
