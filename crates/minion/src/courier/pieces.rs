//! A large return on its way to a Halite master, piece by piece.
//!
//! Invariant: the master says where the next piece begins, so that a return whose
//! delivery was interrupted continues where it stopped, also after a restart of
//! this minion.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use halite_crypto::{HashType, hash_hex};
use halite_proto::msgpack::{Packing, pack_map};
use halite_proto::request::{MinionRequest, PieceAnswer, ReturnPiece};
use halite_proto::{Map, Value};
use tokio::task::spawn_blocking;

use crate::limits::{
    DELIVERY_TIMEOUT, RETURN_PIECE_BYTES, RETURN_PIECE_BYTES_MAX, RETURN_PIECE_BYTES_MIN,
    RETURN_PIECE_QUICK, RETURN_PIECE_SLOW, RETURN_PIECES_LOST_MAX,
};
use crate::link::channel::{Channel, ChannelError, Patience};

/// For each request on the way of a return.
pub(super) const PATIENCE: Patience = Patience {
    timeout: DELIVERY_TIMEOUT,
    tries: 1,
};

/// How large the pieces to one master are: about as much as its wire carries in
/// a second.
#[derive(Debug)]
pub(super) struct PieceSize(AtomicUsize);

impl PieceSize {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(RETURN_PIECE_BYTES))
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// A piece of this size was taken after a while; `None` if it was not.
    fn learn(&self, took: Option<Duration>) {
        let now = self.get();
        let next = match took {
            Some(took) if took < RETURN_PIECE_QUICK => now * 2,
            Some(took) if took < RETURN_PIECE_SLOW => now,
            _ => now / 2,
        };
        let next = next.clamp(RETURN_PIECE_BYTES_MIN, RETURN_PIECE_BYTES_MAX);
        self.0.store(next, Ordering::Relaxed);
    }
}

/// Sends a `_return` request in pieces. Returns the master's answer to it, or
/// `None` if the master has no room for pieces.
///
/// # Errors
/// When a piece was not answered. What the master has it keeps for a while.
pub(super) async fn send(
    channel: &Channel,
    load: &Map,
    size: &PieceSize,
) -> Result<Option<Value>, ChannelError> {
    let packed = pack_map(load, Packing::Wire).map_err(ChannelError::Pack)?;
    let named = spawn_blocking(move || (hash_hex(HashType::Sha256, &packed), packed));
    let Ok((parcel, packed)) = named.await else {
        return Ok(None);
    };
    let mut lost = 0;
    let mut at = 0;
    // The first one asks what is there.
    let mut data = Vec::new();
    loop {
        let begun = Instant::now();
        let is_piece = !data.is_empty();
        let piece = ReturnPiece {
            parcel: parcel.clone(),
            bytes: packed.len() as u64,
            at: at as u64,
            data,
        };
        let request = MinionRequest::ReturnPiece(piece).to_map(channel.id());
        let answer = channel.request(request, PATIENCE).await;
        if is_piece {
            size.learn(answer.is_ok().then(|| begun.elapsed()));
        }
        let has = match PieceAnswer::from_value(answer?) {
            PieceAnswer::Answered(answer) => return Ok(Some(answer)),
            PieceAnswer::NoRoom => return Ok(None),
            PieceAnswer::Has(has) => usize::try_from(has).unwrap_or(usize::MAX),
        };
        if is_piece && has <= at {
            lost += 1;
        }
        if lost > RETURN_PIECES_LOST_MAX || has >= packed.len() {
            return Ok(None);
        }
        at = has;
        let rest = packed.get(at..).unwrap_or_default();
        data = rest.get(..size.get()).unwrap_or(rest).to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_the_speed_of_the_wire_within_bounds() {
        let size = PieceSize::new();
        size.learn(Some(Duration::from_millis(500)));
        assert_eq!(size.get(), RETURN_PIECE_BYTES);
        for _ in 0..9 {
            size.learn(Some(Duration::from_millis(1)));
        }
        assert_eq!(size.get(), RETURN_PIECE_BYTES_MAX);
        size.learn(Some(Duration::from_secs(3)));
        assert_eq!(size.get(), RETURN_PIECE_BYTES_MAX / 2);
        for _ in 0..9 {
            size.learn(None);
        }
        assert_eq!(size.get(), RETURN_PIECE_BYTES_MIN);
    }
}
