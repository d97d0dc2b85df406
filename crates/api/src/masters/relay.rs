//! Requests that another master answers.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use axum::http::StatusCode;
use futures_util::future::join_all;
use halite_proto::{Map, Value};

use super::Masters;
use super::other::{Other, Refusal};
use crate::encode::to_json;
use crate::fault::Fault;
use crate::limits::{OTHER_ANSWERS_WITHIN, RELAYED_COMMAND_WITHIN, RELAYED_LOGIN_WITHIN};

/// What other masters have said, and the names of those that have said nothing.
pub(crate) struct OfOthers {
    pub(crate) answers: Vec<Value>,
    pub(crate) left_out: Vec<String>,
}

impl Masters {
    /// Runs a chunk of low data with its proofs at another master; what it returns.
    ///
    /// # Errors
    /// When no master can be reached, or the one that can refuses.
    pub(crate) async fn run(&self, low: Map) -> Result<Vec<Value>, Fault> {
        let json = low_json(low)?;
        for index in self.in_order() {
            let Some(other) = self.others.get(index) else {
                continue;
            };
            let ran = other
                .run(json.clone(), &other.places, RELAYED_COMMAND_WITHIN)
                .await;
            match ran {
                Ok(returns) => {
                    tracing::info!(
                        master = %other.wire.address,
                        "another master answered in place of this one"
                    );
                    self.found(index + 1, None);
                    return Ok(returns);
                }
                Err(Refusal::Untouched(why)) => self.found(index + 1, Some(why)),
                Err(Refusal::Busy) => tracing::warn!(
                    master = %other.wire.address,
                    "a master has too many requests, trying the next one"
                ),
                Err(Refusal::Answer(fault)) => return Err(fault),
            }
        }
        Err(Fault::no_master())
    }

    /// Runs a chunk of low data that only asks at all other masters.
    ///
    /// # Errors
    /// When the chunk cannot be sent.
    pub(crate) async fn ask_all(&self, low: Map) -> Result<OfOthers, Fault> {
        let mut all = OfOthers {
            answers: Vec::new(),
            left_out: Vec::new(),
        };
        for (name, answer) in self.ask_each(low, None).await? {
            match answer {
                Ok(answer) => all.answers.push(answer),
                Err(_) => all.left_out.push(name),
            }
        }
        Ok(all)
    }

    /// Runs a chunk of low data at these of the other masters, or at all; what each
    /// returns, or why there is no answer.
    ///
    /// # Errors
    /// When the chunk cannot be sent.
    pub(crate) async fn ask_each(
        &self,
        low: Map,
        wanted: Option<&[String]>,
    ) -> Result<Vec<(String, Result<Value, String>)>, Fault> {
        let json = low_json(low)?;
        let asked = self.others.iter().enumerate().map(|(index, other)| {
            let json = json.clone();
            async move {
                let name = other.wire.address.to_string();
                if wanted.is_some_and(|wanted| !wanted.contains(&name)) {
                    return None;
                }
                let answer = self.ask_one(index, other, json).await;
                (!other.is_self.load(Relaxed)).then_some((name, answer))
            }
        });
        Ok(join_all(asked).await.into_iter().flatten().collect())
    }

    async fn ask_one(&self, index: usize, other: &Other, json: String) -> Result<Value, String> {
        if self.health.is_away(index + 1) {
            return Err("the master cannot be reached".to_owned());
        }
        let ran = other.run(json, &other.questions, OTHER_ANSWERS_WITHIN);
        match ran.await {
            Ok(returns) => Ok(returns.into_iter().next().unwrap_or_default()),
            Err(Refusal::Untouched(why)) => {
                self.found(index + 1, Some(why.clone()));
                Err(why)
            }
            Err(Refusal::Busy) => Err("the master has too many requests".to_owned()),
            Err(Refusal::Answer(fault)) => {
                tracing::warn!(
                    master = %other.wire.address,
                    "left a master out of an answer: {}",
                    fault.message
                );
                Err(fault.message)
            }
        }
    }

    /// Asks another master for a token; nothing if it does not believe.
    ///
    /// # Errors
    /// When no master can be reached, or the one that can refuses.
    pub(crate) async fn make_token(&self, asks: Map) -> Result<Option<Map>, Fault> {
        let json = low_json(asks)?;
        for index in self.in_order() {
            let Some(other) = self.others.get(index) else {
                continue;
            };
            match other.make_token(json.clone(), RELAYED_LOGIN_WITHIN).await {
                Ok(said) => return Ok(first_token(&said.body)),
                Err(Refusal::Untouched(why)) => self.found(index + 1, Some(why)),
                Err(Refusal::Busy) => {}
                Err(Refusal::Answer(fault)) if fault.status == StatusCode::UNAUTHORIZED => {
                    return Ok(None);
                }
                Err(Refusal::Answer(fault)) => return Err(fault),
            }
        }
        Err(Fault::no_master())
    }

    /// Whether another master knows a token.
    ///
    /// # Errors
    /// When no master can be reached.
    pub(crate) async fn is_token(&self, token: &str) -> Result<bool, Fault> {
        if self.refused.has(token, Instant::now()) {
            return Ok(false);
        }
        for index in self.in_order() {
            let Some(other) = self.others.get(index) else {
                continue;
            };
            match other.is_token(token).await {
                Ok(Some(is_token)) => {
                    if !is_token {
                        self.refused.add(token, Instant::now());
                    }
                    return Ok(is_token);
                }
                Ok(None) | Err(Refusal::Busy | Refusal::Answer(_)) => {}
                Err(Refusal::Untouched(why)) => self.found(index + 1, Some(why)),
            }
        }
        Err(Fault::no_master())
    }

    /// Has a token ended at all others that can be reached; whether one has known it.
    pub(crate) async fn log_out(&self, token: &str) -> bool {
        let asked = self
            .others
            .iter()
            .enumerate()
            .map(|(index, other)| async move {
                if other.is_self.load(Relaxed) {
                    return false;
                }
                match other.log_out(token).await {
                    Ok(was_known) => was_known,
                    Err(Refusal::Untouched(why)) => {
                        self.found(index + 1, Some(why));
                        false
                    }
                    // Said in the log by who asked.
                    Err(Refusal::Busy | Refusal::Answer(_)) => false,
                }
            });
        join_all(asked).await.contains(&true)
    }

    /// The others, those first that are not known to be away.
    fn in_order(&self) -> Vec<usize> {
        let others = 0..self.others.len();
        let (mut order, away): (Vec<usize>, Vec<usize>) =
            others.partition(|index| !self.health.is_away(index + 1));
        order.extend(away);
        order
    }
}

/// Low data of one chunk, as JSON.
fn low_json(low: Map) -> Result<String, Fault> {
    let low = Value::List(vec![low.into()]);
    to_json(&low).ok_or_else(|| Fault::bad("the low data cannot be written as JSON"))
}

/// The first token of an answer of `/token`.
fn first_token(body: &[u8]) -> Option<Map> {
    let text = std::str::from_utf8(body).ok()?;
    let Value::List(tokens) = halite_proto::json::read(text).ok()? else {
        return None;
    };
    match tokens.into_iter().next()? {
        Value::Map(token) if token.contains_key("token") => Some(token),
        _ => None,
    }
}
