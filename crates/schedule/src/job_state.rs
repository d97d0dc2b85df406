//! The state of a scheduled job: when it is due next, and the results of its runs.

use std::collections::BTreeSet;
use std::time::Duration;

use halite_proto::Map;

use crate::clock::{Local, Now};
use crate::due::Due;
use crate::job::{self, Job, Splay, Timing};
use crate::judge::{LATE_MAX, Verdict};
use halite_proto::chance::Chance;

/// What is known of a job while the minion runs.
#[derive(Clone, Debug, Default)]
pub(super) struct JobState {
    /// The definition that this state belongs to.
    pub(super) data: Map,
    /// When it is due next: by the steady clock for intervals.
    pub(super) steady: Option<Duration>,
    /// And by the wall clock for the others.
    pub(super) local: Option<Local>,
    /// Whether a splay has been added to that.
    pub(super) is_splayed: bool,
    pub(super) has_started: bool,
    pub(super) last_run: Option<Local>,
    pub(super) skipped: Option<(Local, &'static str)>,
    pub(super) error: Option<String>,
    /// Explicit moments that are done with.
    pub(super) done: BTreeSet<Local>,
}

impl JobState {
    /// Finds out when the job is due, if that is not known.
    pub(super) fn plan(&mut self, job: &Job, now: Now) {
        if self.steady.is_some() || self.local.is_some() {
            return;
        }
        match &job.timing {
            Timing::Every(seconds) => self.steady = Some(now.steady + in_seconds(*seconds)),
            Timing::When(dates) => {
                // Not the moment that may just have been served.
                let from = Local(now.local.0.saturating_add(1));
                self.local = dates.iter().filter_map(|date| date.from(from)).min();
            }
            Timing::Cron(cron) => self.local = cron.next(now.local),
            Timing::Once(moment) => {
                let is_done = self.last_run.is_some() || self.skipped.is_some();
                self.local = Some(*moment).filter(|_| !is_done);
            }
            Timing::Never => {}
        }
    }

    pub(super) fn splay(
        &mut self,
        job: &Job,
        schedule: &Map,
        name: &str,
        now: Now,
        chance: &mut Chance,
    ) {
        if self.is_splayed || self.is_due(now) {
            return;
        }
        let of_all = || {
            let value = schedule.get("splay")?;
            job::splay(name, value).ok().flatten()
        };
        let own = self.data.contains_key("splay");
        let Some(Splay { start, end }) = (if own { job.splay } else { of_all() }) else {
            return;
        };
        let span = u64::try_from(end - start).unwrap_or(0).saturating_add(1);
        let more = start + i64::try_from(chance.next_u64() % span).unwrap_or(0);
        self.steady = self.steady.map(|at| at + in_seconds(more));
        self.local = self.local.map(|at| at.plus_seconds(more));
        self.is_splayed = true;
    }

    pub(super) fn is_due(&self, now: Now) -> bool {
        self.steady.is_some_and(|at| at <= now.steady)
            || self.local.is_some_and(|at| at <= now.local)
    }

    /// Since when it is due, if it is.
    pub(super) fn due_since(&self, now: Now) -> Option<Local> {
        let steady = self.steady.map(|at| now.local_at(at));
        let at = steady.into_iter().chain(self.local).min();
        at.filter(|at| *at <= now.local)
    }

    /// Whether a moment is so long past that it does not count any more.
    pub(super) fn is_late(&self, job: &Job, now: Now) -> bool {
        let is_moment = matches!(job.timing, Timing::When(_) | Timing::Once(_));
        is_moment && self.local.is_some_and(|at| now.local.since(at) > LATE_MAX)
    }

    /// Whether the job was put off to this moment.
    pub(super) fn explicit(&mut self, job: &Job, now: Now) -> bool {
        let is_now =
            |moment: &&Local| **moment <= now.local && now.local.since(**moment) <= LATE_MAX;
        let found = job
            .runs
            .iter()
            .filter(is_now)
            .find(|moment| !self.done.contains(moment));
        found.is_some_and(|moment| self.done.insert(*moment))
    }

    /// The job has had its turn: it is due again later.
    pub(super) fn put_off(&mut self, job: &Job, now: Now) {
        self.is_splayed = false;
        self.local = None;
        self.steady = match job.timing {
            Timing::Every(seconds) => Some(now.steady + in_seconds(seconds)),
            _ => None,
        };
        self.plan(job, now);
    }

    /// The turn of a job that is due, with what was found of it; what runs, if anything.
    pub(super) fn take_turn(
        &mut self,
        name: &str,
        job: &Job,
        verdict: Verdict,
        now: Now,
    ) -> Option<Due> {
        match verdict {
            Verdict::Hold(why) => {
                self.skipped = Some((now.local, why));
                None
            }
            Verdict::Skip(why) => {
                self.skipped = Some((now.local, why));
                self.put_off(job, now);
                None
            }
            Verdict::Broken(error) => {
                tracing::error!("{error}");
                self.error = Some(error);
                None
            }
            Verdict::Run | Verdict::RunInstead(_) => {
                self.skipped = None;
                self.last_run = Some(now.local);
                self.put_off(job, now);
                if job.dry_run {
                    return None;
                }
                let mut due = Due::from_definition(name, &self.data);
                if let Verdict::RunInstead(function) = verdict {
                    due.function = function;
                }
                Some(due)
            }
        }
    }
}

fn in_seconds(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
