//! Requests that go to every master.

use std::sync::Arc;

use halite_call::ContextError;
use halite_proto::{Map, Value};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tracing::debug;

use super::{JobContext, Round, Route, context_error, stopping};
use crate::core::link::Phase;
use crate::core::sign_in::chain;
use crate::limits::{OTHERS_ANSWER_WAIT, OTHERS_SIGN_IN_WAIT};
use crate::link::channel::ChannelError;
use crate::minion::{Master, Minion};

/// The command that puts an event on a master's bus.
const EVENT: &str = "_minion_event";

impl JobContext {
    /// Asks every master that is signed in, all at the same time; with an event,
    /// one of each cluster. A job has its answer when its own master has given one:
    /// others may hang.
    pub(super) fn ask_every(&self, load: &Map) -> Result<Value, ContextError> {
        let (minion, route) = (Arc::clone(&self.minion), self.route);
        let (load, round) = (load.clone(), self.round.clone());
        let asked = async move {
            if matches!(route, Route::Prefer(_)) {
                others_signed_in(&minion).await;
            }
            let is_due = |index: &usize| {
                let has_it = round.as_ref().is_some_and(|round| round.has(*index));
                let master = minion.masters.get(*index);
                !has_it && master.is_some_and(|master| master.channel.is_signed_in())
            };
            let due: Vec<usize> = (0..minion.masters.len()).filter(is_due).collect();
            // Masters that are one cluster tell each other of events.
            let groups = match load.get("cmd").and_then(Value::as_str) {
                Some(EVENT) => minion.by_cluster(due),
                _ => due.into_iter().map(|index| vec![index]).collect(),
            };
            let asked = groups.into_iter().map(|mut group| {
                group.sort_by_key(|index| order(&minion, route, *index));
                let (minion, round) = (Arc::clone(&minion), round.clone());
                Asked::one_of(minion, group, load.clone(), round)
            });
            let asked = asked.flatten().collect();
            answer_of(route, asked).await
        };
        self.minion.wait(asked).ok_or_else(stopping)?
    }
}

/// Waits a moment for the links that are on their way up; `salt-call` is ready
/// with the first.
pub(crate) async fn others_signed_in(minion: &Minion) {
    let settled = minion.masters.iter().map(|master| {
        let mut phase = master.phase.clone();
        async move {
            let on_its_way = |phase: &Phase| {
                matches!(
                    phase,
                    Phase::Resolving | Phase::SigningIn | Phase::Subscribing
                )
            };
            let _ = phase.wait_for(|phase| !on_its_way(phase)).await;
        }
    });
    let all: JoinSet<()> = settled.collect();
    let _ = timeout(OTHERS_SIGN_IN_WAIT, all.join_all()).await;
}

/// A request on its way to one of several masters.
struct Asked {
    master: usize,
    /// Whether its link was ready: a master without one may take minutes.
    is_ready: bool,
    answer: JoinHandle<Result<Value, ChannelError>>,
}

impl Asked {
    /// Asks the first of these masters, and the next one if that has no answer or its link
    /// changes meanwhile. `None` of no masters.
    fn one_of(
        minion: Arc<Minion>,
        masters: Vec<usize>,
        load: Map,
        round: Option<Arc<Round>>,
    ) -> Option<Self> {
        let first = *masters.first()?;
        let is_ready = minion.masters.get(first).is_some_and(Master::is_ready);
        let answer = tokio::spawn(async move {
            let mut last = ChannelError::NotSignedIn;
            for (at, index) in masters.iter().enumerate() {
                let Some(master) = minion.masters.get(*index) else {
                    continue;
                };
                let request = master.channel.request(load.clone(), minion.patience);
                let mut phase = master.phase.clone();
                let begun = *phase.borrow();
                let is_last = at + 1 == masters.len();
                let answer = tokio::select! {
                    answer = request => answer,
                    _ = phase.wait_for(|phase| *phase != begun), if !is_last => continue,
                };
                match answer {
                    Ok(value) => {
                        if let Some(round) = round {
                            masters.iter().for_each(|index| round.record(*index));
                        }
                        return Ok(value);
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        });
        Some(Self {
            master: first,
            is_ready,
            answer,
        })
    }
}

/// The order in which masters count: the job's own one first, unless it cannot be
/// reached.
fn order(minion: &Minion, route: Route, master: usize) -> (bool, bool) {
    let is_ready = minion.masters.get(master).is_some_and(Master::is_ready);
    (!is_ready, is_anothers(route, master))
}

fn is_anothers(route: Route, master: usize) -> bool {
    matches!(route, Route::Bound(own) if own != master)
}

/// The answer that counts, when it is there; the other requests go on.
async fn answer_of(route: Route, mut asked: Vec<Asked>) -> Result<Value, ContextError> {
    // And nobody else when its own master has answered.
    asked.sort_by_key(|asked| (!asked.is_ready, is_anothers(route, asked.master)));
    let mut answer = Err(ContextError::NoMaster);
    for Asked { answer: asked, .. } in asked {
        let answered = match (&answer, route) {
            (Ok(_), Route::Bound(_)) => break,
            (Ok(_), _) => match timeout(OTHERS_ANSWER_WAIT, asked).await {
                Ok(answered) => answered,
                Err(_) => continue,
            },
            (Err(_), _) => asked.await,
        };
        match answered {
            Ok(Ok(value)) => answer = Ok(value),
            Ok(Err(error)) => {
                debug!("a request failed: {}", chain(&error));
                answer = answer.map_err(|_| context_error(error));
            }
            Err(cause) => debug!(%cause, "a request panicked"),
        }
    }
    answer
}
