//! `state.orchestrate`: a state run of the master itself, whose states command
//! minions, run runners and wait for events.

use halite_call::{Job, MinionContext as _, run_function};
use halite_proto::{Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::orchestra::{Orchestra, Plan};
use super::table::Function;

const ORCHESTRATE: &str = "(mods, saltenv='base', test=None, exclude=None, pillar=None, pillarenv=None, pillar_enc=None, orchestration_jid=None)";
const DOC: &str = "Applies SLS files on the master. Their states of the module `salt` run functions\n\
                   on minions and on the master, so that many machines are set up in order.";

const SHOW: &str =
    "(mods, saltenv='base', test=None, queue=False, pillar=None, pillarenv=None, pillar_enc=None)";
const SHOW_DOC: &str = "The compiled states of an orchestration, without running them.";
const PAUSE: &str = "(jid, state_id=None, duration=None)";
const PAUSE_DOC: &str = "Pauses an orchestration before a state, or before its next one.";
const RESUME: &str = "(jid, state_id=None)";
const RESUME_DOC: &str = "Resumes a paused orchestration.";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "state.event",
        "(tagmatch='*', count=-1, quiet=False, sock_dir=None, pretty=False, node='master')",
        event,
        "Shows the events of the master's bus as they come. `salt-run` does that itself.",
    ),
    Function::new("state.orch_show_sls", SHOW, show_sls, SHOW_DOC),
    Function::new("state.orchestrate_show_sls", SHOW, show_sls, SHOW_DOC),
    Function::new("state.pause", PAUSE, pause, PAUSE_DOC),
    Function::new("state.resume", RESUME, resume, RESUME_DOC),
    Function::new("state.rm_pause", RESUME, resume, RESUME_DOC),
    Function::new("state.set_pause", PAUSE, pause, PAUSE_DOC),
    Function::new("state.sls", ORCHESTRATE, orchestrate, DOC),
    Function::new(
        "state.soft_kill",
        RESUME,
        soft_kill,
        "Ends an orchestration before a state, or before its next one.",
    ),
    Function::new("state.orch", ORCHESTRATE, orchestrate, DOC),
    Function::new("state.orchestrate", ORCHESTRATE, orchestrate, DOC),
    Function::new(
        "state.orchestrate_high",
        "(data, test=None, queue=False, pillar=None, **kwargs)",
        orchestrate_high,
        "Applies states that are given as data, on the master.",
    ),
    Function::new(
        "state.orchestrate_single",
        "(fun, name, test=None, queue=False, pillar=None, **kwargs)",
        orchestrate_single,
        "Applies one state on the master.",
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
    at_once(call, "state.high", vec![call.arg("data").clone()], kwargs)
}

fn orchestrate_single(call: &Call<'_>) -> Ran {
    let mut kwargs = passed_on(call, &["test", "pillar"]);
    kwargs.extend(call.bound.kwargs.clone());
    let args = vec![call.arg("fun").clone(), call.arg("name").clone()];
    at_once(call, "state.single", args, kwargs)
}

fn event(_: &Call<'_>) -> Ran {
    Err(RunnerError::Failed(
        "events are shown by `salt-run state.event` itself, not by the master".to_owned(),
    ))
}

fn show_sls(call: &Call<'_>) -> Ran {
    let kwargs = passed_on(
        call,
        &["test", "pillar", "pillarenv", "pillar_enc", "saltenv"],
    );
    let args = vec![call.arg("mods").clone()];
    let (id, ret, _) = carry_out(call, "state.show_sls", args, kwargs)?;
    Ok(Map::from([(id, ret)]).into())
}

/// Controls a run of states on this master, named by its job id.
fn control(call: &Call<'_>, fun: &str, names: &[&str]) -> Ran {
    let args = names.iter().map(|name| call.arg(name).clone()).collect();
    carry_out(call, fun, args, Map::new()).map(|_| Value::Nil)
}

fn pause(call: &Call<'_>) -> Ran {
    control(call, "state.pause", &["jid", "state_id", "duration"])
}

fn resume(call: &Call<'_>) -> Ran {
    control(call, "state.resume", &["jid", "state_id"])
}

fn soft_kill(call: &Call<'_>) -> Ran {
    control(call, "state.soft_kill", &["jid", "state_id"])
}

/// Applies states that are not in a file: their results are reported as progress, and
/// returned.
fn at_once(call: &Call<'_>, fun: &str, args: Vec<Value>, mut kwargs: Map) -> Ran {
    kwargs.insert("concurrent", true);
    let (id, ret, retcode) = carry_out(call, fun, args, kwargs)?;
    call.retcode.set(i64::from(retcode != 0));
    let results = Value::from(Map::from([(id, ret)]));
    call.progress(Map::from([
        ("data", results.clone()),
        ("outputter", "highstate".into()),
    ]));
    Ok(results)
}

fn perform(call: &Call<'_>, fun: &str, args: Vec<Value>, mut kwargs: Map) -> Ran {
    // Orchestrations command each other and go on side by side.
    kwargs.insert("concurrent", true);
    let (id, ret, retcode) = carry_out(call, fun, args, kwargs)?;
    let results = Map::from([(id, ret)]);
    let retcode = i64::from(retcode != 0);
    call.retcode.set(retcode);
    Ok(Map::from([
        ("data", Value::from(results)),
        ("outputter", "highstate".into()),
        ("retcode", retcode.into()),
    ])
    .into())
}

/// Runs a function of `state.*` on the master: its name, what the function
/// returns, and its return code.
fn carry_out(
    call: &Call<'_>,
    fun: &str,
    mut args: Vec<Value>,
    kwargs: Map,
) -> Result<(String, Value, i64), RunnerError> {
    let pillar = match call.bound.get("pillar").unwrap_or(&Value::Nil) {
        Value::Nil => Map::new(),
        Value::Map(pillar) => pillar.clone(),
        _ => {
            return Err(RunnerError::Failed(
                "Pillar data must be formatted as a dictionary, unless pillar_enc is specified."
                    .to_owned(),
            ));
        }
    };
    let text = |name: &str| {
        let value = call.bound.get(name).and_then(Value::as_str);
        value.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let orchestra = Orchestra::new(
        call,
        Plan {
            pillar,
            saltenv: text("saltenv"),
            pillarenv: text("pillarenv"),
        },
    );
    if !kwargs.is_empty() {
        let mut marked = Map::from([("__kwarg__", true)]);
        marked.extend(kwargs);
        args.push(marked.into());
    }
    let job = Job {
        load: Map::from([("jid", call.jid)]),
        ..call.job()
    };
    let outcome = run_function(&orchestra, fun, &args, &job);
    Ok((orchestra.id(), outcome.ret, outcome.retcode))
}
