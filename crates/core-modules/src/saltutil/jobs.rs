//! Running jobs, and ending them.

use std::fs;

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use halite_call::{Call, CallError, CallResult, paths};

/// The running jobs, without the one that asks.
fn others(call: &Call<'_>) -> Vec<Map> {
    let mut jobs = call
        .ctx
        .jobs()
        .map(|jobs| jobs.running())
        .unwrap_or_default();
    jobs.retain(|job| !is_own(call, job));
    jobs
}

/// Whether it is the job of this call: another master's may have its id, but
/// is another command.
fn is_own(call: &Call<'_>, job: &Map) -> bool {
    let is_same = |field: &str| match (call.job.load.get(field), job.get(field)) {
        (Some(own), Some(other)) => own == other,
        _ => true,
    };
    call.job.jid().is_some_and(|own| jid_of(job) == Some(own)) && is_same("fun") && is_same("arg")
}

fn jid_of(job: &Map) -> Option<&str> {
    job.get("jid").and_then(Value::as_str)
}

pub(super) fn running(call: &Call<'_>) -> CallResult {
    Ok(others(call)
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

pub(super) fn find_job(call: &Call<'_>) -> CallResult {
    let found = call
        .ctx
        .jobs()
        .and_then(|jobs| jobs.find(&call.text("jid")))
        .filter(|job| !is_own(call, job));
    Ok(found.unwrap_or_default().into())
}

pub(super) fn is_running(call: &Call<'_>) -> CallResult {
    let pattern = call.text("fun");
    let runs = |job: &Map| match job.get("fun") {
        Some(Value::Str(fun)) => fnmatch(&pattern, fun),
        Some(Value::List(funs)) => funs
            .iter()
            .filter_map(Value::as_str)
            .any(|fun| fnmatch(&pattern, fun)),
        _ => false,
    };
    let jobs = others(call).into_iter().filter(runs).map(Value::from);
    Ok(jobs.collect::<Vec<_>>().into())
}

fn signal(call: &Call<'_>, jid: &str, signal: i32) -> Result<String, CallError> {
    let Some(jobs) = call.ctx.jobs() else {
        return Ok(String::new());
    };
    Ok(match jobs.signal(jid, signal)? {
        Some(pid) => format!("Signal {signal} sent to job {jid} at pid {pid}"),
        None => String::new(),
    })
}

pub(super) fn signal_job(call: &Call<'_>) -> CallResult {
    let number = i32::try_from(call.int("sig")?)
        .map_err(|_| CallError::invocation("the signal is not one"))?;
    Ok(signal(call, &call.text("jid"), number)?.into())
}

pub(super) fn term_job(call: &Call<'_>) -> CallResult {
    Ok(signal(call, &call.text("jid"), 15)?.into())
}

pub(super) fn kill_job(call: &Call<'_>) -> CallResult {
    Ok(signal(call, &call.text("jid"), 9)?.into())
}

fn signal_others(call: &Call<'_>, number: i32) -> CallResult {
    let mut said = Vec::new();
    for job in others(call) {
        if let Some(jid) = jid_of(&job) {
            said.push(Value::from(signal(call, jid, number)?));
        }
    }
    Ok(said.into())
}

pub(super) fn term_all_jobs(call: &Call<'_>) -> CallResult {
    signal_others(call, 15)
}

pub(super) fn kill_all_jobs(call: &Call<'_>) -> CallResult {
    signal_others(call, 9)
}

/// The minion keeps no returns of its own yet.
pub(super) fn find_cached_job(_: &Call<'_>) -> CallResult {
    Ok(
        "Local jobs cache directory not found; you may need to enable cache_jobs on this minion"
            .into(),
    )
}

pub(super) fn clear_job_cache(call: &Call<'_>) -> CallResult {
    let hours = u64::try_from(call.int("hours")?).unwrap_or_default();
    let oldest = std::time::SystemTime::now()
        .checked_sub(std::time::Duration::from_secs(hours.saturating_mul(3600)));
    let directory = call.ctx.cachedir().join("minion_jobs");
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let old = entry.metadata().and_then(|data| data.modified()).ok() < oldest;
        if old && let Err(error) = paths::remove_dir_all(entry.path()) {
            tracing::error!(%error, "could not remove a cached job");
            return Ok(false.into());
        }
    }
    Ok(true.into())
}
