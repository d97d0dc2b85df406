//! Connections whose other end is not proven yet.
//!
//! Invariant: there are never more than the limits say, and a new one always finds
//! a place: those that were silent for longest make room. So a stranger who holds
//! silent connections open cannot keep a master away.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::limits::{HANDSHAKES_MAX, HANDSHAKES_PER_ADDRESS_MAX};
use crate::peer::PeerId;

/// Where a connection comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This address.
    Address(IpAddr),
    /// The bus, from whoever says that it is this peer.
    Bus(PeerId),
}

/// All of them, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Handshakes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    places: VecDeque<Slot>,
}

#[derive(Debug)]
struct Slot {
    number: u64,
    from: Origin,
    /// Dropped when the place is given to another one.
    _holds: oneshot::Sender<()>,
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Handshake {
    all: Arc<Handshakes>,
    number: u64,
    holds: oneshot::Receiver<()>,
}

impl Handshakes {
    /// Takes a place for a connection.
    pub(crate) fn begin(self: &Arc<Self>, from: Origin) -> Handshake {
        let (holds, held) = oneshot::channel();
        let mut state = self.lock();
        let of_address = state.places.iter().filter(|place| place.from == from);
        let gives_way = if of_address.count() >= HANDSHAKES_PER_ADDRESS_MAX {
            state.places.iter().position(|place| place.from == from)
        } else if state.places.len() >= HANDSHAKES_MAX {
            Some(0)
        } else {
            None
        };
        if let Some(at) = gives_way {
            state.places.remove(at);
        }
        let number = state.next;
        state.next += 1;
        state.places.push_back(Slot {
            number,
            from,
            _holds: holds,
        });
        drop(state);
        Handshake {
            all: Arc::clone(self),
            number,
            holds: held,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handshake {
    /// Waits until another connection has got the place.
    pub(crate) async fn given_up(&mut self) {
        let _ = (&mut self.holds).await;
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let mut state = self.all.lock();
        state.places.retain(|place| place.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: usize) -> Origin {
        Origin::Address(IpAddr::from([10, 0, 0, u8::try_from(n).unwrap()]))
    }

    fn has_place(handshake: &Handshake) -> bool {
        let state = handshake.all.lock();
        state.places.iter().any(|of| of.number == handshake.number)
    }

    #[tokio::test]
    async fn the_oldest_makes_room_first_of_the_same_address() {
        let all = Arc::new(Handshakes::default());
        let mut other = all.begin(address(1));
        let mut silent: Vec<_> = (0..HANDSHAKES_PER_ADDRESS_MAX)
            .map(|_| all.begin(address(2)))
            .collect();
        let more = all.begin(address(2));
        silent[0].given_up().await;
        assert!(!has_place(&silent[0]) && has_place(&other));
        assert!(silent[1..].iter().all(has_place) && has_place(&more));
        let mut many = Vec::new();
        for n in 3..3 + HANDSHAKES_MAX - HANDSHAKES_PER_ADDRESS_MAX {
            many.push(all.begin(address(n)));
        }
        other.given_up().await;
        assert!(!has_place(&other) && has_place(&silent[1]));
        assert_eq!(all.lock().places.len(), HANDSHAKES_MAX);
        drop(many);
        assert_eq!(all.lock().places.len(), HANDSHAKES_PER_ADDRESS_MAX);
    }
}
