//! `state.orchestrate`: a state run of the master itself, whose states command
//! minions, run runners and wait for events.

use halite_modules::{Job, MinionContext as _, run_function};
use halite_proto::{Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::orchestra::{Orchestra, Plan};
use super::table::Function;

const ORCHESTRATE: &str = "(mods, saltenv='base', test=None, exclude=None, pillar=None, pillarenv=None, pillar_enc=None, orchestration_jid=None)";
const DOC: &str = "Applies SLS files on the master. Their states of the module `salt` command\nminions and run functions of the master, so that many machines are brought up in\norder.";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("state.orch", ORCHESTRATE, orchestrate, DOC),
    Function::new("state.orchestrate", ORCHESTRATE, orchestrate, DOC),
    Function::new(
        "state.orchestrate_high",
        "(data, test=None, queue=False, pillar=None, **kwargs)",
        orchestrate_high,
        "Carries out states that are given as data, on the master.",
    ),
    Function::new(
        "state.orchestrate_single",
        "(fun, name, test=None, queue=False, pillar=None, **kwargs)",
        orchestrate_single,
        "Carries out one state on the master.",
    ),
];

/// The arguments by name that a function of `state.*` takes as they are.
fn passed_on(call: &Call<'_>, names: &[&str]) -> Map {
    let given = names.iter().map(|name| (*name, call.arg(name)));
    given
        .filter(|(_, value)| !value.is_nil())
        .map(|(name, value)| (Value::from(name), value.clone()))
        .collect()
}

fn orchestrate(call: &Call<'_>) -> Ran {
    let kwargs = passed_on(
        call,
        &[
            "test",
            "exclude",
            "pillar",
            "pillarenv",
            "pillar_enc",
            "saltenv",
        ],
    );
    perform(call, "state.sls", vec![call.arg("mods").clone()], kwargs)
}

fn orchestrate_high(call: &Call<'_>) -> Ran {
    let kwargs = passed_on(call, &["test", "pillar"]);
    perform(call, "state.high", vec![call.arg("data").clone()], kwargs)
}

fn orchestrate_single(call: &Call<'_>) -> Ran {
    let mut kwargs = passed_on(call, &["test", "pillar"]);
    kwargs.extend(call.bound.kwargs.clone());
    let args = vec![call.arg("fun").clone(), call.arg("name").clone()];
    perform(call, "state.single", args, kwargs)
}

fn perform(call: &Call<'_>, fun: &str, mut args: Vec<Value>, kwargs: Map) -> Ran {
    let pillar = match call.arg("pillar") {
        Value::Nil => Map::new(),
        Value::Map(pillar) => pillar.clone(),
        _ => {
            return Err(RunnerError::Failed(
                "Pillar data must be formatted as a dictionary, unless pillar_enc is specified."
                    .to_owned(),
            ));
        }
    };
    let orchestra = Orchestra::new(
        call,
        Plan {
            pillar,
            saltenv: call.text("saltenv").map(str::to_owned),
            pillarenv: call.text("pillarenv").map(str::to_owned),
        },
    );
    let mut marked = Map::from([("__kwarg__", true)]);
    marked.extend(kwargs);
    // Orchestrations command each other and go on side by side.
    marked.insert("concurrent", true);
    args.push(marked.into());
    let outcome = run_function(&orchestra, fun, &args, &Job::default());
    let results = Map::from([(orchestra.id(), outcome.ret)]);
    let retcode = i64::from(outcome.retcode != 0);
    call.retcode.set(retcode);
    Ok(Map::from([
        ("data", Value::from(results)),
        ("outputter", "highstate".into()),
        ("retcode", retcode.into()),
    ])
    .into())
}
