//! Sign-ins that would wait too long are answered at once: come again, and when. Who comes
//! at that time goes before the others.
//!
//! Invariant: only minions that say that they understand it get this answer; those of
//! Salt wait as they always did, and ask again by themselves.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use halite_crypto::OwnCodes;
use halite_proto::auth::AuthAnswer;
use halite_proto::envelope::RequestEnvelope;
use halite_proto::{Appointment, Capabilities, ComeAgain, Map, Value};
use halite_transport::fleet::Incoming;

use crate::core::appointments::{Appointments, Visit};
use crate::core::preferred_queue::Rank;
use crate::core::sign_in_pace::{Bounds, SignInPace};
use crate::limits::{
    COME_AGAIN_MAX, COME_AGAIN_MIN, SIGN_IN_BYTES_MAX, SIGN_IN_QUEUE_MAX, SIGN_IN_READ_BYTES_MAX,
};
use crate::serving::request_pipeline::encode;

/// The bounds of a master.
const BOUNDS: Bounds = Bounds {
    wait_max: SIGN_IN_QUEUE_MAX,
    nearest: COME_AGAIN_MIN,
    furthest: COME_AGAIN_MAX,
};

/// What happens to a sign-in that has just arrived.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It waits to be served.
    Wait(Rank),
    /// It gets this answer.
    ComeAgain(Vec<u8>),
    /// It is larger than any sign-in.
    TooLarge,
}

/// Decides about sign-ins that have just arrived.
pub(super) struct Admission {
    state: Mutex<State>,
    codes: OwnCodes,
}

struct State {
    pace: SignInPace,
    appointments: Appointments,
}

impl Admission {
    /// For this many threads.
    pub(super) fn new(threads: usize) -> Self {
        Self {
            state: Mutex::new(State {
                pace: SignInPace::new(BOUNDS, threads),
                appointments: Appointments::default(),
            }),
            codes: OwnCodes::generate(),
        }
    }

    /// A thread has served a sign-in.
    pub(super) fn served(&self, took: Duration) {
        self.with_state(|state| {
            state.pace.served(took);
            state.appointments.forget(Instant::now());
        });
    }

    /// What happens to a sign-in with this many ahead of it.
    pub(super) fn decide(&self, incoming: &Incoming, ahead: usize) -> Decision {
        let payload = &incoming.payload;
        if payload.len() > SIGN_IN_BYTES_MAX {
            return Decision::TooLarge;
        }
        let is_late = self.with_state(|state| state.pace.is_late(ahead));
        // Reading a request costs more than the pace, and is done where all requests come in.
        let is_small = payload.len() <= SIGN_IN_READ_BYTES_MAX;
        let waits = Decision::Wait(Rank::Other);
        if !is_late || !is_small {
            return waits;
        }
        let Some(load) = load_of_ours(payload) else {
            return waits;
        };
        let id = load.get("id").and_then(Value::as_str).unwrap_or_default();
        let said = Appointment::of(&load);
        let number = said.as_ref().and_then(|said| self.number_of(id, said));
        let now = Instant::now();
        let visit = number.map(|number| self.with_state(|s| s.appointments.visit(now, number)));
        let answer = match visit {
            Some(Visit::InTime) => return Decision::Wait(Rank::Preferred),
            Some(Visit::Early(wait)) => ComeAgain {
                wait,
                appointment: said,
            },
            Some(Visit::Over) | None => self.give(id, now, ahead),
        };
        Decision::ComeAgain(encode(&AuthAnswer::ComeAgain(answer).to_value()))
    }

    /// A time for this minion; with an appointment, if no other minion has that time.
    fn give(&self, id: &str, now: Instant, ahead: usize) -> ComeAgain {
        let (wait, number) = self.with_state(|state| {
            let slot = state.pace.appointment(now, ahead);
            let give = || state.appointments.give(now, now + slot.wait);
            (slot.wait, slot.is_free.then(give).flatten())
        });
        ComeAgain {
            wait,
            appointment: number.and_then(|number| self.appointment(id, number)),
        }
    }

    /// The appointment of this number: the number, and the code of it and of the minion.
    fn appointment(&self, id: &str, number: u64) -> Option<Appointment> {
        let number = number.to_be_bytes();
        let code = self.codes.code(&[&number[..], id.as_bytes()].concat());
        Appointment::new([&number[..], &code].concat())
    }

    /// The number of an appointment that this process has given to this minion.
    fn number_of(&self, id: &str, said: &Appointment) -> Option<u64> {
        let (number, code) = said.as_bytes().split_first_chunk::<8>()?;
        let is_ours = || {
            self.codes
                .is_code(&[&number[..], id.as_bytes()].concat(), code)
        };
        is_ours().then(|| u64::from_be_bytes(*number))
    }

    fn with_state<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        with(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The load of a sign-in of a minion that comes again when it is told to.
fn load_of_ours(payload: &[u8]) -> Option<Map> {
    match RequestEnvelope::decode(payload) {
        Ok(RequestEnvelope::Clear { load, .. }) => {
            Capabilities::of(&load).come_again.then_some(load)
        }
        Ok(RequestEnvelope::Aes { .. }) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_appointment_is_of_one_minion_and_one_process() {
        let admission = Admission::new(2);
        let given = admission.appointment("web1", 7).unwrap();
        assert_eq!(admission.number_of("web1", &given), Some(7));
        assert_eq!(admission.number_of("web2", &given), None);
        assert_eq!(Admission::new(2).number_of("web1", &given), None);
        let mut other = given.as_bytes().to_vec();
        other[7] += 1;
        let other = Appointment::new(other).unwrap();
        assert_eq!(admission.number_of("web1", &other), None);
        let short = Appointment::new(&given.as_bytes()[..4]).unwrap();
        assert_eq!(admission.number_of("web1", &short), None);
    }
}
