//! States that wait: the state module `loop`.
//!
//! Invariant: a condition is an expression over `m_ret`; unlike Salt's, which is
//! Python code, it has no effects.

use std::time::{Duration, Instant};

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_jinja::{Engine, Globals, NoHost, Settings};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "loop",
    functions: &[
        Function::new(
            "loop.until",
            "(name, m_args=None, m_kwargs=None, condition=None, period=1, timeout=60)",
            until,
            "Calls a function every period seconds until condition holds of its return,\nm_ret, for at most timeout seconds.",
        ),
        Function::new(
            "loop.until_no_eval",
            "(name, expected, compare_operator='eq', timeout=60, period=1, init_wait=0, args=None, kwargs=None)",
            until_no_eval,
            "Calls a function every period seconds until its return compares to what is\nexpected, for at most timeout seconds.",
        ),
    ],
};

fn seconds(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => python::float(value).ok()?,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds.max(0.0)).ok()
}

fn until(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
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
        pause(call, period)?;
    }
    let why = format!("Timed out while waiting for condition {condition}");
    Ok(state.failed(why).into())
}

/// How returns are compared.
#[derive(Clone, Copy)]
enum Comparison<'n> {
    Operator(fn(&Value, &Value) -> Option<bool>),
    Function(&'n str),
}

impl<'n> Comparison<'n> {
    fn named(call: &Call<'_>, name: &'n str) -> Option<Self> {
        if name.contains('.') {
            return call.has_function(name).then_some(Self::Function(name));
        }
        Some(Self::Operator(match name {
            "eq" => |a, b| Some(python::equal(a, b)),
            "ne" => |a, b| Some(!python::equal(a, b)),
            "lt" => |a, b| order(a, b).map(|order| order.is_lt()),
            "le" => |a, b| order(a, b).map(|order| order.is_le()),
            "gt" => |a, b| order(a, b).map(|order| order.is_gt()),
            "ge" => |a, b| order(a, b).map(|order| order.is_ge()),
            "contains" => contains,
            _ => return None,
        }))
    }
}

fn order(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn contains(whole: &Value, part: &Value) -> Option<bool> {
    match whole {
        Value::Str(text) => Some(text.contains(part.as_str()?)),
        Value::List(items) => Some(items.iter().any(|item| python::equal(item, part))),
        Value::Map(map) => Some(map.get_value(part).is_some()),
        _ => None,
    }
}

fn until_no_eval(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let (name, operator) = (call.text("name"), call.text("compare_operator"));
    let (period, timeout) = (seconds(call.arg("period")), seconds(call.arg("timeout")));
    let comparison = Comparison::named(call, &operator);
    let why = if !call.has_function(&name) {
        format!("Module.function \"{name}\" is unavailable.")
    } else if period.is_none() {
        "Period must be specified as a float in seconds".to_owned()
    } else if timeout.is_none() {
        "Timeout must be specified as a float in seconds".to_owned()
    } else if comparison.is_none() {
        format!("Invalid operator \"{operator}\" supplied.")
    } else {
        String::new()
    };
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "Would have waited for \"{name}\" to produce \"{}\".",
                call.text("expected")
            ))
            .into());
    }
    let (Some(period), Some(timeout), Some(comparison), true) =
        (period, timeout, comparison, why.is_empty())
    else {
        return Ok(state.failed(why).into());
    };
    if let Some(wait) = seconds(call.arg("init_wait")) {
        pause(call, wait)?;
    }
    let args = call.arg("args").as_list().unwrap_or_default().to_vec();
    let kwargs = call.arg("kwargs").as_map().cloned().unwrap_or_default();
    let expected = call.arg("expected");
    let begin = Instant::now();
    let mut attempts = 0;
    while begin.elapsed() < timeout {
        attempts += 1;
        let returned = match call.salt(&name, &args, kwargs.clone()) {
            Ok(returned) => returned,
            Err(error @ CallError::Ended(_)) => return Err(error),
            Err(error) => {
                let why = format!("Exception occurred while executing {name}: {error}");
                return Ok(state.failed(why).into());
            }
        };
        let same = match comparison {
            Comparison::Operator(compare) => compare(&returned, expected).ok_or_else(|| {
                CallError::wrong_type(format!(
                    "'{operator}' not supported between instances of '{}' and '{}'",
                    returned.type_name(),
                    expected.type_name()
                ))
            })?,
            Comparison::Function(name) => {
                let both = [returned, expected.clone()];
                call.salt(name, &both, Map::new())?.is_true()
            }
        };
        if same {
            let what = format!("Call provided the expected results in {attempts} attempts");
            return Ok(state.ok(what).into());
        }
        pause(call, period)?;
    }
    let why = format!("Call did not produce the expected result after {attempts} attempts");
    Ok(state.failed(why).into())
}

/// Waits, unless the job is ended.
fn pause(call: &Call<'_>, time: Duration) -> Result<(), CallError> {
    if call.cancel().sleep(time) {
        return Ok(());
    }
    let signal = call.cancel().ended_by().unwrap_or_default();
    Err(CallError::Ended(signal))
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
