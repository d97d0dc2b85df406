//! The reactor: events trigger files, and the files contain commands.
//!
//! Invariant: reacting never delays the bus. Events wait in a bounded queue; one
//! that does not fit is dropped, and that is logged.

mod files;
mod runner_queue;
mod settings;

pub(crate) use settings::{ReactorSettings, configured_rules};

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_call::{CallRenderContext, Cancel, Failure, Job, TimeLimit, run_function, within_call};
use halite_proto::clear::{Credentials, PublishRequest};
use halite_proto::event::Event;
use halite_proto::publish::FunSpec;
use halite_proto::{Map, Tag, Value};
use halite_render::{Renderer, SlsRequest};

use files::ReactionFile;
use runner_queue::{RunnerQueue, Waiting};
use tokio::time::sleep_until;

use crate::core::reactions::{LocalCommand, Reaction, ReactionKind, USER, line_of, reactions};
use crate::core::storms::Storms;
use crate::events::bus::{Bus, is_of_a_peer};
use crate::events::reactor_rules::ReactorRules;
use crate::files::Files;
use crate::fleet::Fleet;
use crate::functions::Functions;
use crate::publishing::Publishing;
use crate::runner::{Asked, Runners};
use crate::settings::General;
use crate::wheel::Wheel;
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

/// The parts of the master that reactions use.
pub(crate) struct Reactor {
    pub(crate) settings: ReactorSettings,
    pub(crate) rules: Arc<ReactorRules>,
    pub(crate) general: Arc<General>,
    pub(crate) functions: Arc<Functions>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) publishing: Arc<Publishing>,
    pub(crate) files: Arc<Files>,
    pub(crate) wheel: Arc<Wheel>,
    pub(crate) runners: Arc<Runners>,
}

/// Reacts to the events of the bus until it is dropped.
pub(crate) async fn react(reactor: Arc<Reactor>) {
    // Nobody reads the bus, and no threads wait, before there is a rule.
    while reactor.rules.rules().is_empty() {
        reactor.rules.changed().await;
    }
    let workers = match start(&reactor) {
        Ok(workers) => workers,
        Err(error) => return tracing::error!("the reactor could not be started: {error}"),
    };
    // An empty beginning: all tags.
    let mut events = reactor.bus.subscribe(String::new());
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
        let files = reactor.rules.files_for(event.tag());
        // To what another master has fired that one reacts.
        if files.is_empty() || is_of_a_peer(&event) {
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
                "the same event triggers reactions over and over: check whether one of its \
                 reactions fires it"
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

/// Logs from time to time how many events were dropped.
fn say_dropped(storms: &mut Storms) {
    if let Some(count) = storms.dropped(Instant::now()) {
        let events = if count == 1 {
            "event calls"
        } else {
            "events call"
        };
        tracing::error!(
            "the reactor is overloaded: {count} {events} dropped without a reaction (see \
             reactor_worker_threads, reactor_worker_hwm)"
        );
    }
}

fn start(reactor: &Arc<Reactor>) -> io::Result<Workers<Called>> {
    let limits = LaneLimits {
        threads: reactor.settings.threads.clamp(1, THREADS_MAX),
        gives_way: false,
        busy_per_origin_max: usize::MAX,
        waiting_max: reactor.settings.waiting_max.max(1),
        bytes_max: WAITING_BYTES_MAX,
        wait_max: WAIT_MAX,
    };
    let queue = RunnerQueue::start(&reactor.runners, reactor.settings.waiting_max)?;
    // The queue must not keep the reactor alive that drains it.
    let weak = Arc::downgrade(reactor);
    Workers::start(
        "reactor",
        limits,
        move |called: Called| {
            if let Some(reactor) = weak.upgrade() {
                let reacting = Reacting {
                    reactor: &reactor,
                    queue: &queue,
                    event: &called.event,
                };
                for file in &called.files {
                    reacting.with(file);
                }
            }
        },
        |called: Called| tracing::error!(tag = %called.event.tag, "an event waited too long for the reactor"),
    )
}

/// One event and what is to be done about it.
struct Reacting<'a> {
    reactor: &'a Reactor,
    queue: &'a RunnerQueue,
    event: &'a Event,
}

impl Reacting<'_> {
    fn with(&self, name: &str) {
        let tag = &self.event.tag;
        let found = match files::found(&self.reactor.files.server, name) {
            Ok(found) => found,
            Err(why) => return tracing::error!(%tag, "Failed to render reaction \"{name}\": {why}"),
        };
        for file in found {
            // What lies on disk is named by its path, also where a glob found it.
            let name = match name.starts_with("salt://") {
                true => name.to_owned(),
                false => file.path.display().to_string(),
            };
            self.with_file(&name, &file);
        }
    }

    fn with_file(&self, name: &str, file: &ReactionFile) {
        let tag = &self.event.tag;
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
                let place = (&*file.path, &*file.saltenv);
                let high = render(self.reactor, place, &bytes, self.event, &job)?;
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
                    self.perform(reaction, place, &job);
                }
                Err(broken) => {
                    let place = place(&broken.id);
                    tracing::error!(%tag, "reaction \"{place}\": {}: {}", broken.id, broken.why);
                }
            }
        }
    }

    fn perform(&self, reaction: Reaction, place: String, job: &Job) {
        let reactor = self.reactor;
        let Reaction {
            id,
            kind,
            fun,
            args,
            kwargs,
        } = reaction;
        let origin = ReactionOrigin {
            tag: self.event.tag.clone(),
            place,
            id,
        };
        tracing::info!(tag = %origin.tag, id = origin.id, "reacting with {fun}");
        let done = match kind {
            ReactionKind::Local(command) => {
                publish(reactor, &fun, with_marked(args, kwargs), command)
            }
            ReactionKind::Caller => call(reactor, &fun, &with_marked(args, kwargs), job),
            ReactionKind::Wheel => turn_wheel(reactor, &fun, args, kwargs),
            ReactionKind::Runner => match runner::is_there(&reactor.runners, &fun) {
                Ok(()) => {
                    let asked = Asked {
                        args,
                        kwargs,
                        ..Asked::new(&fun, USER)
                    };
                    return self.queue.submit(Waiting::new(asked, origin));
                }
                Err(why) => Err(why),
            },
        };
        if let Err(why) = done {
            origin.failed(&fun, &why);
        }
    }
}

/// What a log line about a reaction names.
#[derive(Clone)]
struct ReactionOrigin {
    tag: Tag,
    /// The file, and the line where it is known.
    place: String,
    id: String,
}

impl ReactionOrigin {
    fn failed(&self, fun: &str, why: &str) {
        let Self { tag, place, id } = self;
        tracing::error!(%tag, "reaction \"{place}\": {id}: {fun} failed: {why}");
    }
}

fn render(
    reactor: &Reactor,
    (path, saltenv): (&Path, &str),
    bytes: &[u8],
    event: &Event,
    job: &Job,
) -> Result<Value, String> {
    let context = Map::from([
        ("tag", Value::from(event.tag.as_str())),
        ("data", event.data.clone().into()),
    ]);
    within_call(reactor.functions.context(), job, |call| {
        let render_context = CallRenderContext::new(call);
        let request = SlsRequest::file(bytes, "", saltenv, path).with_context(&context);
        Renderer::new(&render_context)
            .sls(&request)
            .map_err(|error| error.to_string())
    })
}

fn publish(
    reactor: &Reactor,
    fun: &str,
    arg: Vec<Value>,
    command: LocalCommand,
) -> Result<(), String> {
    let request = PublishRequest {
        tgt: command.tgt,
        tgt_type: command.tgt_type,
        fun: FunSpec::One(fun.to_owned()),
        arg,
        credentials: Credentials::default(),
        ret: command.ret,
        jid: command.jid,
        kwargs: command.extra,
        // As with Salt: what comes of it may call for reactions again.
        user: Some(reactor.general.running_user.clone()),
        to: None,
        extra: Map::new(),
    };
    let targets = reactor.fleet.targets_of(&request);
    if targets.minions.is_empty() && !reactor.fleet.settings.order_masters {
        return Err("the target matches no minion".to_owned());
    }
    reactor.publishing.send(&request, &targets, false)?;
    Ok(())
}

fn call(reactor: &Reactor, fun: &str, args: &[Value], job: &Job) -> Result<(), String> {
    let outcome = run_function(reactor.functions.context(), fun, args, job);
    match outcome.failure {
        None => Ok(()),
        Some(Failure::NotAvailable(_)) => Err(halite_proto::python::str(&outcome.ret)),
        Some(Failure::Call { error, .. }) => Err(error.to_string()),
    }
}

fn turn_wheel(reactor: &Reactor, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<(), String> {
    let answer = wheel::run(&reactor.wheel, fun, args, kwargs, (USER, None));
    let data = answer.get("data");
    match data.and_then(|data| data.get("success")) {
        Some(Value::Bool(false)) => {
            let text = data.and_then(|data| data.get("return"));
            Err(text.map(halite_proto::python::str).unwrap_or_default())
        }
        _ => Ok(()),
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
