//! States that wait: the state module `loop`.
//!
//! Invariant: a condition is an expression over `m_ret`; unlike Salt's, which
//! is Python code, it can do nothing.

use std::time::{Duration, Instant};

use halite_jinja::{Engine, Globals, NoHost, Settings};
use halite_modules::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "loop",
    functions: &[Function::new(
        "loop.until",
        "(name, m_args=None, m_kwargs=None, condition=None, period=1, timeout=60)",
        until,
        "Calls a function every period seconds until condition holds of its return,\nm_ret, for at most timeout seconds.",
    )],
};

fn seconds(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => python::float(value).ok()?,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds.max(0.0)).ok()
}

fn until(call: &Call<'_>) -> CallResult {
    let state = StateReturn::new(call.arg("name").clone());
    let (name, condition) = (call.text("name"), call.arg("condition"));
    let (period, timeout) = (seconds(call.arg("period")), seconds(call.arg("timeout")));
    if !call.has_function(&name) {
        return Ok(state.failed(format!("Cannot find module {name}")).into());
    }
    if condition.is_nil() {
        return Ok(state.failed("An exit condition must be specified").into());
    }
    let Some(period) = period else {
        let why = "Period must be specified as a float in seconds";
        return Ok(state.failed(why).into());
    };
    let Some(timeout) = timeout else {
        let why = "Timeout must be specified as a float in seconds";
        return Ok(state.failed(why).into());
    };
    if call.is_test() {
        let what = format!("The execution module {name} will be run");
        return Ok(state.pending(what).into());
    }
    let args = match call.arg("m_args") {
        Value::List(args) => args.clone(),
        _ => Vec::new(),
    };
    let kwargs = match call.arg("m_kwargs") {
        Value::Map(kwargs) => kwargs.clone(),
        _ => Map::new(),
    };
    let condition = python::str(condition);
    let begin = Instant::now();
    while begin.elapsed() < timeout {
        let returned = call.salt(&name, &args, kwargs.clone())?;
        if holds(&condition, &returned)? {
            let what = format!("Condition {condition} was met");
            return Ok(state.ok(what).into());
        }
        if !call.cancel().sleep(period) {
            let signal = call.cancel().ended_by().unwrap_or_default();
            return Err(CallError::Ended(signal));
        }
    }
    let why = format!("Timed out while waiting for condition {condition}");
    Ok(state.failed(why).into())
}

fn holds(condition: &str, returned: &Value) -> Result<bool, CallError> {
    let failed = |error: halite_jinja::Error| {
        CallError::command(format!("condition {condition}: {}", error.message()))
    };
    let text = format!("{{{{ 'yes' if ({condition}) else 'no' }}}}");
    let template = Engine::new(Settings::jinja())
        .parse("condition", &text)
        .map_err(failed)?;
    let mut globals = Globals::new();
    globals.insert_data("m_ret", returned);
    let said = template.render(&NoHost, &globals).map_err(failed)?;
    Ok(said == "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_expressions_over_the_return() {
        let returned = Value::from(vec![Value::from(Map::from([("state", "up")]))]);
        for (condition, truth) in [
            ("m_ret[0]['state'] == 'up'", true),
            ("m_ret[0]['state'] != 'up'", false),
            ("'x' in m_ret or not m_ret", false),
            ("m_ret == [{'state': 'up'}]", true),
        ] {
            assert_eq!(holds(condition, &returned).unwrap(), truth, "{condition}");
        }
        assert!(holds("m_ret[", &returned).is_err());
    }
}
