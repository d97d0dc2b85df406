//! The record beside a job in batches, in Salt's form: Salt's programs read the
//! progress from it, and a restarted master continues with it.

use std::cell::Cell;

use halite_proto::{Jid, Map, Value};

use super::{Batches, Job, Plan, count};
use crate::core::owner::PROVEN_BY;
use crate::error::chain;
use crate::under_way::MASTER;

/// How far a job is, on disk.
pub(super) struct Record {
    /// What does not change while it goes on, and what others have written.
    state: Map,
    /// The other masters know of the job.
    is_told: Cell<bool>,
}

impl Record {
    /// Records the start of a job.
    pub(super) fn begin(batches: &Batches, job: &Job, plan: &Plan, minions: &[String]) -> Self {
        let (request, general) = (&job.request, &batches.general);
        let mut state = job.about();
        state.insert("user", job.user());
        if let Some(by) = request.extra.get(PROVEN_BY) {
            state.insert(PROVEN_BY, by.clone());
        }
        for (name, value) in [
            ("all_minions", list(minions)),
            ("arg", Value::List(request.arg.clone())),
            ("batch_size", count(job.course().batch_size).into()),
            ("batch_wait", plan.wait.as_secs_f64().into()),
            ("created", job.created_s.into()),
            ("driver", "master".into()),
            (MASTER, general.id.as_str().into()),
            ("failed", Map::new().into()),
            ("failhard", plan.failhard.into()),
            (
                "gather_job_timeout",
                general.gather_job_timeout.as_secs_f64().into(),
            ),
            ("kwargs", request.kwargs.clone().into()),
            ("ret", request.ret.as_str().into()),
            ("timeout", general.timeout.as_secs_f64().into()),
            ("wait", Value::List(Vec::new())),
        ] {
            state.insert(name, value);
        }
        list_as_driven(batches, &job.jid);
        Self {
            state,
            is_told: Cell::new(false),
        }
    }

    /// Continues a stored job, which this master drives from now on.
    pub(super) fn resume(mut state: Map, batches: &Batches, jid: &Jid) -> Self {
        state.insert(MASTER, batches.general.id.as_str());
        list_as_driven(batches, jid);
        Self {
            state,
            is_told: Cell::new(false),
        }
    }

    /// Records the progress of the job: the minions that have it, and those that do not
    /// yet.
    pub(super) fn save(&self, batches: &Batches, job: &Job, active: &[String], left: &[String]) {
        let course = job.course().clone();
        let mut state = self.state.clone();
        let all = state.get("all_minions").and_then(Value::as_list);
        let all = all.unwrap_or_default().iter().filter_map(Value::as_str);
        let done = all
            .map(str::to_owned)
            .filter(|id| !active.contains(id) && !left.contains(id));
        let done: Vec<String> = done.collect();
        let returned = Map::from([("ret", Value::from("")), ("retcode", 0.into())]);
        for (name, value) in [
            ("active", each(active, &course.last_progress_s.into())),
            ("done", each(&done, &returned.into())),
            ("pending", list(left)),
            ("halted", course.halted.is_some().into()),
            (
                "halted_reason",
                course.halted.map_or(Value::Nil, Value::from),
            ),
            ("last_progress", course.last_progress_s.into()),
        ] {
            state.insert(name, value);
        }
        if let Err(error) = batches.jobs.cache.put_batch(&job.jid, &state) {
            tracing::warn!(
                jid = %job.jid,
                "could not record the progress of a batch: {}",
                chain(&error)
            );
        }
        match &batches.under_way {
            Some(under_way) if self.is_told.replace(true) => {
                under_way.batch_is_at(&job.jid, &state);
            }
            Some(under_way) => under_way.batch_begins(&job.jid, &state),
            None => {}
        }
    }
}

/// Puts a job on the lists of those that run, and that this master drives.
fn list_as_driven(batches: &Batches, jid: &Jid) {
    let _one = batches.listing();
    let no_more = |why: String| {
        tracing::warn!(%jid, "a batch would not survive a restart of the master: {why}");
    };
    if let Err(error) = batches.jobs.cache.begin_batch(jid) {
        no_more(chain(&error));
    }
    if let Err(error) = batches.driven.record(jid) {
        no_more(chain(&error));
    }
}

fn list(ids: &[String]) -> Value {
    Value::List(ids.iter().map(|id| id.as_str().into()).collect())
}

fn each(ids: &[String], value: &Value) -> Value {
    let each = ids
        .iter()
        .map(|id| (Value::from(id.as_str()), value.clone()));
    each.collect::<Map>().into()
}
