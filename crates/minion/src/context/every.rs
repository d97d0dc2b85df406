//! Requests that go to every master.

use std::sync::Arc;

use halite_call::ContextError;
use halite_proto::{Map, Value};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tracing::debug;

use super::{JobContext, Route, context_error, stopping};
use crate::core::link::Phase;
use crate::core::sign_in::chain;
use crate::limits::{OTHERS_ANSWER_WAIT, OTHERS_SIGN_IN_WAIT};
use crate::link::channel::ChannelError;
use crate::minion::Minion;

impl JobContext {
    /// Asks every master that is signed in, all at the same time. A job has
    /// its answer when its own master has given one: others may hang.
    pub(super) fn ask_every(&self, load: &Map) -> Result<Value, ContextError> {
        let (minion, route) = (Arc::clone(&self.minion), self.route);
        let (load, round) = (load.clone(), self.round.clone());
        let asked = async move {
            if matches!(route, Route::Prefer(_)) {
                others_signed_in(&minion).await;
            }
            let mut asked = Vec::new();
            for (index, master) in minion.masters.iter().enumerate() {
                let has_it = round.as_ref().is_some_and(|round| round.has(index));
                if has_it || !master.channel.is_signed_in() {
                    continue;
                }
                let (channel, load) = (master.channel.clone(), load.clone());
                let (patience, round) = (minion.patience, round.clone());
                let answer = tokio::spawn(async move {
                    let answer = channel.request(load, patience).await;
                    if let (Some(round), Ok(_)) = (round, &answer) {
                        round.record(index);
                    }
                    answer
                });
                asked.push(Asked {
                    master: index,
                    is_ready: master.is_ready(),
                    answer,
                });
            }
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
    /// Whether its link was ready: one that is gone may take minutes.
    is_ready: bool,
    answer: JoinHandle<Result<Value, ChannelError>>,
}

/// The answer that counts, when it is there; the other requests go on.
async fn answer_of(route: Route, mut asked: Vec<Asked>) -> Result<Value, ContextError> {
    // Its own master first, unless that is gone, and nobody else when that has
    // answered.
    let is_anothers = |master| matches!(route, Route::Bound(own) if own != master);
    asked.sort_by_key(|asked| (!asked.is_ready, is_anothers(asked.master)));
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
            Err(cause) => debug!(%cause, "a request died"),
        }
    }
    answer
}
