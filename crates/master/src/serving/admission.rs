//! Sign-ins that would wait too long are answered at once: come again, and when.
//!
//! Invariant: only minions that say that they understand it get this answer; those of
//! Salt wait as they always did, and ask again by themselves.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use halite_proto::Capabilities;
use halite_proto::auth::AuthAnswer;
use halite_proto::envelope::RequestEnvelope;
use halite_transport::fleet::Incoming;

use crate::core::sign_in_pace::{Bounds, SignInPace};
use crate::limits::{COME_AGAIN_MAX, COME_AGAIN_MIN, SIGN_IN_QUEUE_MAX, SIGN_IN_READ_BYTES_MAX};
use crate::serving::request_pipeline::encode;

/// The bounds of a master.
const BOUNDS: Bounds = Bounds {
    wait_max: SIGN_IN_QUEUE_MAX,
    nearest: COME_AGAIN_MIN,
    furthest: COME_AGAIN_MAX,
};

/// Decides about sign-ins that have just arrived.
#[derive(Debug)]
pub(super) struct Admission {
    pace: Mutex<SignInPace>,
}

impl Admission {
    /// For this many threads.
    pub(super) fn new(threads: usize) -> Self {
        Self {
            pace: Mutex::new(SignInPace::new(BOUNDS, threads)),
        }
    }

    /// A thread has served a sign-in.
    pub(super) fn served(&self, took: Duration) {
        self.with_pace(|pace| pace.served(took));
    }

    /// The answer to a sign-in with this many ahead of it that should not wait; `None` if
    /// it should.
    pub(super) fn turn_away(&self, incoming: &Incoming, ahead: usize) -> Option<Vec<u8>> {
        let is_late = self.with_pace(|pace| pace.is_late(ahead));
        // Reading a request costs more than the pace, and is done where all requests come in.
        let is_small = incoming.payload.len() <= SIGN_IN_READ_BYTES_MAX;
        if !is_late || !is_small || !comes_again(&incoming.payload) {
            return None;
        }
        let wait = self.with_pace(|pace| pace.appointment(Instant::now(), ahead));
        Some(encode(&AuthAnswer::ComeAgain(wait).to_value()))
    }

    fn with_pace<T>(&self, with: impl FnOnce(&mut SignInPace) -> T) -> T {
        with(&mut self.pace.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether a sign-in comes from a minion that can be told to come again.
fn comes_again(payload: &[u8]) -> bool {
    match RequestEnvelope::decode(payload) {
        Ok(RequestEnvelope::Clear { load, .. }) => Capabilities::of(&load).come_again,
        Ok(RequestEnvelope::Aes { .. }) | Err(_) => false,
    }
}
