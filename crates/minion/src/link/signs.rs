//! Signs of life: proofs that this minion is there, for a master that understands
//! them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_proto::{Capabilities, SignOfLife};
use halite_transport::fleet::SignsOfLife;
use tokio::sync::watch;

use super::channel::Session;
use crate::core::sign_in::Identity;

/// The proofs of one subscription; `count` goes on over all subscriptions.
pub(super) fn signs_of_life(
    session: &watch::Sender<Option<Session>>,
    identity: &Identity,
    count: Arc<AtomicU64>,
) -> SignsOfLife {
    let (sessions, paced) = (session.subscribe(), session.subscribe());
    let id = identity.id.clone();
    SignsOfLife::new(move || {
        let session = sessions.borrow();
        let credentials = &session.as_ref()?.credentials;
        if !Capabilities::of(&credentials.extra).signs_of_life {
            return None;
        }
        let sign = SignOfLife {
            id: id.clone(),
            sign_in: Capabilities::sign_in_of(&credentials.extra)?,
            count: count.fetch_add(1, Ordering::Relaxed),
        };
        let key = credentials.session.presence_key();
        Some(sign.encode(&key.prove(&sign.proven_part())))
    })
    .paced(move || {
        let session = paced.borrow();
        Capabilities::sign_every_of(&session.as_ref()?.credentials.extra)
    })
}
