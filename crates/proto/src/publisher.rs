//! Which master publishes a job, between Halite peers.
//!
//! A job id is a moment, and two masters may publish at the same one. So each has
//! an identity of its own, whatever keys and names it shares with others, and draws
//! only ids whose last digits are its own.

use std::fmt;

use crate::capabilities::FIELD;
use crate::{Jid, Map, Value};

/// The name of the identity among the capabilities in the sign-in.
const NAME: &str = "publisher";

/// The name of the number of the last publication.
const SERIAL: &str = "serial";

/// The names of a master of a cluster among those that publish with its key, and of
/// the moment of the sign-in.
const SEALER: &str = "sealer";
const MOMENT: &str = "moment";

/// The name of the word that this master offers no missed jobs.
const KEEPS_NO_JOBS: &str = "keeps_no_jobs";

/// What was published under the publish key of a sign-in before it, as far as the
/// master says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishedBefore {
    /// What has this number or a smaller one.
    Serial(u64),
    /// In a cluster, whose masters publish with one key: what this one has stamped
    /// until this moment, and what others have stamped long before it.
    Stamp {
        /// The master, among those with this key.
        sealer: u32,
        /// The moment, in microseconds by its clock.
        moment: u64,
    },
}

impl PublishedBefore {
    /// What a master says in the sign-in.
    pub fn of(extra: &Map) -> Option<Self> {
        let field = extra.get(FIELD)?;
        let number = |name| field.get(name).and_then(Value::as_i64);
        let serial = number(SERIAL).and_then(|serial| u64::try_from(serial).ok());
        serial.map(Self::Serial).or_else(|| {
            Some(Self::Stamp {
                sealer: u32::try_from(number(SEALER)?).ok()?,
                moment: u64::try_from(number(MOMENT)?).ok()?,
            })
        })
    }

    /// Says so, beside the capabilities.
    pub fn add_to(self, extra: &mut Map) {
        let Some(Value::Map(field)) = extra.get_mut(FIELD) else {
            return;
        };
        match self {
            Self::Serial(serial) => {
                field.insert(SERIAL, serial);
            }
            Self::Stamp { sealer, moment } => {
                field.insert(SEALER, u64::from(sealer));
                field.insert(MOMENT, moment);
            }
        }
    }
}

/// Whether a master has said that whoever misses a job cannot ask for it.
pub fn keeps_no_jobs(extra: &Map) -> bool {
    let said = extra.get(FIELD).and_then(|field| field.get(KEEPS_NO_JOBS));
    said.is_some_and(Value::is_true)
}

/// Says so, beside the capabilities.
pub fn add_keeps_no_jobs(extra: &mut Map) {
    if let Some(Value::Map(field)) = extra.get_mut(FIELD) {
        field.insert(KEEPS_NO_JOBS, true);
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
        let mut salt = Map::new();
        id.add_to(&mut salt);
        assert!(salt.is_empty());
        for rubbish in ["", "12", "+000000000123456", "00000000000000zz"] {
            assert_eq!(PublisherId::parse(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn a_master_says_what_was_published_before() {
        let stamp = PublishedBefore::Stamp {
            sealer: u32::MAX,
            moment: 1_800_000_000_123_456,
        };
        for before in [PublishedBefore::Serial(7), stamp] {
            let mut extra = Capabilities::OURS.to_extra();
            assert_eq!(PublishedBefore::of(&extra), None);
            before.add_to(&mut extra);
            assert_eq!(PublishedBefore::of(&extra), Some(before));
            assert_eq!(Capabilities::of(&extra), Capabilities::OURS);
            assert!(!keeps_no_jobs(&extra));
            add_keeps_no_jobs(&mut extra);
            assert!(keeps_no_jobs(&extra));
            let mut salt = Map::new();
            before.add_to(&mut salt);
            assert!(salt.is_empty());
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
