//! `local_batch`: a command for some minions at a time.
//!
//! A ping finds out who is there; all parts of the job share one id, so that it
//! can be looked up as one.

use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};
use halite_client::{ClientError, Job, LocalClient, Report, report_part};
use halite_gather::Return;
use halite_gather::batch::{Batch, BatchSize};
use halite_process::clock::unix_micros;
use halite_proto::publish::FunSpec;
use halite_proto::time::jid_from_micros;
use halite_proto::{Map, Value, python};
use tokio::sync::mpsc;

use super::fault;
use super::local::{LocalCommand, seconds, shown, wanted};
use crate::fault::Fault;

/// Reports on their way from the parts.
const REPORTS_MAX: usize = 64;

/// As many at a time as Salt takes where nothing is said.
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
    let size = BatchSize::parse(&size)
        .ok_or_else(|| Fault::bad("`batch` is a number of minions, or a part such as 25%"))?;
    let wait = match rest.remove("batch_wait") {
        None | Some(Value::Nil) => Duration::ZERO,
        Some(wait) => seconds("batch_wait", &wait)?,
    };
    let failhard = rest
        .remove("failhard")
        .is_some_and(|failhard| failhard.is_true());
    let alive = alive(client, &job, timeout)
        .await
        .map_err(|error| fault(&error))?;
    let jid = jid_from_micros(unix_micros());
    job.jid = Some(jid.clone());
    job.target_kind = "list".to_owned();
    let mut batch = Batch::new(alive, size, wait, failhard);
    let mut returns = Vec::new();
    let (reports, mut reported) = mpsc::channel(REPORTS_MAX);
    let mut parts = FuturesUnordered::new();
    loop {
        let next = batch.dispatch(Instant::now());
        if !next.is_empty() {
            let job = Job {
                target: Value::List(next.iter().map(|id| Value::from(id.as_str())).collect()),
                ..job.clone()
            };
            parts.push(report_part(client, job, next, timeout, reports.clone()));
        }
        if batch.is_done() {
            return Ok(returns);
        }
        let timer = batch.next_timeout();
        let report = tokio::select! {
            biased;
            Some(report) = reported.recv() => report,
            Some(ended) = parts.next(), if !parts.is_empty() => match ended {
                Ok(()) => continue,
                Err(error) => return Err(fault(&error)),
            },
            () = until(timer) => continue,
        };
        let failed = match &report {
            Report::Missing { .. } => true,
            Report::Returned(value) => has_failed(&value.retcode),
        };
        let is_missing = matches!(report, Report::Missing { .. });
        let (id, value) = shown(report, &jid, false);
        batch.ended(&id, failed, Instant::now());
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

/// Who answers a ping.
async fn alive(
    client: &LocalClient,
    job: &Job,
    timeout: Duration,
) -> Result<Vec<String>, ClientError> {
    let ping = Job {
        function: FunSpec::One("test.ping".to_owned()),
        arguments: Vec::new(),
        returners: String::new(),
        ..job.clone()
    };
    let mut alive = Vec::new();
    if let Some(mut session) = client.start(&ping, timeout).await? {
        while let Some(report) = session.next().await? {
            if let Report::Returned(Return { id, .. }) = report {
                alive.push(id);
            }
        }
    }
    alive.sort_unstable();
    Ok(alive)
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
