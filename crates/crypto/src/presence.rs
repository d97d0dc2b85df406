//! Proofs that a minion is there: the code of a sign of life, which only the minion
//! and its master can make.
//!
//! Invariant: the key of these codes is derived from the whole key of sealed
//! messages (the first step of HKDF-SHA256, RFC 5869) and used for nothing else.

use crate::crypticle::Crypticle;
use crate::hmac::{HMAC_BYTES, Hmac};
use crate::random::{constant_time_eq, must};
use crate::secret::Secret;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = HMAC_BYTES;

/// The salt of the extraction, and what the keys are for.
const PURPOSE: &[u8; HMAC_BYTES] = b"halite: signs of life, version 1";

/// The key of the proofs from the key of sealed messages, in both its parts.
pub(crate) fn root(key: &[u8]) -> Secret<[u8; HMAC_BYTES]> {
    Secret::new(must(
        Hmac::new(PURPOSE).and_then(|extract| extract.code(key)),
    ))
}

/// Makes and checks the proofs of one session.
#[derive(Clone)]
pub struct PresenceKey(Hmac);

impl PresenceKey {
    /// The proof for a sign of life.
    pub fn prove(&self, said: &[u8]) -> [u8; PROOF_BYTES] {
        must(self.0.code(said))
    }

    /// Whether the proof belongs to this sign of life.
    pub fn is_proven(&self, said: &[u8], proof: &[u8; PROOF_BYTES]) -> bool {
        constant_time_eq(&self.prove(said), proof)
    }
}

impl Crypticle {
    /// The key of this session's proofs.
    pub fn presence_key(&self) -> PresenceKey {
        PresenceKey(must(Hmac::new(self.presence_root.expose())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SymmetricKey;

    #[test]
    fn a_proof_is_of_one_key_and_one_text() {
        let key = |crypticle: &Crypticle| crypticle.presence_key();
        let (ours, other) = (SymmetricKey::generate(), SymmetricKey::generate());
        let (ours, other) = (Crypticle::new(&ours), Crypticle::new(&other));
        let proof = key(&ours).prove(b"here");
        assert!(key(&ours).is_proven(b"here", &proof));
        assert!(!key(&ours).is_proven(b"hero", &proof));
        assert!(!key(&other).is_proven(b"here", &proof));
        // It is none of the codes under which messages are sealed.
        assert_ne!(ours.seal(b"", None)[..], proof);
        assert_ne!(ours.presence_root.expose(), ours.large_root.expose());
    }
}
