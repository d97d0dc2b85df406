//! How a master becomes a member of a cluster, on a link that has shown each side
//! the other's key.
//!
//! The joiner identifies itself, a member asks for a proof, the joiner proves that
//! it knows the cluster's secret, and the member proves the same and sends what
//! members have. The secret is never sent. Proofs are over both names, both keys,
//! the cluster's key, both nonces and the link itself, so that they are useless
//! anywhere else. The joiner's proof is sealed to the cluster's key, which may be
//! pinned; the member's answer is sealed to the joiner's own.

mod gate;
mod joiner;
mod member;
mod messages;

use halite_crypto::{SharedSecret, random_bytes};
use halite_proto::Value;
use thiserror::Error;

use crate::encoding::DecodeError;
use crate::peer::PeerId;

pub use gate::Gate;
pub use joiner::{Joined, Joiner, Step};
pub use member::{Asks, Heard, Member};
pub use messages::Refusal;

/// Bytes of a nonce.
pub(crate) const NONCE_BYTES: usize = 32;

/// What both sides know of their link.
#[derive(Clone, Debug)]
pub struct Link {
    /// The joiner's public key, as the link has proven it. PEM.
    pub joiner_key: String,
    /// The member's public key, as the link has proven it. PEM.
    pub member_key: String,
    /// Bytes that are of this link alone: a TLS exporter value.
    pub binding: Vec<u8>,
}

/// Why a join came to nothing.
#[derive(Debug, Error)]
pub enum JoinError {
    /// The other side has sent something that does not belong there.
    #[error("the other master has sent a message that does not belong to a join")]
    Unreadable(#[from] DecodeError),
    /// The member says no.
    #[error("the cluster refuses: {0}")]
    Refused(Refusal),
    /// The cluster has another key than the pinned one.
    #[error(
        "the cluster's key has the fingerprint {found}, `cluster_pub_fingerprint` says {pinned}"
    )]
    OtherCluster {
        /// What it has.
        found: String,
        /// What it should have.
        pinned: String,
    },
    /// The member does not know the secret.
    #[error("the other master does not know the cluster's secret")]
    MemberUnproven,
    /// A key could not be used.
    #[error("a key could not be used")]
    Key(#[from] halite_crypto::KeyError),
}

/// What both proofs are over.
struct Transcript {
    cluster_id: String,
    joiner: PeerId,
    address: String,
    member: PeerId,
    link: Link,
    cluster_key: String,
    joiner_nonce: Vec<u8>,
    member_nonce: Vec<u8>,
}

/// Whose proof it is.
#[derive(Clone, Copy)]
enum Side {
    Joiner,
    Member,
}

impl Transcript {
    fn texts(&self, side: Side) -> [&[u8]; 11] {
        let side: &[u8] = match side {
            Side::Joiner => b"joiner",
            Side::Member => b"member",
        };
        [
            b"halite: join of a cluster, version 1",
            side,
            self.cluster_id.as_bytes(),
            self.joiner.as_str().as_bytes(),
            self.address.as_bytes(),
            self.member.as_str().as_bytes(),
            self.link.joiner_key.as_bytes(),
            self.link.member_key.as_bytes(),
            self.cluster_key.as_bytes(),
            &self.joiner_nonce,
            &self.member_nonce,
        ]
    }

    fn prove(&self, side: Side, secret: &SharedSecret) -> [u8; SharedSecret::PROOF_BYTES] {
        let mut texts = self.texts(side).to_vec();
        texts.push(&self.link.binding);
        secret.prove(&texts)
    }

    fn is_proven(&self, side: Side, secret: &SharedSecret, proof: &[u8]) -> bool {
        let mut texts = self.texts(side).to_vec();
        texts.push(&self.link.binding);
        secret.is_proven(&texts, proof)
    }
}

/// A message of either side, read and written again.
pub(crate) fn rewritten(value: Value) -> Result<Value, DecodeError> {
    Ok(messages::Message::from_value(value)?.to_value())
}

fn nonce() -> Vec<u8> {
    random_bytes::<NONCE_BYTES>().to_vec()
}

#[cfg(test)]
mod tests;
