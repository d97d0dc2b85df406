//! The key that seals publications, which all masters share.

use std::collections::BTreeMap;

use halite_crypto::SymmetricKey;

use crate::clock::Stamp;
use crate::peer::PeerId;

/// The publish key of the cluster. Of two the one of the later epoch counts.
#[derive(Clone)]
pub struct PublishKey {
    /// Grows by one with each rotation that knows of the one before.
    pub epoch: u64,
    /// When it was made.
    pub at: Stamp,
    /// The master that made it.
    pub by: PeerId,
    /// The key.
    pub key: SymmetricKey,
    /// The last revocation of each master that its maker had heard of. Whoever
    /// was revoked since may have the key.
    pub(crate) covers: BTreeMap<PeerId, Stamp>,
}

impl PublishKey {
    /// Which of two keys counts.
    fn rank(&self) -> (u64, Stamp, &PeerId) {
        (self.epoch, self.at, &self.by)
    }

    /// The latest moment in it.
    pub(crate) fn latest(&self) -> Stamp {
        self.covers.values().copied().fold(self.at, Stamp::max)
    }

    /// Whether this one takes the place of another one.
    pub(crate) fn is_after(&self, other: Option<&Self>) -> bool {
        other.is_none_or(|other| self.rank() > other.rank())
    }
}

impl std::fmt::Debug for PublishKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublishKey({} by {})", self.epoch, self.by)
    }
}
