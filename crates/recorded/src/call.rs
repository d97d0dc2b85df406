//! Carrying out the calls of a scenario.

use std::sync::Arc;

use halite_call::{CallError, Failure, Job, StateScope, run_function, run_state_function};
use halite_fake_minion::{FakeMinion, from_json, to_json};
use halite_proto::Value;
use serde_json::{Value as Json, json};

/// What comes of a call.
pub fn carry_out(minion: &FakeMinion, asked: &Json) -> Json {
    match (asked["state"].as_str(), asked["fun"].as_str()) {
        (Some(fun), _) => {
            let job = Job {
                state: Some(Arc::new(StateScope {
                    test: asked["test"] == json!(true),
                    ..StateScope::default()
                })),
                ..Job::default()
            };
            let Value::Map(kwargs) = from_json(&asked["args"]) else {
                panic!("no arguments");
            };
            match run_state_function(minion, fun, Vec::new(), kwargs, &job) {
                Ok(ret) => to_json(&ret),
                Err(error) => json!(failure(&error)),
            }
        }
        (None, Some(fun)) => {
            let mut args: Vec<Value> = asked["args"]
                .as_array()
                .into_iter()
                .flatten()
                .map(from_json)
                .collect();
            if let Value::Map(mut kwargs) = from_json(&asked["kwargs"]) {
                kwargs.insert("__kwarg__", true);
                args.push(kwargs.into());
            }
            let outcome = run_function(minion, fun, &args, &Job::default());
            match outcome.failure {
                Some(Failure::Call { error, .. }) => json!(failure(&error)),
                _ => to_json(&outcome.ret),
            }
        }
        _ => panic!("neither state nor function: {asked}"),
    }
}

fn failure(error: &CallError) -> String {
    let kind = match error {
        CallError::Command(_) => "CommandExecutionError",
        CallError::Invocation(_) => "SaltInvocationError",
        CallError::NotFound(_) => "CommandNotFoundError",
        CallError::Arguments(_) => "TypeError",
        CallError::Exception { message, kind, .. } => return format!("EXC {kind}: {message}"),
        CallError::Ended(_) => "Ended",
    };
    format!("EXC {kind}: {error}")
}
