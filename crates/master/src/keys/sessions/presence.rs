//! Proofs of a minion's presence by its session, in both directions.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use halite_proto::presence::PROOF_BYTES;
use halite_proto::{SignAnswer, SignOfLife};

use super::Session;

impl Session {
    /// Whether a sign of life comes from the minion and is later than all before it. A
    /// session that is too old for requests still identifies its minion: nobody else has
    /// its key, and a minion may have no reason to send a request for some time.
    pub(crate) fn proves(&self, sign: &SignOfLife, proof: &[u8; PROOF_BYTES]) -> bool {
        if self.ended.load(Ordering::Relaxed)
            || !self.presence.is_proven(&sign.proven_part(), proof)
        {
            return false;
        }
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let is_later = sign.moment() > *heard;
        if is_later {
            *heard = sign.moment();
        }
        is_later
    }

    /// The answer to a sign of life that this session has proven.
    pub(crate) fn answer(&self, answer: &SignAnswer) -> Vec<u8> {
        answer.encode(&self.presence.prove(&answer.proven_part()))
    }
}
