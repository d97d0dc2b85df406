//! The functions that compile and show, and run nothing.

use std::collections::HashSet;

use halite_call::{Call, CallError, CallResult, Function, within_call};
use halite_proto::{Map, Value};
use halite_state::compile::{Compiler, TopError, verify_tops};
use halite_state::{Low, Mistake, high};

use crate::prepare::{EX_COMPILER_ERROR, prepare, prepare_plain, refuse_pillar_errors};
use crate::source::{Source, with_source};
use crate::turns::{self, Queue};

/// The exit code of a result that is no success.
const EX_STATE_FAILURE: i64 = 2;

const ALL: &str = "(queue=None, **kwargs)";
const BY_NAME: &str = "(mods, test=None, queue=None, **kwargs)";

pub(super) const GRAPH: Function = Function::new(
    "state.graph",
    BY_NAME,
    |call| in_turn(call, graph),
    "What depends on what in the SLS that are named, in the language DOT:\n\n    \
     salt m1 state.graph web --out=newline_values_only | dot -Tpng -o web.png",
);

pub(super) const GRAPH_HIGHSTATE: Function = Function::new(
    "state.graph_highstate",
    ALL,
    |call| in_turn(call, graph_highstate),
    "What depends on what in the highstate, in the language DOT.",
);

pub(super) const ID_EXISTS: Function = Function::new(
    "state.id_exists",
    "(ids, mods, test=None, queue=None, **kwargs)",
    |call| in_turn(call, id_exists),
    "Whether all of the ids (a list, or comma separated) are declared in the SLS.",
);

pub(super) const LIST_DISABLED: Function = Function::new(
    "state.list_disabled",
    "()",
    list_disabled,
    "The state functions that state.disable has switched off.",
);

pub(super) const SHOW_HIGHSTATE: Function = Function::new(
    "state.show_highstate",
    ALL,
    |call| in_turn(call, show_highstate),
    "The high data of this minion: what its SLS declare.",
);

pub(super) const SHOW_LOWSTATE: Function = Function::new(
    "state.show_lowstate",
    ALL,
    |call| in_turn(call, show_lowstate),
    "The low data of this minion: the states in the order in which they would run.",
);

pub(super) const SHOW_LOW_SLS: Function = Function::new(
    "state.show_low_sls",
    BY_NAME,
    |call| in_turn(call, show_low_sls),
    "The low data of the SLS that are named; `extend` and the `_in` requisites are\nnot resolved.",
);

pub(super) const SHOW_SLS: Function = Function::new(
    "state.show_sls",
    BY_NAME,
    |call| in_turn(call, show_sls),
    "The high data of the SLS that are named.",
);

pub(super) const SHOW_STATES: Function = Function::new(
    "state.show_states",
    ALL,
    |call| in_turn(call, show_states),
    "The SLS whose states would run, in the order in which they come.",
);

pub(super) const SHOW_STATE_USAGE: Function = Function::new(
    "state.show_state_usage",
    ALL,
    |call| in_turn(call, show_state_usage),
    "Which SLS of each environment the top file gives to this minion, and which not.",
);

pub(super) const SHOW_TOP: Function = Function::new(
    "state.show_top",
    ALL,
    |call| match call.kwargs().get(OF_ENVIRONMENTS).is_some() {
        true => environments(call),
        false => in_turn(call, show_top),
    },
    "The SLS that the top file gives to this minion, by environment.",
);

pub(super) const SLS_EXISTS: Function = Function::new(
    "state.sls_exists",
    BY_NAME,
    |call| in_turn(call, sls_exists),
    "Whether the SLS (a list, or comma separated) exist and render.",
);

/// By this argument a function that fetches users' modules asks for the environments
/// alone: also within a run of states, and whatever is wrong with the pillar.
const OF_ENVIRONMENTS: &str = "__of_environments";

/// Does it when no other run has the turn, or says who has it.
fn in_turn(call: &Call<'_>, run: impl FnOnce(&Call<'_>) -> CallResult) -> CallResult {
    let queue = Queue::read(call.get("queue"), call.ctx.opts());
    let concurrent = call.get("concurrent").is_some_and(Value::is_true);
    match turns::take(call, queue, concurrent)? {
        Ok(_turn) => run(call),
        Err(others) => Ok(failed(call, others)),
    }
}

/// What a function compiles.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reading {
    /// The SLS of the top file; `pillar=` counts.
    Top,
    /// The SLS of the top file; `pillar=` is ignored, as in Salt.
    TopPlain,
    /// Named SLS.
    Named,
}

/// Compiles with the pillar and the environments that the call asks for.
fn compile<T>(
    call: &Call<'_>,
    reading: Reading,
    run: impl FnOnce(&Call<'_>, &Compiler<'_>) -> Result<Result<T, Vec<Mistake>>, CallError>,
) -> Result<Result<T, Vec<String>>, CallError> {
    let ctx = match reading {
        Reading::TopPlain => prepare_plain(call)?,
        Reading::Top | Reading::Named => prepare(call, reading == Reading::Named)?,
    };
    refuse_pillar_errors(call, &ctx)?;
    within_call(&ctx, call.job, |inner| {
        with_source(inner, |source| {
            with_reports(source, run(inner, &Compiler::new(source)))
        })
    })
}

/// Mistakes in Salt's words, their places told beside.
fn with_reports<T>(
    source: &Source<'_>,
    compiled: Result<Result<T, Vec<Mistake>>, CallError>,
) -> Result<Result<T, Vec<String>>, CallError> {
    compiled.map(|compiled| compiled.map_err(|mistakes| source.report_mistakes(mistakes)))
}

fn show_highstate(call: &Call<'_>) -> CallResult {
    let high = compile(call, Reading::Top, |_, compiler| {
        compiler.highstate().map_err(top_error)
    })?;
    Ok(shown_high(call, high))
}

fn show_lowstate(call: &Call<'_>) -> CallResult {
    Ok(match lowstate(call)? {
        Ok(low) => low.into_value(),
        Err(errors) => list(errors),
    })
}

fn show_states(call: &Call<'_>) -> CallResult {
    let low = match lowstate(call)? {
        Ok(low) => low,
        Err(errors) => return Ok(failed(call, errors)),
    };
    let mut seen = HashSet::new();
    let turns = low.order.iter().filter_map(|turn| low.chunk(*turn));
    let sls = turns.map(|chunk| chunk.get("__sls__").cloned().unwrap_or_default());
    Ok(Value::List(
        sls.filter(|sls| seen.insert(sls.clone())).collect(),
    ))
}

fn lowstate(call: &Call<'_>) -> Result<Result<Low, Vec<String>>, CallError> {
    let low = compile(call, Reading::TopPlain, |_, compiler| {
        compiler.lowstate().map_err(top_error)
    })?;
    Ok(low.inspect(warn))
}

fn show_top(call: &Call<'_>) -> CallResult {
    let matches = compile(call, Reading::TopPlain, |_, compiler| {
        let top = compiler.top().map_err(top_error)?;
        let errors = verify_tops(&top);
        Ok(if errors.is_empty() {
            Ok(compiler.matches(&top))
        } else {
            Err(errors)
        })
    })?;
    Ok(match matches {
        Ok(matches) => matches.into(),
        Err(errors) => failed(call, errors),
    })
}

/// What the top file gives to this minion, unchecked: its keys are of use.
fn environments(call: &Call<'_>) -> CallResult {
    let ctx = prepare_plain(call)?;
    within_call(&ctx, call.job, |inner| {
        with_source(inner, |source| {
            let compiler = Compiler::new(source);
            let top = compiler.top().map_err(top_error)?;
            Ok(compiler.matches(&top).into())
        })
    })
}

fn show_state_usage(call: &Call<'_>) -> CallResult {
    let ctx = prepare(call, false)?;
    let usage = within_call(&ctx, call.job, |inner| {
        with_source(inner, |source| {
            let compiler = Compiler::new(source);
            let top = compiler.top().map_err(top_error)?;
            let errors = verify_tops(&top);
            let usage = if errors.is_empty() {
                Ok(compiler.usage(&compiler.matches(&top)))
            } else {
                Err(errors)
            };
            with_reports(source, Ok(usage))
        })
    })?;
    Ok(match usage {
        Ok(usage) => usage.into(),
        Err(errors) => failed(call, errors),
    })
}

fn show_sls(call: &Call<'_>) -> CallResult {
    let high = by_name(call)?;
    Ok(match high {
        Ok(high) => high.into(),
        Err(errors) => failed(call, errors),
    })
}

fn graph(call: &Call<'_>) -> CallResult {
    let text = compile(call, Reading::Named, |inner, compiler| {
        let high = named_high(call, inner, compiler);
        Ok(high.map(|high| compiler.with_low_options(|options| high::graph(high, options))))
    })?;
    Ok(drawn(call, text))
}

fn graph_highstate(call: &Call<'_>) -> CallResult {
    let text = compile(call, Reading::Top, |_, compiler| {
        let high = compiler.highstate().map_err(top_error)?;
        Ok(high.map(|high| compiler.with_low_options(|options| high::graph(high, options))))
    })?;
    Ok(drawn(call, text))
}

fn drawn(call: &Call<'_>, text: Result<String, Vec<String>>) -> Value {
    match text {
        Ok(text) => text.into(),
        Err(errors) => failed(call, errors),
    }
}

fn sls_exists(call: &Call<'_>) -> CallResult {
    show_sls(call).map(|shown| Value::Bool(shown.as_map().is_some()))
}

fn show_low_sls(call: &Call<'_>) -> CallResult {
    Ok(match low_by_name(call)? {
        Ok(low) => low.into_value(),
        Err(errors) => failed(call, errors),
    })
}

fn id_exists(call: &Call<'_>) -> CallResult {
    match low_by_name(call)? {
        Ok(low) => {
            let ids: HashSet<&str> = low.chunks.iter().map(|chunk| chunk.id()).collect();
            let wanted = call.texts("ids");
            let all = wanted.iter().all(|id| ids.contains(id.as_str()));
            Ok(Value::Bool(all))
        }
        Err(errors) => {
            call.set_retcode(EX_COMPILER_ERROR);
            tracing::error!("state.id_exists: {}", errors.join("; "));
            Err(CallError::wrong_type(
                "string indices must be integers, not 'str'",
            ))
        }
    }
}

fn list_disabled(call: &Call<'_>) -> CallResult {
    let grains = call.ctx.grains();
    let disabled = grains.get("state_runs_disabled").cloned();
    Ok(disabled.unwrap_or_else(|| Value::List(Vec::new())))
}

/// The high data of the SLS in `mods`.
fn by_name(call: &Call<'_>) -> Result<Result<Map, Vec<String>>, CallError> {
    compile(call, Reading::Named, |inner, compiler| {
        Ok(named_high(call, inner, compiler))
    })
}

fn low_by_name(call: &Call<'_>) -> Result<Result<Low, Vec<String>>, CallError> {
    let low = compile(call, Reading::Named, |inner, compiler| {
        let high = named_high(call, inner, compiler);
        Ok(high.and_then(|high| compiler.with_low_options(|options| Low::compile(high, options))))
    })?;
    Ok(low.inspect(warn))
}

fn named_high(
    call: &Call<'_>,
    inner: &Call<'_>,
    compiler: &Compiler<'_>,
) -> Result<Map, Vec<Mistake>> {
    let env = inner.opt("saltenv").clone();
    let mods = call.texts("mods").into_iter().map(Value::Str);
    let mut matches = Map::new();
    matches.insert(env, Value::List(mods.collect()));
    let (high, mut errors) = compiler.render(&matches);
    errors.extend(high::verify(&high));
    if errors.is_empty() {
        Ok(high)
    } else {
        Err(errors)
    }
}

fn warn(low: &Low) {
    for warning in &low.warnings {
        tracing::warn!("{warning}");
    }
}

fn top_error(error: TopError) -> CallError {
    match error {
        TopError::NoTargets | TopError::NoDefaultTop => {
            CallError::exception("salt.exceptions.SaltRenderError", error.to_string())
        }
        TopError::Other(words) => CallError::command(words),
    }
}

/// High data and its exit code. Salt measures it like the results of a run:
/// what is there must be maps, and something must be there.
fn shown_high(call: &Call<'_>, high: Result<Map, Vec<String>>) -> Value {
    let high = match high {
        Ok(high) => high,
        Err(errors) => return failed(call, errors),
    };
    let is_sound = |(id, body): (&Value, &Value)| match id.as_str() {
        Some("__extend__") => body.as_list().is_some(),
        _ => body.as_map().is_some(),
    };
    if high.is_empty() || !high.iter().all(is_sound) {
        call.set_retcode(EX_STATE_FAILURE);
    }
    high.into()
}

/// The errors of a compile, with its exit code.
fn failed(call: &Call<'_>, errors: Vec<String>) -> Value {
    call.set_retcode(EX_COMPILER_ERROR);
    list(errors)
}

fn list(errors: Vec<String>) -> Value {
    Value::List(errors.into_iter().map(Value::Str).collect())
}
