//! Runners that a minion asks for, where `peer_run` allows it.
//!
//! Invariant: without a matching entry of `peer_run` the answer is an empty
//! map.

use std::sync::Arc;
use std::thread;

use halite_proto::request::MinionRunner;
use halite_proto::shown::quoted;
use halite_proto::{Map, Value};
use tokio::sync::oneshot;

use super::{Caller, Handled};
use crate::error::chain;
use crate::limits::{FUNCTION_BYTES_MAX, SHOWN_CHARS_MAX};
use crate::runner::{self, Runners};

/// Runs a runner and answers with what it returns.
pub(super) fn run(runners: &Arc<Runners>, caller: &Caller, request: &MinionRunner) -> Handled {
    let peers = &runners.fleet.settings.peers;
    if request.fun.len() > FUNCTION_BYTES_MAX || !peers.may_run(&caller.id, &request.fun) {
        if caller.may_log("peer_run") {
            let fun = quoted(&request.fun, SHOWN_CHARS_MAX);
            tracing::warn!(minion = %caller.id, "may not run {fun} (option peer_run)");
        }
        return Handled::nothing();
    }
    let Some(turn) = runners.peer_turns.take(&caller.id) else {
        if caller.may_log("peer_run turns") {
            tracing::warn!(minion = %caller.id, "refused a runner: too many run for minions already");
        }
        return Handled::nothing();
    };
    let (args, kwargs) = arguments(&request.arg);
    let asked = runner::Asked {
        args,
        kwargs,
        ..runner::Asked::new(&request.fun, caller.id.as_str())
    };
    let runners = Arc::clone(runners);
    let (tell, told) = oneshot::channel();
    // A thread of its own: a runner may take minutes, and the few threads for
    // what waits for the disk are not the minions' to fill.
    let started = thread::Builder::new()
        .name("runner for a minion".to_owned())
        .spawn(move || {
            let _turn = turn;
            // Nobody waits any more when the daemon stops.
            let _ = tell.send(runner::run_to_end(&runners, asked));
        });
    if let Err(error) = started {
        tracing::error!("could not run a runner for a minion: {error}");
        return Handled::nothing();
    }
    Handled::Later(Box::pin(async move {
        match told.await {
            Ok(Ok(value)) => value,
            Ok(Err(error)) => {
                tracing::error!("could not run a runner for a minion: {}", chain(&error));
                Map::new().into()
            }
            Err(_) => {
                tracing::error!("a runner for a minion ended without a result");
                Map::new().into()
            }
        }
    }))
}

/// Texts are read as YAML scalars; `name=value` goes by its name.
fn arguments(arg: &Value) -> (Vec<Value>, Map) {
    let items = match arg {
        Value::List(items) => items.clone(),
        Value::Nil => Vec::new(),
        one => vec![one.clone()],
    };
    let (mut args, mut kwargs) = (Vec::new(), Map::new());
    for item in items {
        match item {
            Value::Str(text) => match named(&text) {
                Some((name, value)) => {
                    kwargs.insert(name, halite_yaml::scalar(value));
                }
                None => args.push(halite_yaml::scalar(&text)),
            },
            Value::Map(mut map) if map.contains_key("__kwarg__") => {
                map.remove("__kwarg__");
                kwargs.extend(map);
            }
            other => args.push(other),
        }
    }
    (args, kwargs)
}

fn named(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let is_name = name.starts_with(|c: char| c == '_' || c.is_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_alphanumeric());
    (is_name && !value.starts_with('=')).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_values_with_and_without_names() {
        let given = Value::List(vec!["5".into(), "a=true".into(), "1=2".into(), 7.into()]);
        let (args, kwargs) = arguments(&given);
        assert_eq!(args, [5.into(), "1=2".into(), 7.into()]);
        assert_eq!(kwargs, Map::from([("a", true)]));
    }
}
