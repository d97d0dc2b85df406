//! The executors of functions (`module_executors`): `direct_call`, `splay`, which
//! waits for a while so that not all minions begin at the same moment, and custom
//! ones in Python. An unknown executor is refused: a function must not run without
//! the executor that was asked for.

use std::time::Duration;

use halite_call::extensions::execute;
use halite_call::{Failure, Job, MinionContext, Outcome, run_function};
use halite_core_modules::beginning_with;
use halite_crypto::random_bytes;
use halite_proto::Value;

/// `splaytime` where nothing says otherwise, as with Salt.
const SPLAY_S_DEFAULT: f64 = 300.0;

/// The longest wait: a day.
const SPLAY_S_MAX: f64 = 86_400.0;

/// The fields of a publication about executors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked<'a> {
    /// Instead of those of the configuration.
    pub(crate) executors: Option<&'a Value>,
    /// Their options.
    pub(crate) options: Option<&'a Value>,
}

/// The return of a job of one function. If the function does not exist, the names that
/// begin with it are listed, as with Salt.
pub(crate) fn with_alike(
    ctx: &dyn MinionContext,
    job: &Job,
    fun: &str,
    outcome: Outcome,
) -> Outcome {
    let Some(Failure::NotAvailable(_)) = outcome.failure else {
        return outcome;
    };
    let mut told = beginning_with(ctx, job, fun);
    // Where it is there, it is its executor that is not.
    if told.is_empty() || told.get(fun).is_some() {
        return outcome;
    }
    told.insert(fun, outcome.ret);
    Outcome {
        ret: told.into(),
        failure: None,
        ..outcome
    }
}

/// Runs a function through the executors.
pub(crate) fn run(
    ctx: &dyn MinionContext,
    asked: Asked<'_>,
    fun: &str,
    args: &[Value],
    job: &Job,
) -> Outcome {
    let configured = || ctx.opts().get("module_executors");
    let executors = match asked.executors.or_else(configured) {
        Some(Value::Str(one)) if !one.is_empty() => vec![one.clone()],
        Some(Value::List(many)) => many.iter().map(halite_proto::python::str).collect(),
        _ => Vec::new(),
    };
    if executors.is_empty() {
        return run_function(ctx, fun, args, job);
    }
    for executor in executors {
        match executor.as_str() {
            "direct_call" => return run_function(ctx, fun, args, job),
            "splay" if job.cancel.sleep(splay(ctx, asked, random_bytes())) => {}
            "splay" => {
                return refused(format!(
                    "ERROR executing '{fun}': the job was killed while it waited"
                ));
            }
            other => match execute(ctx, other, fun, args, job) {
                // Nothing: the next one is to run it.
                Some(done) if done.ret.is_nil() && done.failure.is_none() => {}
                Some(done) => return done,
                None => {
                    return refused(format!(
                        "ERROR executing '{fun}': Executor '{other}' is not available"
                    ));
                }
            },
        }
    }
    // Nothing has run the function, which is what was asked for.
    Outcome {
        ret: Value::Nil,
        retcode: 0,
        success: true,
        out: None,
        failure: None,
    }
}

fn refused(text: String) -> Outcome {
    Outcome {
        ret: Value::from(text.as_str()),
        retcode: 1,
        success: false,
        out: Some("nested"),
        failure: Some(Failure::NotAvailable(text)),
    }
}

/// How long to wait: up to `splaytime` seconds, by chance.
fn splay(ctx: &dyn MinionContext, asked: Asked<'_>, chance: [u8; 4]) -> Duration {
    let of = |options: Option<&Value>| -> Option<f64> {
        match options?.get("splaytime")? {
            Value::Float(seconds) => Some(*seconds),
            Value::Str(text) => text.trim().parse().ok(),
            other => other.as_i64().map(|seconds| seconds as f64),
        }
    };
    let configured = || of(ctx.opts().get("executor_opts"));
    let plain = || {
        let seconds = ctx.opts().get("splaytime").and_then(Value::as_i64);
        seconds.map(|seconds| seconds as f64)
    };
    let most = of(asked.options)
        .or_else(configured)
        .or_else(plain)
        .unwrap_or(SPLAY_S_DEFAULT);
    let part = f64::from(u32::from_le_bytes(chance)) / f64::from(u32::MAX);
    let most = if most.is_finite() { most } else { 0.0 };
    Duration::from_secs_f64(most.clamp(0.0, SPLAY_S_MAX) * part)
}

#[cfg(test)]
mod tests {
    use halite_fileserver::{FileServer, RootsOptions};
    use halite_proto::Map;

    use super::*;
    use crate::context::local::LocalContext;

    fn context(opts: Map) -> LocalContext {
        let files = FileServer::from_roots(RootsOptions::default()).unwrap();
        LocalContext::new(opts, Map::new(), files)
    }

    fn ping(ctx: &LocalContext, executors: &Value, options: &Value) -> Outcome {
        let asked = Asked {
            executors: Some(executors),
            options: Some(options),
        };
        run(ctx, asked, "test.ping", &[], &Job::default())
    }

    #[test]
    fn functions_are_run_by_direct_call_at_once_or_after_a_splay() {
        let ctx = context(Map::new());
        let soon = Value::from(Map::from([("splaytime", 0)]));
        let list = |names: &[&str]| Value::List(names.iter().copied().map(Value::from).collect());
        for executors in [
            Value::from("direct_call"),
            list(&[]),
            list(&["splay", "direct_call"]),
            list(&["direct_call", "nosuch"]),
        ] {
            assert_eq!(ping(&ctx, &executors, &soon).ret, Value::Bool(true));
        }
        // As in Salt: nothing has been run.
        assert_eq!(ping(&ctx, &list(&["splay"]), &soon).ret, Value::Nil);
    }

    #[test]
    fn what_is_not_there_is_refused_and_nothing_is_run() {
        let ctx = context(Map::from([("module_executors", "sudo")]));
        let outcome = run(&ctx, Asked::default(), "test.ping", &[], &Job::default());
        assert_eq!(
            outcome.ret,
            Value::from("ERROR executing 'test.ping': Executor 'sudo' is not available")
        );
        assert_eq!((outcome.retcode, outcome.success), (1, false));
    }

    #[test]
    fn a_splay_is_within_its_time() {
        let ctx = context(Map::from([("splaytime", 10)]));
        let most = [0xff; 4];
        let of = |options: &Value| {
            let asked = Asked {
                executors: None,
                options: Some(options),
            };
            splay(&ctx, asked, most).as_secs()
        };
        assert_eq!(of(&Value::Nil), 10);
        assert_eq!(of(&Map::from([("splaytime", 4)]).into()), 4);
        assert_eq!(of(&Map::from([("splaytime", -4)]).into()), 0);
        assert_eq!(of(&Map::from([("splaytime", f64::NAN)]).into()), 0);
        assert_eq!(of(&Map::from([("splaytime", 1e300)]).into()), 86_400);
        assert_eq!(splay(&ctx, Asked::default(), [0; 4]).as_secs(), 0);
    }
}
