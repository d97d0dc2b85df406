//! Reading the lists of apt's repositories again.

use halite_call::{Call, host};
use halite_proto::{Map, Value};

use super::{Tool, run};
use crate::pkg::error::PkgError;

/// How long an update of the lists may take before the cache is cleaned.
const REFRESH_SECONDS: i64 = 30;

pub(super) fn refresh(call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError> {
    crate::pkg::clear_refresh_tag(call);
    let mut repos = Map::new();
    let valid_seconds = kwargs.get("cache_valid_time").and_then(Value::as_f64);
    if let Some(seconds) = valid_seconds.filter(|seconds| *seconds > 0.0)
        && crate::pkg::is_younger(&call.host().path("/var/lib/apt/lists"), seconds)
    {
        return Ok(repos.into());
    }
    let update = || Tool::new(&["apt-get", "-q", "update"]);
    let timeout = kwargs
        .get("timeout")
        .or_else(|| call.ctx.opts().get("aptpkg_refresh_db_timeout"))
        .and_then(Value::as_i64)
        .unwrap_or(REFRESH_SECONDS);
    let mut ran = run(call, || Tool {
        timeout: Some(timeout),
        ..update()
    })?;
    if ran.stdout.contains("Timed out") {
        run(call, || Tool::new(&["apt-get", "-q", "clean"]))?;
        ran = run(call, update)?;
    }
    if !ran.ok() {
        return Err(PkgError::command(ran.stderr));
    }
    let mut failed = Vec::new();
    for line in ran.stdout.lines() {
        let mut columns = line.split_whitespace();
        let Some(kind) = columns.next() else {
            continue;
        };
        let mut repo = columns.collect::<Vec<_>>().join(" ");
        let state = if kind.contains("Get") {
            if let Some(at) = repo.rfind(" [").filter(|_| repo.ends_with("B]")) {
                repo.truncate(at);
            }
            Value::Bool(true)
        } else if kind.contains("Ign") {
            Value::Bool(false)
        } else if kind.contains("Hit") {
            Value::Nil
        } else if kind.contains("Err") {
            failed.push(repo.clone());
            Value::Bool(false)
        } else {
            continue;
        };
        repos.insert(repo, state);
    }
    if kwargs.get("failhard").is_some_and(host::is_true) && !failed.is_empty() {
        return Err(PkgError::command(format!(
            "Error getting repos: {}",
            failed.join(", ")
        )));
    }
    Ok(repos.into())
}

/// Reads the lists again, unless they are younger than `cache_valid_time`.
pub(super) fn refresh_unless_valid(call: &Call<'_>, kwargs: &Map) -> Result<(), PkgError> {
    let mut only = kwargs.clone();
    only.retain(|key, _| key.as_str() == Some("cache_valid_time"));
    refresh(call, &only)?;
    Ok(())
}
