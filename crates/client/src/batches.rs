//! A job for some minions at a time.
//!
//! A ping finds the minions that are there; all parts of the job share one id, so
//! that it can be looked up as one.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};
use halite_gather::batch::{Batch, BatchSize};
use halite_gather::{Return, words};
use halite_proto::Value;
use halite_proto::publish::FunSpec;
use tokio::sync::mpsc;

use super::{ClientError, Job, LocalClient, Report};

/// Reports on their way from the parts.
const REPORTS_MAX: usize = 64;

/// Who answered a ping, and who did not, both sorted.
#[derive(Debug, Default)]
pub struct Pinged {
    /// Those who answered.
    pub alive: Vec<String>,
    /// Those who were asked and are silent.
    pub down: Vec<String>,
}

impl LocalClient {
    /// Pings whom `job` is for.
    ///
    /// # Errors
    /// When the ping cannot be sent, or what comes of it cannot be heard.
    pub async fn ping(&self, job: &Job, timeout: Duration) -> Result<Pinged, ClientError> {
        let ping = Job {
            function: FunSpec::One("test.ping".to_owned()),
            arguments: Vec::new(),
            returners: String::new(),
            ..job.clone()
        };
        let mut pinged = Pinged::default();
        let Some(mut session) = self.start(&ping, timeout).await? else {
            return Ok(pinged);
        };
        let expected: BTreeSet<String> = session.published().minions.iter().cloned().collect();
        while let Some(report) = session.next().await? {
            match report {
                Report::Returned(Return { id, .. }) => pinged.alive.push(id),
                Report::Missing { id, .. } if expected.contains(&id) => pinged.down.push(id),
                Report::Missing { .. } => {}
            }
        }
        pinged.alive.sort_unstable();
        pinged.down.sort_unstable();
        Ok(pinged)
    }
}

/// How a job is cut into parts.
#[derive(Clone, Copy, Debug)]
pub struct BatchRules {
    /// How many minions at a time.
    pub size: BatchSize,
    /// How long the place of a minion that has returned stays free.
    pub wait: Duration,
    /// Whether a failure ends it all.
    pub failhard: bool,
}

type Part<'c> = Pin<Box<dyn Future<Output = Result<(), ClientError>> + Send + 'c>>;

/// A job in batches under way. Whoever drives it dispatches, takes a report, says
/// whether that minion failed, and dispatches again, until it is done.
pub struct BatchRun<'c> {
    client: &'c LocalClient,
    job: Job,
    timeout: Duration,
    batch: Batch,
    parts: FuturesUnordered<Part<'c>>,
    reports: mpsc::Sender<Report>,
    reported: mpsc::Receiver<Report>,
}

impl<'c> BatchRun<'c> {
    /// A job for `minions`; all its parts get the id that `job` names.
    pub fn new(
        client: &'c LocalClient,
        job: Job,
        timeout: Duration,
        minions: Vec<String>,
        rules: BatchRules,
    ) -> Self {
        let (reports, reported) = mpsc::channel(REPORTS_MAX);
        Self {
            client,
            job,
            timeout,
            batch: Batch::new(minions, rules.size, rules.wait, rules.failhard),
            parts: FuturesUnordered::new(),
            reports,
            reported,
        }
    }

    /// Sends the job to those whose turn it is.
    pub fn dispatch(&mut self) -> Vec<String> {
        let next = self.batch.dispatch(Instant::now());
        if !next.is_empty() {
            let target = next.iter().map(|id| Value::from(id.as_str())).collect();
            let job = Job {
                target: Value::List(target),
                target_kind: "list".to_owned(),
                ..self.job.clone()
            };
            let part = Self::report_part(
                self.client,
                job,
                next.clone(),
                self.timeout,
                self.reports.clone(),
            );
            self.parts.push(Box::pin(part));
        }
        next
    }

    /// The next report; none where it is time to dispatch again. Nothing is lost
    /// when this is dropped half-way.
    ///
    /// # Errors
    /// When a part cannot be sent, or what comes of it cannot be heard.
    pub async fn report(&mut self) -> Result<Option<Report>, ClientError> {
        let timer = self.batch.next_timeout();
        loop {
            tokio::select! {
                biased;
                Some(report) = self.reported.recv() => return Ok(Some(report)),
                Some(ended) = self.parts.next(), if !self.parts.is_empty() => ended?,
                () = until(timer) => return Ok(None),
            }
        }
    }

    /// A reported minion is done with: whether it failed.
    pub fn ended(&mut self, id: &str, failed: bool) {
        self.batch.ended(id, failed, Instant::now());
    }

    /// Who is still to get the job or works on it, in number.
    pub fn left(&self) -> usize {
        self.batch.left()
    }

    /// Who has not got the job yet, in the order in which they would.
    pub fn unsent(&self) -> impl Iterator<Item = &str> {
        self.batch.unsent()
    }

    /// Whether a failure has ended it.
    pub fn is_halted(&self) -> bool {
        self.batch.is_halted()
    }

    /// Whether there is nothing more to do or to wait for.
    pub fn is_done(&self) -> bool {
        self.batch.is_done()
    }

    /// Sends the job to a few minions and reports each of them once.
    async fn report_part(
        client: &LocalClient,
        job: Job,
        ids: Vec<String>,
        timeout: Duration,
        reports: mpsc::Sender<Report>,
    ) -> Result<(), ClientError> {
        let mut left: BTreeSet<String> = ids.into_iter().collect();
        if let Some(mut session) = client.start(&job, timeout).await? {
            // Other parts have the same job id; their returns are theirs.
            session.ignore_others();
            while let Some(report) = session.next().await? {
                if left.remove(report.id()) && reports.send(report).await.is_err() {
                    return Ok(());
                }
            }
        }
        for id in left {
            let text = words::NOT_CONNECTED.to_owned();
            if reports.send(Report::Missing { id, text }).await.is_err() {
                break;
            }
        }
        Ok(())
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
