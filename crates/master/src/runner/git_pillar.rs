//! `git_pillar.*`: pillars that come from git are made by an installed Salt,
//! and fetched anew by it: when somebody asks for that, and now and then.
//!
//! Invariant: nothing is asked of Python where no pillar comes from git.

use std::sync::Arc;
use std::time::Duration;

use halite_call::{
    Cancel, Job, TimeLimit,
    extensions::{Kind, of_salt},
    run_plugin, within_call,
};
use halite_proto::{Map, Value};

use super::error::{Ran, RunnerError};
use super::table::Function;
use super::{Call, Runners};
use crate::error::chain;

/// How long fetching may take.
const FETCH_TIME_MAX: Duration = Duration::from_secs(300);

/// The name of the external pillar.
const GIT: &str = "git";

const UPDATE: &str = "git_pillar.update";

pub(super) const FUNCTIONS: &[Function] = &[Function::new(
    UPDATE,
    "(branch=None, repo=None)",
    update,
    "Fetches the repositories that pillars come from, all or those of a branch or an address.",
)];

fn update(call: &Call<'_>) -> Ran {
    let mut kwargs = Map::new();
    for name in ["branch", "repo"] {
        if !call.arg(name).is_nil() {
            kwargs.insert(name, call.arg(name).clone());
        }
    }
    fetch(call.runners, kwargs, call.stop.cancel()).map_err(RunnerError::Failed)
}

/// Fetches what changed in the repositories, if pillars come from any. Blocks.
pub(crate) fn refresh(runners: &Arc<Runners>) {
    if let Err(why) = fetch(runners, Map::new(), &Cancel::default()) {
        tracing::error!("{UPDATE}: {why}");
    }
}

/// Whether pillars come from git.
pub(crate) fn is_used(opts: &Map) -> bool {
    let externals = opts.get("ext_pillar").and_then(Value::as_list);
    let mut externals = externals.into_iter().flatten();
    externals.any(|external| external.get(GIT).is_some())
}

fn fetch(runners: &Arc<Runners>, kwargs: Map, cancel: &Cancel) -> Result<Value, String> {
    if !is_used(&runners.general.opts) {
        return Err("no pillar comes from git (`ext_pillar` has no `git`)".to_owned());
    }
    let house = runners.functions.house();
    let function = of_salt(house, Kind::Runners, UPDATE).ok_or_else(|| {
        "pillars from git need the Python of an installed Salt (`python_executable`)".to_owned()
    })?;
    let cancel = cancel.clone();
    let _limit = TimeLimit::start(cancel.clone(), FETCH_TIME_MAX, UPDATE);
    let job = Job {
        cancel,
        ..Job::default()
    };
    within_call(house, &job, |call| {
        run_plugin(call, function, Vec::new(), kwargs).map_err(|error| chain(&error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_looked_for_among_the_external_pillars() {
        let opts = |yaml: &str| match halite_yaml::load(yaml, "test").unwrap().into_value() {
            Value::Map(opts) => opts,
            other => panic!("{other:?}"),
        };
        assert!(is_used(&opts(
            "ext_pillar: [{cmd_yaml: x}, {git: [master x]}]"
        )));
        assert!(!is_used(&opts("ext_pillar: [{cmd_yaml: x}]")));
        assert!(!is_used(&opts("{}")));
    }
}
