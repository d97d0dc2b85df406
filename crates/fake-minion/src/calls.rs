//! Calling functions and states.

use std::sync::Arc;

use halite_call::{
    CallError, Job, MinionContext as _, Outcome, StateScope, run_function, run_state_function,
};
use halite_proto::{Map, Value};

use crate::FakeMinion;

/// The published job of a function.
pub fn job(fun: &str) -> Job {
    Job::published(Map::from([
        ("fun", Value::from(fun)),
        ("jid", "20261120000000000000".into()),
        ("tgt", "m1".into()),
        ("tgt_type", "glob".into()),
    ]))
}

/// Arguments by name, as a job carries them.
pub fn kwargs<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let mut map = Map::from(entries);
    map.insert("__kwarg__", true);
    map.into()
}

impl FakeMinion {
    /// Runs a function as a published job.
    pub fn run(&self, fun: &str, args: &[Value]) -> Outcome {
        run_function(self, fun, args, &job(fun))
    }

    /// Runs a function that must succeed, and returns its value.
    pub fn ret(&self, fun: &str, args: &[Value]) -> Value {
        let outcome = self.run(fun, args);
        assert!(outcome.failure.is_none(), "{fun}: {:?}", outcome.ret);
        outcome.ret
    }

    /// Runs a state function as a state run does: with the chunk it stands in,
    /// and the arguments that it takes.
    ///
    /// # Errors
    /// What the function fails with; `KeyError` if there is none.
    pub fn run_state(&self, fun: &str, kwargs: &Map, test: bool) -> Result<Value, CallError> {
        let Some(function) = self.registry().state(fun) else {
            return Err(CallError::exception("KeyError", format!("'{fun}'")));
        };
        let signature = function.parse_signature().unwrap();
        let (state, name) = fun.split_once('.').unwrap();
        let mut low = Map::from([("state", state), ("fun", name)]);
        low.insert("__id__", kwargs.get("name").cloned().unwrap_or_default());
        low.insert("__sls__", Value::Nil);
        low.extend(kwargs.clone());
        let mut taken = kwargs.clone();
        taken.retain(|key, _| signature.takes_keyword(key.as_str().unwrap()));
        let job = Job {
            state: Some(Arc::new(StateScope {
                test,
                low,
                run_id: "run".to_owned(),
                memo: Arc::clone(&self.memo),
                ..StateScope::default()
            })),
            ..Job::default()
        };
        run_state_function(self, fun, Vec::new(), taken, &job)
    }
}
