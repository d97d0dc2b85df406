//! One other master, and its answers.
//!
//! Invariant: a failure says whether the request may have had an effect.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use halite_proto::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::wire::{Answered, Wire, WireError, message, returned};
use crate::fault::Fault;
use crate::limits::{OTHER_ANSWERS_WITHIN, QUESTIONS_AT_ONCE_MAX, RELAYED_AT_ONCE_MAX};

/// Another master.
pub(super) struct Other {
    pub(super) wire: Wire,
    /// Commands and logins at once.
    pub(super) places: Semaphore,
    /// What only asks, at once.
    pub(super) questions: Semaphore,
    /// Whether it has turned out to be this one.
    pub(super) is_self: AtomicBool,
    /// Whether it was said in the log that it refuses its events.
    has_refused: AtomicBool,
}

/// Why another master has not answered.
pub(super) enum Refusal {
    /// The request had no effect: another master may be asked.
    Untouched(String),
    /// The same, and that says nothing about the master: too much is asked of it.
    Busy,
    /// This is the answer.
    Answer(Fault),
}

impl Other {
    /// A master that is reached in this way.
    pub(super) fn new(wire: Wire) -> Self {
        Self {
            wire,
            places: Semaphore::new(RELAYED_AT_ONCE_MAX),
            questions: Semaphore::new(QUESTIONS_AT_ONCE_MAX),
            is_self: AtomicBool::new(false),
            has_refused: AtomicBool::new(false),
        }
    }

    /// Logs once that it refuses access to its events.
    pub(super) fn tell_refusal(&self, status: StatusCode) {
        if !self.has_refused.swap(true, Relaxed) {
            tracing::warn!(
                master = %self.wire.address,
                %status,
                "a master refuses access to its events: masters in other_masters must share one \
                 token store"
            );
        }
    }

    /// Runs low data, at one of some places; what it returns.
    pub(super) async fn run(
        &self,
        json: String,
        places: &Semaphore,
        within: Duration,
    ) -> Result<Vec<Value>, Refusal> {
        let _place = place(places, OTHER_ANSWERS_WITHIN).await?;
        let said = self
            .ask(Method::POST, "/run", None, Some(json), within)
            .await?;
        let said = Self::judged(said).map_err(|refusal| self.strange_token(refusal))?;
        returned(&said.body).ok_or_else(|| {
            let why = format!(
                "{} did not answer with the JSON of low data",
                self.wire.address
            );
            Refusal::Answer(Fault::new(StatusCode::BAD_GATEWAY, why))
        })
    }

    /// Asks for a token. One that is not used does no harm: who says that its master
    /// cannot be reached is not the last to be asked.
    pub(super) async fn make_token(
        &self,
        json: String,
        within: Duration,
    ) -> Result<Answered, Refusal> {
        let _place = place(&self.places, OTHER_ANSWERS_WITHIN).await?;
        let said = self
            .ask(Method::POST, "/token", None, Some(json), within)
            .await?;
        match said.status {
            StatusCode::SERVICE_UNAVAILABLE => Err(not_reached()),
            _ => Self::judged(said),
        }
    }

    /// Whether a token is known; nothing if it does not say.
    pub(super) async fn is_token(&self, token: &str) -> Result<Option<bool>, Refusal> {
        let _place = place(&self.questions, OTHER_ANSWERS_WITHIN).await?;
        let said = self
            .ask(
                Method::HEAD,
                "/events",
                Some(token),
                None,
                OTHER_ANSWERS_WITHIN,
            )
            .await?;
        Ok(match said.status {
            StatusCode::OK => Some(true),
            StatusCode::UNAUTHORIZED => Some(false),
            _ => None,
        })
    }

    /// Has a token ended there; whether it was known.
    pub(super) async fn log_out(&self, token: &str) -> Result<bool, Refusal> {
        let _place = place(&self.questions, OTHER_ANSWERS_WITHIN).await?;
        let within = OTHER_ANSWERS_WITHIN;
        let said = self.ask(Method::POST, "/logout", Some(token), None, within);
        let said = said.await?;
        match said.is_untouched {
            true => Err(not_reached()),
            false => Ok(said.status == StatusCode::OK),
        }
    }

    /// Checks its state: why it cannot be reached, if it cannot; `None` if it is this
    /// API.
    pub(super) async fn look(&self) -> Option<Option<String>> {
        let within = OTHER_ANSWERS_WITHIN;
        let asked = self.wire.ask(Method::GET, "/health", None, None, within);
        let asked = asked.await;
        let is_self = asked
            .as_ref()
            .is_ok_and(|said| said.status == StatusCode::LOOP_DETECTED);
        if asked.is_ok() {
            self.is_self.store(is_self, Relaxed);
        }
        match asked {
            _ if is_self => None,
            Ok(said) => Some(unwell(&said)),
            Err(error) => Some(Some(halite_proto::chain(&error))),
        }
    }

    async fn ask(
        &self,
        method: Method,
        page: &str,
        token: Option<&str>,
        json: Option<String>,
        within: Duration,
    ) -> Result<Answered, Refusal> {
        if self.is_self.load(Relaxed) {
            return Err(Refusal::Untouched(
                "the address is that of this API".to_owned(),
            ));
        }
        let asked = self.wire.ask(method, page, token, json, within).await;
        let said = asked.map_err(|error| self.unanswered(&error))?;
        if said.status == StatusCode::LOOP_DETECTED {
            self.is_self.store(true, Relaxed);
            return Err(Refusal::Untouched(
                "the address is that of this API".to_owned(),
            ));
        }
        Ok(said)
    }

    fn unanswered(&self, error: &WireError) -> Refusal {
        let why = halite_proto::chain(error);
        if error.is_unsent() {
            return Refusal::Untouched(why);
        }
        tracing::warn!(master = %self.wire.address, "a master did not answer a request: {why}");
        let words = format!(
            "{} has not answered: {why}. It may or may not have run the command.",
            self.wire.address
        );
        Refusal::Answer(Fault::new(StatusCode::SERVICE_UNAVAILABLE, words))
    }

    /// Returns an answer that is not an error.
    fn judged(said: Answered) -> Result<Answered, Refusal> {
        if said.status == StatusCode::OK {
            return Ok(said);
        }
        let reason = said.status.canonical_reason().unwrap_or_default();
        let why = message(&said.body).unwrap_or_else(|| reason.to_owned());
        match said.is_untouched {
            true => Err(not_reached()),
            false => Err(Refusal::Answer(Fault::new(said.status, why))),
        }
    }

    /// Explains why a token that is valid here may not be valid there.
    fn strange_token(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::Answer(mut fault)
                if fault.status == StatusCode::UNAUTHORIZED
                    && fault.message.contains("type \"token\"") =>
            {
                fault.message = format!(
                    "Authentication failure of type \"token\" occurred at {}: masters in \
                     other_masters must share one token store.",
                    self.wire.address
                );
                Refusal::Answer(fault)
            }
            other => other,
        }
    }
}

/// A place, if there is one soon.
async fn place(places: &Semaphore, within: Duration) -> Result<SemaphorePermit<'_>, Refusal> {
    match timeout(within, places.acquire()).await {
        Ok(Ok(place)) => Ok(place),
        _ => Err(Refusal::Busy),
    }
}

fn not_reached() -> Refusal {
    Refusal::Untouched("its API cannot reach the master".to_owned())
}

/// Why a master cannot be reached, judging by `/health` of its API. Salt's API has no
/// such page; an answer of a proxy in place of an API does not count as healthy.
fn unwell(said: &Answered) -> Option<String> {
    let is_salts = || said.body.windows(8).any(|part| part == b"CherryPy");
    match said.status {
        StatusCode::OK => None,
        StatusCode::NOT_FOUND if is_salts() => None,
        StatusCode::SERVICE_UNAVAILABLE if said.is_untouched => {
            Some("its API cannot reach the master".to_owned())
        }
        status => Some(format!("/health of its API answers with {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: StatusCode, is_untouched: bool, body: &'static [u8]) -> Answered {
        Answered {
            status,
            is_untouched,
            body: body.into(),
            _room: None,
        }
    }

    #[test]
    fn only_the_header_says_that_nobody_has_acted() {
        let page = b"<p>Salt Master is not available.</p>";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let Err(Refusal::Answer(fault)) = Other::judged(said(status, false, page)) else {
            panic!("another master would be asked");
        };
        assert_eq!(fault, Fault::no_master());
        assert!(matches!(
            Other::judged(said(status, true, page)),
            Err(Refusal::Untouched(_))
        ));
    }

    #[test]
    fn a_proxy_is_no_master() {
        assert_eq!(unwell(&said(StatusCode::OK, false, b"ready")), None);
        let salts = b"Powered by <a>CherryPy 18</a>";
        assert_eq!(unwell(&said(StatusCode::NOT_FOUND, false, salts)), None);
        for status in [
            StatusCode::NOT_FOUND,
            StatusCode::BAD_GATEWAY,
            StatusCode::GATEWAY_TIMEOUT,
            StatusCode::FORBIDDEN,
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ] {
            assert!(unwell(&said(status, false, b"")).is_some(), "{status}");
        }
    }

    #[tokio::test]
    async fn who_gets_no_place_goes_on() {
        let places = Semaphore::new(1);
        let soon = Duration::from_millis(1);
        let _held = place(&places, soon).await.ok().unwrap();
        assert!(matches!(place(&places, soon).await, Err(Refusal::Busy)));
    }
}
