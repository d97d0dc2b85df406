//! The signs of life that a minion sends over its subscription, to a master that
//! understands them (`Capabilities::signs_of_life`).
//!
//! Invariant: a sign of life means nothing without its proof, and the proof is over
//! all of it.

use crate::MinionId;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;

/// In a sealed request: the minion shows its presence to this master.
pub const MARK: &str = "halite_presence";

/// What a sign begins with. The first byte is neither 0 nor 1, which are
/// subscriptions.
const PREFIX: &[u8] = b"halite/here/";

/// What stands before the proven part: which message this is, and who tells
/// whom.
const DIRECTION: &[u8] = b"halite: a minion is here, minion to master\0";

/// A minion says that it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignOfLife {
    /// The minion.
    pub id: MinionId,
    /// Which sign-in it is from, as the master has numbered them.
    pub sign_in: u64,
    /// Which sign it is; a minion gives each a larger number.
    pub count: u64,
}

impl SignOfLife {
    /// What the proof is over.
    pub fn proven_part(&self) -> Vec<u8> {
        let (sign_in, count) = (self.sign_in.to_be_bytes(), self.count.to_be_bytes());
        [DIRECTION, &sign_in, &count, self.id.as_str().as_bytes()].concat()
    }

    /// The sign as it travels.
    pub fn encode(&self, proof: &[u8; PROOF_BYTES]) -> Vec<u8> {
        let (sign_in, count) = (self.sign_in.to_be_bytes(), self.count.to_be_bytes());
        [PREFIX, &sign_in, &count, proof, self.id.as_str().as_bytes()].concat()
    }

    /// Reads a sign and its proof; `None` where the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<(Self, [u8; PROOF_BYTES])> {
        let rest = bytes.strip_prefix(PREFIX)?;
        let (sign_in, rest) = rest.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let (proof, id) = rest.split_first_chunk()?;
        let sign = Self {
            id: MinionId::parse(std::str::from_utf8(id).ok()?).ok()?,
            sign_in: u64::from_be_bytes(*sign_in),
            count: u64::from_be_bytes(*count),
        };
        Some((sign, *proof))
    }

    /// When it was said, in the order in which signs are.
    pub fn moment(&self) -> (u64, u64) {
        (self.sign_in, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_arrives_as_it_was_sent() {
        let sign = SignOfLife {
            id: MinionId::parse("web1").unwrap(),
            sign_in: 7,
            count: u64::MAX,
        };
        let bytes = sign.encode(&[9; PROOF_BYTES]);
        assert_eq!(
            SignOfLife::decode(&bytes),
            Some((sign.clone(), [9; PROOF_BYTES]))
        );
        // Every part of it is in what is proven.
        let id = MinionId::parse("web2").unwrap();
        for other in [
            SignOfLife { id, ..sign.clone() },
            SignOfLife {
                sign_in: 8,
                ..sign.clone()
            },
            SignOfLife {
                count: 7,
                ..sign.clone()
            },
        ] {
            assert_ne!(other.proven_part(), sign.proven_part());
        }
        let shortest = PREFIX.len() + 8 + 8 + PROOF_BYTES;
        for cut in 0..=shortest {
            assert_eq!(SignOfLife::decode(&bytes[..cut]), None);
        }
        let mut bad = bytes[..shortest].to_vec();
        bad.extend(b"../x");
        assert_eq!(SignOfLife::decode(&bad), None);
        assert_eq!(SignOfLife::decode(b"halite/pulse/web1"), None);
    }
}
