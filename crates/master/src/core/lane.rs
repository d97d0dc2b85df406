//! Which workers answer a request, so that a burst of sign-ins, which cost a
//! private-key operation each, does not hold up everything else.
//!
//! Invariant: the decoded request decides. What is said of packed bytes only
//! chooses who decodes them.

use halite_proto::clear::ClearCommand;
use halite_proto::envelope::RequestEnvelope;
use halite_proto::limits::Limits;
use halite_proto::msgpack::{entry, text};

/// Which workers answer a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Sign-ins of minions.
    SignIn,
    /// Requests with a user's password.
    Logins,
    /// Everything else.
    General,
}

/// What is looked at in a packed request. A sign-in has a few dozen values; one
/// with more is decoded among everything else.
const LOOK: Limits = Limits {
    items_max: 256,
    ..Limits::ENVELOPE
};

/// The lane whose workers decode a request.
pub fn lane_of_packed(payload: &[u8]) -> Lane {
    let named = |map, key| entry(map, key, LOOK);
    let is_clear = named(payload, "enc").and_then(text) == Some("clear");
    let cmd = || named(named(payload, "load")?, "cmd").and_then(text);
    match is_clear && cmd() == Some("_auth") {
        true => Lane::SignIn,
        false => Lane::General,
    }
}

/// The lane of a decoded request; `None` for a clear one, whose command decides.
pub fn lane_of_envelope(envelope: &RequestEnvelope) -> Option<Lane> {
    match envelope {
        RequestEnvelope::Clear { .. } => None,
        RequestEnvelope::Aes { .. } => Some(Lane::General),
    }
}

/// The lane of a command in the clear.
pub fn lane_of_command(command: &ClearCommand) -> Lane {
    match command {
        ClearCommand::Auth(_) | ClearCommand::AuthBadId(_) => Lane::SignIn,
        command if command.logs_in() => Lane::Logins,
        _ => Lane::General,
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::msgpack::pack_wire;
    use halite_proto::{Map, Value};

    use super::*;

    fn packed(load: Map) -> [Vec<u8>; 2] {
        let first = Map::from([("enc", Value::from("clear")), ("load", load.clone().into())]);
        let last = Map::from([("load", Value::from(load)), ("enc", "clear".into())]);
        [first, last].map(|map| pack_wire(&map.into()).unwrap())
    }

    #[test]
    fn a_sign_in_is_one_in_whatever_order_it_is_written() {
        for payload in packed(Map::from([("id", "web1"), ("cmd", "_auth")])) {
            assert_eq!(lane_of_packed(&payload), Lane::SignIn);
        }
        let hidden = Map::from([("cmd", "ping"), ("x", "\u{a3}enc\u{a5}clear\u{a3}cmd_auth")]);
        for payload in packed(hidden) {
            assert_eq!(lane_of_packed(&payload), Lane::General);
        }
        for junk in [
            &b""[..],
            b"\x86\xa3enc\xa3aes\xa4load",
            b"\xdf\xff\xff\xff\xff",
        ] {
            assert_eq!(lane_of_packed(junk), Lane::General);
        }
    }

    #[test]
    fn the_command_decides() {
        let command = |load| ClearCommand::from_map(load).unwrap();
        let sign_in = Map::from([("cmd", "_auth"), ("id", "web1"), ("pub", "x")]);
        assert_eq!(lane_of_command(&command(sign_in)), Lane::SignIn);
        let bad_id = Map::from([("cmd", "_auth"), ("id", "../x"), ("pub", "x")]);
        assert_eq!(lane_of_command(&command(bad_id)), Lane::SignIn);
        let login = Map::from([("cmd", "mk_token"), ("eauth", "pam")]);
        assert_eq!(lane_of_command(&command(login)), Lane::Logins);
        let ping = Map::from([("cmd", "ping")]);
        assert_eq!(lane_of_command(&command(ping)), Lane::General);
    }
}
