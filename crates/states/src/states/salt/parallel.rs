//! `salt.parallel_runners`: several runners at once.

use std::thread;

use halite_modules::{
    Call, CallError, CallResult, ContextError, MasterAnswer, MasterFunction, StateReturn,
};
use halite_proto::{Map, Value};

/// A runner with the name that the results have.
struct Asked {
    id: Value,
    fun: String,
    kwargs: Map,
}

pub(super) fn parallel_runners(call: &Call<'_>) -> CallResult {
    let ret = StateReturn::new(call.arg("name").clone());
    let Some(asked) = read(call.arg("runners")) else {
        return Ok(ret
            .failed("The runners parameter must be a string or dict.")
            .into());
    };
    if call.is_test() {
        return Ok(ret
            .pending("The runners would be executed in parallel.")
            .into());
    }
    let ctx = call.ctx;
    let answers: Vec<Result<MasterAnswer, CallError>> = thread::scope(|scope| {
        let running: Vec<_> = asked
            .iter()
            .map(|asked| {
                let (fun, kwargs) = (asked.fun.as_str(), asked.kwargs.clone());
                scope.spawn(move || {
                    ctx.run_on_master(MasterFunction::Runner, fun, Vec::new(), kwargs)
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
            failed.push(halite_modules::python::str(&asked.id));
        }
        outputs.insert(asked.id, answer.ret);
    }
    Ok(told(ret, outputs, &failed).into())
}

fn told(mut ret: StateReturn, outputs: Map, failed: &[String]) -> StateReturn {
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

/// The runners that the argument lists; nothing if it is of no known form.
fn read(runners: &Value) -> Option<Vec<Asked>> {
    match runners {
        Value::Str(fun) => Some(vec![Asked {
            id: runners.clone(),
            fun: fun.clone(),
            kwargs: Map::new(),
        }]),
        Value::Map(runners) => {
            let read = |(id, options): (&Value, &Value)| {
                let mut all = Map::new();
                match options {
                    Value::List(items) => {
                        all.extend(items.iter().filter_map(Value::as_map).flat_map(Map::clone));
                    }
                    Value::Map(options) => all = options.clone(),
                    _ => {}
                }
                let named = all.get("name").filter(|name| name.is_true());
                Asked {
                    fun: halite_modules::python::str(named.unwrap_or(id)),
                    kwargs: all
                        .get("kwarg")
                        .and_then(Value::as_map)
                        .cloned()
                        .unwrap_or_default(),
                    id: id.clone(),
                }
            };
            Some(runners.iter().map(read).collect())
        }
        _ => None,
    }
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
