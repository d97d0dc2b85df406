//! What two Halite peers can do together that Salt cannot.
//!
//! Both sides say so with one more field in the sign-in, which Salt's programs
//! ignore. Invariant: nothing beyond Salt's protocol is ever sent to a peer
//! that has not said that it understands it.

use crate::{Map, Value};

/// The field of the sign-in request and its reply.
const FIELD: &str = "halite";

/// What a peer understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Job replay: a minion asks for the jobs it has missed.
    pub replay: bool,
}

impl Capabilities {
    /// What this version understands.
    pub const OURS: Self = Self { replay: true };

    /// What the sign-in of a peer says; a Salt peer says nothing.
    pub fn of(extra: &Map) -> Self {
        let says = |name| {
            let field = extra.get(FIELD).and_then(|field| field.get(name));
            field.and_then(Value::as_bool).unwrap_or(false)
        };
        Self {
            replay: says("replay"),
        }
    }

    /// The fields to add to a sign-in.
    pub fn to_extra(self) -> Map {
        let field = Map::from([("replay", self.replay)]);
        Map::from([(FIELD, field)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_taken_at_its_word_and_salt_says_nothing() {
        assert_eq!(
            Capabilities::of(&Capabilities::OURS.to_extra()),
            Capabilities::OURS
        );
        assert_eq!(Capabilities::of(&Map::new()), Capabilities::default());
        let odd = Map::from([(FIELD, Value::from("yes"))]);
        assert_eq!(Capabilities::of(&odd), Capabilities::default());
    }
}
