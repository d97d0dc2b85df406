//! The reactor: events call for files, the files for commands.
//!
//! Invariant: reacting never holds up the bus. Events wait in a bounded queue;
//! one that does not fit calls for nothing, and that is logged.

mod files;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use halite_modules::{CallWorld, Cancel, Failure, Job, TimeLimit, run_function, within_call};
use halite_proto::clear::{Credentials, PublishRequest};
use halite_proto::event::Event;
use halite_proto::publish::FunSpec;
use halite_proto::{Map, Value};
use halite_render::{Renderer, SlsRequest};

use files::ReactionFile;
use tokio::sync::Notify;
use tokio::time::sleep_until;

use crate::core::reactions::{Kind, Reaction, USER, line_of, reactions};
use crate::core::rules::Rules;
use crate::core::storms::Storms;
use crate::error::chain;
use crate::handlers::publish::{meant, send};
use crate::master::Master;
use crate::workers::{LaneLimits, Work, Workers};
use crate::{runner, wheel};

/// An event that calls for files.
struct Called {
    event: Event,
    files: Vec<String>,
    bytes: usize,
}

impl Work for Called {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Bytes of the events that wait for the reactor.
const WAITING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long an event may wait before nobody reacts to it any more.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// Threads that react at most.
const THREADS_MAX: usize = 64;

/// How long one file may take: to be rendered, and for what `caller` runs.
/// Then its Python code and its commands are ended.
const REACTION_TIME_MAX: Duration = Duration::from_secs(300);

/// What events call for, as the configuration and `reactor.*` say.
pub(crate) struct Reactor {
    rules: RwLock<Rules>,
    is_leader: AtomicBool,
    changed: Notify,
}

impl Reactor {
    /// With the rules of the configuration.
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules: RwLock::new(rules),
            is_leader: AtomicBool::new(true),
            changed: Notify::new(),
        }
    }

    /// The rules.
    pub(crate) fn rules(&self) -> RwLockReadGuard<'_, Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a rule; false if there is one for that tag.
    ///
    /// # Errors
    /// When there are too many.
    pub(crate) fn add(&self, glob: &str, files: Vec<String>) -> Result<bool, String> {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let is_added = rules.add(glob, files)?;
        drop(rules);
        self.changed.notify_one();
        Ok(is_added)
    }

    /// Removes the rules for a tag; false if there are none.
    pub(crate) fn delete(&self, glob: &str) -> bool {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        rules.delete(glob)
    }

    /// Whether this master reacts.
    pub(crate) fn is_leader(&self) -> bool {
        self.is_leader.load(Ordering::Relaxed)
    }

    /// Has this master react, or not.
    pub(crate) fn set_leader(&self, value: bool) {
        self.is_leader.store(value, Ordering::Relaxed);
    }

    fn files_for(&self, tag: &str) -> Vec<String> {
        if !self.is_leader() {
            return Vec::new();
        }
        let rules = self.rules();
        rules
            .files_for(tag)
            .into_iter()
            .map(str::to_owned)
            .collect()
    }
}

/// Reacts to the events of the bus until it is dropped.
pub(crate) async fn react(master: Arc<Master>) {
    // Nobody reads the bus, and no threads wait, before there is a rule.
    while master.reactor.rules().is_empty() {
        master.reactor.changed.notified().await;
    }
    let workers = match start(&master) {
        Ok(workers) => workers,
        Err(error) => return tracing::error!("the reactor could not be started: {error}"),
    };
    // An empty beginning: all tags.
    let mut events = master.bus.subscribe(String::new());
    let mut storms = Storms::default();
    let mut lost = 0;
    loop {
        let due = storms.due_at().map(tokio::time::Instant::from_std);
        let event = tokio::select! {
            event = events.recv() => event,
            () = sleep_until(due.unwrap_or_else(tokio::time::Instant::now)), if due.is_some() => {
                say_dropped(&mut storms);
                continue;
            }
        };
        let Some(event) = event else { return };
        // What the reactor itself was too slow for may have called for something.
        storms.drop(events.lost().saturating_sub(lost));
        lost = events.lost();
        say_dropped(&mut storms);
        let files = master.reactor.files_for(event.tag());
        if files.is_empty() {
            continue;
        }
        let bytes = event.bytes().len();
        let event = match event.unpack() {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!("the reactor cannot read an event: {error}");
                continue;
            }
        };
        if event.data.get("user").and_then(Value::as_str) == Some(USER) {
            continue;
        }
        if storms.is_suspicious(event.tag.as_str(), Instant::now()) {
            tracing::warn!(
                tag = %event.tag,
                "an event calls for reactions again and again: does one of them cause it?"
            );
        }
        let called = Called {
            event,
            files,
            bytes,
        };
        if workers.submit(called).is_err() {
            storms.drop(1);
            say_dropped(&mut storms);
        }
    }
}

/// Says how many events call for nothing, once in a while.
fn say_dropped(storms: &mut Storms) {
    if let Some(count) = storms.dropped(Instant::now()) {
        let events = if count == 1 {
            "event calls"
        } else {
            "events call"
        };
        tracing::error!(
            "the reactor has more to do than it can: {count} {events} for nothing \
             (reactor_worker_threads, reactor_worker_hwm)"
        );
    }
}

fn start(master: &Arc<Master>) -> io::Result<Workers<Called>> {
    let limits = LaneLimits {
        threads: master.settings.reactor_threads.clamp(1, THREADS_MAX),
        waiting_max: master.settings.reactor_waiting_max.max(1),
        bytes_max: WAITING_BYTES_MAX,
        wait_max: WAIT_MAX,
    };
    // The queue must not keep the master alive that drains it.
    let weak = Arc::downgrade(master);
    Workers::start(
        "reactor",
        limits,
        move |called: Called| {
            if let Some(master) = weak.upgrade() {
                for file in &called.files {
                    react_with(&master, file, &called.event);
                }
            }
        },
        |called: Called| tracing::error!(tag = %called.event.tag, "an event waited too long for the reactor"),
    )
}

fn react_with(master: &Arc<Master>, name: &str, event: &Event) {
    let tag = &event.tag;
    let found = match files::found(&master.files, name) {
        Ok(found) => found,
        Err(why) => return tracing::error!(%tag, "Failed to render reaction \"{name}\": {why}"),
    };
    for file in found {
        // What lies on disk is named by its path, also where a glob found it.
        let name = match name.starts_with("salt://") {
            true => name.to_owned(),
            false => file.path.display().to_string(),
        };
        react_with_file(master, &name, &file, event);
    }
}

fn react_with_file(master: &Arc<Master>, name: &str, file: &ReactionFile, event: &Event) {
    let tag = &event.tag;
    let cancel = Cancel::default();
    let _limit = TimeLimit::start(cancel.clone(), REACTION_TIME_MAX, "a reaction");
    let job = Job {
        cancel,
        ..Job::default()
    };
    let rendered = file
        .content()
        .map_err(|error| error.to_string())
        .and_then(|bytes| {
            let high = render(master, (&file.path, &file.saltenv), &bytes, event, &job)?;
            Ok((high, bytes))
        });
    let (high, bytes) = match rendered {
        Ok(rendered) => rendered,
        Err(why) => return tracing::error!(%tag, "Failed to render reaction \"{name}\": {why}"),
    };
    if !high.is_true() {
        return;
    }
    let text = String::from_utf8_lossy(&bytes);
    let place = |id: &str| match line_of(&text, id) {
        Some(line) => format!("{name}:{line}"),
        None => name.to_owned(),
    };
    for reaction in reactions(&high) {
        match reaction {
            Ok(reaction) => {
                let place = place(&reaction.id);
                perform(master, reaction, event, &place, &job);
            }
            Err(broken) => {
                let place = place(&broken.id);
                tracing::error!(%tag, "reaction \"{place}\": {}: {}", broken.id, broken.why);
            }
        }
    }
}

fn render(
    master: &Master,
    (path, saltenv): (&Path, &str),
    bytes: &[u8],
    event: &Event,
    job: &Job,
) -> Result<Value, String> {
    let context = Map::from([
        ("tag", Value::from(event.tag.as_str())),
        ("data", event.data.clone().into()),
    ]);
    within_call(master.pillars.house(), job, |call| {
        let world = CallWorld::new(call);
        let request = SlsRequest::file(bytes, "", saltenv, path).with_context(&context);
        Renderer::new(&world)
            .sls(&request)
            .map_err(|error| error.to_string())
    })
}

fn perform(master: &Arc<Master>, reaction: Reaction, event: &Event, place: &str, job: &Job) {
    let tag = &event.tag;
    let Reaction {
        id,
        kind,
        fun,
        args,
        kwargs,
    } = reaction;
    tracing::info!(%tag, id, "reacting with {fun}");
    let failed = |why: String| {
        tracing::error!(%tag, "reaction \"{place}\": {id}: {fun} failed: {why}");
    };
    match kind {
        Kind::Local {
            tgt,
            tgt_type,
            ret,
            jid,
            extra,
        } => {
            let arg = with_marked(args, kwargs);
            let request = PublishRequest {
                tgt,
                tgt_type,
                fun: FunSpec::One(fun.clone()),
                arg,
                credentials: Credentials::default(),
                ret,
                jid,
                kwargs: extra,
                // As with Salt: what comes of it may call for reactions again.
                user: Some(master.settings.running_user.clone()),
                to: None,
                extra: Map::new(),
            };
            let meant = meant(master, &request);
            if meant.minions.is_empty() && !master.settings.order_masters {
                return failed("no minion is meant".to_owned());
            }
            if let Err(why) = send(master, &request, &meant, false) {
                failed(why);
            }
        }
        Kind::Runner => {
            if let Err(why) = runner::is_there(master, &fun) {
                return failed(why);
            }
            let asked = runner::Asked {
                args,
                kwargs,
                ..runner::Asked::new(&fun, USER)
            };
            if let Err(error) = runner::start(master, asked) {
                failed(chain(&error));
            }
        }
        Kind::Caller => {
            let house = master.pillars.house();
            let outcome = run_function(house, &fun, &with_marked(args, kwargs), job);
            match outcome.failure {
                None => {}
                Some(Failure::NotAvailable(_)) => failed(halite_proto::python::str(&outcome.ret)),
                Some(Failure::Call { error, .. }) => failed(error.to_string()),
            }
        }
        Kind::Wheel => {
            let answer = wheel::run(master, &fun, args, kwargs, USER);
            let data = answer.get("data");
            if data.and_then(|data| data.get("success")) == Some(&Value::Bool(false)) {
                let text = data.and_then(|data| data.get("return"));
                failed(text.map(halite_proto::python::str).unwrap_or_default());
            }
        }
    }
}

/// Arguments as functions of minions take them: named ones last, marked.
fn with_marked(mut args: Vec<Value>, kwargs: Map) -> Vec<Value> {
    if !kwargs.is_empty() {
        let mut marked = Map::from([("__kwarg__", true)]);
        marked.extend(kwargs);
        args.push(marked.into());
    }
    args
}
