//! The course of one job in batches: a ping finds out who is there, then each
//! place that becomes free is given to the next minion.

use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_gather::batch::Batch;
use halite_gather::{CollectOptions, Collector, Output};
use halite_proto::clear::{Credentials, PublishRequest};
use halite_proto::event::Event;
use halite_proto::publish::FunSpec;
use halite_proto::{Jid, Map, MinionId, Value};
use halite_transport::ipc::LocalEvents;
use tokio::runtime::Handle;
use tokio::time::sleep_until;

use super::{Begun, Job, Plan, count, seconds_now};
use crate::core::targets::Resolved;
use crate::error::chain;
use crate::handlers::publish::send;
use crate::limits::{AWAY_CHECK, AWAY_GRACE};
use crate::master::Master;
use crate::runner::{Stop, Why, ask_working};

/// What came of a job on one minion.
struct Ended {
    id: String,
    is_missing: bool,
    has_failed: bool,
}

/// Carries out a job and tells how it went.
pub(super) fn drive(master: &Arc<Master>, runtime: &Handle, job: &Arc<Job>, plan: Plan) {
    // Before anything leaves: no return may be missed.
    let drive = Drive {
        master,
        runtime,
        job,
        events: master.bus.subscribe("salt/job/".to_owned()),
        collectors: Vec::new(),
        next_check: Instant::now(),
        begun: None,
    };
    let went = drive.run(plan);
    job.course().is_over = true;
    if went == Went::Paused {
        return tracing::info!(jid = %job.jid, "a job in batches goes on when the master starts again");
    }
    let _one = master.batches.listing();
    if let Err(error) = master.jobs.end_batch(&job.jid) {
        tracing::warn!(jid = %job.jid, "could not note the end of a batch: {}", chain(&error));
    }
}

/// How a course has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Went {
    /// It is over, and that was told.
    Over,
    /// The master stops; the rest is left to its next start.
    Paused,
}

struct Drive<'a> {
    master: &'a Arc<Master>,
    runtime: &'a Handle,
    job: &'a Arc<Job>,
    events: LocalEvents,
    /// One for each part that is not over.
    collectors: Vec<Collector>,
    next_check: Instant,
    /// What lies beside the job.
    begun: Option<Begun>,
}

impl Drive<'_> {
    fn run(mut self, mut plan: Plan) -> Went {
        let began = Instant::now();
        let mut is_new = plan.begun.is_none();
        let (mut active, mut left) = match &plan.begun {
            Some(begun) => {
                // Returns that came before anybody listened are in the cache.
                let returned = self.returned_before(&begun.active);
                let mut active = begun.active.clone();
                active.retain(|id| !returned.contains(id));
                if !active.is_empty() {
                    self.collect(self.job.jid.clone(), &active);
                }
                (active, begun.pending.clone())
            }
            None => {
                let all: Vec<String> = plan.minions.iter().map(ToString::to_string).collect();
                // Also a master that is stopped during the ping goes on.
                self.begun = self.begin(&plan, &all);
                self.save(&[], &all);
                match self.ping(&plan.minions) {
                    Ok(alive) => (Vec::new(), alive),
                    Err(_) if self.job.stop.why() == Some(Why::Closing) => return Went::Paused,
                    Err(why) => return self.tell_halted(&why, began, Vec::new(), all),
                }
            }
        };
        let size = {
            let mut course = self.job.course();
            if is_new {
                course.total = left.len();
                course.batch_size = plan.size.of(left.len());
            } else {
                course.completed = course.total.saturating_sub(active.len() + left.len());
            }
            course.batch_size
        };
        self.begun = match plan.begun.take() {
            Some(begun) => Some(begun),
            None => self.begin(&plan, &left),
        };
        let mut batch =
            Batch::under_way(active.clone(), left.clone(), size, plan.wait, plan.failhard);
        loop {
            let next = batch.dispatch(Instant::now());
            if !next.is_empty() {
                if let Err(why) = self.send(&plan.request, &next) {
                    return self.tell_halted(&why, began, active, left);
                }
                left.retain(|id| !next.contains(id));
                active.extend(next);
            }
            self.note(active.len(), left.len());
            self.save(&active, &left);
            if is_new {
                is_new = false;
                self.tell_new();
            } else {
                self.tell_progress();
            }
            if batch.is_halted() {
                return self.tell_halted("failhard", began, active, left);
            }
            if batch.is_done() {
                return self.tell_complete(began);
            }
            // Until somebody has ended, or a place has become free.
            let ended = loop {
                let ended = self.poll();
                let is_free = batch.next_timeout().is_some_and(|at| at <= Instant::now());
                if !ended.is_empty() || is_free {
                    break ended;
                }
                self.wait(batch.next_timeout());
                match self.job.stop.why() {
                    None => {}
                    Some(Why::Closing) => return Went::Paused,
                    Some(_) => return self.tell_halted("stop", began, active, left),
                }
            };
            for ended in ended {
                if !active.contains(&ended.id) {
                    continue;
                }
                active.retain(|id| *id != ended.id);
                batch.ended(&ended.id, ended.has_failed, Instant::now());
                let mut course = self.job.course();
                course.last_progress_s = seconds_now();
                match ended.is_missing {
                    true => course.failed += 1,
                    false => course.completed += 1,
                }
            }
        }
    }

    /// Who answers a ping, sorted.
    fn ping(&mut self, minions: &[MinionId]) -> Result<Vec<String>, String> {
        let request = PublishRequest {
            fun: FunSpec::One("test.ping".to_owned()),
            arg: Vec::new(),
            credentials: Credentials::default(),
            ret: String::new(),
            jid: None,
            kwargs: Map::new(),
            ..self.job.request.clone()
        };
        let ids: Vec<String> = minions.iter().map(ToString::to_string).collect();
        self.send(&request, &ids)?;
        let mut alive = Vec::new();
        while !self.collectors.is_empty() {
            let ended = self.poll().into_iter();
            alive.extend(
                ended
                    .filter(|ended| !ended.is_missing)
                    .map(|ended| ended.id),
            );
            self.wait(None);
            if self.job.stop.why().is_some() {
                return Err("stop".to_owned());
            }
        }
        alive.sort_unstable();
        Ok(alive)
    }

    /// Sends the job, or a ping, to some minions and begins to collect.
    fn send(&mut self, request: &PublishRequest, ids: &[String]) -> Result<(), String> {
        let minions: Vec<MinionId> = ids
            .iter()
            .filter_map(|id| MinionId::parse(id.as_str()).ok())
            .collect();
        let is_job = request.fun == self.job.request.fun && request.arg == self.job.request.arg;
        let request = PublishRequest {
            tgt: Value::List(ids.iter().map(|id| id.as_str().into()).collect()),
            tgt_type: "list".to_owned(),
            jid: is_job.then(|| self.job.jid.clone()),
            ..request.clone()
        };
        let resolved = Resolved {
            minions,
            ..Resolved::default()
        };
        let jid = send(self.master, &request, &resolved, false)?;
        self.collect(jid, ids);
        Ok(())
    }

    fn collect(&mut self, jid: Jid, ids: &[String]) {
        let settings = &self.master.settings;
        self.collectors.push(Collector::new(
            Instant::now(),
            CollectOptions {
                jid,
                minions: ids.to_vec(),
                missing: Vec::new(),
                timeout: settings.timeout,
                gather_job_timeout: settings.gather_job_timeout,
                syndic_wait: None,
            },
        ));
    }

    /// Who of these has returned, as the job cache knows.
    fn returned_before(&self, active: &[String]) -> Vec<String> {
        if active.is_empty() {
            return Vec::new();
        }
        let returns = self.master.jobs.returns(&self.job.jid).unwrap_or_default();
        let ids = returns.into_iter().map(|(id, _)| id.to_string());
        ids.filter(|id| active.contains(id)).collect()
    }

    /// Writes beside the job that it has begun, in Salt's form.
    fn begin(&self, plan: &Plan, pending: &[String]) -> Option<Begun> {
        let (request, settings) = (&self.job.request, &self.master.settings);
        let course = self.job.course().clone();
        let ids = Value::List(pending.iter().map(|id| id.as_str().into()).collect());
        let mut state = self.about();
        for (name, value) in [
            ("all_minions", ids),
            ("arg", Value::List(request.arg.clone())),
            ("batch_size", count(course.batch_size).into()),
            ("batch_wait", plan.wait.as_secs_f64().into()),
            ("created", self.job.created_s.into()),
            ("driver", "master".into()),
            ("failed", Map::new().into()),
            ("failhard", plan.failhard.into()),
            (
                "gather_job_timeout",
                settings.gather_job_timeout.as_secs_f64().into(),
            ),
            ("kwargs", request.kwargs.clone().into()),
            ("ret", request.ret.as_str().into()),
            ("timeout", settings.timeout.as_secs_f64().into()),
            ("wait", Value::List(Vec::new())),
        ] {
            state.insert(name, value);
        }
        let _one = self.master.batches.listing();
        if let Err(error) = self.master.jobs.begin_batch(&self.job.jid) {
            tracing::warn!(jid = %self.job.jid, "a batch would not outlive the master: {}", chain(&error));
        }
        Some(Begun {
            active: Vec::new(),
            pending: pending.to_vec(),
            state,
        })
    }

    /// Keeps up to date what lies beside the job.
    fn save(&self, active: &[String], left: &[String]) {
        let Some(begun) = &self.begun else {
            return;
        };
        let course = self.job.course().clone();
        let mut state = begun.state.clone();
        let since = Value::from(course.last_progress_s);
        let returned = Value::from(Map::from([("ret", Value::from("")), ("retcode", 0.into())]));
        let with = |ids: Vec<&String>, value: &Value| -> Map {
            let of = ids
                .into_iter()
                .map(|id| (Value::from(id.as_str()), value.clone()));
            of.collect()
        };
        let all = begun.state.get("all_minions").and_then(Value::as_list);
        let all = all.unwrap_or_default().iter().filter_map(Value::as_str);
        let done = all
            .map(str::to_owned)
            .filter(|id| !active.contains(id) && !left.contains(id));
        let done: Vec<String> = done.collect();
        state.insert("active", with(active.iter().collect(), &since));
        state.insert("done", with(done.iter().collect(), &returned));
        let pending = left.iter().map(|id| id.as_str().into());
        state.insert("pending", Value::List(pending.collect()));
        state.insert("halted", course.halted.is_some());
        state.insert(
            "halted_reason",
            course.halted.map_or(Value::Nil, Value::from),
        );
        state.insert("last_progress", course.last_progress_s);
        if let Err(error) = self.master.jobs.put_batch(&self.job.jid, &state) {
            tracing::warn!(jid = %self.job.jid, "could not note how far a batch is: {}", chain(&error));
        }
    }

    /// What has come of the parts since the last time.
    fn poll(&mut self) -> Vec<Ended> {
        let now = Instant::now();
        let looks = now >= self.next_check;
        if looks {
            self.next_check = now + AWAY_CHECK;
        }
        let mut ended = Vec::new();
        let (master, job) = (self.master, self.job);
        self.collectors.retain_mut(|collector| {
            if looks {
                let pending: Vec<String> = collector.pending().map(str::to_owned).collect();
                let grace = u64::try_from(AWAY_GRACE.as_micros()).unwrap_or(u64::MAX);
                collector.away(master.away(pending.iter().map(String::as_str), grace));
            }
            while let Some(output) = collector.poll(Instant::now()) {
                match output {
                    Output::Return(ret) => ended.push(Ended {
                        has_failed: ret.retcode.as_i64().unwrap_or(0) != 0,
                        id: ret.id,
                        is_missing: false,
                    }),
                    Output::Missing(id) => ended.push(Ended {
                        id,
                        is_missing: true,
                        has_failed: true,
                    }),
                    Output::Ask(ids) => {
                        let user = job.request.user.as_deref().unwrap_or_default();
                        let question = ask_working(master, user, &job.jid, &ids);
                        collector.asked(Instant::now(), question);
                    }
                    Output::Refused | Output::Done => return false,
                }
            }
            true
        });
        ended
    }

    /// Waits for an event that matters, or until there is something to do.
    fn wait(&mut self, also: Option<Instant>) {
        let now = Instant::now();
        let timeouts = self
            .collectors
            .iter()
            .filter_map(|part| part.next_timeout(now));
        let until = timeouts.chain(also).fold(self.next_check, Instant::min);
        // A timer that is due needs no wait, and none is shorter than this.
        let until = until.max(now + Duration::from_millis(1));
        let (events, stop): (&mut LocalEvents, &Stop) = (&mut self.events, &self.job.stop);
        let event = self.runtime.block_on(async {
            tokio::select! {
                event = events.recv() => event,
                () = sleep_until(until.into()) => None,
                () = stop.stopped() => None,
            }
        });
        let mut next = event;
        while let Some(event) = next {
            if self.collectors.iter().any(|part| part.wants(event.tag()))
                && let Ok(Event { tag, data }) = event.unpack()
            {
                for part in &mut self.collectors {
                    if part.wants(tag.as_str()) {
                        part.event(Instant::now(), tag.as_str(), &data);
                    }
                }
            }
            next = self.events.try_recv();
        }
    }

    fn note(&self, active: usize, pending: usize) {
        let mut course = self.job.course();
        course.active = active;
        course.pending = pending;
    }

    fn fire(&self, what: &str, data: Map) {
        let jid: &Jid = &self.job.jid;
        self.master
            .bus
            .fire(&format!("salt/batch/{jid}/{what}"), data);
    }

    fn about(&self) -> Map {
        let mut data = self.job.about();
        data.insert("user", self.job.user());
        data
    }

    fn tell_new(&self) {
        let course = self.job.course().clone();
        let mut data = self.about();
        data.insert("total_minions", count(course.total));
        data.insert("batch_size", count(course.batch_size));
        data.insert("driver", "master");
        data.insert("created", self.job.created_s);
        self.fire("new", data);
    }

    fn tell_progress(&self) {
        let course = self.job.course().clone();
        let mut data = self.about();
        for (name, number) in [
            ("total", course.total),
            ("completed", course.completed),
            ("active", course.active),
            ("pending", course.pending),
            ("failed", course.failed),
        ] {
            data.insert(name, count(number));
        }
        data.insert("iter", Value::Nil);
        data.insert("last_progress", course.last_progress_s);
        self.fire("progress", data);
    }

    fn tell_complete(&self, began: Instant) -> Went {
        let course = self.job.course().clone();
        let mut data = self.about();
        data.insert("total_minions", count(course.total));
        data.insert("completed", count(course.completed));
        data.insert("failed", count(course.failed));
        data.insert("duration", began.elapsed().as_secs_f64());
        self.fire("complete", data);
        Went::Over
    }

    fn tell_halted(
        &self,
        why: &str,
        began: Instant,
        active: Vec<String>,
        left: Vec<String>,
    ) -> Went {
        let reason = match why {
            "failhard" => "failhard",
            "stop" => "stop",
            other => {
                tracing::error!(jid = %self.job.jid, "a job in batches ends: {other}");
                "error"
            }
        };
        let mut course = self.job.course();
        course.halted = Some(reason);
        let (completed, failed) = (course.completed, course.failed);
        drop(course);
        self.save(&active, &left);
        let list = |ids: Vec<String>| Value::List(ids.into_iter().map(Value::from).collect());
        let mut data = self.about();
        data.insert("reason", reason);
        data.insert("completed", count(completed));
        data.insert("failed", count(failed));
        data.insert("abandoned_active", list(active));
        data.insert("abandoned_pending", list(left));
        data.insert("duration", began.elapsed().as_secs_f64());
        self.fire("halted", data);
        Went::Over
    }
}
