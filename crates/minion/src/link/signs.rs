//! Signs of life: proofs that this minion is there, for a master that understands
//! them, and its answers.
//!
//! Invariant: an answer counts if the master has made it, to a sign of this sign-in, and
//! later than all before it: a recorded one shows nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_proto::{Capabilities, MinionId, SignAnswer, SignOfLife};
use halite_transport::fleet::SignsOfLife;
use tokio::sync::watch;

use super::channel::Session;
use crate::core::sign_in::{Credentials, Identity};
use crate::limits::SIGN_ANSWER_INTERVAL;

/// The signs of one link, over all its subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Signs {
    /// How many were said.
    said: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When an answer was asked for last.
    asked: Option<Instant>,
    /// The last answer, and when it came.
    heard: Option<(SignAnswer, Instant)>,
}

impl Signs {
    /// When the master has last said, over the subscription, that this minion has missed
    /// nothing.
    pub(crate) fn nothing_missed_at(&self) -> Option<Instant> {
        let heard = self.lock().heard.filter(|(answer, _)| !answer.ask);
        heard.map(|(_, at)| at)
    }

    /// Handles a message from the subscription, if it is addressed as an answer.
    pub(super) fn take(&self, session: &watch::Sender<Option<Session>>, came: &[u8]) -> bool {
        if !SignAnswer::is_meant(came) {
            return false;
        }
        if let Some(session) = &*session.borrow() {
            self.hear(&session.credentials, came, Instant::now());
        }
        true
    }

    fn hear(&self, credentials: &Credentials, came: &[u8], now: Instant) {
        let Some((answer, proof)) = SignAnswer::decode(came) else {
            return;
        };
        let is_ours = Capabilities::sign_in_of(&credentials.extra) == Some(answer.sign_in)
            && answer.count < self.said.load(Ordering::Relaxed);
        let key = credentials.session.presence_key();
        if !is_ours || !key.is_proven(&answer.proven_part(), &proof) {
            return;
        }
        let mut state = self.lock();
        // A master that has started again counts sign-ins anew; signs are counted on.
        if state
            .heard
            .is_none_or(|(last, _)| last.count < answer.count)
        {
            state.heard = Some((answer, now));
        }
    }

    /// The next sign, to a master that gave these credentials.
    fn next(&self, id: &MinionId, credentials: &Credentials, now: Instant) -> Option<Vec<u8>> {
        let capabilities = Capabilities::of(&credentials.extra);
        if !capabilities.signs_of_life {
            return None;
        }
        let sign = SignOfLife {
            id: id.clone(),
            sign_in: Capabilities::sign_in_of(&credentials.extra)?,
            count: self.said.fetch_add(1, Ordering::Relaxed),
            wants_answer: capabilities.answered_signs && self.is_to_be_answered(now),
        };
        let key = credentials.session.presence_key();
        Some(sign.encode(&key.prove(&sign.proven_part())))
    }

    /// Whether it is time for an answer, for which nobody asks again soon.
    fn is_to_be_answered(&self, now: Instant) -> bool {
        let asked = &mut self.lock().asked;
        let is_due = asked.is_none_or(|asked| now.duration_since(asked) >= SIGN_ANSWER_INTERVAL);
        if is_due {
            *asked = Some(now);
        }
        is_due
    }

    /// How often the master that gave these credentials wants signs, as far as it says.
    fn every(&self, credentials: &Credentials) -> Option<Duration> {
        let extra = &credentials.extra;
        let sign_in = Capabilities::sign_in_of(extra);
        let heard = self.lock().heard;
        let answered = heard.filter(|(answer, _)| Some(answer.sign_in) == sign_in);
        let every = answered.map(|(answer, _)| Duration::from_millis(answer.every_ms.into()));
        every.or_else(|| Capabilities::sign_every_of(extra))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The proofs of one subscription; their count goes on over all subscriptions.
pub(super) fn signs_of_life(
    session: &watch::Sender<Option<Session>>,
    identity: &Identity,
    signs: &Arc<Signs>,
) -> SignsOfLife {
    let (sessions, paced_by) = (session.subscribe(), session.subscribe());
    let (id, signs, paced) = (identity.id.clone(), Arc::clone(signs), Arc::clone(signs));
    SignsOfLife::new(move || {
        let session = sessions.borrow();
        signs.next(&id, &session.as_ref()?.credentials, Instant::now())
    })
    .paced(move || {
        let session = paced_by.borrow();
        paced.every(&session.as_ref()?.credentials)
    })
}

#[cfg(test)]
mod tests {
    use halite_crypto::{Crypticle, PrivateKey, SymmetricKey};

    use super::*;

    const EVERY: Duration = Duration::from_millis(450);

    fn id() -> MinionId {
        MinionId::parse("web1").unwrap()
    }

    /// The grant of a sign-in with this number.
    fn granted(sign_in: u64, capabilities: Capabilities) -> Credentials {
        let crypticle = Crypticle::new(&SymmetricKey::generate());
        Credentials {
            publish: crypticle.clone(),
            publish_hash: String::new(),
            session: crypticle,
            publish_port: 4505,
            master_key: PrivateKey::generate(2048).unwrap().public().unwrap(),
            master_pem: String::new(),
            extra: capabilities.to_reply(sign_in, EVERY),
        }
    }

    fn said(signs: &Signs, by: &Credentials, now: Instant) -> SignOfLife {
        let sign = signs.next(&id(), by, now).unwrap();
        SignOfLife::decode(&sign).unwrap().0
    }

    fn answer(to: &SignOfLife, every_ms: u32, ask: bool) -> SignAnswer {
        SignAnswer {
            sign_in: to.sign_in,
            count: to.count,
            every_ms,
            ask,
        }
    }

    fn proven(by: &Credentials, answer: SignAnswer) -> Vec<u8> {
        let key = by.session.presence_key();
        answer.encode(&key.prove(&answer.proven_part()))
    }

    #[test]
    fn an_answer_is_wanted_now_and_then_by_who_is_answered() {
        let (signs, by) = (Signs::default(), granted(7, Capabilities::OURS));
        let begun = Instant::now();
        assert!(said(&signs, &by, begun).wants_answer);
        assert!(!said(&signs, &by, begun + EVERY).wants_answer);
        assert!(said(&signs, &by, begun + SIGN_ANSWER_INTERVAL).wants_answer);
        let mute = Capabilities {
            answered_signs: false,
            ..Capabilities::OURS
        };
        let mute = granted(8, mute);
        let later = begun + 2 * SIGN_ANSWER_INTERVAL;
        assert!(!said(&signs, &mute, later).wants_answer);
    }

    #[test]
    fn an_answer_says_what_was_missed_and_how_often_to_say_it() {
        let (signs, by) = (Signs::default(), granted(7, Capabilities::OURS));
        assert_eq!(
            (signs.nothing_missed_at(), signs.every(&by)),
            (None, Some(EVERY))
        );
        let now = Instant::now();
        let first = said(&signs, &by, now);
        signs.hear(&by, &proven(&by, answer(&first, 20_000, false)), now);
        assert_eq!(signs.nothing_missed_at(), Some(now));
        assert_eq!(signs.every(&by), Some(Duration::from_secs(20)));
        let second = said(&signs, &by, now);
        signs.hear(&by, &proven(&by, answer(&second, 20_000, true)), now);
        assert_eq!(signs.nothing_missed_at(), None);
        // Another grant has a pace of its own.
        assert_eq!(signs.every(&granted(8, Capabilities::OURS)), Some(EVERY));
    }

    #[test]
    fn an_answer_that_is_recorded_early_or_not_proven_says_nothing() {
        let (signs, by) = (Signs::default(), granted(7, Capabilities::OURS));
        let begun = Instant::now();
        let first = said(&signs, &by, begun);
        let early = SignAnswer {
            count: first.count + 1,
            ..answer(&first, 450, false)
        };
        signs.hear(&by, &proven(&by, early), begun);
        let other = granted(7, Capabilities::OURS);
        signs.hear(&by, &proven(&other, answer(&first, 450, false)), begun);
        assert_eq!(signs.nothing_missed_at(), None);
        let recorded = proven(&by, answer(&first, 450, false));
        signs.hear(&by, &recorded, begun);
        signs.hear(&by, &recorded, begun + EVERY);
        assert_eq!(signs.nothing_missed_at(), Some(begun));
        // A master that has started again counts its sign-ins anew.
        let again = granted(1, Capabilities::OURS);
        let second = said(&signs, &again, begun + EVERY);
        signs.hear(
            &again,
            &proven(&again, answer(&second, 450, false)),
            begun + EVERY,
        );
        assert_eq!(signs.nothing_missed_at(), Some(begun + EVERY));
    }
}
