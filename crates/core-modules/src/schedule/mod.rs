//! `schedule.*`: the jobs that a minion runs by itself.
//!
//! The scheduler belongs to the running minion, which is asked through
//! [`halite_call::MinionContext::manage_schedule`]; with `offline=True` only the
//! saved file is changed. Texts are Salt's (`salt/modules/schedule.py`, 3008.5).

mod change;
mod files;
mod hand_on;
mod item;
mod listing;
mod moments;
mod switch;

pub(super) use listing::in_includes;

use halite_proto::{Map, Value};

use halite_call::{Call, ContextError, Function, Module};

pub(super) const MODULE: Module = Module {
    name: "schedule",
    functions: &[
        Function::new(
            "schedule.add",
            "(name, **kwargs)",
            change::add,
            "Adds a job to the schedule: function, job_args, job_kwargs and its times\n(seconds, minutes, hours, days, when, cron, once ...).",
        ),
        Function::new(
            "schedule.build_schedule_item",
            "(name, **kwargs)",
            item::build_schedule_item,
            "The definition of a job, as schedule.add would put it into the schedule.",
        ),
        Function::new(
            "schedule.copy",
            "(name, target, **kwargs)",
            hand_on::copy,
            "Gives a job to other minions too.",
        ),
        Function::new(
            "schedule.delete",
            "(name, **kwargs)",
            change::delete,
            "Takes a job out of the schedule.",
        ),
        Function::new(
            "schedule.disable",
            "(**kwargs)",
            switch::disable,
            "Turns the whole schedule off.",
        ),
        Function::new(
            "schedule.disable_job",
            "(name, **kwargs)",
            switch::disable_job,
            "Turns a job off.",
        ),
        Function::new(
            "schedule.enable",
            "(**kwargs)",
            switch::enable,
            "Turns the whole schedule on.",
        ),
        Function::new(
            "schedule.enable_job",
            "(name, **kwargs)",
            switch::enable_job,
            "Turns a job on.",
        ),
        Function::new(
            "schedule.is_enabled",
            "(name=None)",
            listing::is_enabled,
            "A job if it is in the schedule; without a name, whether the schedule is on.",
        ),
        Function::new(
            "schedule.job_status",
            "(name, time_fmt='%Y-%m-%dT%H:%M:%S')",
            listing::job_status,
            "What is known of a job: when it ran, when it runs next, why it did not.",
        ),
        Function::new(
            "schedule.list",
            "(show_all=False, show_disabled=True, where=None, return_yaml=True, offline=False)",
            listing::list,
            "The jobs of the schedule, as YAML unless return_yaml is False.",
        ),
        Function::new(
            "schedule.modify",
            "(name, **kwargs)",
            change::modify,
            "Gives a job another definition.",
        ),
        Function::new(
            "schedule.move",
            "(name, target, **kwargs)",
            hand_on::move_,
            "Gives a job to other minions and takes it out of this one's schedule.",
        ),
        Function::new(
            "schedule.postpone_job",
            "(name, current_time, new_time, **kwargs)",
            moments::postpone_job,
            "Lets a job run at another time than the one it is due at.",
        ),
        Function::new(
            "schedule.purge",
            "(**kwargs)",
            change::purge,
            "Takes all jobs out of the schedule.",
        ),
        Function::new(
            "schedule.reload",
            "()",
            files::reload,
            "Reads the schedule of minion.d/schedule.conf and of the pillar again.",
        ),
        Function::new(
            "schedule.run_job",
            "(name, force=False)",
            moments::run_job,
            "Runs a job now; one that is turned off only with force.",
        ),
        Function::new(
            "schedule.save",
            "(**kwargs)",
            files::save,
            "Writes the schedule to minion.d/_schedule.conf.",
        ),
        Function::new(
            "schedule.show_next_fire_time",
            "(name, **kwargs)",
            moments::show_next_fire_time,
            "When a job runs next.",
        ),
        Function::new(
            "schedule.skip_job",
            "(name, current_time, **kwargs)",
            moments::skip_job,
            "Leaves a job out at a time it is due at.",
        ),
    ],
};

/// Names in a schedule that are settings of all jobs.
const SETTINGS: [&str; 4] = ["enabled", "skip_function", "skip_during_range", "splay"];

/// Asks the scheduler; nothing if none runs here or it does not answer.
fn ask<const N: usize>(call: &Call<'_>, func: &str, fields: [(&str, Value); N]) -> Option<Map> {
    let mut request = Map::from(fields);
    request.insert("func", func);
    let none = ContextError::Unsupported {
        what: "the scheduler",
    };
    let daemon = call.ctx.daemon().ok_or(none);
    match daemon.and_then(|daemon| daemon.manage_schedule(request)) {
        Ok(answer) => answer
            .get("complete")
            .is_some_and(Value::is_true)
            .then_some(answer),
        Err(error) => {
            tracing::debug!(%error, func, "the scheduler was not asked");
            None
        }
    }
}

/// A definition in the schedule of an answer.
fn job_in<'a>(answer: Option<&'a Map>, name: &str) -> Option<&'a Value> {
    answer?.get("schedule")?.get(name)
}

/// A keyword argument, or `default`.
fn flag(call: &Call<'_>, name: &str, default: bool) -> bool {
    call.get(name).map_or(default, Value::is_true)
}

/// The `result` and `comment` that these functions return.
struct Report {
    result: bool,
    comment: Value,
    changes: Option<Map>,
}

impl Report {
    fn new(result: bool, comment: impl Into<Value>) -> Self {
        Self {
            result,
            comment: comment.into(),
            changes: None,
        }
    }

    fn with_changes(mut self, changes: Map) -> Self {
        self.changes = Some(changes);
        self
    }

    fn changed(self, name: &str, how: &str) -> Self {
        self.with_changes(Map::from([(name, how)]))
    }

    fn into_value(self) -> Value {
        let mut map = Map::from([("comment", self.comment), ("result", self.result.into())]);
        if let Some(changes) = self.changes {
            map.insert("changes", changes);
        }
        map.into()
    }
}
