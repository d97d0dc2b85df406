//! Requests that another master answers.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use futures_util::future::join_all;
use halite_proto::{Map, Value};
use tokio::time::{MissedTickBehavior, interval};

use super::wire::{Answered, WireError, message, returned};
use super::{Masters, OWN, Other};
use crate::encode::to_json;
use crate::fault::Fault;
use crate::limits::{OTHER_ANSWERS_WITHIN, OTHER_LOOKED_AT_EVERY};

/// Why another master has not answered.
enum Refusal {
    /// Nobody has acted on the request: another master may be asked.
    Untouched(String),
    /// This is the answer.
    Answer(Fault),
}

/// What other masters have said, and the names of those that have said nothing.
pub(crate) struct OfOthers {
    pub(crate) answers: Vec<Value>,
    pub(crate) left_out: Vec<String>,
}

impl Masters {
    /// Whether the master of this machine can be reached.
    pub(crate) async fn own_is_there(&self) -> bool {
        let bus = self.own.events().await;
        let away = bus.as_ref().err().map(|error| error.to_string());
        self.found(OWN, away);
        bus.is_ok()
    }

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
            match other.run(json.clone(), None).await {
                Ok(returns) => {
                    tracing::info!(master = %other.wire.address, "another master has answered");
                    self.found(index + 1, None);
                    return Ok(returns);
                }
                Err(Refusal::Untouched(why)) => self.found(index + 1, Some(why)),
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
        let json = low_json(low)?;
        let asked = self.others.iter().enumerate().map(|(index, other)| {
            let json = json.clone();
            async move {
                if other.is_self.load(Relaxed) {
                    return None;
                }
                let name = other.wire.address.to_string();
                if self.health.is_away(index + 1) {
                    return Some(Err(name));
                }
                match other.run(json, Some(OTHER_ANSWERS_WITHIN)).await {
                    Ok(returns) => Some(Ok(returns.into_iter().next().unwrap_or_default())),
                    Err(Refusal::Untouched(why)) => {
                        self.found(index + 1, Some(why));
                        Some(Err(name))
                    }
                    Err(Refusal::Answer(fault)) => {
                        tracing::warn!(master = name, "left out of an answer: {}", fault.message);
                        Some(Err(name))
                    }
                }
            }
        });
        let mut all = OfOthers {
            answers: Vec::new(),
            left_out: Vec::new(),
        };
        for answer in join_all(asked).await.into_iter().flatten() {
            match answer {
                Ok(answer) => all.answers.push(answer),
                Err(name) => all.left_out.push(name),
            }
        }
        Ok(all)
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
            let json = Some(json.clone());
            let said = other
                .ask(Method::POST, "/token", None, json, None)
                .await
                .and_then(Other::judged);
            match said {
                Ok(said) => return Ok(first_token(&said.body)),
                Err(Refusal::Untouched(why)) => self.found(index + 1, Some(why)),
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
        for index in self.in_order() {
            let Some(other) = self.others.get(index) else {
                continue;
            };
            let within = Some(OTHER_ANSWERS_WITHIN);
            match other
                .ask(Method::HEAD, "/events", Some(token), None, within)
                .await
            {
                Ok(said) if said.status == StatusCode::OK => return Ok(true),
                Ok(said) if said.status == StatusCode::UNAUTHORIZED => return Ok(false),
                Ok(_) => {}
                Err(Refusal::Untouched(why)) => self.found(index + 1, Some(why)),
                Err(Refusal::Answer(_)) => {}
            }
        }
        Err(Fault::no_master())
    }

    /// Looks again and again which masters can be reached.
    pub(super) async fn look_at_all(&self) {
        let mut every = interval(OTHER_LOOKED_AT_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let others = self.others.iter().enumerate().map(|(index, other)| {
                let within = Some(OTHER_ANSWERS_WITHIN);
                async move {
                    let asked = other.ask(Method::GET, "/health", None, None, within).await;
                    let away = match asked {
                        // An API of Salt's has no such page, and answers.
                        Ok(said) if said.status != StatusCode::SERVICE_UNAVAILABLE => None,
                        Ok(_) => Some("its API does not reach it".to_owned()),
                        Err(Refusal::Untouched(why)) => Some(why),
                        Err(Refusal::Answer(fault)) => Some(fault.message),
                    };
                    self.found(index + 1, away);
                }
            });
            let own = async {
                self.own_is_there().await;
            };
            tokio::join!(join_all(others), own);
        }
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

impl Other {
    /// Runs low data; what it returns.
    async fn run(&self, json: String, within: Option<Duration>) -> Result<Vec<Value>, Refusal> {
        // The semaphore is never closed.
        let _place = self.places.acquire().await.ok();
        let said = self
            .ask(Method::POST, "/run", None, Some(json), within)
            .await?;
        let said = Self::judged(said).map_err(|refusal| self.strange_token(refusal))?;
        returned(&said.body).ok_or_else(|| {
            let why = format!(
                "{} has answered with no JSON of low data",
                self.wire.address
            );
            Refusal::Answer(Fault::new(StatusCode::BAD_GATEWAY, why))
        })
    }

    async fn ask(
        &self,
        method: Method,
        page: &str,
        token: Option<&str>,
        json: Option<String>,
        within: Option<Duration>,
    ) -> Result<Answered, Refusal> {
        if self.is_self.load(Relaxed) {
            return Err(Refusal::Untouched("it is this API".to_owned()));
        }
        let asked = self.wire.ask(method, page, token, json, within).await;
        let said = asked.map_err(|error| self.unanswered(&error))?;
        if said.status == StatusCode::LOOP_DETECTED {
            self.is_self.store(true, Relaxed);
            return Err(Refusal::Untouched("it is this API".to_owned()));
        }
        Ok(said)
    }

    fn unanswered(&self, error: &WireError) -> Refusal {
        let why = halite_proto::chain(error);
        if error.is_unsent() {
            return Refusal::Untouched(why);
        }
        tracing::warn!(master = %self.wire.address, "a request has no answer: {why}");
        let words = format!(
            "{} has not answered: {why}. Whether it has done what was asked is not known.",
            self.wire.address
        );
        Refusal::Answer(Fault::new(StatusCode::SERVICE_UNAVAILABLE, words))
    }

    /// An answer that is none of an error.
    fn judged(said: Answered) -> Result<Answered, Refusal> {
        if said.status == StatusCode::OK {
            return Ok(said);
        }
        let reason = said.status.canonical_reason().unwrap_or_default();
        let why = message(&said.body).unwrap_or_else(|| reason.to_owned());
        let fault = Fault::new(said.status, why);
        match fault == Fault::no_master() {
            true => Err(Refusal::Untouched("its API does not reach it".to_owned())),
            false => Err(Refusal::Answer(fault)),
        }
    }

    /// Says why a token that is good here may not be good there.
    fn strange_token(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::Answer(mut fault)
                if fault.status == StatusCode::UNAUTHORIZED
                    && fault.message.contains("type \"token\"") =>
            {
                fault.message = format!(
                    "Authentication failure of type \"token\" occurred at {}: masters that answer \
                     for each other keep tokens in one store.",
                    self.wire.address
                );
                Refusal::Answer(fault)
            }
            other => other,
        }
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
