//! The course of one job in batches: a ping finds the minions that are there, and
//! each free place goes to the next minion.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use halite_gather::batch::Batch;
use halite_proto::clear::{Credentials, PublishRequest};
use halite_proto::publish::FunSpec;
use halite_proto::{Map, MinionId, Value};
use halite_store::StoredReturn;
use tokio::runtime::Handle;

use super::parts::{Ended, Parts};
use super::record::Record;
use super::tell::Halt;
use super::{Batches, Begun, Job, Plan, seconds_now};
use crate::error::chain;
use crate::jobs::stop::Why;

/// Carries out a job and tells how it went.
pub(super) fn drive(batches: &Arc<Batches>, runtime: &Handle, job: &Arc<Job>, plan: Plan) {
    let drive = Drive {
        batches,
        job,
        parts: Parts::new(batches, runtime, job),
        began: Instant::now(),
        active: Vec::new(),
        left: Vec::new(),
        has_failed: false,
    };
    if drive.run(plan) == Went::Paused {
        job.course().is_over = true;
        if job.stop.why() == Some(Why::Closing) {
            tracing::info!(
                jid = %job.jid,
                "a job in batches will continue when the master starts again"
            );
        }
    }
}

/// How a course has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Went {
    /// The job has ended, and that was announced.
    Over,
    /// The master stops; the rest is left to its next start.
    Paused,
}

struct Drive<'a> {
    batches: &'a Arc<Batches>,
    job: &'a Arc<Job>,
    parts: Parts<'a>,
    began: Instant,
    /// The minions that run the job.
    active: Vec<String>,
    /// The minions that have not got the job yet.
    left: Vec<String>,
    /// A minion failed before this master continued the job.
    has_failed: bool,
}

impl Drive<'_> {
    fn run(mut self, mut plan: Plan) -> Went {
        let mut is_new = plan.begun.is_none();
        let record = match plan.begun.take() {
            Some(begun) => self.go_on(begun),
            None => match self.begin(&plan) {
                Ok(record) => record,
                Err(went) => return went,
            },
        };
        let size = self.job.course().batch_size;
        let (active, left) = (self.active.clone(), self.left.clone());
        let mut batch = Batch::under_way(active, left, size, plan.wait, plan.failhard);
        if plan.failhard && self.has_failed {
            return self.halted(Halt::Failhard, &record);
        }
        loop {
            if let Err(why) = self.send_next(&plan.request, &mut batch) {
                return self.broken(&why, &record);
            }
            self.record(&record);
            match std::mem::take(&mut is_new) {
                true => self.job.tell_new(self.batches),
                false => self.job.tell_progress(self.batches),
            }
            if batch.is_halted() {
                return self.halted(Halt::Failhard, &record);
            }
            if batch.is_done() {
                self.end();
                self.job.tell_complete(self.batches, self.began.elapsed());
                self.tell_masters();
                return Went::Over;
            }
            let ended = match self.until_ended(&batch) {
                Ok(ended) => ended,
                Err(Why::Closing | Why::Elsewhere) => return Went::Paused,
                Err(_) => return self.halted(Halt::Stop, &record),
            };
            for ended in ended {
                self.account(ended, &mut batch);
            }
        }
    }

    /// Sends the job to the next minions, as far as places are free.
    fn send_next(&mut self, request: &PublishRequest, batch: &mut Batch) -> Result<(), String> {
        loop {
            let mut next = batch.dispatch(Instant::now());
            if next.is_empty() {
                return Ok(());
            }
            self.left.retain(|id| !next.contains(id));
            // While the link to it was cut, another master may have driven the job too.
            next.retain(|id| match self.has_returned(id) {
                None => true,
                Some(has_failed) => {
                    batch.ended(id, has_failed, Instant::now());
                    self.job.course().completed += 1;
                    false
                }
            });
            if !next.is_empty() {
                self.active.extend(next.iter().cloned());
                return self.parts.send(request, &next);
            }
        }
    }

    /// Whether a minion of a job that other masters may have sent it has failed; `None` if
    /// it has not returned.
    fn has_returned(&self, id: &str) -> Option<bool> {
        self.batches.under_way.as_ref()?;
        let id = MinionId::parse(id).ok()?;
        let jobs = &self.batches.jobs;
        let stored = jobs.cache.return_of(&self.job.jid, &id).ok()??;
        Some(is_failure(&stored))
    }

    /// Continues a job that others have started.
    fn go_on(&mut self, begun: Begun) -> Record {
        let Begun {
            mut active,
            mut pending,
            state,
        } = begun;
        // Returns that came before anybody listened are in the cache.
        let returned = self.returned_before();
        let has_returned = |id: &String| returned.contains_key(id);
        self.has_failed = active
            .iter()
            .chain(&pending)
            .any(|id| returned.get(id) == Some(&true));
        active.retain(|id| !has_returned(id));
        pending.retain(|id| !has_returned(id));
        if !active.is_empty() {
            self.parts.collect(self.job.jid.clone(), &active);
        }
        let mut course = self.job.course();
        course.completed = course.total.saturating_sub(active.len() + pending.len());
        (self.active, self.left) = (active, pending);
        Record::resume(state, self.batches, &self.job.jid)
    }

    /// Finds the minions that answer, for a new job.
    fn begin(&mut self, plan: &Plan) -> Result<Record, Went> {
        let all: Vec<String> = plan.minions.iter().map(ToString::to_string).collect();
        // Also a master that is stopped during the ping goes on.
        let record = Record::begin(self.batches, self.job, plan, &all);
        record.save(self.batches, self.job, &[], &all);
        match self.ping(&all) {
            Ok(alive) => self.left = alive,
            Err(_) if self.job.is_left() => return Err(Went::Paused),
            Err(why) => {
                self.left = all;
                return Err(self.broken(&why, &record));
            }
        }
        {
            let mut course = self.job.course();
            course.total = self.left.len();
            course.batch_size = plan.size.count(self.left.len());
        }
        Ok(Record::begin(self.batches, self.job, plan, &self.left))
    }

    /// The minions that answer a ping, sorted.
    fn ping(&mut self, ids: &[String]) -> Result<Vec<String>, String> {
        let request = PublishRequest {
            fun: FunSpec::One("test.ping".to_owned()),
            arg: Vec::new(),
            credentials: Credentials::default(),
            ret: String::new(),
            jid: None,
            kwargs: Map::new(),
            ..self.job.request.clone()
        };
        self.parts.send(&request, ids)?;
        let mut alive = Vec::new();
        while !self.parts.is_empty() {
            let there = self.parts.poll().into_iter();
            alive.extend(
                there
                    .filter(|ended| !ended.is_missing)
                    .map(|ended| ended.id),
            );
            self.parts.wait(None);
            if self.job.stop.why().is_some() {
                return Err(STOPPED.to_owned());
            }
        }
        alive.sort_unstable();
        Ok(alive)
    }

    /// The minions that have returned according to the job cache, and whether they
    /// failed.
    fn returned_before(&self) -> BTreeMap<String, bool> {
        let returns = self.batches.jobs.cache.returns(&self.job.jid);
        let returns = returns.unwrap_or_default().into_iter();
        returns
            .map(|(id, stored)| (id.to_string(), is_failure(&stored)))
            .collect()
    }

    /// Waits until somebody has ended, or a place has become free.
    fn until_ended(&mut self, batch: &Batch) -> Result<Vec<Ended>, Why> {
        loop {
            let ended = self.parts.poll();
            let is_free = batch.next_timeout().is_some_and(|at| at <= Instant::now());
            if !ended.is_empty() || is_free {
                return Ok(ended);
            }
            self.parts.wait(batch.next_timeout());
            if let Some(why) = self.job.stop.why() {
                return Err(why);
            }
        }
    }

    fn account(&mut self, ended: Ended, batch: &mut Batch) {
        if !self.active.contains(&ended.id) {
            return;
        }
        self.active.retain(|id| *id != ended.id);
        batch.ended(&ended.id, ended.has_failed, Instant::now());
        let mut course = self.job.course();
        course.last_progress_s = seconds_now();
        match ended.is_missing {
            true => course.failed += 1,
            false => course.completed += 1,
        }
    }

    fn record(&self, record: &Record) {
        {
            let mut course = self.job.course();
            course.active = self.active.len();
            course.pending = self.left.len();
        }
        record.save(self.batches, self.job, &self.active, &self.left);
    }

    /// Removes the job from the list of running ones before its end is announced, so that
    /// whoever hears of the end does not find it there.
    fn end(&self) {
        let (batches, jid) = (self.batches, &self.job.jid);
        self.job.course().is_over = true;
        let _one = batches.listing();
        if let Err(error) = batches.jobs.cache.end_batch(jid) {
            tracing::warn!(%jid, "could not record the end of a batch: {}", chain(&error));
        }
        batches.driven.forget(jid);
    }

    /// The other masters need not go on with it any more.
    fn tell_masters(&self) {
        if let Some(under_way) = &self.batches.under_way {
            under_way.ended(&self.job.jid);
        }
    }

    /// It was stopped, or cannot go on.
    fn broken(&mut self, why: &str, record: &Record) -> Went {
        if why == STOPPED {
            return self.halted(Halt::Stop, record);
        }
        tracing::error!(jid = %self.job.jid, "a job in batches ends: {why}");
        self.halted(Halt::Error, record)
    }

    fn halted(&mut self, halt: Halt, record: &Record) -> Went {
        self.job.course().halted = Some(halt.word());
        let (active, left) = (
            std::mem::take(&mut self.active),
            std::mem::take(&mut self.left),
        );
        record.save(self.batches, self.job, &active, &left);
        self.end();
        let took = self.began.elapsed();
        self.job.tell_halted(self.batches, halt, active, left, took);
        self.tell_masters();
        Went::Over
    }
}

fn is_failure(stored: &StoredReturn) -> bool {
    let retcode = stored.data.get("retcode").and_then(Value::as_i64);
    retcode.unwrap_or(0) != 0
}

/// Why a ping is not waited for any longer.
const STOPPED: &str = "stop";
