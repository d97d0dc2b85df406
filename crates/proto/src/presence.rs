//! The signs of life that a minion sends over its subscription, to a master that
//! understands them (`Capabilities::signs_of_life`).
//!
//! A master that answers them (`Capabilities::answered_signs`) does so over the same
//! subscription, and says whether the minion has something to ask for.
//!
//! Invariant: neither means anything without its proof, and the proof is over all of it.

use crate::MinionId;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;

/// In a sealed request: the minion shows its presence to this master.
pub const MARK: &str = "halite_presence";

/// What a sign begins with. The first byte is neither 0 nor 1, which are
/// subscriptions.
const PREFIX: &[u8] = b"halite/here/";

/// What one begins with that is to be answered.
const PREFIX_ASKING: &[u8] = b"halite/here?";

/// What an answer begins with. No publication begins like this.
const PREFIX_ANSWER: &[u8] = b"halite/seen/";

/// What stands before the proven part: which message this is, and who tells
/// whom.
const DIRECTION: &[u8] = b"halite: a minion is here, minion to master\0";

/// The same of one that is to be answered.
const DIRECTION_ASKING: &[u8] = b"halite: a minion is here and listens, minion to master\0";

/// The same of the answer.
const DIRECTION_ANSWER: &[u8] = b"halite: a minion is heard, master to minion\0";

/// A minion says that it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignOfLife {
    /// The minion.
    pub id: MinionId,
    /// Which sign-in it is from, as the master has numbered them.
    pub sign_in: u64,
    /// Which sign it is; a minion gives each a larger number.
    pub count: u64,
    /// Whether the master is to answer it.
    pub wants_answer: bool,
}

impl SignOfLife {
    /// What the proof is over.
    pub fn proven_part(&self) -> Vec<u8> {
        let direction = match self.wants_answer {
            true => DIRECTION_ASKING,
            false => DIRECTION,
        };
        let (sign_in, count) = (self.sign_in.to_be_bytes(), self.count.to_be_bytes());
        [direction, &sign_in, &count, self.id.as_str().as_bytes()].concat()
    }

    /// The sign as it travels.
    pub fn encode(&self, proof: &[u8; PROOF_BYTES]) -> Vec<u8> {
        let prefix = match self.wants_answer {
            true => PREFIX_ASKING,
            false => PREFIX,
        };
        let (sign_in, count) = (self.sign_in.to_be_bytes(), self.count.to_be_bytes());
        [prefix, &sign_in, &count, proof, self.id.as_str().as_bytes()].concat()
    }

    /// Reads a sign and its proof; `None` where the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<(Self, [u8; PROOF_BYTES])> {
        let asking = bytes.strip_prefix(PREFIX_ASKING);
        let wants_answer = asking.is_some();
        let rest = asking.or_else(|| bytes.strip_prefix(PREFIX))?;
        let (sign_in, rest) = rest.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let (proof, id) = rest.split_first_chunk()?;
        let sign = Self {
            id: MinionId::parse(std::str::from_utf8(id).ok()?).ok()?,
            sign_in: u64::from_be_bytes(*sign_in),
            count: u64::from_be_bytes(*count),
            wants_answer,
        };
        Some((sign, *proof))
    }

    /// When it was said, in the order in which signs are.
    pub fn moment(&self) -> (u64, u64) {
        (self.sign_in, self.count)
    }
}

/// A master has heard a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignAnswer {
    /// Which sign-in the sign was from.
    pub sign_in: u64,
    /// Which sign it was.
    pub count: u64,
    /// After how many milliseconds the next one is wanted: more than the minion was told
    /// at its sign-in, where further minions have come since.
    pub every_ms: u32,
    /// Whether the minion is to ask for jobs that it may have missed.
    pub ask: bool,
}

impl SignAnswer {
    /// What the proof is over.
    pub fn proven_part(&self) -> Vec<u8> {
        [DIRECTION_ANSWER, &self.said()].concat()
    }

    /// The answer as it travels.
    pub fn encode(&self, proof: &[u8; PROOF_BYTES]) -> Vec<u8> {
        [PREFIX_ANSWER, &self.said(), proof].concat()
    }

    fn said(&self) -> Vec<u8> {
        let (sign_in, count) = (self.sign_in.to_be_bytes(), self.count.to_be_bytes());
        let every_ms = self.every_ms.to_be_bytes();
        [&sign_in[..], &count, &every_ms, &[self.ask.into()]].concat()
    }

    /// Whether the bytes are meant for an answer, be it one or not.
    pub fn is_meant(bytes: &[u8]) -> bool {
        bytes.starts_with(PREFIX_ANSWER)
    }

    /// Reads an answer and its proof; `None` where the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<(Self, [u8; PROOF_BYTES])> {
        let rest = bytes.strip_prefix(PREFIX_ANSWER)?;
        let (sign_in, rest) = rest.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let (every_ms, rest) = rest.split_first_chunk()?;
        let (&ask, proof) = rest.split_first()?;
        let answer = Self {
            sign_in: u64::from_be_bytes(*sign_in),
            count: u64::from_be_bytes(*count),
            every_ms: u32::from_be_bytes(*every_ms),
            ask: match ask {
                0 => false,
                1 => true,
                _ => return None,
            },
        };
        Some((answer, proof.try_into().ok()?))
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
            wants_answer: false,
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
            SignOfLife {
                wants_answer: true,
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
        let asking = SignOfLife {
            wants_answer: true,
            ..sign
        };
        let bytes = asking.encode(&[9; PROOF_BYTES]);
        assert_eq!(SignOfLife::decode(&bytes), Some((asking, [9; PROOF_BYTES])));
    }

    #[test]
    fn an_answer_arrives_as_it_was_sent() {
        let answer = SignAnswer {
            sign_in: 7,
            count: 8,
            every_ms: 450,
            ask: true,
        };
        let bytes = answer.encode(&[9; PROOF_BYTES]);
        assert!(SignAnswer::is_meant(&bytes));
        assert_eq!(SignAnswer::decode(&bytes), Some((answer, [9; PROOF_BYTES])));
        for other in [
            SignAnswer {
                sign_in: 8,
                ..answer
            },
            SignAnswer { count: 7, ..answer },
            SignAnswer {
                every_ms: 451,
                ..answer
            },
            SignAnswer {
                ask: false,
                ..answer
            },
        ] {
            assert_ne!(other.proven_part(), answer.proven_part());
        }
        for cut in 0..bytes.len() {
            assert_eq!(SignAnswer::decode(&bytes[..cut]), None);
        }
        let longer = [&bytes[..], b"x"].concat();
        assert_eq!(SignAnswer::decode(&longer), None);
        let mut neither = bytes;
        neither[PREFIX_ANSWER.len() + 20] = 2;
        assert_eq!(SignAnswer::decode(&neither), None);
    }
}
