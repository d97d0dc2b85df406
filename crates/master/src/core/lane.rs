//! Sorts requests before they are decoded, so that a burst of sign-ins, which
//! cost a private-key operation each, does not hold up everything else.
//!
//! Invariant: this is a hint. A request that is sorted wrongly is served all
//! the same, only among the others of its lane.

/// Which workers answer a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Sign-ins of minions.
    SignIn,
    /// Requests with a user's password or token. Only a decoded request shows
    /// that it is one, so they come from the general lane.
    Logins,
    /// Everything else.
    General,
}

/// How far into a message the mark of a sign-in is looked for.
const PEEK_BYTES: usize = 64;

/// How senders begin the request: the envelope's first entry and the load's.
const CLEAR: &[u8] = b"\xa3enc\xa5clear";
const AUTH: &[u8] = b"\xa3cmd\xa5_auth";

/// The lane that a request enters first.
pub fn lane_of(payload: &[u8]) -> Lane {
    let head = &payload[..payload.len().min(PEEK_BYTES)];
    let contains = |mark: &[u8]| head.windows(mark.len()).any(|window| window == mark);
    if contains(CLEAR) && contains(AUTH) {
        Lane::SignIn
    } else {
        Lane::General
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_is_recognised_by_its_first_bytes() {
        let auth = b"\x83\xa3enc\xa5clear\xa4load\x86\xa3cmd\xa5_auth\xa2id\xa4web1";
        assert_eq!(lane_of(auth), Lane::SignIn);
        let ping = b"\x83\xa3enc\xa5clear\xa4load\x81\xa3cmd\xa4ping";
        assert_eq!(lane_of(ping), Lane::General);
        assert_eq!(lane_of(b"\x86\xa3enc\xa3aes\xa4load"), Lane::General);
        assert_eq!(lane_of(b""), Lane::General);
    }
}
