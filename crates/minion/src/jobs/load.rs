//! Runs the functions of a load, and makes its return.

use std::time::Instant;

use halite_call::{Job, MinionContext, Outcome, run_function};
use halite_proto::Value;
use halite_proto::publish::{FunSpec, PublishLoad};
use halite_proto::request::COMMITS;
use halite_proto::returns::{JobReturn, NOTES, ReturnJid, Several};
use tracing::debug;

use crate::jobs::executors;
use crate::limits::FUNCTIONS_PER_JOB_MAX;

/// Functions that look after jobs: they run at once even when every place is
/// taken, or nobody could find out why.
const ABOUT_JOBS: &[&str] = &[
    "saltutil.find_job",
    "saltutil.is_running",
    "saltutil.kill_all_jobs",
    "saltutil.kill_job",
    "saltutil.running",
    "saltutil.signal_job",
    "saltutil.term_all_jobs",
    "saltutil.term_job",
];

/// Functions that cost nothing and whose answer somebody waits for: whether a
/// minion is there, and how it is. They run at once too.
const COST_NOTHING: &[&str] = &[
    "grains.get",
    "grains.item",
    "status.loadavg",
    "status.meminfo",
    "test.ping",
    "test.version",
];

/// Added to the signal's number in the return code of a killed job, as a shell does.
const KILLED: i64 = 128;

/// Whether a job waits for no place. One that a publication has run through executors
/// may cost anything, unless it is about jobs, which run through none.
pub(crate) fn runs_at_once(load: &PublishLoad) -> bool {
    let costs_nothing = |fun| load.module_executors.is_none() && COST_NOTHING.contains(&fun);
    let at_once = |fun| ABOUT_JOBS.contains(&fun) || costs_nothing(fun);
    load.fun.one().is_some_and(at_once)
}

/// Runs what a publication asks for and builds its return.
pub(crate) fn run_load(
    context: &dyn MinionContext,
    load: &PublishLoad,
    job: &Job,
    ordered: bool,
) -> JobReturn {
    let started = Instant::now();
    let mut result = match &load.fun {
        FunSpec::One(fun) => {
            let outcome = run_through(context, load, fun, &load.arg, job);
            let outcome = executors::with_alike(context, job, fun, outcome);
            let mut result = empty_return(load, outcome.ret, outcome.retcode);
            result.success = outcome.success;
            result.out = outcome.out.map(str::to_owned);
            result
        }
        FunSpec::Many(funs) if funs.len() > FUNCTIONS_PER_JOB_MAX => {
            let why = format!("ERROR: a job has at most {FUNCTIONS_PER_JOB_MAX} functions");
            return refused(load, &why);
        }
        FunSpec::Many(funs) => run_many(context, funs, load, job, ordered),
    };
    if let Some(signal) = job.cancel.ended_by() {
        result.success = false;
        if result.retcode == 0 {
            result.retcode = KILLED + i64::from(signal);
        }
    }
    result.user.clone_from(&load.user);
    result.master_id.clone_from(&load.master_id);
    result.metadata = load
        .metadata
        .clone()
        .filter(|metadata| metadata.as_map().is_some());
    let notes = job.notes.take();
    if !notes.is_empty() {
        let notes = notes.into_iter().map(Value::from).collect();
        result.extra.insert(NOTES, Value::List(notes));
    }
    let commits = job.commits.all();
    if !commits.is_empty() {
        result.extra.insert(COMMITS, commits.to_value());
    }
    debug!(elapsed = ?started.elapsed(), retcode = result.retcode, "done");
    result
}

/// Runs one function of a job through the executors that are asked for.
fn run_through(
    context: &dyn MinionContext,
    load: &PublishLoad,
    fun: &str,
    args: &[Value],
    job: &Job,
) -> Outcome {
    if ABOUT_JOBS.contains(&fun) {
        return run_function(context, fun, args, job);
    }
    let asked = executors::Asked {
        executors: load.module_executors.as_ref(),
        options: load.executor_opts.as_ref(),
    };
    executors::run(context, asked, fun, args, job)
}

/// Several functions in one job, one after the other, each with its arguments.
fn run_many(
    context: &dyn MinionContext,
    funs: &[String],
    load: &PublishLoad,
    job: &Job,
    ordered: bool,
) -> JobReturn {
    let run = |(at, fun): (usize, &String)| {
        let args = match load.arg.get(at) {
            Some(Value::List(args)) => args.clone(),
            Some(single) => vec![single.clone()],
            None => Vec::new(),
        };
        run_through(context, load, fun, &args, job)
    };
    let outcomes: Vec<Outcome> = funs.iter().enumerate().map(run).collect();
    let collect = |value: fn(&Outcome) -> Value| -> Value {
        if ordered {
            Value::List(outcomes.iter().map(value).collect())
        } else {
            let values = outcomes.iter().map(value);
            Value::Map(funs.iter().map(String::as_str).zip(values).collect())
        }
    };
    let worst = outcomes
        .iter()
        .map(|outcome| outcome.retcode)
        .max()
        .unwrap_or(0);
    let mut result = empty_return(load, collect(|outcome| outcome.ret.clone()), worst);
    result.several = Some(Several {
        retcodes: collect(|outcome| outcome.retcode.into()),
        successes: collect(|outcome| outcome.success.into()),
    });
    result
}

fn empty_return(load: &PublishLoad, ret: Value, retcode: i64) -> JobReturn {
    let jid = ReturnJid::Jid(load.jid.clone());
    let mut result = JobReturn::new(jid, load.fun.clone(), load.arg.clone(), ret, retcode);
    result.user.clone_from(&load.user);
    result
}

/// A return for a job that does not run, with the reason.
pub(crate) fn refused(load: &PublishLoad, why: &str) -> JobReturn {
    let mut result = empty_return(load, why.into(), 1);
    result.out = Some("nested".to_owned());
    result
}

#[cfg(test)]
mod tests {
    use halite_proto::Jid;

    use super::*;

    #[test]
    fn questions_wait_for_no_place_unless_they_run_through_something_else() {
        let is_at_once = |fun: &str, executors: Option<&str>| {
            let jid = Jid::parse("20260102030405000001").unwrap();
            let mut load = PublishLoad::new(fun.into(), Vec::new(), "*".into(), "glob", jid);
            load.module_executors = executors.map(Value::from);
            runs_at_once(&load)
        };
        assert!(is_at_once("test.ping", None));
        assert!(is_at_once("saltutil.find_job", Some("splay")));
        assert!(!is_at_once("test.ping", Some("splay")));
        assert!(!is_at_once("cmd.run", None));
        // It starts a program.
        assert!(!is_at_once("status.uptime", None));
    }
}
