//! Which clients receive the events of which masters, and with which tokens.
//!
//! Other APIs are asked for events only while a client here listens whose token the
//! master there accepts. Invariant: a stream carries only events of masters that
//! have accepted its own token, and a refused token does not block others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_crypto::Secret;
use tokio::sync::watch;

use super::{OWN, bit};
use crate::event_text::Text;
use crate::limits::{OTHER_ACCEPTS_FOR, OTHER_REFUSES_AT_FIRST_FOR, OTHER_REFUSES_FOR};

/// The streams of all callers.
#[derive(Default)]
pub(super) struct Watchers {
    all: Mutex<All>,
    /// Grows with every change.
    news: watch::Sender<u64>,
}

#[derive(Default)]
struct All {
    tokens: BTreeMap<u64, Token>,
    next: u64,
}

/// A token of one or several streams.
struct Token {
    text: Secret<String>,
    streams: usize,
    /// The answers of the other masters about it, by their index.
    said: BTreeMap<usize, Said>,
    /// The masters whose events its streams have, a bit for each.
    allowed: Arc<AtomicU64>,
}

#[derive(Clone, Copy)]
struct Said {
    is_good: bool,
    at: Instant,
    /// How often it has refused it, one time after the other.
    refusals: u32,
}

/// A stream of a caller's, until dropped.
pub(crate) struct Watching {
    watchers: Arc<Watchers>,
    id: u64,
    allowed: Arc<AtomicU64>,
}

impl Watchers {
    /// A caller with a token begins to listen.
    pub(super) fn begin(self: &Arc<Self>, token: String) -> Watching {
        let mut all = self.lock();
        let known = all
            .tokens
            .iter_mut()
            .find(|(_, known)| *known.text.expose() == token);
        let (id, allowed) = match known {
            Some((id, known)) => {
                known.streams += 1;
                (*id, Arc::clone(&known.allowed))
            }
            None => {
                let id = all.next;
                all.next += 1;
                let allowed = Arc::new(AtomicU64::new(bit(OWN)));
                let token = Token {
                    text: Secret::new(token),
                    streams: 1,
                    said: BTreeMap::new(),
                    allowed: Arc::clone(&allowed),
                };
                all.tokens.insert(id, token);
                (id, allowed)
            }
        };
        drop(all);
        self.tell();
        Watching {
            watchers: Arc::clone(self),
            id,
            allowed,
        }
    }

    /// A token that a master is to be asked about: first what it has not seen, the
    /// newest first, then what it has answered a while ago.
    pub(super) fn to_ask(&self, master: usize, now: Instant) -> Option<(u64, String)> {
        let all = self.lock();
        let newest = || all.tokens.iter().rev();
        let unseen = newest().find(|(_, token)| !token.said.contains_key(&master));
        let (id, token) = unseen.or_else(|| {
            newest().find(|(_, token)| token.said.get(&master).is_some_and(|said| said.is_old(now)))
        })?;
        Some((*id, token.text.expose().clone()))
    }

    /// Records a master's answer about a token.
    pub(super) fn said(&self, master: usize, id: u64, is_good: bool, now: Instant) {
        if let Some(token) = self.lock().tokens.get_mut(&id) {
            let before = token.said.get(&master).map_or(0, |said| said.refusals);
            let refusals = if is_good { 0 } else { before.saturating_add(1) };
            let said = Said {
                is_good,
                at: now,
                refusals,
            };
            token.said.insert(master, said);
            match is_good {
                true => token.allowed.fetch_or(bit(master), Relaxed),
                false => token.allowed.fetch_and(!bit(master), Relaxed),
            };
        }
        self.tell();
    }

    /// The newest token that a master accepts.
    pub(super) fn accepted(&self, master: usize) -> Option<(u64, String)> {
        let all = self.lock();
        let is_good = |token: &Token| token.said.get(&master).is_some_and(|said| said.is_good);
        let (id, token) = all.tokens.iter().rev().find(|(_, token)| is_good(token))?;
        Some((*id, token.text.expose().clone()))
    }

    /// Whether some stream needs an event of a master that others have sent too.
    pub(super) fn wants(&self, text: &Text) -> bool {
        let all = self.lock();
        all.tokens
            .values()
            .any(|token| text.is_for(token.allowed.load(Relaxed)))
    }

    /// Whether anybody listens.
    pub(super) fn has_any(&self) -> bool {
        !self.lock().tokens.is_empty()
    }

    /// Notifications of changes, now and later.
    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Notifies of a change.
    pub(super) fn tell(&self) {
        self.news
            .send_modify(|number| *number = number.wrapping_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    fn is_old(self, now: Instant) -> bool {
        let good_for = match self.is_good {
            true => OTHER_ACCEPTS_FOR,
            // A token that was just made may not be there yet.
            false => {
                let doublings = self.refusals.saturating_sub(1);
                let factor = 2_u32.saturating_pow(doublings);
                OTHER_REFUSES_AT_FIRST_FOR
                    .saturating_mul(factor)
                    .min(OTHER_REFUSES_FOR)
            }
        };
        now.saturating_duration_since(self.at) >= good_for
    }
}

impl Watching {
    /// Whether the stream is to have an event.
    pub(crate) fn may_have(&self, text: &Text) -> bool {
        text.is_for(self.allowed.load(Relaxed))
    }

    /// Whether another master accepts the token; nothing if none has said.
    pub(crate) fn is_accepted(&self) -> Option<bool> {
        let all = self.watchers.lock();
        let said = &all.tokens.get(&self.id)?.said;
        (!said.is_empty()).then(|| said.values().any(|said| said.is_good))
    }

    /// A master's answer about the token.
    pub(super) fn said(&self, master: usize) -> Option<bool> {
        let all = self.watchers.lock();
        let said = all.tokens.get(&self.id)?.said.get(&master)?;
        Some(said.is_good)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut all = self.watchers.lock();
        if let Some(token) = all.tokens.get_mut(&self.id) {
            token.streams -= 1;
            if token.streams == 0 {
                all.tokens.remove(&self.id);
            }
        }
        drop(all);
        self.watchers.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(from: u64, told_by: u64) -> Text {
        Text::from_record("t", "{}")
            .unwrap()
            .heard_from(from, told_by)
    }

    #[test]
    fn a_token_opens_the_events_of_a_master_to_its_own_streams_alone() {
        let watchers = Arc::new(Watchers::default());
        let now = Instant::now();
        let good = watchers.begin("t1".to_owned());
        let strange = watchers.begin("t2".to_owned());
        let again = watchers.begin("t1".to_owned());
        // The newest that is not known is asked about first.
        let (id, token) = watchers.to_ask(1, now).unwrap();
        assert_eq!((id, token.as_str()), (strange.id, "t2"));
        assert_eq!(strange.is_accepted(), None);
        watchers.said(1, id, false, now);
        let (id, token) = watchers.to_ask(1, now).unwrap();
        assert_eq!((id, token.as_str()), (good.id, "t1"));
        watchers.said(1, id, true, now);
        assert_eq!(watchers.to_ask(1, now), None);
        assert_eq!(watchers.accepted(1).unwrap().1, "t1");
        assert_eq!(watchers.accepted(2), None);
        let of_other = text(bit(1), 0);
        assert!(good.may_have(&of_other) && again.may_have(&of_other));
        assert!(!strange.may_have(&of_other));
        assert!(strange.may_have(&text(bit(OWN), 0)));
        // What the other one has told first comes again for who does not hear it.
        let copy = text(bit(OWN), bit(1));
        assert!(strange.may_have(&copy) && !good.may_have(&copy));
        assert!(watchers.wants(&copy));
        assert_eq!(
            (good.is_accepted(), strange.is_accepted()),
            (Some(true), Some(false))
        );
        drop(strange);
        assert!(!watchers.wants(&copy));
        drop(good);
        assert!(watchers.has_any());
        drop(again);
        assert!(!watchers.has_any() && watchers.accepted(1).is_none());
    }

    #[test]
    fn bad_tokens_keep_nobody_from_being_asked() {
        let watchers = Arc::new(Watchers::default());
        let now = Instant::now();
        let _good = watchers.begin("good".to_owned());
        let bad: Vec<_> = (0..9)
            .map(|number| watchers.begin(format!("bad{number}")))
            .collect();
        for _ in 0..=bad.len() {
            let (id, token) = watchers.to_ask(1, now).unwrap();
            watchers.said(1, id, token == "good", now);
        }
        assert_eq!(watchers.to_ask(1, now), None);
        assert_eq!(watchers.accepted(1).unwrap().1, "good");
        // After a while all are asked about again; then nobody is good any more.
        let later = now + OTHER_ACCEPTS_FOR;
        let mut asked = 0;
        while let Some((id, _)) = watchers.to_ask(1, later) {
            watchers.said(1, id, false, later);
            asked += 1;
        }
        assert_eq!(asked, bad.len() + 1);
        assert_eq!(watchers.accepted(1), None);
    }
}
