//! `salt.parallel_runners`: several runners at once.

use std::thread;

use halite_call::{
    Call, CallError, CallResult, ContextError, MasterAnswer, MasterFunction, StateReturn,
};
use halite_proto::{Map, Value};

use super::MASTER_FUNCTIONS;

/// A runner with the name that the results have.
struct Asked {
    id: Value,
    fun: String,
    kwargs: Map,
}

pub(super) fn parallel_runners(call: &Call<'_>) -> CallResult {
    let ret = StateReturn::of(call);
    let asked = match read(call.arg("runners")) {
        Ok(asked) => asked,
        Err(why) => return Ok(ret.failed(why).into()),
    };
    if call.is_test() {
        return Ok(ret
            .pending("The runners would be executed in parallel.")
            .into());
    }
    let commander = call.ctx.commander(MASTER_FUNCTIONS);
    let answers: Vec<Result<MasterAnswer, CallError>> = thread::scope(|scope| {
        let running: Vec<_> = asked
            .iter()
            .map(|asked| {
                let (fun, kwargs) = (asked.fun.as_str(), asked.kwargs.clone());
                let commander = commander.clone();
                scope.spawn(move || {
                    commander?.run_on_master(MasterFunction::Runner, fun, Vec::new(), kwargs)
                })
            })
            .collect();
        let join =
            |thread: thread::ScopedJoinHandle<'_, Result<_, ContextError>>| match thread.join() {
                Ok(answer) => answer.map_err(CallError::from),
                Err(_) => Err(CallError::exception("SystemError", "the runner panicked")),
            };
        running.into_iter().map(join).collect()
    });
    let mut outputs = Map::new();
    let mut failed = Vec::new();
    for (asked, answer) in asked.into_iter().zip(answers) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let text = format!("One of the runners raised an exception: {error}");
                return Ok(ret.failed(text).into());
            }
        };
        if !answer.success || retcode(&answer.ret) != 0 {
            failed.push(halite_call::python::str(&asked.id));
        }
        outputs.insert(asked.id, answer.ret);
    }
    Ok(combined_return(ret, outputs, &failed).into())
}

fn combined_return(mut ret: StateReturn, outputs: Map, failed: &[String]) -> StateReturn {
    let of_states = !outputs.is_empty() && outputs.values().all(is_of_states);
    if of_states {
        for (id, output) in &outputs {
            let data = output.as_map().and_then(|output| output.get("data"));
            if let Some(changes) = data.and_then(changes_in) {
                ret.changes.insert(id.clone(), changes);
            }
        }
    } else {
        ret.changes.insert("ret", outputs);
    }
    match failed {
        [] => ret.ok("All runner functions executed successfully."),
        [one] => ret.failed(format!("Runner {one} failed.")),
        many => ret.failed(format!("Runners {} failed.", many.join(", "))),
    }
}

/// The runners that the argument lists.
fn read(runners: &Value) -> Result<Vec<Asked>, String> {
    match runners {
        Value::Str(fun) => Ok(vec![Asked {
            id: runners.clone(),
            fun: fun.clone(),
            kwargs: Map::new(),
        }]),
        Value::Map(runners) => runners
            .iter()
            .map(|(id, options)| one(id, options))
            .collect(),
        _ => Err("The runners parameter must be a string or dict.".to_owned()),
    }
}

fn one(id: &Value, options: &Value) -> Result<Asked, String> {
    let mut given = Map::new();
    match options {
        Value::List(items) => {
            given.extend(items.iter().filter_map(Value::as_map).flat_map(Map::clone));
        }
        Value::Map(options) => given = options.clone(),
        _ => {}
    }
    let refused = |what: String| {
        let id = halite_call::python::str(id);
        Err(format!("The runner {id} {what}; it takes name and kwarg."))
    };
    let name = given.remove("name").filter(Value::is_true);
    let kwargs = match given.remove("kwarg") {
        None | Some(Value::Nil) => Map::new(),
        Some(Value::Map(kwargs)) => kwargs,
        Some(_) => return refused("has a kwarg that is no dict".to_owned()),
    };
    // What nobody heeds was meant to be heeded.
    if let Some(other) = given.keys().next() {
        let other = halite_call::python::str(other);
        return refused(format!("has no argument {other}"));
    }
    Ok(Asked {
        fun: halite_call::python::str(name.as_ref().unwrap_or(id)),
        kwargs,
        id: id.clone(),
    })
}

fn is_of_states(output: &Value) -> bool {
    output.as_map().is_some_and(|output| {
        output.contains_key("data")
            && output.get("outputter").and_then(Value::as_str) == Some("highstate")
    })
}

fn retcode(output: &Value) -> i64 {
    let retcode = output.as_map().and_then(|output| output.get("retcode"));
    retcode.and_then(Value::as_i64).unwrap_or(0)
}

/// The changes of states, wherever in the data they are.
fn changes_in(value: &Value) -> Option<Value> {
    let map = value.as_map()?;
    if let Some(changes) = map.get("changes") {
        let of_minions = changes.as_map().and_then(|changes| {
            let is_run = changes.get("out").and_then(Value::as_str) == Some("highstate");
            is_run.then(|| changes.get("ret")).flatten()
        });
        let changes = of_minions.unwrap_or(changes);
        return changes.is_true().then(|| changes.clone());
    }
    let found: Map = map
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), changes_in(value)?)))
        .collect();
    (!found.is_empty()).then(|| found.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<Vec<(String, Map)>, String> {
        let runners = halite_yaml::load(text, "test").unwrap().into_value();
        let asked = read(&runners)?.into_iter();
        Ok(asked.map(|asked| (asked.fun, asked.kwargs)).collect())
    }

    #[test]
    fn runners_are_named_with_what_they_take() {
        let text = "one:\n  - name: test.arg\n  - kwarg: {x: 1}\ntest.ping: []\n";
        assert_eq!(
            asked(text).unwrap(),
            [
                ("test.arg".to_owned(), Map::from([("x", 1)])),
                ("test.ping".to_owned(), Map::new())
            ]
        );
        assert_eq!(asked("test.ping").unwrap()[0].0, "test.ping");
    }

    #[test]
    fn what_nobody_heeds_is_refused() {
        for (text, why) in [
            ("5", "The runners parameter must be a string or dict."),
            (
                "one: [{name: a.b}, {arg: [1]}]",
                "The runner one has no argument arg; it takes name and kwarg.",
            ),
            (
                "one: {name: a.b, kwarg: 5}",
                "The runner one has a kwarg that is no dict; it takes name and kwarg.",
            ),
        ] {
            assert_eq!(asked(text).unwrap_err(), why);
        }
    }
}
