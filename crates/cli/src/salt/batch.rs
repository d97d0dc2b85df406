//! `--batch-size`: a job for some minions at a time.

use std::time::{Duration, Instant};

use halite_gather::batch::BatchSize;
use halite_process::clock::unix_micros;
use halite_proto::time::jid_from_micros;
use halite_proto::{Jid, Map, Value};

use super::batch_news::{self, News};
use super::closing::Closing;
use super::progress::Progress;
use super::returns::{REDRAW, Shown};
use super::{NO_MATCH, NO_RETURN, Program, broken_off};
use crate::display::Display;
use crate::options::{SaltOptions, Stop};
use crate::{Exit, Screen};
use halite_client::{BackgroundBatch, BatchRules, BatchRun, ClientError, Job, Pinged};

/// How a job is cut into parts.
#[derive(Clone, Debug)]
pub(super) struct BatchPlan {
    rules: BatchRules,
    /// The size as it was typed.
    text: String,
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
            rules: BatchRules {
                size,
                wait,
                failhard: options.failhard,
            },
            text,
        })
    }
}

impl BatchPlan {
    /// For a master that goes on alone.
    pub(super) fn in_background(&self) -> BackgroundBatch {
        BackgroundBatch {
            size: self.text.clone(),
            wait: self.rules.wait,
            failhard: self.rules.failhard,
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
        let Pinged { alive, down } = self.client.ping(&self.job(), self.timeout).await?;
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
                size: plan.rules.size.count(alive.len()),
                wait: plan.rules.wait,
                timeout: self.timeout,
                failhard: plan.rules.failhard,
                user: self.client.caller_name(),
            },
        )
        .await;
        let course = Course {
            options: self.options,
            progress: Progress::new(self.watches(), alive.len(), self.client.places()).in_batches(),
            display: &mut self.display,
            jid,
            news,
            results: Results::default(),
        };
        let mut run = BatchRun::new(&self.client, job, self.timeout, alive, plan.rules);
        let results = match course.run(&mut run, screen).await? {
            Ending::BrokenOff(exit) => return Ok(exit),
            Ending::Over(results) => results,
        };
        if run.is_halted() {
            tracing::error!("Batch run stopped due to failhard");
        }
        drop(run);
        Ok(self.close(results, screen))
    }

    /// Shows what is shown at the end.
    fn close(&mut self, results: Results, screen: &mut Screen<'_>) -> Exit {
        let is_static = self.options.is_static;
        if is_static {
            let out = self.command.outputter();
            self.display.show(screen, &results.merged.into(), out, 0);
        }
        let closes = self.watches_states() && !self.display.has_wish();
        if let Some(line) = results.closing.line().filter(|_| closes) {
            screen.error_line(&format!("\n{line}"));
        }
        match results.worst {
            0 => Exit::Ok,
            _ if is_static => Exit::Ok,
            code => Exit::Passthrough(code),
        }
    }
}

/// How a job in batches ended.
enum Ending {
    /// All have returned, or a failure has ended it.
    Over(Results),
    /// Somebody broke it off.
    BrokenOff(Exit),
}

/// What the minions have returned.
#[derive(Default)]
struct Results {
    worst: i64,
    /// All of it, where it is shown at once.
    merged: Map,
    closing: Closing,
}

/// A job in batches, as the screen and the event bus see it.
struct Course<'p> {
    options: &'p SaltOptions,
    display: &'p mut Display,
    progress: Progress,
    jid: Jid,
    news: News,
    results: Results,
}

impl Course<'_> {
    async fn run(
        mut self,
        run: &mut BatchRun<'_>,
        screen: &mut Screen<'_>,
    ) -> Result<Ending, ClientError> {
        let mut redraw = tokio::time::interval(REDRAW);
        let mut ready: Option<Shown> = None;
        let mut has_news = true;
        loop {
            let next = run.dispatch();
            if has_news || !next.is_empty() {
                has_news = !self.news.progress(&next, Instant::now()).await;
            }
            if !next.is_empty() {
                self.show_sent(&next, screen);
            }
            // Behind the news of who is next, as Salt shows it.
            if let Some(shown) = ready.take() {
                self.progress.clear(screen);
                self.show_return(shown, screen);
            }
            if run.is_done() {
                self.news.over(run.is_halted()).await;
                self.progress.clear(screen);
                return Ok(Ending::Over(self.results));
            }
            self.progress.show(screen);
            let report = tokio::select! {
                biased;
                report = run.report() => report,
                _ = redraw.tick(), if self.progress.is_on() => continue,
                () = tokio::time::sleep_until(self.news.due().into()), if has_news => continue,
                Ok(()) = tokio::signal::ctrl_c() => {
                    self.progress.clear(screen);
                    let awaited = self.progress.awaited();
                    let exit = broken_off::show(&self.jid, &awaited, run.unsent(), screen);
                    return Ok(Ending::BrokenOff(exit));
                }
            };
            let Some(report) = report.inspect_err(|_| self.progress.clear(screen))? else {
                continue;
            };
            let shown = Shown::from(report);
            self.record(&shown);
            has_news = true;
            run.ended(&shown.id, shown.is_missing || shown.retcode > 0);
            ready = Some(shown);
        }
    }

    fn show_sent(&mut self, ids: &[String], screen: &mut Screen<'_>) {
        self.progress.sent(ids);
        if !self.options.is_static {
            self.progress.clear(screen);
            screen.text(&format!("\nExecuting run on {}\n\n", python_list(ids)));
        }
    }

    /// Counts a report that is shown a little later.
    fn record(&mut self, shown: &Shown) {
        self.progress.ended(shown);
        self.news.ended(shown);
        self.results.closing.add(shown);
        self.results.worst = self.results.worst.max(shown.retcode);
    }

    fn show_return(&mut self, shown: Shown, screen: &mut Screen<'_>) {
        if self.options.is_static {
            if !shown.is_missing {
                self.results.merged.insert(shown.id, shown.value);
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
        self.display
            .show(screen, &data.into(), shown.out.as_deref(), shown.retcode);
        screen.error_text(&notes);
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
