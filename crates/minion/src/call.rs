//! `salt-call`: one function, run here and now, with the master that answers first.
//!
//! All masters are tried at the same time and the first that accepts this minion is
//! used, so a dead or hanging master costs no time. The others are used if that one
//! disappears during the run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_call::{Cancel, Job, MinionContext, Outcome};
use halite_proto::returns::{JobReturn, OWN_JOB, ReturnJid};
use halite_proto::{Jid, Map, Value};
use thiserror::Error;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::context::pillar;
use crate::context::{JobContext, Route};
use crate::core::link::Notice;
use crate::core::sign_in::chain;
use crate::courier;
use crate::fleet::Fleet;
use crate::jobs::executors;
use crate::limits::{LINK_GONE_AFTER, OTHER_LOOKED_FOR_EVERY};
use crate::link::failover::while_linked;
use crate::link::words::LinkOutput;
use crate::minion::Minion;
use crate::records::proc_files::ProcDir;
use crate::returners::ChosenReturners;

/// The call.
#[derive(Clone, Debug)]
pub struct Request {
    /// The job id it runs under.
    pub jid: Jid,
    /// The function.
    pub fun: String,
    /// Its arguments, keywords as a map marked `__kwarg__`.
    pub args: Vec<Value>,
    /// `--set-metadata`: data that goes along with the return.
    pub metadata: Option<Map>,
    /// The words of the arguments as they were given: for returners.
    pub words: Vec<String>,
    /// The returners that get the result besides.
    pub returners: ChosenReturners,
    /// Whether the result is sent to the master.
    pub send_return: bool,
    /// How long to try to sign in.
    pub sign_in_timeout: Duration,
    /// Ends the function from outside, with the commands that it has started.
    pub cancel: Cancel,
}

/// Why nothing was run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// The key waits for acceptance on the only master there is, or on all.
    #[error("the minion's key is not accepted")]
    NotAccepted,
    /// No master let this minion in; the text says what each of them did.
    #[error("{0}")]
    NoMaster(String),
    /// The thread of the function died.
    #[error("the function's thread panicked")]
    ThreadDied,
}

/// Runs a function with the help of the first master that answers.
///
/// # Errors
/// When no master lets this minion in.
pub async fn remote(
    minion: Arc<Minion>,
    mut fleet: Fleet,
    request: Request,
) -> Result<Outcome, CallError> {
    fleet.all_up().await;
    let first = first_ready(&minion, &mut fleet, request.sign_in_timeout).await;
    let master = match first {
        Ok(master) => master,
        Err(error) => {
            fleet.stop().await;
            return Err(error);
        }
    };
    let with_pillar = Arc::clone(&minion);
    let refreshed =
        tokio::spawn(async move { pillar::refresh(&with_pillar, master, false).await.is_ok() });
    let context = JobContext::new(Arc::clone(&minion), Route::Prefer(master));
    let context = Arc::new(context);
    let outcome = run(Arc::clone(&context), &request).await?;
    if request.send_return {
        send_return(&minion, master, &request, &outcome).await;
    }
    give_to_returners(context, &request, &outcome).await;
    // The pillar request also carries this minion's grains to the master.
    let _ = refreshed.await;
    fleet.stop().await;
    Ok(outcome)
}

/// Runs a function on a context of its own: `salt-call --local`.
///
/// # Errors
/// When the function's thread died.
pub async fn local(
    context: impl MinionContext + 'static,
    request: &Request,
) -> Result<Outcome, CallError> {
    let context = Arc::new(context);
    let outcome = run(Arc::clone(&context), request).await?;
    give_to_returners(context, request, &outcome).await;
    Ok(outcome)
}

async fn run(
    context: Arc<impl MinionContext + 'static>,
    request: &Request,
) -> Result<Outcome, CallError> {
    let (fun, args) = (request.fun.clone(), request.args.clone());
    let load = Map::from([
        ("jid", Value::from(&request.jid)),
        ("fun", fun.as_str().into()),
        ("pid", i64::from(std::process::id()).into()),
        ("tgt", "salt-call".into()),
    ]);
    let (jid, cancel) = (request.jid.clone(), request.cancel.clone());
    let ran = tokio::task::spawn_blocking(move || {
        // What other Salt programs of this machine see of it: a state run
        // waits for no other one, and none for it, without.
        let proc = ProcDir::make(&context.cachedir()).ok();
        let _proc_file = proc.and_then(|proc| proc.enter(&jid, &Minion::proc_load(&load), None));
        let job = Job {
            cancel,
            ..Job::published(load)
        };
        let outcome = executors::run(&*context, executors::Asked::default(), &fun, &args, &job);
        executors::with_alike(&*context, &job, &fun, outcome)
    });
    ran.await.map_err(|_| CallError::ThreadDied)
}

/// A function that could not be called has no result, as in Salt.
async fn give_to_returners(
    context: Arc<impl MinionContext + 'static>,
    request: &Request,
    outcome: &Outcome,
) {
    if request.returners.is_empty() || outcome.failure.is_some() {
        return;
    }
    let wanted = request.returners.clone();
    let record = record(&context.id(), request, outcome);
    // What went wrong is in the log.
    let _ = tokio::task::spawn_blocking(move || wanted.deliver(&*context, &record)).await;
}

/// What returners get, in Salt's order.
fn record(id: &str, request: &Request, outcome: &Outcome) -> Map {
    let words = request.words.iter().map(|word| word.as_str().into());
    let mut record = Map::from([
        ("jid", Value::from(&request.jid)),
        ("return", outcome.ret.clone()),
        ("retcode", outcome.retcode.into()),
    ]);
    if let Some(out) = outcome.out {
        record.insert("out", out);
    }
    record.insert("id", id);
    record.insert("fun", request.fun.as_str());
    record.insert("fun_args", Value::List(words.collect()));
    if let Some(metadata) = &request.metadata {
        record.insert("metadata", metadata.clone());
    }
    record.insert("success", outcome.success);
    record
}

async fn first_ready(
    minion: &Minion,
    fleet: &mut Fleet,
    patience: Duration,
) -> Result<usize, CallError> {
    let mut stuck: Vec<Option<Notice>> = vec![None; minion.masters.len()];
    let first = async {
        while let Some((master, output)) = fleet.next().await {
            match output {
                LinkOutput::Ready { .. } => return Some(master),
                LinkOutput::Stuck(notice) => {
                    if let Some(known) = stuck.get_mut(master) {
                        *known = Some(notice);
                    }
                    // A master that is away may come back in time; one that
                    // has decided will not think again in a few seconds.
                    let away = |notice: &Option<Notice>| {
                        matches!(
                            notice,
                            None | Some(Notice::NoAnswer | Notice::Busy | Notice::NotResolved(_))
                        )
                    };
                    if !stuck.iter().any(away) {
                        return None;
                    }
                }
                LinkOutput::Job(_)
                | LinkOutput::Missed(_)
                | LinkOutput::Renewed
                | LinkOutput::Lost
                | LinkOutput::Rejected
                | LinkOutput::Answered => {}
            }
        }
        None
    };
    match timeout(patience, first).await {
        Ok(Some(master)) => Ok(master),
        Ok(None) | Err(_) => Err(reason(minion, &stuck)),
    }
}

fn reason(minion: &Minion, stuck: &[Option<Notice>]) -> CallError {
    if !stuck.is_empty() && stuck.iter().all(|notice| *notice == Some(Notice::Pending)) {
        return CallError::NotAccepted;
    }
    let what = |notice: &Option<Notice>| match notice {
        None | Some(Notice::NoAnswer) => "does not answer".to_owned(),
        Some(Notice::Pending) => "has not accepted this minion's key".to_owned(),
        Some(Notice::Rejected) => "has rejected this minion's key".to_owned(),
        Some(Notice::Full) => "is full".to_owned(),
        Some(Notice::Busy) => "is busy with other sign-ins".to_owned(),
        Some(Notice::NotResolved(why)) => format!("cannot be resolved: {why}"),
        Some(Notice::Mistrusted(why)) => why.clone(),
    };
    let each: Vec<String> = minion
        .masters
        .iter()
        .zip(stuck)
        .map(|(master, notice)| format!("master {} {}", master.name, what(notice)))
        .collect();
    CallError::NoMaster(each.join("; "))
}

/// Sends the return to the master, which makes a job of it, or to another one if that
/// cannot be reached.
async fn send_return(minion: &Minion, master: usize, request: &Request, outcome: &Outcome) {
    let mut result = JobReturn::new(
        ReturnJid::Req,
        request.fun.as_str().into(),
        request.args.clone(),
        outcome.ret.clone(),
        outcome.retcode,
    );
    result.success = outcome.success;
    result.out = outcome.out.map(str::to_owned);
    result.metadata = request.metadata.clone().map(Value::Map);
    let mut asked_before = Vec::new();
    let mut next = Some(master);
    while let Some(at) = next {
        let Some(known) = minion.masters.get(at) else {
            return;
        };
        if known.channel.capabilities().own_jobs {
            // Given again for want of an answer, it is the same one.
            result.extra.insert(OWN_JOB, &request.jid);
        } else {
            result.extra.remove(OWN_JOB);
        }
        let load = courier::request(&minion.id, result.clone());
        let phases = minion.masters.iter().enumerate();
        let phases = phases.filter(|(other, _)| *other != at);
        let asked = while_linked(
            known.phase.clone(),
            phases.map(|(_, other)| other.phase.clone()).collect(),
            LINK_GONE_AFTER,
            known.channel.request(load, minion.patience),
        );
        match asked.await {
            // By these a master says that it could not store it.
            Ok(Value::Str(answer)) if answer.is_empty() => {
                warn!(master = known.name, "the master could not store the return");
            }
            Ok(Value::Bool(false)) => {
                warn!(master = known.name, "the master did not accept the return");
            }
            Ok(_) => return debug!(master = known.name, "return stored by the master"),
            Err(error) => warn!(
                master = known.name,
                "the master did not accept the return: {}",
                chain(&error)
            ),
        }
        asked_before.push(at);
        next = another_master(minion, &asked_before).await;
    }
}

/// A living master that was not asked before, as soon as there is one: the links of a
/// program have only just begun.
async fn another_master(minion: &Minion, asked: &[usize]) -> Option<usize> {
    let deadline = Instant::now() + LINK_GONE_AFTER;
    while asked.len() < minion.masters.len() && Instant::now() < deadline {
        let living = minion.live_besides(*asked.first()?);
        if let Some(other) = living.into_iter().find(|at| !asked.contains(at)) {
            return Some(other);
        }
        sleep(OTHER_LOOKED_FOR_EVERY).await;
    }
    None
}
