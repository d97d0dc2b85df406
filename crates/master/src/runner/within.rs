//! Runners called by functions of the master: pillar files with `saltutil.runner`.
//!
//! Invariant: pillars and runners cannot call each other endlessly.

use std::cell::Cell;
use std::sync::{Arc, Weak};

use halite_call::ContextError;
use halite_proto::{Map, Value};

use super::{Asked, Runners, run_to_end};
use crate::error::chain;
use crate::limits::RUNNERS_WITHIN_PILLARS_MAX;

thread_local! {
    /// How many runners this thread is within.
    static RUNNERS: Cell<u32> = const { Cell::new(0) };
}

/// Counts a runner for as long as this lives.
struct Within;

impl Within {
    fn enter() -> Self {
        RUNNERS.set(RUNNERS.get() + 1);
        Self
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        RUNNERS.set(RUNNERS.get() - 1);
    }
}

/// Lets the functions of the master run these runners. A runner may compile a
/// pillar, whose files may run a runner: the depth is limited.
pub(crate) fn run_within_functions(runners: &Arc<Runners>) {
    let weak = Arc::downgrade(runners);
    let run = move |fun: &str, args, kwargs| run(&weak, fun, args, kwargs);
    runners.functions.connect(Box::new(run));
}

fn run(
    runners: &Weak<Runners>,
    fun: &str,
    args: Vec<Value>,
    kwargs: Map,
) -> Result<Value, ContextError> {
    let Some(runners) = runners.upgrade() else {
        return Err(ContextError::NoRunners);
    };
    if RUNNERS.get() >= RUNNERS_WITHIN_PILLARS_MAX {
        return Err(ContextError::Other(
            "pillars and runners call each other in an endless loop".to_owned(),
        ));
    }
    let _within = Within::enter();
    let asked = Asked {
        args,
        kwargs,
        ..Asked::new(fun, "pillar")
    };
    run_to_end(&runners, asked).map_err(|error| ContextError::Other(chain(&error)))
}
