//! Limits the connections.
//!
//! Each address has only a share of them, and so has each user. Those on which nobody has
//! proven anything are a part of all; if there are too many, one of the address with the
//! most of them gives way, so that whoever comes next can still log in. Invariant: a
//! connection is counted until nothing uses it any more, a websocket included.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use halite_transport::fleet::Origin;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::limits::{
    CONNECTIONS_MAX, CONNECTIONS_OF_PROXIES_MAX, CONNECTIONS_PER_ORIGIN_MAX,
    CONNECTIONS_PER_USER_MAX, CONNECTIONS_UNPROVEN_MAX, PROVEN_WITHIN,
};
use crate::slots::{Holder, Share, Shares};
use crate::strangers::{Stranger, Strangers};

/// Places for connections.
pub(crate) struct Connections {
    slots: Arc<Semaphore>,
    shares: Shares,
    of_proxies: Shares,
    users: Shares<Holder>,
    strangers: Strangers,
    /// Held by every connection, so that the end of all connections can be waited for.
    alive: mpsc::Sender<()>,
}

/// A place for the next connection.
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
}

/// The place of a connection, until dropped.
pub(crate) struct Held {
    /// Unless a proxy that is believed has connected.
    stranger: Option<Stranger>,
    users: Shares<Holder>,
    /// The place of the user who was the last to prove who they are.
    user: Mutex<Option<Share<Holder>>>,
    _share: Share,
    _slot: Slot,
    _alive: mpsc::Sender<()>,
}

impl Connections {
    /// None yet; what ends when all of them have.
    pub(crate) fn new() -> (Self, mpsc::Receiver<()>) {
        let (alive, all_gone) = mpsc::channel(1);
        let connections = Self {
            slots: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            shares: Shares::new(CONNECTIONS_PER_ORIGIN_MAX, CONNECTIONS_MAX),
            of_proxies: Shares::new(CONNECTIONS_OF_PROXIES_MAX, CONNECTIONS_OF_PROXIES_MAX),
            users: Shares::new(CONNECTIONS_PER_USER_MAX, CONNECTIONS_MAX),
            strangers: Strangers::new(CONNECTIONS_UNPROVEN_MAX),
            alive,
        };
        (connections, all_gone)
    }

    /// Waits for a place. While all are taken, a connection gives way on which nobody
    /// has proven anything.
    pub(crate) async fn slot(&self) -> Option<Slot> {
        if self.slots.available_permits() == 0 {
            self.strangers.make_room();
        }
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        slot.ok().map(|_permit| Slot { _permit })
    }

    /// Admits a connection; `None` if its address has its share already. A trusted proxy
    /// may have the connections of many addresses; all proxies together have a share.
    pub(crate) fn admit(&self, slot: Slot, from: IpAddr, is_proxy: bool) -> Option<Arc<Held>> {
        let origin = Origin::of(Some(from));
        let (share, stranger) = match is_proxy {
            true => (self.of_proxies.take(origin)?, None),
            false => {
                let share = self.shares.take(origin)?;
                (share, Some(self.strangers.admit(origin)?))
            }
        };
        Some(Arc::new(Held {
            stranger,
            users: self.users.clone(),
            user: Mutex::default(),
            _share: share,
            _slot: slot,
            _alive: self.alive.clone(),
        }))
    }
}

impl Held {
    /// Records that the client on this connection has authenticated; false if its user has
    /// their share of the connections already.
    pub(crate) fn prove(&self, holder: Holder) -> bool {
        let mut user = self.user.lock().unwrap_or_else(PoisonError::into_inner);
        if !user.as_ref().is_some_and(|share| share.is_of(&holder)) {
            let Some(share) = self.users.take(holder) else {
                return false;
            };
            *user = Some(share);
        }
        if let Some(stranger) = &self.stranger {
            stranger.prove();
        }
        true
    }

    /// A connection that has sent a whole request is not closed for others until the
    /// request is answered, for as long as the result is kept. Requests have limits of
    /// their own.
    pub(crate) fn answering(&self) -> Option<impl Drop> {
        self.stranger.as_ref().map(Stranger::answering)
    }

    /// Waits until the connection has to make room for others; for ever once it is
    /// authenticated.
    pub(crate) async fn gives_way(&self) {
        match &self.stranger {
            Some(stranger) => stranger.gives_way().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until nothing has been proven for [`PROVEN_WITHIN`].
    pub(crate) async fn is_overdue(&self) {
        self.is_unproven_after(PROVEN_WITHIN).await;
    }

    async fn is_unproven_after(&self, within: Duration) {
        tokio::time::sleep(within).await;
        if !self.stranger.as_ref().is_some_and(Stranger::is_unproven) {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn user(number: usize) -> Holder {
        Holder::user(&format!("file:user{number}"))
    }

    #[tokio::test]
    async fn a_user_has_a_share_over_all_addresses() {
        let (connections, _all_gone) = Connections::new();
        let admit = async |number: usize| {
            let last = u8::try_from(number / CONNECTIONS_PER_ORIGIN_MAX).unwrap();
            let slot = connections.slot().await.unwrap();
            connections.admit(slot, address(last), false).unwrap()
        };
        let mut held = Vec::new();
        for number in 0..CONNECTIONS_PER_USER_MAX {
            held.push(admit(number).await);
            assert!(held[number].prove(user(1)));
        }
        // A connection counts once, however often something is proven on it.
        assert!(held[0].prove(user(1)));
        let next = admit(CONNECTIONS_PER_USER_MAX).await;
        assert!(!next.prove(user(1)));
        assert!(next.stranger.as_ref().unwrap().is_unproven());
        assert!(next.prove(user(2)));
        // It counts for the last user of those that it has had.
        assert!(held[0].prove(user(2)));
        assert!(next.prove(user(1)));
        assert!(!held[0].prove(user(1)));
        held.pop();
        assert!(held[0].prove(user(1)));
    }

    #[tokio::test]
    async fn an_address_has_its_share_and_a_proxy_the_connections_of_all() {
        let (connections, _all_gone) = Connections::new();
        let mut held = Vec::new();
        for _ in 0..CONNECTIONS_PER_ORIGIN_MAX {
            let slot = connections.slot().await.unwrap();
            held.push(connections.admit(slot, address(1), false).unwrap());
        }
        let admit = async |last, is_proxy| {
            let slot = connections.slot().await.unwrap();
            connections.admit(slot, address(last), is_proxy)
        };
        assert!(admit(1, false).await.is_none());
        assert!(admit(2, false).await.is_some());
        assert!(admit(1, true).await.is_some());
        held.pop();
        assert!(admit(1, false).await.is_some());
    }

    #[tokio::test]
    async fn proxies_leave_connections_to_those_who_come_without_one() {
        let (connections, _all_gone) = Connections::new();
        let mut of_proxies = Vec::new();
        loop {
            let slot = connections.slot().await.unwrap();
            match connections.admit(slot, address(1), true) {
                Some(held) => of_proxies.push(held),
                None => break,
            }
        }
        assert_eq!(of_proxies.len(), CONNECTIONS_OF_PROXIES_MAX);
        let slot = connections.slot().await.unwrap();
        assert!(connections.admit(slot, address(1), false).is_some());
    }

    #[tokio::test]
    async fn who_has_proven_nothing_gives_way_when_all_places_are_taken() {
        let (connections, _all_gone) = Connections::new();
        let mut proven = Vec::new();
        for number in 0..CONNECTIONS_MAX - 1 {
            let slot = connections.slot().await.unwrap();
            let last = u8::try_from(number / CONNECTIONS_PER_ORIGIN_MAX).unwrap();
            let held = connections.admit(slot, address(last), false).unwrap();
            assert!(held.prove(user(number / CONNECTIONS_PER_USER_MAX)));
            proven.push(held);
        }
        let slot = connections.slot().await.unwrap();
        let stranger = connections.admit(slot, address(200), false).unwrap();
        assert!(stranger.gives_way().now_or_never().is_none());
        let mut waiting = Box::pin(connections.slot());
        assert!((&mut waiting).now_or_never().is_none());
        stranger.gives_way().await;
        drop(stranger);
        assert!(waiting.await.is_some());
        assert!(
            proven
                .iter()
                .all(|held| held.gives_way().now_or_never().is_none())
        );
    }

    #[tokio::test]
    async fn only_who_has_proven_nothing_is_overdue() {
        const SHORT: Duration = Duration::from_millis(1);
        let (connections, _all_gone) = Connections::new();
        let slot = connections.slot().await.unwrap();
        let held = connections.admit(slot, address(1), false).unwrap();
        held.is_unproven_after(SHORT).await;
        assert!(held.prove(user(1)));
        let overdue = held.is_unproven_after(SHORT);
        assert!(tokio::time::timeout(50 * SHORT, overdue).await.is_err());
    }
}
