//! What a busy master answers a sign-in with: when to come again, and the proof that it
//! has said so.
//!
//! Invariant: nobody but the master that made it reads an appointment. The minion repeats
//! the bytes in its next sign-in.

use std::time::Duration;

use crate::capabilities::FIELD;
use crate::{Map, Value};

/// In the field `halite` of the answer: after how many milliseconds to come again.
const COME_AGAIN_MS: &str = "come_again_ms";

/// In the field `halite` of the answer, and of the next sign-in.
const APPOINTMENT: &str = "appointment";

/// Bytes of an appointment. A longer one is ignored, as nobody has signed it.
pub const APPOINTMENT_BYTES_MAX: usize = 128;

/// The proof that a master has named a time to a minion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appointment(Vec<u8>);

impl Appointment {
    /// One of these bytes; `None` if they are none, or too many.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        let is_one = !bytes.is_empty() && bytes.len() <= APPOINTMENT_BYTES_MAX;
        is_one.then_some(Self(bytes))
    }

    /// The one that a sign-in, or the answer to it, names.
    pub fn of(extra: &Map) -> Option<Self> {
        Self::new(extra.get(FIELD)?.get(APPOINTMENT)?.as_bytes()?)
    }

    /// Adds it to the fields of a sign-in.
    pub fn add_to(self, extra: &mut Map) {
        if let Some(Value::Map(field)) = extra.get_mut(FIELD) {
            field.insert(APPOINTMENT, Value::Bytes(self.0));
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The answer to a sign-in that is to come again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComeAgain {
    /// After how long.
    pub wait: Duration,
    /// What the minion is to repeat then, so that its sign-in goes before others.
    pub appointment: Option<Appointment>,
}

impl ComeAgain {
    /// What the load of an answer says, if it says this.
    pub(crate) fn of(load: &Map) -> Option<Self> {
        let millis = load.get(FIELD)?.get(COME_AGAIN_MS)?.as_i64()?;
        Some(Self {
            wait: Duration::from_millis(u64::try_from(millis).ok()?),
            appointment: Appointment::of(load),
        })
    }

    /// The load of the answer.
    pub(crate) fn to_load(&self) -> Map {
        let millis = i64::try_from(self.wait.as_millis()).unwrap_or(i64::MAX);
        let mut load = Map::from([(FIELD, Map::from([(COME_AGAIN_MS, millis)]))]);
        if let Some(appointment) = self.appointment.clone() {
            appointment.add_to(&mut load);
        }
        load
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capabilities;

    #[test]
    fn an_appointment_is_repeated_as_it_was_said() {
        let said = Appointment::new(*b"\xff\x00 at eight");
        let answer = ComeAgain {
            wait: Duration::from_millis(2_500),
            appointment: said.clone(),
        };
        assert_eq!(ComeAgain::of(&answer.to_load()), Some(answer));
        let mut extra = Capabilities::OURS.to_extra();
        assert_eq!(Appointment::of(&extra), None);
        said.clone().unwrap().add_to(&mut extra);
        assert_eq!(Appointment::of(&extra), said);
        assert_eq!(Capabilities::of(&extra), Capabilities::OURS);
    }

    #[test]
    fn what_is_too_long_is_no_appointment_and_the_time_counts_without_it() {
        let long = vec![7; APPOINTMENT_BYTES_MAX + 1];
        assert_eq!(Appointment::new(long.clone()), None);
        assert_eq!(Appointment::new(Vec::new()), None);
        let field = [
            (COME_AGAIN_MS, Value::from(10)),
            (APPOINTMENT, Value::Bytes(long)),
        ];
        let load = Map::from([(FIELD, Map::from(field))]);
        let answer = ComeAgain {
            wait: Duration::from_millis(10),
            appointment: None,
        };
        assert_eq!(ComeAgain::of(&load), Some(answer));
    }
}
