//! When linked peers last gave a sign of life: on the link, or by a message. On a
//! slow wire one waits in the queue behind the other.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::time::sleep_until;

use crate::limits::{BUS_LINK_SILENCE_MAX, SILENCE_MAX};
use crate::peer::PeerId;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Signs(Mutex<HashMap<PeerId, Instant>>);

impl Signs {
    /// A peer has told something, or said something on a link.
    pub(crate) fn heard(&self, now: Instant, peer: &PeerId) {
        self.lock().insert(peer.clone(), now);
    }

    /// Waits until a peer is silent, or this link of it is: that its other one and what it
    /// tells come through is no reason to wait for ever. `last` is when it last said
    /// something on this link.
    pub(crate) async fn silence(&self, peer: &PeerId, last: &Mutex<Instant>) {
        loop {
            let last = *last.lock().unwrap_or_else(PoisonError::into_inner);
            let of_peer = self.lock().get(peer).copied();
            let silent = silent_at(of_peer, last);
            if silent <= Instant::now() {
                return;
            }
            sleep_until(silent.into()).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PeerId, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When a link is taken for dead, on which something was last said at `last`.
fn silent_at(of_peer: Option<Instant>, last: Instant) -> Instant {
    let sign = of_peer.map_or(last, |of_peer| of_peer.max(last));
    (sign + SILENCE_MAX).min(last + BUS_LINK_SILENCE_MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_a_peer_tells_is_a_sign_of_life_for_a_while() {
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        assert_eq!(silent_at(None, begun), begun + SILENCE_MAX);
        let later = begun + 4 * second;
        assert_eq!(silent_at(Some(later), begun), later + SILENCE_MAX);
        assert_eq!(silent_at(Some(begun), later), later + SILENCE_MAX);
        let most = begun + BUS_LINK_SILENCE_MAX;
        assert_eq!(silent_at(Some(begun + 50 * second), begun), most);
    }

    #[tokio::test]
    async fn a_peer_that_says_nothing_is_silent() {
        let peer = PeerId::parse("m2").unwrap();
        let signs = Signs::default();
        let last = Mutex::new(Instant::now().checked_sub(SILENCE_MAX).unwrap());
        signs.silence(&peer, &last).await;
        signs.heard(Instant::now(), &peer);
        let waited = tokio::time::timeout(Duration::from_millis(50), signs.silence(&peer, &last));
        assert!(waited.await.is_err());
    }
}
