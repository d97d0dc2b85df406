//! Parallel states, each on a thread of its own.
//!
//! Invariant: a thread ends by itself or with the job; the run does not end before
//! them.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope};

use halite_call::Cancel;
use halite_proto::{Map, Value};
use halite_state::run::{Attempts, Patience, StateCall};

use super::drive::{Stage, call_state, moment, random_up_to};
use crate::limits::LOOK_AGAIN;

/// The results that have come, and those that will.
pub(super) struct Beside {
    sender: Sender<(String, Map)>,
    receiver: Receiver<(String, Map)>,
    done: HashMap<String, Map>,
}

impl Beside {
    pub(super) fn new() -> Self {
        let (sender, receiver) = channel();
        Self {
            sender,
            receiver,
            done: HashMap::new(),
        }
    }

    /// Starts a state.
    pub(super) fn start<'scope, 'env: 'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        stage: &'env Stage<'_>,
        call: StateCall,
    ) {
        let (tag, sender) = (call.tag.clone(), self.sender.clone());
        let name = call.low.get("name").cloned().unwrap_or_default();
        let run = move || {
            let tag = call.tag.clone();
            let record = attempts(stage, call);
            // Nobody listens any more: the run has been given up.
            let _ = sender.send((tag, record));
        };
        let builder = Builder::new().name("state".to_owned());
        if let Err(error) = builder.spawn_scoped(scope, run) {
            let comment = format!("no thread could be started: {error}");
            self.done.insert(tag, failure(name, &comment));
        }
    }

    /// The results of `tags` that are there, after the wait that `patience`
    /// asks for.
    pub(super) fn collect(
        &mut self,
        tags: &[String],
        patience: Patience,
        cancel: &Cancel,
    ) -> Vec<(String, Map)> {
        loop {
            self.done.extend(self.receiver.try_iter());
            let there = tags
                .iter()
                .filter(|tag| self.done.contains_key(*tag))
                .count();
            let enough = match patience {
                Patience::None => true,
                Patience::One => there > 0,
                Patience::All => there == tags.len(),
            };
            if enough || cancel.ended_by().is_some() {
                break;
            }
            match self.receiver.recv_timeout(LOOK_AGAIN) {
                Ok((tag, record)) => {
                    self.done.insert(tag, record);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        tags.iter()
            .filter_map(|tag| Some((tag.clone(), self.done.remove(tag)?)))
            .collect()
    }
}

fn attempts(stage: &Stage<'_>, call: StateCall) -> Map {
    let name = call.low.get("name").cloned().unwrap_or_default();
    let mut attempts = Attempts::new(call.retry.clone());
    let mut waited = 0;
    loop {
        let started = moment();
        let record = match call_state(stage, call.clone()) {
            Ok(Value::Map(record)) => record,
            Ok(other) => failure(name.clone(), &format!("not a result: {other:?}")),
            Err(trace) => failure(
                name.clone(),
                &format!("An exception occurred in this state: {trace}"),
            ),
        };
        let micros = moment().micros_since(started);
        match attempts.next(record, started.time_of_day(), micros, waited) {
            Some((interval, splay)) => {
                waited = interval + random_up_to(splay);
                if !stage.cancel().sleep(std::time::Duration::from_secs(waited)) {
                    break;
                }
            }
            None => break,
        }
    }
    attempts.finish()
}

fn failure(name: Value, comment: &str) -> Map {
    Map::from([
        ("result", Value::Bool(false)),
        ("name", name),
        ("changes", Map::new().into()),
        ("comment", comment.into()),
    ])
}
