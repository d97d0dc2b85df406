//! The frames of a link: four bytes of length, one of kind, then what the kind
//! has.
//!
//! Pure. Invariant: a frame that was read is within the bounds of its kind.

use std::time::Duration;

use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, Value};

use crate::error::MeshError;
use crate::peer::{Incarnation, PeerAddress};

/// The version of what is spoken on a link.
const VERSION: i64 = 1;

const HELLO: u8 = b'H';
const WELCOME: u8 = b'W';
const DATA: u8 = b'D';
const PING: u8 = b'P';
const ACK: u8 = b'A';
const GAP: u8 = b'G';
const JOIN: u8 = b'J';

/// What the dialling side says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) cluster: String,
    pub(crate) incarnation: Incarnation,
    /// Where it can be dialled, if it listens.
    pub(crate) listens: Option<PeerAddress>,
}

/// What the other side answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub(crate) incarnation: Incarnation,
    /// The last message of this life of the dialler that it has handled.
    pub(crate) heard: u64,
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    Hello(Hello),
    Welcome(Welcome),
    /// A message, its number, and how long ago it was told.
    Data(u64, Duration, Vec<u8>),
    /// Nothing to tell; the number of the last message.
    Ping(u64),
    /// Everything up to this number is handled.
    Ack(u64),
    /// Messages up to this number are forgotten.
    Gap(u64),
    /// What a master that wants to join says, or is told.
    Join(Vec<u8>),
}

/// The bytes of a message in its frame, to be followed by the message itself.
pub(crate) fn data_head(number: u64, age: Duration, message_bytes: usize) -> Vec<u8> {
    let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    let mut begin = number.to_be_bytes().to_vec();
    begin.extend_from_slice(&age.to_be_bytes());
    head(DATA, begin.len() + message_bytes, &begin)
}

fn head(kind: u8, body_bytes: usize, begin: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body_bytes + 1).unwrap_or(u32::MAX);
    let mut out = Vec::with_capacity(5 + begin.len());
    out.extend_from_slice(&length.to_be_bytes());
    out.push(kind);
    out.extend_from_slice(begin);
    out
}

impl Frame {
    /// The bytes, with the length in front.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let number = |kind, number: &u64| head(kind, 8, &number.to_be_bytes());
        match self {
            Self::Hello(hello) => {
                let listens = hello.listens.as_ref().map(ToString::to_string);
                let map = Map::from([
                    ("version", Value::from(VERSION)),
                    ("cluster", Value::from(hello.cluster.as_str())),
                    ("incarnation", hello.incarnation.to_string().into()),
                    ("listens", listens.into()),
                ]);
                packed(HELLO, map)
            }
            Self::Welcome(welcome) => {
                let map = Map::from([
                    ("version", Value::from(VERSION)),
                    ("incarnation", welcome.incarnation.to_string().into()),
                    ("heard", welcome.heard.into()),
                ]);
                packed(WELCOME, map)
            }
            Self::Data(of, age, message) => {
                let mut out = data_head(*of, *age, message.len());
                out.extend_from_slice(message);
                out
            }
            Self::Ping(of) => number(PING, of),
            Self::Ack(of) => number(ACK, of),
            Self::Gap(of) => number(GAP, of),
            Self::Join(message) => head(JOIN, message.len(), message),
        }
    }

    /// Reads what stands behind the length.
    ///
    /// # Errors
    /// When it is no frame.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, MeshError> {
        let bad = |what| MeshError::Frame { what };
        let (kind, body) = bytes.split_first().ok_or_else(|| bad("an empty frame"))?;
        let number = || {
            let (number, rest) = body.split_first_chunk::<8>()?;
            Some((u64::from_be_bytes(*number), rest))
        };
        let short = || bad("a frame that is too short");
        match *kind {
            DATA => number()
                .and_then(|(of, rest)| {
                    let (age, message) = rest.split_first_chunk::<8>()?;
                    let age = Duration::from_millis(u64::from_be_bytes(*age));
                    Some(Self::Data(of, age, message.to_vec()))
                })
                .ok_or_else(short),
            PING => number().map(|(of, _)| Self::Ping(of)).ok_or_else(short),
            ACK => number().map(|(of, _)| Self::Ack(of)).ok_or_else(short),
            GAP => number().map(|(of, _)| Self::Gap(of)).ok_or_else(short),
            JOIN => Ok(Self::Join(body.to_vec())),
            HELLO => hello(body)
                .map(Self::Hello)
                .ok_or_else(|| bad("no greeting")),
            WELCOME => welcome(body)
                .map(Self::Welcome)
                .ok_or_else(|| bad("no greeting")),
            _ => Err(bad("a frame of an unknown kind")),
        }
    }
}

fn packed(kind: u8, map: Map) -> Vec<u8> {
    let body = pack_modern(&map.into()).unwrap_or_default();
    head(kind, body.len(), &body)
}

fn fields(body: &[u8]) -> Option<Map> {
    match unpack_modern(body).ok()? {
        Value::Map(map) if map.get("version")?.as_i64()? == VERSION => Some(map),
        _ => None,
    }
}

fn incarnation(map: &Map) -> Option<Incarnation> {
    let text = map.get("incarnation")?.as_str()?;
    u64::from_str_radix(text, 16).ok().map(Incarnation)
}

fn hello(body: &[u8]) -> Option<Hello> {
    let map = fields(body)?;
    let listens = match map.get("listens")? {
        Value::Nil => None,
        text => Some(PeerAddress::parse(text.as_str()?, 0).ok()?),
    };
    Some(Hello {
        cluster: map.get("cluster")?.as_str()?.to_owned(),
        incarnation: incarnation(&map)?,
        listens,
    })
}

fn welcome(body: &[u8]) -> Option<Welcome> {
    let map = fields(body)?;
    Some(Welcome {
        incarnation: incarnation(&map)?,
        heard: u64::try_from(map.get("heard")?.as_i64()?).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_round_trip(frame: Frame) {
        let bytes = frame.encode();
        let (length, body) = bytes.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_be_bytes(*length) as usize, body.len());
        assert_eq!(Frame::decode(body).unwrap(), frame);
    }

    #[test]
    fn frames_come_back_as_they_were() {
        let incarnation = Incarnation(0xfeed);
        let hello = |listens| {
            Frame::Hello(Hello {
                cluster: "master_cluster".to_owned(),
                incarnation,
                listens,
            })
        };
        check_round_trip(hello(None));
        check_round_trip(hello(Some(PeerAddress::parse("[::1]:45", 1).unwrap())));
        check_round_trip(Frame::Welcome(Welcome {
            incarnation,
            heard: 6,
        }));
        check_round_trip(Frame::Data(
            u64::MAX,
            Duration::from_millis(5),
            b"xyz".to_vec(),
        ));
        for frame in [Frame::Ping(3), Frame::Ack(4), Frame::Gap(5)] {
            check_round_trip(frame);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_more_than_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Frame::decode(&bytes);
        }
    }
}
