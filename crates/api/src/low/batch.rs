//! `local_batch`: a command for some minions at a time.

use std::time::Duration;

use halite_client::{BatchRules, BatchRun, LocalClient, Report};
use halite_gather::batch::BatchSize;
use halite_process::clock::unix_micros;
use halite_proto::time::jid_from_micros;
use halite_proto::{Map, Value, python};

use super::fault;
use super::local::{LocalCommand, seconds, shown, wanted};
use crate::fault::Fault;

/// Salt's default size of a batch.
const SIZE: &str = "10%";

/// Runs a job in batches; a map for each minion, in the order of their returns.
pub(super) async fn run(client: &LocalClient, fields: Map) -> Result<Vec<Value>, Fault> {
    let own = [
        "batch",
        "batch_wait",
        "failhard",
        "raw",
        "gather_job_timeout",
    ];
    let LocalCommand {
        mut job,
        timeout,
        mut rest,
        ..
    } = wanted(client, fields, &own)?;
    let size = rest
        .remove("batch")
        .map_or_else(|| SIZE.to_owned(), |size| python::str(&size));
    let size = BatchSize::parse(&size).ok_or_else(|| {
        Fault::bad("`batch` must be a number of minions or a percentage such as 25%")
    })?;
    let wait = match rest.remove("batch_wait") {
        None | Some(Value::Nil) => Duration::ZERO,
        Some(wait) => seconds("batch_wait", &wait)?,
    };
    let failhard = rest
        .remove("failhard")
        .is_some_and(|failhard| failhard.is_true());
    let alive = client
        .ping(&job, timeout)
        .await
        .map_err(|error| fault(&error))?
        .alive;
    let jid = jid_from_micros(unix_micros());
    job.jid = Some(jid.clone());
    let rules = BatchRules {
        size,
        wait,
        failhard,
    };
    let mut run = BatchRun::new(client, job, timeout, alive, rules);
    let mut returns = Vec::new();
    loop {
        run.dispatch();
        if run.is_done() {
            return Ok(returns);
        }
        let report = run.report().await.map_err(|error| fault(&error))?;
        let Some(report) = report else {
            continue;
        };
        let (is_missing, failed) = match &report {
            Report::Missing { .. } => (true, true),
            Report::Returned(value) => (false, has_failed(&value.retcode)),
        };
        let (id, value) = shown(report, &jid, false);
        run.ended(&id, failed);
        if !is_missing {
            returns.push(Map::from([(id, value)]).into());
        }
    }
}

fn has_failed(retcode: &Value) -> bool {
    match retcode {
        Value::Map(codes) => codes.values().any(has_failed),
        other => other.is_true(),
    }
}
