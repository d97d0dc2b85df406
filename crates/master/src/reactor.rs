//! The reactor: events call for files, the files for commands.
//!
//! Invariant: reacting never holds up the bus. Events wait in a bounded queue;
//! one that does not fit calls for nothing, and that is logged.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use halite_modules::{CallWorld, Job, within_call};
use halite_proto::clear::{Credentials, PublishRequest};
use halite_proto::event::Event;
use halite_proto::publish::FunSpec;
use halite_proto::{Map, SaltEnv, Value};
use halite_render::{Renderer, SlsRequest};

use crate::core::jobs;
use crate::core::reactions::{Kind, Reaction, Rules, USER, reactions};
use crate::error::chain;
use crate::handlers::publish::{resolved, send};
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

/// Reacts to the events of the bus until it is dropped.
pub(crate) async fn react(master: Arc<Master>) {
    let rules = Rules::of(master.opts.get("reactor"));
    if rules.is_empty() {
        return;
    }
    let workers = match start(&master) {
        Ok(workers) => workers,
        Err(error) => return tracing::error!("the reactor could not be started: {error}"),
    };
    // An empty beginning: all tags.
    let mut events = master.bus.subscribe(String::new());
    while let Some(event) = events.recv().await {
        let files = rules.files_for(event.tag());
        if files.is_empty() {
            continue;
        }
        let files = files.into_iter().map(str::to_owned).collect();
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
        let called = Called {
            event,
            files,
            bytes,
        };
        if workers.submit(called).is_err() {
            tracing::error!(
                "reactor queue is full, an event calls for nothing (reactor_worker_hwm)"
            );
        }
    }
}

fn start(master: &Arc<Master>) -> io::Result<Workers<Called>> {
    let number = |name: &str, default: usize| {
        let value = master.opts.get(name).and_then(Value::as_i64);
        value
            .and_then(|value| usize::try_from(value).ok())
            .unwrap_or(default)
    };
    let limits = LaneLimits {
        threads: number("reactor_worker_threads", 10).clamp(1, THREADS_MAX),
        waiting_max: number("reactor_worker_hwm", 10_000).max(1),
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

fn react_with(master: &Arc<Master>, file: &str, event: &Event) {
    let high = match render(master, file, event) {
        Ok(high) => high,
        Err(why) => {
            return tracing::error!(tag = %event.tag, "Failed to render reaction \"{file}\": {why}");
        }
    };
    if !high.is_true() {
        return;
    }
    for reaction in reactions(&high) {
        match reaction {
            Ok(reaction) => perform(master, reaction, &event.tag),
            Err(why) => tracing::error!(tag = %event.tag, "reaction \"{file}\": {why}"),
        }
    }
}

/// Where a file of the option lies: an absolute path, or one of the file
/// server.
fn found(master: &Master, file: &str) -> Option<(PathBuf, String)> {
    if let Some(rest) = file.strip_prefix("salt://") {
        let (path, saltenv) = match rest.split_once("?saltenv=") {
            Some((path, saltenv)) => (path, saltenv),
            None => (rest, "base"),
        };
        let env = SaltEnv::parse(saltenv).ok()?;
        let found = master.files.find(path, &env)?;
        return Some((found.path, saltenv.to_owned()));
    }
    let path = Path::new(file);
    (path.is_absolute() && path.is_file()).then(|| (path.to_owned(), "base".to_owned()))
}

fn render(master: &Master, file: &str, event: &Event) -> Result<Value, String> {
    let (path, saltenv) = found(master, file).ok_or("there is no such file")?;
    let bytes = fs::read(&path).map_err(|error| error.to_string())?;
    let context = Map::from([
        ("tag", Value::from(event.tag.as_str())),
        ("data", event.data.clone().into()),
    ]);
    within_call(master.pillars.house(), &Job::default(), |call| {
        let world = CallWorld::new(call);
        let request = SlsRequest::file(&bytes, file, &saltenv, &path).with_context(&context);
        Renderer::new(&world)
            .sls(&request)
            .map_err(|error| error.to_string())
    })
}

fn perform(master: &Arc<Master>, reaction: Reaction, tag: &halite_proto::Tag) {
    let Reaction {
        id,
        kind,
        fun,
        args,
        kwargs,
    } = reaction;
    tracing::info!(%tag, id, "reacting with {fun}");
    let failed = |why: String| tracing::error!(%tag, id, "the reaction {fun} failed: {why}");
    match kind {
        Kind::Local { tgt, tgt_type, ret } => {
            let mut arg = args;
            if !kwargs.is_empty() {
                let mut marked = Map::from([("__kwarg__", true)]);
                marked.extend(kwargs);
                arg.push(marked.into());
            }
            let request = PublishRequest {
                tgt,
                tgt_type,
                fun: FunSpec::One(fun.clone()),
                arg,
                credentials: Credentials::default(),
                ret,
                jid: None,
                kwargs: Map::new(),
                user: Some(USER.to_owned()),
                to: None,
                extra: Map::new(),
            };
            let meant = resolved(master, jobs::asked(&request));
            if meant.minions.is_empty() && !master.settings.order_masters {
                return failed("no minion is meant".to_owned());
            }
            if let Err(why) = send(master, &request, &meant, false) {
                failed(why);
            }
        }
        Kind::Runner => {
            let asked = runner::Asked {
                fun: fun.clone(),
                args,
                kwargs,
                user: USER.to_owned(),
                jid: None,
            };
            if let Err(error) = runner::start(master, asked) {
                failed(chain(&error));
            }
        }
        Kind::Wheel => {
            let answer = wheel::run(master, &fun, args, kwargs, USER);
            let data = answer.get("data");
            if data.and_then(|data| data.get("success")) == Some(&Value::Bool(false)) {
                let text = data.and_then(|data| data.get("return"));
                failed(text.map(halite_output::python::str).unwrap_or_default());
            }
        }
    }
}
