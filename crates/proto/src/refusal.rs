//! A master's answers to requests that it does not handle.
//!
//! Mirrors the server channel and the master of Salt 3006 to 3008. The answers are
//! in the clear, also to encrypted requests, and mostly bare text.

use std::fmt;

use crate::msgpack::{Reading, unpack};
use crate::{Map, Value};

/// An answer that refuses a request before, or instead of, handling it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Anything unauthentic: a minion signs in again when it sees this.
    BadLoad,
    /// The frame is not msgpack (the map form of `bad load`).
    BadFrame,
    /// The load is no map.
    NotADict,
    /// The id in the load holds a NUL.
    NullInId,
    /// The id in the load is not text; the value as Python prints it.
    IdNotText(String),
    /// Handling the request failed.
    HandlerFailed,
    /// The server itself failed.
    ServerFailed,
    /// The frames on the request socket are not those of a request.
    RoutingError,
    /// The router has no workers for this request (3008).
    NoPool(String),
    /// The router failed (3008).
    InternalRouting,
    /// A master of a cluster is not ready yet (3008): try again.
    ClusterRetry,
}

const BAD_LOAD: &str = "bad load";
const NOT_A_DICT: &str = "payload and load must be a dict";
const NULL_IN_ID: &str = "bad load: id contains a null byte";
const ID_BEFORE: &str = "bad load: id ";
const ID_AFTER: &str = " is not a string";
const HANDLER_FAILED: &str = "Some exception handling minion payload";
const SERVER_FAILED: &str = "Server-side exception handling payload";
const ROUTING_ERROR: &str = "Routing error";
const NO_POOL_BEFORE: &str = "No client for pool ";
const INTERNAL_ROUTING: &str = "Internal routing error";

/// Longest printed id in [`Refusal::IdNotText`], in characters.
const SHOWN_ID_CHARS_MAX: usize = 200;

impl Refusal {
    /// The refusal of an `id` that is not text.
    pub fn id_not_text(id: &Value) -> Self {
        Self::IdNotText(python_text(id))
    }

    /// The answer as it travels.
    pub fn to_value(&self) -> Value {
        match self {
            Self::BadLoad => BAD_LOAD.into(),
            Self::BadFrame => Map::from([("msg", BAD_LOAD)]).into(),
            Self::NotADict => NOT_A_DICT.into(),
            Self::NullInId => NULL_IN_ID.into(),
            Self::IdNotText(shown) => format!("{ID_BEFORE}{shown}{ID_AFTER}").into(),
            Self::HandlerFailed => HANDLER_FAILED.into(),
            Self::ServerFailed => SERVER_FAILED.into(),
            Self::RoutingError => Map::from([("error", ROUTING_ERROR)]).into(),
            Self::NoPool(pool) => Map::from([("error", format!("{NO_POOL_BEFORE}{pool}"))]).into(),
            Self::InternalRouting => Map::from([
                ("error", Value::from(INTERNAL_ROUTING)),
                ("success", Value::Bool(false)),
            ])
            .into(),
            Self::ClusterRetry => {
                let load = Map::from([("ret", false), ("cluster_retry", true)]);
                Map::from([("enc", Value::from("clear")), ("load", load.into())]).into()
            }
        }
    }

    /// The refusal that `answer` is, if it is one.
    pub fn from_value(answer: &Value) -> Option<Self> {
        match answer {
            Value::Str(text) => Self::from_text(text),
            Value::Bytes(bytes) => std::str::from_utf8(bytes).ok().and_then(Self::from_text),
            Value::Map(map) => Self::from_map(map),
            _ => None,
        }
    }

    /// The refusal that a packed answer is, if it is one.
    pub fn decode(packed: &[u8]) -> Option<Self> {
        // A refusal is short; ciphertext is not looked at.
        const PACKED_BYTES_MAX: usize = 1024;
        if packed.len() > PACKED_BYTES_MAX {
            return None;
        }
        Self::from_value(&unpack(packed, Reading::Wire).ok()?)
    }

    /// Whether the sender should sign in again and repeat the request: what
    /// Salt's minions do with texts too short to be ciphertext.
    pub fn asks_for_sign_in(&self) -> bool {
        matches!(self, Self::BadLoad | Self::NotADict)
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(match text {
            BAD_LOAD => Self::BadLoad,
            NOT_A_DICT => Self::NotADict,
            NULL_IN_ID => Self::NullInId,
            HANDLER_FAILED => Self::HandlerFailed,
            SERVER_FAILED => Self::ServerFailed,
            _ => {
                let shown = text.strip_prefix(ID_BEFORE)?.strip_suffix(ID_AFTER)?;
                Self::IdNotText(shown.to_owned())
            }
        })
    }

    fn from_map(map: &Map) -> Option<Self> {
        let text = |field| map.get(field).and_then(Value::as_str);
        if text("msg") == Some(BAD_LOAD) {
            return Some(Self::BadFrame);
        }
        match text("error") {
            Some(ROUTING_ERROR) => return Some(Self::RoutingError),
            Some(INTERNAL_ROUTING) => return Some(Self::InternalRouting),
            Some(error) => {
                let pool = error.strip_prefix(NO_POOL_BEFORE)?;
                return Some(Self::NoPool(pool.to_owned()));
            }
            None => {}
        }
        let retry = map.get("load")?.get("cluster_retry")?;
        retry.is_true().then_some(Self::ClusterRetry)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadLoad | Self::BadFrame => f.write_str(BAD_LOAD),
            Self::NotADict => f.write_str(NOT_A_DICT),
            Self::NullInId => f.write_str(NULL_IN_ID),
            Self::IdNotText(shown) => write!(f, "{ID_BEFORE}{shown}{ID_AFTER}"),
            Self::HandlerFailed => f.write_str(HANDLER_FAILED),
            Self::ServerFailed => f.write_str(SERVER_FAILED),
            Self::RoutingError => f.write_str(ROUTING_ERROR),
            Self::NoPool(pool) => write!(f, "{NO_POOL_BEFORE}{pool}"),
            Self::InternalRouting => f.write_str(INTERNAL_ROUTING),
            Self::ClusterRetry => f.write_str("the cluster is not ready"),
        }
    }
}

/// How Python's `str()` shows a value that stands where an id should.
fn python_text(value: &Value) -> String {
    let mut text = match value {
        Value::Nil => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => format!("{float:?}"),
        Value::Str(text) => text.clone(),
        Value::Bytes(bytes) => format!("b'{}'", bytes.escape_ascii()),
        Value::List(_) | Value::Map(_) | Value::Ext(..) => format!("<{}>", value.type_name()),
    };
    if let Some((end, _)) = text.char_indices().nth(SHOWN_ID_CHARS_MAX) {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::pack_wire;

    #[test]
    fn every_refusal_is_recognised_from_its_answer() {
        let all = [
            Refusal::BadLoad,
            Refusal::BadFrame,
            Refusal::NotADict,
            Refusal::NullInId,
            Refusal::id_not_text(&Value::Int(5)),
            Refusal::HandlerFailed,
            Refusal::ServerFailed,
            Refusal::RoutingError,
            Refusal::NoPool("auth".to_owned()),
            Refusal::InternalRouting,
            Refusal::ClusterRetry,
        ];
        for refusal in all {
            let packed = pack_wire(&refusal.to_value()).unwrap();
            assert_eq!(Refusal::decode(&packed), Some(refusal.clone()), "{refusal}");
        }
        for other in [Value::Nil, "".into(), "ping".into(), Map::new().into()] {
            assert_eq!(Refusal::from_value(&other), None, "{other:?}");
        }
    }

    #[test]
    fn a_long_id_is_cut() {
        let refusal = Refusal::id_not_text(&Value::Bytes(vec![b'a'; 10_000]));
        assert!(refusal.to_string().len() < 300);
    }
}
