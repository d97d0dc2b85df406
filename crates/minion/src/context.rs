//! The minion as the functions of a job see it. Functions run on job threads,
//! so every call here may block.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use halite_call::{
    Ahead, Commander, ContextError, Daemon, Files, Jobs, LocalBus, MasterBus, MinionContext,
    PillarRequest, Recall, Refresh, Registry, Runners, Upstream,
};
use halite_proto::request::{HeldFile, MinionRequest};
use halite_proto::{Jid, Map, Value};
use halite_transport::fleet::RequestError;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tracing::debug;

use crate::channel::{Channel, ChannelError};
use crate::core::link::Phase;
use crate::core::sign_in::chain;
use crate::daemon_bus;
use crate::limits::{OTHERS_ANSWER_WAIT, OTHERS_SIGN_IN_WAIT};
use crate::line::{FirstMaster, InLine, Line, Wish};
use crate::managed::Answer;
use crate::pillar;
use crate::state::{Master, Minion};

/// How long `status.ping_master` waits.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// Which masters the requests of a job go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The one that published the job; while that is gone, any live one for
    /// files and pillar.
    Bound(usize),
    /// This one while it answers, else any live one (`salt-call`).
    Prefer(usize),
    /// Any live one in turn (what the minion does of its own accord).
    Any,
}

/// What is told to every master, and who has it.
#[derive(Debug, Default)]
pub(crate) struct Round {
    told: Mutex<BTreeSet<usize>>,
}

impl Round {
    /// Whether the master has answered for it.
    pub(crate) fn has(&self, master: usize) -> bool {
        self.told().contains(&master)
    }

    /// The master has it.
    pub(crate) fn note(&self, master: usize) {
        self.told().insert(master);
    }

    fn told(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The minion, as one job sees it.
pub(crate) struct JobContext {
    minion: Arc<Minion>,
    route: Route,
    /// What was found out about the master that comes first.
    first: Arc<FirstMaster>,
    /// What every master is told goes to those that have not had it yet.
    round: Option<Arc<Round>>,
}

impl JobContext {
    /// The context of a job.
    pub(crate) fn new(minion: Arc<Minion>, route: Route) -> Self {
        Self {
            minion,
            route,
            first: Arc::default(),
            round: None,
        }
    }

    /// Every master that has not had it yet is told, and who has it is noted.
    pub(crate) fn within(mut self, round: &Arc<Round>) -> Self {
        self.round = Some(Arc::clone(round));
        self
    }

    /// The master that has published this job.
    fn asker(&self) -> Option<&str> {
        let Route::Bound(master) = self.route else {
            return None;
        };
        let master = self.minion.masters.get(master);
        master.map(|master| master.name.as_str())
    }

    /// The masters a request of this job may go to, best first. What is only
    /// read any master may answer.
    fn order(&self, reads: bool) -> Vec<usize> {
        let first = match self.route {
            Route::Bound(master) if !reads => return vec![master],
            Route::Bound(first) | Route::Prefer(first) => first,
            Route::Any => return self.minion.turn(),
        };
        let mut order = vec![first];
        order.extend(self.minion.turn().into_iter().filter(|&m| m != first));
        let is_ready = |master: &usize| {
            self.minion
                .masters
                .get(*master)
                .is_some_and(Master::is_ready)
        };
        if is_ready(&first) {
            self.first.gone.store(false, Ordering::Relaxed);
        } else if self.first.gone.load(Ordering::Relaxed) {
            order.sort_by_key(|master| !is_ready(master));
        }
        if self.first.silent.load(Ordering::Relaxed) {
            order.sort_by_key(|master| *master == first);
        }
        order
    }

    /// Asks one master after the other until one answers.
    fn ask<T, F>(
        &self,
        reads: bool,
        once: impl FnMut(Channel) -> F + Send + 'static,
    ) -> Result<T, ContextError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ChannelError>> + Send + 'static,
    {
        let asked = self.line(reads).ask(once);
        self.minion.wait(asked).ok_or_else(stopping)?
    }

    /// Who is asked, and in which order.
    fn line(&self, reads: bool) -> Line {
        Line::new(
            Arc::clone(&self.minion),
            self.order(reads),
            reads || !matches!(self.route, Route::Bound(_)),
            Arc::clone(&self.first),
        )
    }

    /// Asks every master that is signed in, all at the same time. A job has
    /// its answer when its own master has given one: others may hang.
    fn ask_every(&self, load: &Map) -> Result<Value, ContextError> {
        let (minion, route) = (Arc::clone(&self.minion), self.route);
        let (load, round) = (load.clone(), self.round.clone());
        let asked = async move {
            if matches!(route, Route::Prefer(_)) {
                others_signed_in(&minion).await;
            }
            let mut asked = Vec::new();
            for (index, master) in minion.masters.iter().enumerate() {
                let has_it = round.as_ref().is_some_and(|round| round.has(index));
                if has_it || !master.channel.is_signed_in() {
                    continue;
                }
                let (channel, load) = (master.channel.clone(), load.clone());
                let (patience, round) = (minion.patience, round.clone());
                let answer = tokio::spawn(async move {
                    let answer = channel.request(load, patience).await;
                    if let (Some(round), Ok(_)) = (round, &answer) {
                        round.note(index);
                    }
                    answer
                });
                asked.push(Asked {
                    master: index,
                    is_ready: master.is_ready(),
                    answer,
                });
            }
            answer_of(route, asked).await
        };
        self.minion.wait(asked).ok_or_else(stopping)?
    }

    /// What the schedule or the beacons have answered a job. Who listens on the
    /// bus hears of it, as if it had been asked there.
    fn told(&self, answer: Answer) -> Result<Map, ContextError> {
        let (tag, answer) = answer.map_err(ContextError::Other)?;
        if let Err(error) = self.minion.fire_local(tag, answer.clone()) {
            debug!(tag, error, "no local event");
        }
        Ok(answer)
    }

    /// Tells the minion that runs here, if one does.
    fn ask_daemon_to(&self, tag: &'static str) {
        if let Some(bus) = self.minion.daemon_bus.clone() {
            let told = async move { daemon_bus::tell(&bus, tag, Map::new()).await };
            if let Some(Err(error)) = self.minion.wait(told) {
                debug!(tag, %error, "the minion was not told");
            }
        }
    }

    /// The master whose pillar this job sees: its own, else the first that is
    /// ready.
    fn pillar_master(&self) -> Option<usize> {
        let masters = &self.minion.masters;
        match self.route {
            Route::Bound(master) | Route::Prefer(master) => Some(master),
            Route::Any => masters
                .iter()
                .position(Master::is_ready)
                .or_else(|| (!masters.is_empty()).then_some(0)),
        }
    }
}

/// Waits a moment for the links that are on their way up; `salt-call` is ready
/// with the first.
pub(crate) async fn others_signed_in(minion: &Minion) {
    let settled = minion.masters.iter().map(|master| {
        let mut phase = master.phase.clone();
        async move {
            let on_its_way = |phase: &Phase| {
                matches!(
                    phase,
                    Phase::Resolving | Phase::SigningIn | Phase::Subscribing
                )
            };
            let _ = phase.wait_for(|phase| !on_its_way(phase)).await;
        }
    });
    let all: JoinSet<()> = settled.collect();
    let _ = timeout(OTHERS_SIGN_IN_WAIT, all.join_all()).await;
}

/// A request on its way to one of several masters.
struct Asked {
    master: usize,
    /// Whether its link was ready: one that is gone may take minutes.
    is_ready: bool,
    answer: JoinHandle<Result<Value, ChannelError>>,
}

/// The answer that counts, when it is there; the other requests go on.
async fn answer_of(route: Route, mut asked: Vec<Asked>) -> Result<Value, ContextError> {
    // Its own master first, unless that is gone, and nobody else when that has
    // answered.
    let is_anothers = |master| matches!(route, Route::Bound(own) if own != master);
    asked.sort_by_key(|asked| (!asked.is_ready, is_anothers(asked.master)));
    let mut answer = Err(ContextError::NoMaster);
    for Asked { answer: asked, .. } in asked {
        let answered = match (&answer, route) {
            (Ok(_), Route::Bound(_)) => break,
            (Ok(_), _) => match timeout(OTHERS_ANSWER_WAIT, asked).await {
                Ok(answered) => answered,
                Err(_) => continue,
            },
            (Err(_), _) => asked.await,
        };
        match answered {
            Ok(Ok(value)) => answer = Ok(value),
            Ok(Err(error)) => {
                debug!("a request failed: {}", chain(&error));
                answer = answer.map_err(|_| context_error(error));
            }
            Err(cause) => debug!(%cause, "a request died"),
        }
    }
    answer
}

impl MinionContext for JobContext {
    fn opts(&self) -> &Map {
        self.minion.opts_at(self.pillar_master())
    }

    fn registry(&self) -> &'static Registry {
        halite_state_run::registry()
    }

    fn grains(&self) -> Arc<Map> {
        self.minion.grains_at(self.pillar_master())
    }

    fn pillar(&self) -> Arc<Map> {
        if let Some(own) = &self.minion.own_files {
            return own.pillar(self);
        }
        match self.pillar_master() {
            Some(master) => {
                let minion = Arc::clone(&self.minion);
                let first = async move { minion.first_pillar(master).await };
                self.minion.wait(first).unwrap_or_default()
            }
            None => Arc::default(),
        }
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        if let Some(own) = &self.minion.own_files {
            return Ok(own.compile(self, request));
        }
        let minion = &self.minion;
        let load = pillar::request(&minion.id, &self.grains(), &minion.opts, request);
        let patience = minion.patience;
        let reply = self.ask(true, move |channel| {
            let load = load.clone();
            async move { channel.request_private(load, patience).await }
        })?;
        match reply {
            Value::Map(pillar) => Ok(pillar),
            _ => Err(ContextError::Refused {
                why: "the pillar is no map".to_owned(),
            }),
        }
    }

    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError> {
        match what {
            Refresh::Grains | Refresh::Pillar { .. } => {
                self.minion.refresh_grains();
                if let Some(own) = &self.minion.own_files {
                    own.refresh();
                    return Ok(true);
                }
                let clean_cache = what == Refresh::Pillar { clean_cache: true };
                pillar::refresh_all(&self.minion, wait.map(Duration::from_secs), clean_cache)
            }
            Refresh::Beacons => {
                match self.minion.beacons.get().and_then(Weak::upgrade) {
                    Some(beacons) => beacons.forget(),
                    None => self.ask_daemon_to("beacons_refresh"),
                }
                Ok(true)
            }
            // Built in: there is nothing to load again.
            Refresh::Modules => {
                let done = Map::from([("complete", true)]);
                // That nobody hears it does not make it untrue.
                let _ = self.fire_local("/salt/minion/minion_mod_refresh_complete", done);
                Ok(true)
            }
            Refresh::Matchers => Ok(true),
        }
    }

    fn recall(&self) -> Option<&Recall> {
        self.minion.scheduler.get().map(|_| &self.minion.recall)
    }

    fn files(&self) -> &dyn Files {
        match &self.minion.own_files {
            Some(own) => own.files(),
            None => self,
        }
    }

    fn upstream(&self) -> Result<&dyn Upstream, ContextError> {
        Ok(self)
    }

    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError> {
        Ok(self)
    }

    fn local_bus(&self) -> Option<&dyn LocalBus> {
        Some(self)
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        Some(self)
    }

    fn daemon(&self) -> Option<&dyn Daemon> {
        Some(self)
    }

    fn runners(&self) -> Result<&dyn Runners, ContextError> {
        Err(ContextError::NoRunners)
    }

    fn commander(&self, what: &'static str) -> Result<&dyn Commander, ContextError> {
        Err(ContextError::Unsupported { what })
    }
}

/// The files of the masters.
impl Files for JobContext {
    fn ask(&self, load: Map) -> Result<Value, ContextError> {
        self.request(load)
    }

    fn ask_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        self.request_beyond(load, beyond)
    }

    fn held(&self, files: &[HeldFile]) -> Option<Vec<bool>> {
        let first = self.order(true).first().copied();
        let channel = &self.minion.masters.get(first?)?.channel;
        if files.is_empty() || !channel.capabilities().pieces {
            return None;
        }
        let held = files.iter().cloned().map(Some).collect();
        let held = MinionRequest::HeldFiles(held).to_map(&self.minion.id);
        // Should another master have to be asked, it tells nothing.
        let load = Map::from([("cmd", "_file_envs")]);
        match self.request_beyond(load, held) {
            Ok(Value::List(answers)) if answers.len() == files.len() => Some(
                answers
                    .iter()
                    .map(|held| *held == Value::Bool(true))
                    .collect(),
            ),
            _ => None,
        }
    }

    fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
        Some(Box::new(InLine::new(self.line(true))))
    }
}

impl Upstream for JobContext {
    fn request(&self, load: Map) -> Result<Value, ContextError> {
        let wish = Wish::new(load, None, self.minion.patience);
        self.ask(wish.reads(), move |channel| wish.send_to(channel))
    }

    fn request_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        let wish = Wish::new(load, Some(beyond), self.minion.patience);
        self.ask(wish.reads(), move |channel| wish.send_to(channel))
    }

    fn request_every(&self, load: Map) -> Result<Value, ContextError> {
        self.ask_every(&load)
    }

    fn is_connected(&self, master: Option<&str>) -> bool {
        let mut masters = self.minion.masters.iter();
        masters.any(|known| master.is_none_or(|name| known.name == name) && known.is_ready())
    }

    fn ping(&self, master: &str) -> bool {
        let known = self
            .minion
            .masters
            .iter()
            .find(|known| known.name == master);
        known.is_some_and(|known| {
            let channel = known.channel.clone();
            let answered = async move { channel.ping(PING_TIMEOUT).await };
            self.minion.wait(answered).unwrap_or_default()
        })
    }
}

impl LocalBus for JobContext {
    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError> {
        if self.minion.scheduler.get().is_none() {
            // Nobody hears `salt-call`, but the minion beside it is heard.
            let bus = self.minion.daemon_bus.clone();
            let (tag, minion) = (tag.to_owned(), &self.minion);
            let told = bus.and_then(|bus| {
                minion.wait(async move { daemon_bus::tell(&bus, &tag, data).await })
            });
            return Ok(told.is_some_and(|told| told.is_ok()));
        }
        self.minion
            .fire_local(tag, data)
            .map(|()| true)
            .map_err(ContextError::Other)
    }
}

impl MasterBus for JobContext {
    fn fire_master(&self, tag: &str, data: Value) -> Result<bool, ContextError> {
        // As Salt: what `salt-call` fires is a little shorter.
        let request = match self.minion.scheduler.get() {
            Some(_) if !data.is_true() => event_request(&self.minion, tag, Map::new().into()),
            Some(_) => event_request(&self.minion, tag, data),
            None => event(&self.minion, tag, data),
        };
        self.ask_every(&request).map(|_| true)
    }

    fn fire_with(&self, fields: &Map, tag: &str, data: Value) -> Result<bool, ContextError> {
        let mut request = event(&self.minion, tag, data);
        // Who asks, and for what, is not theirs to say.
        let fields = fields.iter().filter(|(name, _)| {
            let own = ["id", "cmd"];
            name.as_str().is_some_and(|name| !own.contains(&name))
        });
        request.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
        self.ask_every(&request).map(|_| true)
    }
}

impl Jobs for JobContext {
    fn running(&self) -> Vec<Map> {
        let own_pid = i64::from(std::process::id());
        let mut running: Vec<Map> = self
            .minion
            .jobs()
            .all_running()
            .map(|(_, job)| job.load.clone())
            .collect();
        let of_others = self.minion.proc.running().into_iter();
        running.extend(
            of_others.filter(|load| load.get("pid").and_then(Value::as_i64) != Some(own_pid)),
        );
        running
    }

    fn find(&self, jid: &str) -> Option<Map> {
        let jid = Jid::parse(jid).ok()?;
        let jobs = self.minion.jobs();
        let here = jobs.running(&jid, self.asker());
        let here = here.map(|job| job.load.clone());
        drop(jobs);
        here.or_else(|| {
            let own_pid = i64::from(std::process::id());
            let mut others = self.minion.proc.running().into_iter();
            others.find(|load| {
                let field = |name| load.get(name);
                field("jid").and_then(Value::as_str) == Some(jid.as_str())
                    && field("pid").and_then(Value::as_i64) != Some(own_pid)
            })
        })
    }

    fn signal(&self, jid: &str, signal: i32) -> Result<Option<i64>, ContextError> {
        let Ok(jid) = Jid::parse(jid) else {
            return Ok(None);
        };
        let jobs = self.minion.jobs();
        let cancel = jobs.running(&jid, self.asker());
        let cancel = cancel.map(|job| job.cancel.clone());
        drop(jobs);
        Ok(cancel.map(|cancel| {
            cancel.signal(signal);
            i64::from(std::process::id())
        }))
    }

    fn part_is_over(&self) {
        // `salt-call` ends soon.
        if self.minion.scheduler.get().is_some() {
            halite_process::memory::give_back();
        }
    }
}

impl Daemon for JobContext {
    fn manage_schedule(&self, request: Map) -> Result<Map, ContextError> {
        let own = self.minion.scheduler.get().and_then(Weak::upgrade);
        if let Some(scheduler) = own {
            return self.told(scheduler.manage(&request));
        }
        let Some(bus) = self.minion.daemon_bus.clone() else {
            return Err(ContextError::Unsupported {
                what: "the scheduler",
            });
        };
        let asked = async move { daemon_bus::ask(&bus, &daemon_bus::SCHEDULE, request).await };
        self.minion.wait(asked).ok_or_else(stopping)?
    }

    fn manage_beacons(&self, request: Map) -> Result<Map, ContextError> {
        let own = self.minion.beacons.get().and_then(Weak::upgrade);
        if let Some(beacons) = own {
            return self.told(beacons.manage(&request));
        }
        let Some(bus) = self.minion.daemon_bus.clone() else {
            return Err(ContextError::Unsupported { what: "beacons" });
        };
        let asked = async move { daemon_bus::ask(&bus, &daemon_bus::BEACONS, request).await };
        self.minion.wait(asked).ok_or_else(stopping)?
    }
}

/// The request that puts an event on a master's bus.
pub(crate) fn event_request(minion: &Minion, tag: &str, data: Value) -> Map {
    Map::from([
        ("id", Value::from(&minion.id)),
        ("cmd", "_minion_event".into()),
        ("pretag", Value::Nil),
        ("data", data),
        ("tag", tag.into()),
    ])
}

/// The same in the form of `salt-call` and of runs of states.
fn event(minion: &Minion, tag: &str, data: Value) -> Map {
    Map::from([
        ("id", Value::from(&minion.id)),
        ("tag", tag.into()),
        ("data", data),
        ("cmd", "_minion_event".into()),
    ])
}

/// What a job thread is told that outlives the async thread.
pub(crate) fn stopping() -> ContextError {
    ContextError::Other("the minion stops".to_owned())
}

/// What a function is told of a failed request.
pub(crate) fn context_error(error: ChannelError) -> ContextError {
    match error {
        ChannelError::NotSignedIn => ContextError::NoMaster,
        ChannelError::Request(RequestError::NoAnswer { waited, .. }) => ContextError::TimedOut {
            seconds: waited.as_secs(),
        },
        error => ContextError::Refused { why: chain(&error) },
    }
}
