//! Gathers the returns of one job: which minions are expected, which have returned,
//! which are asked whether the job still runs, and when to stop waiting.
//!
//! A state machine without clock and sockets; the times are those of Salt's
//! `get_iter_returns` (`salt/client/__init__.py`, 3008.5). Invariants: after
//! [`Output::Done`] every expected minion has been reported exactly once, as
//! returned or as missing. A minion's message affects only itself: the tag, which
//! the master makes, says whose return it is, and only tags that no minion may fire
//! name minions or end the wait.

mod awaited;
pub mod batch;
mod tags;
pub mod words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use halite_proto::returns::NOTES;
use halite_proto::{Jid, Map, Value};

use self::awaited::Awaited;
use self::tags::{Said, is_syndic_tag, return_of_any_job, said};

/// Most returns of one minion that are kept while it is not known yet which job asks who
/// still works; the oldest are dropped. The minion returns other jobs meanwhile.
const EARLY_ANSWERS_MAX: usize = 8;

/// Most minions below other masters, which nobody has named yet, whose returns
/// are kept meanwhile. Those of further ones are dropped.
const EARLY_STRANGERS_MAX: usize = 4096;

/// How long to wait for which minions.
#[derive(Clone, Debug)]
pub struct CollectOptions {
    /// The job.
    pub jid: Jid,
    /// The minions that the master expects to return.
    pub minions: Vec<String>,
    /// Ids that were asked for and are not known to the master.
    pub missing: Vec<String>,
    /// How long to wait for a sign of life of each minion.
    pub timeout: Duration,
    /// How long to wait for answers about who still works.
    pub gather_job_timeout: Duration,
    /// Masters below this one may name more minions, within this time.
    pub syndic_wait: Option<Duration>,
}

/// The return of a minion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Return {
    /// The minion that returned, or a resource as the master knows it.
    pub id: String,
    /// What.
    pub value: Value,
    /// The outputter it asks for.
    pub out: Option<String>,
    /// The return code: a number, or a map from function to number.
    pub retcode: Value,
    /// What people should read beside it.
    pub notes: Vec<String>,
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Show this.
    Return(Return),
    /// Ask these minions whether they work on the job, and report with
    /// [`Collector::asked`]. Only those with accepted keys can be asked.
    Ask(Vec<String>),
    /// Show that this minion did not return.
    Missing(String),
    /// The master refused after all.
    Refused,
    /// There is nothing more to wait for.
    Done,
}

/// The machine.
#[derive(Debug)]
pub struct Collector {
    jid: Jid,
    timeout: Duration,
    gather_job_timeout: Duration,
    syndic_wait: Option<Duration>,
    minions: Awaited,
    ignores_others: bool,
    unknown: BTreeSet<String>,
    /// When to ask next, or to stop asking.
    window_ends: Instant,
    /// Until when masters below may name minions.
    syndics_until: Option<Instant>,
    /// Someone may be working: true at first, so that everyone is asked once.
    working: bool,
    /// The question is on its way.
    asking: bool,
    /// The job that asks.
    question: Option<Jid>,
    /// By minion the returns that may be answers which have overtaken the news
    /// of which job they answer.
    early: BTreeMap<String, VecDeque<(String, Map)>>,
    outputs: VecDeque<Output>,
    finished: bool,
}

impl Collector {
    /// Begins waiting.
    pub fn new(now: Instant, options: CollectOptions) -> Self {
        let mut collector = Self {
            jid: options.jid,
            timeout: options.timeout,
            gather_job_timeout: options.gather_job_timeout,
            syndic_wait: options.syndic_wait,
            minions: Awaited::default(),
            ignores_others: false,
            unknown: options.missing.into_iter().collect(),
            window_ends: now + options.timeout,
            syndics_until: options.syndic_wait.map(|wait| now + wait),
            working: true,
            asking: false,
            question: None,
            early: BTreeMap::new(),
            outputs: VecDeque::new(),
            finished: false,
        };
        collector.expect(now, options.minions);
        collector
    }

    /// The beginning that the tags of a job's events have.
    pub fn tag_prefix(jid: &Jid) -> String {
        tags::prefix(jid)
    }

    /// Whether an event with this tag may matter.
    pub fn wants(&self, tag: &str) -> bool {
        (tags::is_of(tag, &self.jid) && !self.is_of_other(tag))
            || (self.syndic_wait.is_some() && is_syndic_tag(tag, &self.jid))
            || self
                .question
                .as_ref()
                .is_some_and(|question| tags::is_of(tag, question))
            || (self.asking && return_of_any_job(tag).is_some())
    }

    /// Ignores returns of minions that are not expected, and expects no others than now:
    /// they belong to another collector of the same job.
    pub fn ignore_others(&mut self) {
        self.ignores_others = true;
    }

    fn is_of_other(&self, tag: &str) -> bool {
        self.ignores_others
            && match said(tag, &self.jid) {
                Some(Said::Return(id)) => !self.minions.is_pending(id),
                Some(Said::Announced) => true,
                Some(Said::Refused) | None => false,
            }
    }

    /// Handles an event from the bus; those of other jobs are ignored.
    pub fn event(&mut self, now: Instant, tag: &str, data: &Map) {
        if self.finished {
            return;
        }
        if self.is_of_other(tag) {
            return;
        }
        if tags::is_of(tag, &self.jid) {
            self.job_event(now, tag, data);
        } else if self.syndic_wait.is_some() && is_syndic_tag(tag, &self.jid) {
            self.names(now, data);
        } else if let Some(question) = &self.question
            && let Some(Said::Return(id)) = said(tag, question)
        {
            self.answer(now, id, data);
        } else if self.asking
            && let Some(id) = return_of_any_job(tag)
        {
            self.keep_early(id, tag, data);
        }
    }

    /// The question was published as the job `question`, or could not be.
    pub fn asked(&mut self, now: Instant, question: Option<Jid>) {
        self.asking = false;
        self.working = false;
        self.question = question;
        self.window_ends = now + self.gather_job_timeout;
        if let Some(wait) = self.syndic_wait {
            self.window_ends += wait;
        }
        for (tag, data) in std::mem::take(&mut self.early).into_values().flatten() {
            self.event(now, &tag, &data);
        }
    }

    /// These minions are known to have no connection, all others may have one: they are
    /// neither waited for nor asked. Their returns are accepted as long as others are
    /// waited for.
    pub fn away(&mut self, ids: impl IntoIterator<Item = String>) {
        self.minions.set_away(ids);
    }

    /// How many were named so far, whether they have returned or not.
    pub fn expected_count(&self) -> usize {
        self.minions.expected_count()
    }

    /// Targeted minions that have not returned yet.
    pub fn pending(&self) -> impl Iterator<Item = &str> {
        self.minions.pending()
    }

    /// Minions named by the user that have not returned, known to the master or not.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let missing: BTreeSet<&String> = self.minions.expected().chain(&self.unknown).collect();
        missing
            .into_iter()
            .filter(|id| !self.minions.has_returned(id))
            .map(String::as_str)
    }

    /// The next action now.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        if self.finished {
            return None;
        }
        if self.is_complete(now) {
            self.finish();
        } else if !self.asking && now >= self.window_ends {
            if self.working {
                self.asking = true;
                let ids = self.minions.worth_waiting().map(str::to_owned);
                return Some(Output::Ask(ids.collect()));
            }
            if self.minions.last_end().is_none_or(|end| now >= end) {
                self.finish();
            }
        }
        self.outputs.pop_front()
    }

    /// When to poll again if nothing happens before; never while a question is
    /// on its way.
    pub fn next_timeout(&self, now: Instant) -> Option<Instant> {
        if self.finished || self.asking {
            return None;
        }
        if now < self.window_ends {
            let syndics = self
                .syndics_until
                .filter(|until| now < *until && self.minions.is_over());
            return Some(syndics.map_or(self.window_ends, |until| until.min(self.window_ends)));
        }
        self.minions.last_end()
    }

    fn job_event(&mut self, now: Instant, tag: &str, data: &Map) {
        match said(tag, &self.jid) {
            Some(Said::Refused) => self.outputs.push_back(Output::Refused),
            Some(Said::Announced) => self.names(now, data),
            Some(Said::Return(id)) => self.returned(id, data),
            None => {}
        }
    }

    fn returned(&mut self, id: &str, data: &Map) {
        let (true, Some(value)) = (is_from(data, id), data.get("return")) else {
            return;
        };
        if !self.minions.find(id) {
            tracing::debug!(id, jid = %self.jid, "ignored a return that had already arrived");
            return;
        }
        self.outputs.push_back(Output::Return(Return {
            id: id.to_owned(),
            value: value.clone(),
            out: data.get("out").and_then(Value::as_str).map(str::to_owned),
            retcode: data.get("retcode").cloned().unwrap_or(Value::Int(0)),
            notes: texts(data.get(NOTES)),
        }));
    }

    /// Whether a minion was asked if it works on the job. An answer of another one is
    /// ignored: it could otherwise make others be waited for. Minions below other masters
    /// may be asked before they are named here.
    fn may_answer(&self, id: &str) -> bool {
        self.syndic_wait.is_some() || self.minions.is_pending(id)
    }

    fn keep_early(&mut self, id: &str, tag: &str, data: &Map) {
        let is_full = self.early.len() >= self.minions.expected_count() + EARLY_STRANGERS_MAX;
        if !self.may_answer(id) || (is_full && !self.early.contains_key(id)) {
            return;
        }
        let kept = self.early.entry(id.to_owned()).or_default();
        if kept.len() == EARLY_ANSWERS_MAX {
            kept.pop_front();
        }
        kept.push_back((tag.to_owned(), data.clone()));
    }

    /// More minions are expected, more are not known.
    fn names(&mut self, now: Instant, data: &Map) {
        self.expect(now, texts(data.get("minions")));
        self.unknown.extend(texts(data.get("missing")));
    }

    /// A minion's answer to the question whether it works on the job.
    fn answer(&mut self, now: Instant, id: &str, data: &Map) {
        let is_heard = is_from(data, id) && self.may_answer(id);
        let (true, Some(answer)) = (is_heard, data.get("return")) else {
            return;
        };
        if data
            .get("retcode")
            .and_then(Value::as_int)
            .is_some_and(|code| code > 0)
        {
            tracing::error!(
                id,
                "the minion could not tell whether it still runs the job"
            );
            self.minions.give_up(id);
            return;
        }
        let running = match answer {
            Value::Map(map) => map.get("return").unwrap_or(answer).is_true(),
            _ => false,
        };
        if running {
            self.minions.give(id.to_owned(), now + self.timeout);
            self.working = true;
        }
    }

    fn expect(&mut self, now: Instant, ids: Vec<String>) {
        for id in ids {
            self.minions.expect(id, now + self.timeout);
        }
    }

    fn is_complete(&self, now: Instant) -> bool {
        match self.syndics_until {
            None => self.minions.is_over(),
            Some(until) => {
                self.minions.is_over() && self.minions.expected_count() > 0 && now >= until
            }
        }
    }

    fn finish(&mut self) {
        self.finished = true;
        let missing: Vec<String> = self.missing().map(str::to_owned).collect();
        self.outputs
            .extend(missing.into_iter().map(Output::Missing));
        self.outputs.push_back(Output::Done);
    }
}

/// Whether the data of a return is of the minion that its tag names.
fn is_from(data: &Map, id: &str) -> bool {
    data.get("id").and_then(Value::as_str) == Some(id)
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_list).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests;
