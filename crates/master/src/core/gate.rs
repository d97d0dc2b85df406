//! The checks that every encrypted request passes before its command is read, in
//! the order of Salt's masters.
//!
//! Invariant: the acting minion is proved by three things at once: the session key
//! that opens the request, the id inside it, and the token made with the accepted
//! key. No command is reached on less.

use halite_proto::envelope::{EnvelopeError, checked_load};
use halite_proto::msgpack::unpack_wire;
use halite_proto::{Map, MinionId, Nonce, Refusal, Value, presence};

use super::replay::Freshness;

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Not msgpack.
    Unreadable,
    /// Not a request, or of an unknown encryption.
    NoEnvelope,
    /// Below `minimum_auth_version`.
    OldVersion,
    /// The load is not a map, or its id is not text.
    BadLoad,
    /// The id is not a valid minion id.
    BadId,
    /// The minion is not accepted or has no session: it signs in again.
    NoSession,
    /// Sealed with another key, or damaged.
    NotAuthentic,
    /// Older than `request_server_ttl`.
    Expired,
    /// The id in the load is not that of the session.
    OtherId,
    /// No token, or one of another key.
    BadToken,
    /// No usable nonce or time.
    NoNonce,
    /// Sent before.
    Replayed,
    /// Too old to be checked for replay.
    TooOld,
    /// Waited too long, or found no room in the queue.
    Overload,
    /// A sign-in that would wait too long, and was told to come again.
    ComeAgain,
    /// A handler failed.
    Failed,
    /// A local program's key is nobody's.
    UnprovenKey,
    /// A user's token does not exist or has expired.
    UnprovenToken,
    /// A user's login failed.
    UnprovenLogin,
}

impl Cause {
    /// As metrics call it: monitoring goes by these words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::NoEnvelope => "no_envelope",
            Self::OldVersion => "old_version",
            Self::BadLoad => "bad_load",
            Self::BadId => "bad_id",
            Self::NoSession => "no_session",
            Self::NotAuthentic => "not_authentic",
            Self::Expired => "expired",
            Self::OtherId => "other_id",
            Self::BadToken => "bad_token",
            Self::NoNonce => "no_nonce",
            Self::Replayed => "replayed",
            Self::TooOld => "too_old",
            Self::Overload => "overload",
            Self::ComeAgain => "come_again",
            Self::Failed => "failed",
            Self::UnprovenKey => "unproven_key",
            Self::UnprovenToken => "unproven_token",
            Self::UnprovenLogin => "unproven_login",
        }
    }

    /// All causes, for counters.
    pub const ALL: [Self; 19] = [
        Self::Unreadable,
        Self::NoEnvelope,
        Self::OldVersion,
        Self::BadLoad,
        Self::BadId,
        Self::NoSession,
        Self::NotAuthentic,
        Self::Expired,
        Self::OtherId,
        Self::BadToken,
        Self::NoNonce,
        Self::Replayed,
        Self::TooOld,
        Self::Overload,
        Self::ComeAgain,
        Self::Failed,
        Self::UnprovenKey,
        Self::UnprovenToken,
        Self::UnprovenLogin,
    ];

    /// Whether this happens in a healthy fleet: minions that sign in again
    /// after a restart, a new session key or an admin's decision, or all at once.
    pub fn is_ordinary(self) -> bool {
        matches!(
            self,
            Self::NoSession | Self::Expired | Self::TooOld | Self::ComeAgain
        )
    }

    /// The reason, for the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "it is not valid MessagePack",
            Self::NoEnvelope => "it is not a request",
            Self::OldVersion => "its protocol version is below minimum_auth_version",
            Self::BadLoad => "its load is not valid",
            Self::BadId => "it names no valid minion id",
            Self::NoSession => "the minion has no session and must sign in",
            Self::NotAuthentic => "it is not encrypted with the minion's session key",
            Self::Expired => "it is older than request_server_ttl",
            Self::OtherId => "it claims to come from another minion",
            Self::BadToken => "its token does not match the minion's accepted key",
            Self::NoNonce => "it has no nonce or no time",
            Self::Replayed => "it is a replay of an earlier request",
            Self::TooOld => "it is too old to be checked for replay",
            Self::Overload => "the master is overloaded",
            Self::ComeAgain => {
                "the master has too many sign-ins waiting, the minion will sign in later"
            }
            Self::Failed => "handling it failed",
            Self::UnprovenKey => "it does not carry the key of a local user of this master",
            Self::UnprovenToken => "its token is unknown or has expired",
            Self::UnprovenLogin => "its login failed",
        }
    }
}

/// A refused request: the reason, and the answer to the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Why.
    pub cause: Cause,
    /// The answer.
    pub refusal: Refusal,
}

impl From<Cause> for Denied {
    fn from(cause: Cause) -> Self {
        let refusal = match cause {
            Cause::Unreadable => Refusal::BadFrame,
            Cause::Failed => Refusal::HandlerFailed,
            // A fresh sign-in cures all of these.
            _ => Refusal::BadLoad,
        };
        Self { cause, refusal }
    }
}

impl From<EnvelopeError> for Denied {
    fn from(error: EnvelopeError) -> Self {
        let cause = match error {
            EnvelopeError::Unreadable(_) => Cause::Unreadable,
            EnvelopeError::NoEnvelope | EnvelopeError::Encryption => Cause::NoEnvelope,
            EnvelopeError::Version { .. } => Cause::OldVersion,
            EnvelopeError::Load(_) => Cause::BadLoad,
            EnvelopeError::Id(_) | EnvelopeError::LoadId(_) => Cause::BadId,
        };
        Self {
            cause,
            refusal: error.refusal(),
        }
    }
}

impl From<Freshness> for Result<(), Denied> {
    fn from(freshness: Freshness) -> Self {
        match freshness {
            Freshness::Fresh => Ok(()),
            Freshness::Replayed => Err(Cause::Replayed.into()),
            Freshness::TooOld => Err(Cause::TooOld.into()),
        }
    }
}

/// The fields that the channel adds to a request, removed from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// To be prefixed to the answer.
    pub nonce: Nonce,
    /// When the minion made the request, in Unix seconds.
    pub ts: i64,
    /// Proof of the minion's key.
    pub token: Vec<u8>,
    /// The minion shows its presence to this master.
    pub shows_presence: bool,
}

/// Reads an opened request.
///
/// # Errors
/// When it is not a request.
pub fn read_load(packed: &[u8]) -> Result<Map, Denied> {
    let value = unpack_wire(packed).map_err(|_| Denied::from(Cause::NotAuthentic))?;
    Ok(checked_load(value)?)
}

/// Checks a request of version 3 against the session that opened it; what
/// remains are the look at the nonce memory and at the accepted key.
///
/// The nonce and the token leave the load here: whatever is done with it later,
/// they are not shown on the event bus.
///
/// # Errors
/// When the request is too old, speaks for another minion, or lacks what proves
/// its sender.
pub fn check(load: &mut Map, session_of: &MinionId, now: i64, ttl_s: i64) -> Result<Seal, Denied> {
    let ts = load.get("ts").and_then(Value::as_i64);
    if ttl_s > 0 && ts.is_none_or(|ts| now.saturating_sub(ts) > ttl_s) {
        return Err(Cause::Expired.into());
    }
    match load.get("id").and_then(Value::as_str) {
        Some(id) if id == session_of.as_str() => {}
        Some(_) => return Err(Cause::OtherId.into()),
        None => return Err(Cause::BadId.into()),
    }
    let token = load
        .remove("tok")
        .and_then(|token| token.as_bytes().map(<[u8]>::to_vec))
        .ok_or_else(|| Denied::from(Cause::BadToken))?;
    let nonce = load
        .remove("nonce")
        .and_then(|nonce| Nonce::parse(nonce.as_str()?).ok());
    let shows_presence = load.remove(presence::MARK).is_some();
    match (nonce, ts) {
        (Some(nonce), Some(ts)) => Ok(Seal {
            nonce,
            ts,
            token,
            shows_presence,
        }),
        _ => Err(Cause::NoNonce.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;
    const NONCE: &str = "0123456789abcdef0123456789abcdef";

    fn web1() -> MinionId {
        MinionId::parse("web1").unwrap()
    }

    fn load() -> Map {
        Map::from([
            ("cmd", Value::from("_return")),
            ("id", Value::from("web1")),
            ("nonce", Value::from(NONCE)),
            ("ts", Value::from(NOW - 10)),
            ("tok", Value::Bytes(vec![0xff; 4])),
        ])
    }

    #[track_caller]
    fn check_cause(change: impl FnOnce(&mut Map), ttl_s: i64, cause: Cause) {
        let mut load = load();
        change(&mut load);
        let denied = check(&mut load, &web1(), NOW, ttl_s).unwrap_err();
        assert_eq!(denied.cause, cause);
        assert_eq!(denied.refusal, Refusal::BadLoad);
    }

    #[test]
    fn a_good_request_passes_without_its_secrets() {
        let mut load = load();
        load.insert(presence::MARK, true);
        let seal = check(&mut load, &web1(), NOW, 0).unwrap();
        assert!(seal.shows_presence);
        assert_eq!(seal.nonce.as_str(), NONCE);
        assert_eq!((seal.ts, seal.token.len()), (NOW - 10, 4));
        let left: Vec<_> = load.keys().filter_map(Value::as_str).collect();
        assert_eq!(left, ["cmd", "id", "ts"]);
    }

    #[test]
    fn every_missing_proof_is_refused() {
        check_cause(|_| {}, 9, Cause::Expired);
        check_cause(|load| drop(load.remove("ts")), 9, Cause::Expired);
        check_cause(|load| drop(load.insert("id", "web2")), 0, Cause::OtherId);
        check_cause(|load| drop(load.remove("id")), 0, Cause::BadId);
        check_cause(|load| drop(load.remove("tok")), 0, Cause::BadToken);
        check_cause(|load| drop(load.insert("tok", 5)), 0, Cause::BadToken);
        check_cause(|load| drop(load.remove("nonce")), 0, Cause::NoNonce);
        check_cause(|load| drop(load.insert("nonce", "x")), 0, Cause::NoNonce);
        check_cause(|load| drop(load.remove("ts")), 0, Cause::NoNonce);
        check_cause(|load| drop(load.insert("ts", "1")), 0, Cause::NoNonce);
    }

    #[test]
    fn what_is_inside_must_be_a_map() {
        let refusal = |packed: &[u8]| read_load(packed).unwrap_err().refusal;
        assert_eq!(refusal(&[0xc1]), Refusal::BadLoad);
        assert_eq!(refusal(&[0x90]), Refusal::NotADict);
        assert_eq!(
            refusal(b"\x81\xa2id\x05"),
            Refusal::IdNotText("5".to_owned())
        );
        assert_eq!(refusal(b"\x81\xa2id\xa3a\0b"), Refusal::NullInId);
        assert_eq!(read_load(b"\x80"), Ok(Map::new()));
    }
}
