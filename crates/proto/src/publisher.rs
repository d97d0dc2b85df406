//! Which master publishes a job, as Halite peers say it.
//!
//! A job id is a moment. Two masters may well publish at the same one, so each
//! has an identity of its own, whatever keys and names it shares with others,
//! and draws only ids whose last digits are its own.

use std::fmt;

use crate::capabilities::FIELD;
use crate::{Jid, Map, Value};

/// The name of the identity among the capabilities in the sign-in.
const NAME: &str = "publisher";

/// The name of the number of the last publication.
const SERIAL: &str = "serial";

/// The number of the last publication under the publish key that the sign-in
/// hands over, if the master says it: what has such a number, or a smaller one,
/// was published before.
pub fn published_before(extra: &Map) -> Option<u64> {
    let serial = extra.get(FIELD)?.get(SERIAL)?.as_i64()?;
    u64::try_from(serial).ok()
}

/// Says so, beside the capabilities.
pub fn add_published_before(extra: &mut Map, serial: u64) {
    if let Some(Value::Map(field)) = extra.get_mut(FIELD) {
        field.insert(SERIAL, serial);
    }
}

/// A master among all masters of a minion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublisherId(u64);

impl PublisherId {
    /// Among how many moments one is a master's own: its job ids end with the
    /// same three digits.
    pub const STEP: u64 = 1000;

    /// The identity of a master, from random bits.
    pub fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// What a master says of itself in the sign-in; a Salt master says nothing.
    pub fn of(extra: &Map) -> Option<Self> {
        Self::parse(extra.get(FIELD)?.get(NAME)?.as_str()?)
    }

    /// Says so, beside the capabilities.
    pub fn add_to(self, extra: &mut Map) {
        if let Some(Value::Map(field)) = extra.get_mut(FIELD) {
            field.insert(NAME, self.to_string());
        }
    }

    /// Reads what [`fmt::Display`] has written.
    pub fn parse(text: &str) -> Option<Self> {
        const DIGITS: usize = 16;
        let is_one = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = is_one.then(|| u64::from_str_radix(text, 16));
        bits?.ok().map(Self)
    }

    /// Whether this master may have drawn the id. One that somebody has given it
    /// says nothing about who publishes.
    pub fn draws(self, jid: &Jid) -> bool {
        let moment = jid.digits().parse::<u128>();
        moment.is_ok_and(|moment| moment % u128::from(Self::STEP) == u128::from(self.residue()))
    }

    /// The last moment that is this master's own and not after `micros`.
    pub(crate) fn moment_before(self, micros: u64) -> u64 {
        let behind = (micros % Self::STEP + Self::STEP - self.residue()) % Self::STEP;
        micros.saturating_sub(behind)
    }

    fn residue(self) -> u64 {
        self.0 % Self::STEP
    }
}

impl fmt::Display for PublisherId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capabilities;
    use crate::time::jid_from_micros;

    #[test]
    fn a_master_says_who_it_is() {
        let id = PublisherId::new(0x12_3456);
        let mut extra = Capabilities::OURS.to_extra();
        assert_eq!(PublisherId::of(&extra), None);
        id.add_to(&mut extra);
        assert_eq!(PublisherId::of(&extra), Some(id));
        assert_eq!(Capabilities::of(&extra), Capabilities::OURS);
        assert_eq!(published_before(&extra), None);
        add_published_before(&mut extra, 7);
        assert_eq!(published_before(&extra), Some(7));
        let mut salt = Map::new();
        id.add_to(&mut salt);
        assert!(salt.is_empty());
        for rubbish in ["", "12", "+000000000123456", "00000000000000zz"] {
            assert_eq!(PublisherId::parse(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn its_moments_are_its_own() {
        let [one, other] = [5_042, 7_999].map(PublisherId::new);
        for micros in [1_800_000_000_123_456, 1_800_000_000_000_000, 999_999_999] {
            let moment = one.moment_before(micros);
            assert!(moment <= micros && micros - moment < PublisherId::STEP);
            let jid = jid_from_micros(moment);
            assert!(jid.as_str().ends_with("042") && one.draws(&jid) && !other.draws(&jid));
        }
        let unique = Jid::parse("20261120141841939042_17").unwrap();
        assert!(one.draws(&unique) && !other.draws(&unique));
    }
}
