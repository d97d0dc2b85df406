//! Drives a run: takes the next effect from the state machine, performs it, returns
//! the answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, scope};
use std::time::{Duration, Instant};

use halite_call::{
    CallError, Cancel, Job, MinionContext, Refresh, StateScope, mask, run_state_function,
    within_call,
};
use halite_process::clock::unix_micros;
use halite_proto::{Map, Value};
use halite_state::run::{
    Effect, Fault, Gate, Moment, Renew, Reply, Returned, Run, StateCall, Step,
};
use tracing::{info, warn};

use super::beside::Beside;
use super::events::Events;
use super::gate::Pauses;
use super::narrator::Narrator;
use super::trace;
use crate::context::{StateContext, part_is_over};
use crate::limits::TIDY_EVERY;

/// Seconds that a state waits for grains or pillar to be made new.
const RENEW_SECONDS: u64 = 30;

/// Where a run takes place: the minion, the job, and what its states share.
pub(crate) struct Stage<'s> {
    ctx: &'s StateContext<'s>,
    job: Job,
    run_id: String,
    memo: Arc<Mutex<Map>>,
    pauses: Option<Pauses>,
}

impl<'s> Stage<'s> {
    /// The stage of a run in `job`.
    pub(crate) fn new(ctx: &'s StateContext<'s>, job: &Job) -> Self {
        let jid = job.jid().unwrap_or_default();
        Self {
            run_id: format!("{jid}_{}", moment().unix_micros),
            pauses: Pauses::of(&ctx.cachedir(), jid),
            ctx,
            job: job.clone(),
            memo: Arc::default(),
        }
    }

    /// Gives all states of the run something to look up.
    pub(crate) fn remember(&self, key: &str, value: Value) {
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        memo.insert(key, value);
    }

    pub(super) fn cancel(&self) -> &Cancel {
        &self.job.cancel
    }

    /// The publication of the job.
    pub(super) fn load(&self) -> &Map {
        &self.job.load
    }

    /// The id of the job; empty if it has none.
    pub(super) fn jid(&self) -> &str {
        self.job.jid().unwrap_or_default()
    }

    /// The job as the state of this call sees it.
    fn job_of(&self, test: bool, low: Map, watched: Map) -> Job {
        Job {
            state: Some(Arc::new(StateScope {
                test,
                low,
                run_id: self.run_id.clone(),
                memo: Arc::clone(&self.memo),
                watched,
            })),
            ..self.job.clone()
        }
    }

    fn salt(&self, fun: &str, args: &[Value], kwargs: Map) -> Result<Returned, Fault> {
        let called = catch_unwind(AssertUnwindSafe(|| {
            within_call(self.ctx, &self.job, |call| {
                let value = call.salt(fun, args, kwargs)?;
                Ok(Returned {
                    value,
                    retcode: call.retcode(),
                })
            })
        }));
        let called = called
            .unwrap_or_else(|_| Err(CallError::exception("SystemError", "the function panicked")));
        called.map_err(|error| Fault {
            command: matches!(error, CallError::Command(_) | CallError::NotFound(_)),
            trace: trace(fun, &error),
        })
    }

    fn renew(&self, renew: Renew) {
        if renew.grains
            && let Err(error) = self.ctx.refresh(Refresh::Grains, Some(RENEW_SECONDS))
        {
            warn!(%error, "the grains stay as they are");
        }
        if renew.pillar
            && let Err(error) = self.ctx.reload_pillar()
        {
            warn!(%error, "the pillar stays as it is");
        }
    }

    pub(super) fn ctx(&self) -> &StateContext<'s> {
        self.ctx
    }

    fn gate(&self, id: &str) -> Gate {
        match &self.pauses {
            Some(pauses) => pauses.gate(id, self.cancel()),
            None => Gate::Open,
        }
    }
}

/// Runs to the end and gives the results by tag.
///
/// # Errors
/// When the job was ended from outside.
pub(crate) fn drive(stage: &Stage<'_>, mut run: Run) -> Result<Map, CallError> {
    let results = scope(|threads| {
        let mut beside = Beside::new();
        let mut events = Events::default();
        let narrator = Narrator::start(threads, stage);
        let mut tidied = Instant::now();
        loop {
            if let Some(signal) = stage.cancel().ended_by() {
                return Err(CallError::Ended(signal));
            }
            match run.next(moment()) {
                Step::Do(effect) => {
                    if let Effect::Call(call) | Effect::Start(call) = &effect {
                        narrator.begins(call);
                    }
                    let reply = match effect {
                        Effect::Fire { tag, data } => {
                            events.fire(threads, stage, tag, data);
                            Reply::Done
                        }
                        effect => perform(stage, threads, &mut beside, effect),
                    };
                    run.answer(reply);
                    if tidied.elapsed() >= TIDY_EVERY {
                        part_is_over(stage.ctx);
                        tidied = Instant::now();
                    }
                }
                Step::Waiting => {
                    return Err(CallError::exception(
                        "RuntimeError",
                        "the state run stands still",
                    ));
                }
                Step::Done(results) => return Ok(results),
            }
        }
    });
    if let Some(pauses) = &stage.pauses {
        pauses.clear();
    }
    results
}

fn perform<'scope, 'env: 'scope>(
    stage: &'env Stage<'_>,
    threads: &'scope Scope<'scope, 'env>,
    beside: &mut Beside,
    effect: Effect,
) -> Reply {
    match effect {
        Effect::Call(call) => Reply::State(call_state(stage, *call)),
        Effect::Start(call) => {
            beside.start(threads, stage, *call);
            Reply::Done
        }
        Effect::Collect { tags, patience } => {
            Reply::Collected(beside.collect(&tags, patience, stage.cancel()))
        }
        Effect::Serve { fun, args, low } => Reply::State(serve(stage, &fun, args, low)),
        Effect::Salt { fun, args, kwargs } => Reply::Salt(stage.salt(&fun, &args, kwargs)),
        Effect::Exists(path) => Reply::Yes(Path::new(&path).exists()),
        Effect::Matches(expression) => {
            let matched = stage.salt("match.compound", &[expression.into()], Map::new());
            Reply::Yes(matched.is_ok_and(|matched| matched.value.is_true()))
        }
        Effect::Sleep { seconds, splay } => {
            let seconds = seconds + random_up_to(splay);
            stage.cancel().sleep(Duration::from_secs(seconds));
            Reply::Waited(seconds)
        }
        Effect::Refresh(renew) => {
            stage.renew(renew);
            Reply::Done
        }
        Effect::Fire { .. } => Reply::Done,
        Effect::Gate(id) => Reply::Gate(stage.gate(&id)),
    }
}

/// Calls a state function; its failure is the text of a traceback.
pub(super) fn call_state(stage: &Stage<'_>, call: StateCall) -> Result<Value, String> {
    let StateCall {
        fun,
        args,
        kwargs,
        low,
        test,
        watched,
        umask,
        ..
    } = call;
    let name = low.get("name").map(halite_proto::python::str);
    info!(fun, name, "executing state");
    let job = stage.job_of(test, low, watched);
    let run = || run_state_function(stage.ctx, &fun, args, kwargs, &job);
    let done = match umask {
        Some(umask) => mask::under(umask, run)
            .map_err(|error| CallError::command(format!("umask cannot be set: {error}")))
            .and_then(|done| done),
        None => run(),
    };
    done.map_err(|error| trace(&fun, &error))
}

fn serve(stage: &Stage<'_>, fun: &str, args: Vec<Value>, low: Map) -> Result<Value, String> {
    let test = stage.ctx.opts().get("test").is_some_and(Value::is_true);
    let job = stage.job_of(test, low, Map::new());
    run_state_function(stage.ctx, fun, args, Map::new(), &job).map_err(|error| {
        warn!(fun, %error, "a function that the run needs failed");
        trace(fun, &error)
    })
}

/// The time of now.
pub(super) fn moment() -> Moment {
    let zone = jiff::tz::TimeZone::system();
    Moment {
        unix_micros: unix_micros(),
        utc_offset_seconds: zone.to_offset(jiff::Timestamp::now()).seconds(),
    }
}

pub(super) fn random_up_to(most: u64) -> u64 {
    if most == 0 {
        return 0;
    }
    let drawn: [u8; 8] = halite_crypto::random_bytes();
    u64::from_le_bytes(drawn) % (most + 1)
}
