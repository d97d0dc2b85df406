//! `--batch-size`: a job for some minions at a time.
//!
//! A ping finds out who is there; all parts of the job share one id, so that
//! it can be looked up as one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};
use halite_gather::Return;
use halite_gather::batch::{Batch, BatchSize};
use halite_process::clock::unix_micros;
use halite_proto::publish::FunSpec;
use halite_proto::time::jid_from_micros;
use halite_proto::{Jid, Map, Value};
use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::batch_news::{self, News};
use super::closing::Closing;
use super::progress::Progress;
use super::returns::{REDRAW, Shown};
use super::{NO_MATCH, NO_RETURN, Program, broken_off};
use crate::options::{SaltOptions, Stop};
use crate::{Exit, Screen};
use halite_client::{BackgroundBatch, ClientError, Job, LocalClient, Report, report_part};

/// Reports on their way from the parts to the screen.
const REPORTS_MAX: usize = 64;

/// How a job is cut into parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BatchPlan {
    size: BatchSize,
    /// As it was typed.
    text: String,
    wait: Duration,
    failhard: bool,
}

impl BatchPlan {
    /// What the options say; `size` is the number or part of minions.
    pub(super) fn new(options: &SaltOptions, size: &str) -> Result<Self, Stop> {
        let wait = options.batch_wait.unwrap_or(0.0).max(0.0);
        let wait = Duration::try_from_secs_f64(wait).map_err(|_| {
            Stop::usage::<SaltOptions>(&format!("option --batch-wait: no time: {wait}"))
        })?;
        let text = size.to_owned();
        let size = BatchSize::parse(size).ok_or_else(|| {
            Stop::usage::<SaltOptions>(&format!(
                "Invalid batch data sent: {size}\nData must be in the form of %10, 10% or 3"
            ))
        })?;
        Ok(Self {
            size,
            text,
            wait,
            failhard: options.failhard,
        })
    }
}

impl BatchPlan {
    /// For a master that goes on alone.
    pub(super) fn in_background(&self) -> BackgroundBatch {
        BackgroundBatch {
            size: self.text.clone(),
            wait: self.wait,
            failhard: self.failhard,
        }
    }
}

impl Program<'_> {
    /// Runs the job in batches.
    pub(super) async fn run_batch(
        &mut self,
        plan: BatchPlan,
        screen: &mut Screen<'_>,
    ) -> Result<Exit, ClientError> {
        let quiet = self.options.is_static;
        let (alive, down) = self.ping().await?;
        if alive.is_empty() && down.is_empty() && !quiet {
            screen.line(NO_MATCH);
            screen.line("No minions matched the target.");
        }
        for id in &down {
            if !quiet {
                screen.line(&format!(
                    "Minion {id} did not respond. No job will be sent."
                ));
            }
        }
        if alive.is_empty() {
            screen.error_line(NO_RETURN);
            return Ok(Exit::NoReturn);
        }
        let jid = new_jid();
        if !quiet && self.options.show_jid {
            screen.line(&format!("jid: {jid}"));
        }
        let job = Job {
            jid: Some(jid.clone()),
            ..self.job()
        };
        let news = News::begin(
            self.client.settings(),
            &batch_news::Plan {
                job: &job,
                jid: &jid,
                minions: &alive,
                size: plan.size.count(alive.len()),
                wait: plan.wait,
                timeout: self.timeout,
                failhard: plan.failhard,
                user: self.client.caller_name(),
            },
        )
        .await;
        let run = Run {
            batch: Batch::new(alive, plan.size, plan.wait, plan.failhard),
            job,
            jid,
            news,
            worst: 0,
            merged: Map::new(),
        };
        run.run(self, screen).await
    }

    /// Who answers a ping, and who does not, sorted.
    async fn ping(&mut self) -> Result<(Vec<String>, Vec<String>), ClientError> {
        let job = Job {
            function: FunSpec::One("test.ping".to_owned()),
            arguments: Vec::new(),
            returners: String::new(),
            ..self.job()
        };
        let (mut alive, mut down) = (Vec::new(), Vec::new());
        let Some(mut session) = self.client.start(&job, self.timeout).await? else {
            return Ok((alive, down));
        };
        let expected: BTreeSet<String> = session.published().minions.iter().cloned().collect();
        while let Some(report) = session.next().await? {
            match report {
                Report::Returned(Return { id, .. }) => alive.push(id),
                Report::Missing { id, .. } if expected.contains(&id) => down.push(id),
                Report::Missing { .. } => {}
            }
        }
        alive.sort_unstable();
        down.sort_unstable();
        Ok((alive, down))
    }
}

/// A job in batches under way.
struct Run {
    batch: Batch,
    job: Job,
    jid: Jid,
    news: News,
    worst: i64,
    merged: Map,
}

impl Run {
    async fn run(
        mut self,
        program: &mut Program<'_>,
        screen: &mut Screen<'_>,
    ) -> Result<Exit, ClientError> {
        let watches = program.watches();
        let closes = program.watches_states() && !program.display.has_wish();
        let mut closing = Closing::default();
        let Program {
            options,
            client,
            display,
            timeout,
            ..
        } = program;
        let (reports, mut reported) = mpsc::channel(REPORTS_MAX);
        let mut parts = FuturesUnordered::new();
        let mut ready: Option<Shown> = None;
        let mut progress = Progress::new(watches, self.batch.left(), client.places());
        progress.in_batches();
        let mut redraw = tokio::time::interval(REDRAW);
        let client: &LocalClient = client;
        let mut has_news = true;
        loop {
            let next = self.batch.dispatch(Instant::now());
            if has_news || !next.is_empty() {
                self.news.progress(&next).await;
                has_news = false;
            }
            if !next.is_empty() {
                progress.sent(&next);
                if !options.is_static {
                    progress.clear(screen);
                    screen.text(&format!("\nExecuting run on {}\n\n", python_list(&next)));
                }
                let job = Job {
                    target: Value::List(next.iter().map(|id| Value::from(id.as_str())).collect()),
                    target_kind: "list".to_owned(),
                    ..self.job.clone()
                };
                parts.push(report_part(client, job, next, *timeout, reports.clone()));
            }
            // Behind the news of who is next, as Salt shows it.
            if let Some(shown) = ready.take() {
                progress.clear(screen);
                self.show(shown, options, display, screen);
            }
            if self.batch.is_done() {
                self.news.over(self.batch.is_halted()).await;
                progress.clear(screen);
                break;
            }
            progress.show(screen);
            let timer = self.batch.next_timeout();
            let report = tokio::select! {
                biased;
                Some(report) = reported.recv() => report,
                Some(ended) = parts.next(), if !parts.is_empty() => match ended {
                    Ok(()) => continue,
                    Err(error) => {
                        progress.clear(screen);
                        return Err(error);
                    }
                },
                () = until(timer) => continue,
                _ = redraw.tick(), if progress.is_on() => continue,
                Ok(()) = tokio::signal::ctrl_c() => {
                    progress.clear(screen);
                    let (awaited, unsent) = (progress.awaited(), self.batch.unsent());
                    return Ok(broken_off::show(&self.jid, &awaited, unsent, screen));
                }
            };
            let shown = Shown::from(report);
            progress.ended(&shown);
            closing.add(&shown);
            self.news.ended(&shown);
            has_news = true;
            let failed = shown.is_missing || shown.retcode > 0;
            self.batch.ended(&shown.id, failed, Instant::now());
            self.worst = self.worst.max(shown.retcode);
            ready = Some(shown);
        }
        if options.is_static {
            let out = program.command.outputter();
            program.display.show(screen, &self.merged.into(), out, 0);
        }
        if let Some(line) = closing.line().filter(|_| closes) {
            screen.error_line(&format!("\n{line}"));
        }
        if self.batch.is_halted() {
            tracing::error!("Batch run stopped due to failhard");
        }
        Ok(match self.worst {
            0 => Exit::Ok,
            _ if options.is_static => Exit::Ok,
            code => Exit::Passthrough(code),
        })
    }

    fn show(
        &mut self,
        shown: Shown,
        options: &SaltOptions,
        display: &mut crate::display::Display,
        screen: &mut Screen<'_>,
    ) {
        if options.is_static {
            if !shown.is_missing {
                self.merged.insert(shown.id, shown.value);
            }
            return;
        }
        let notes = shown.notes_text();
        let of_states = shown.out.as_deref() == Some("highstate");
        let mut data = Map::new();
        if !shown.is_missing && !of_states {
            data.insert("retcode", shown.raw_retcode);
            data.insert("jid", &self.jid);
        }
        data.insert(shown.id, shown.value);
        display.show(screen, &data.into(), shown.out.as_deref(), shown.retcode);
        screen.error_text(&notes);
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Ids as Python prints a sorted list of them.
fn python_list(ids: &[String]) -> String {
    let mut ids: Vec<Value> = ids.iter().map(|id| Value::from(id.as_str())).collect();
    ids.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    halite_proto::python::repr(&Value::List(ids))
}

fn new_jid() -> Jid {
    jid_from_micros(unix_micros())
}
