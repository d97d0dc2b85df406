//! The frames of a link: four bytes of length, one of kind, then the content of the
//! kind.
//!
//! Pure. Invariant: a frame that was read is within the limits of its kind.

use std::fmt;
use std::time::Duration;

use halite_crypto::{SHARED_KEY_BYTES, Secret, constant_time_eq};
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
const KEY: u8 = b'K';
const STORED: u8 = b'S';
const LACKS: u8 = b'L';

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
    /// What the sender puts on the bus is sealed with this key, the `n`th.
    Key(u64, SharedKey),
    /// The bus has all up to this number, and what the listener has not handled
    /// from that place in its stream on; and what the sender's clock shows.
    Stored {
        number: u64,
        place: u64,
        clock_ms: u64,
    },
    /// What follows this number is not on the bus.
    Lacks(u64),
}

/// What opens messages on the bus, as it is given to a peer.
#[derive(Clone)]
pub(crate) struct SharedKey(pub(crate) Secret<[u8; SHARED_KEY_BYTES]>);

impl PartialEq for SharedKey {
    fn eq(&self, other: &Self) -> bool {
        constant_time_eq(self.0.expose(), other.0.expose())
    }
}

impl Eq for SharedKey {}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
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
            Self::Key(epoch, key) => {
                let body = [&epoch.to_be_bytes()[..], key.0.expose()].concat();
                head(KEY, body.len(), &body)
            }
            Self::Stored {
                number,
                place,
                clock_ms,
            } => {
                let body = [number, place, clock_ms]
                    .map(|of| of.to_be_bytes())
                    .concat();
                head(STORED, body.len(), &body)
            }
            Self::Lacks(of) => number(LACKS, of),
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
            KEY => number()
                .and_then(|(epoch, rest)| {
                    let key = <[u8; SHARED_KEY_BYTES]>::try_from(rest).ok()?;
                    Some(Self::Key(epoch, SharedKey(Secret::new(key))))
                })
                .ok_or_else(short),
            STORED => stored(body).ok_or_else(short),
            LACKS => number().map(|(of, _)| Self::Lacks(of)).ok_or_else(short),
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

fn stored(body: &[u8]) -> Option<Frame> {
    let (number, rest) = body.split_first_chunk()?;
    let (place, rest) = rest.split_first_chunk()?;
    let clock_ms = rest.first_chunk()?;
    Some(Frame::Stored {
        number: u64::from_be_bytes(*number),
        place: u64::from_be_bytes(*place),
        clock_ms: u64::from_be_bytes(*clock_ms),
    })
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
        // One without a port is none that can be reached.
        text => Some(
            PeerAddress::parse(text.as_str()?, 0)
                .ok()
                .filter(|of| of.port() > 0)?,
        ),
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
    fn a_master_that_listens_at_no_port_is_none() {
        let listens = PeerAddress::parse("m1.example", 0).unwrap();
        let frame = Frame::Hello(Hello {
            cluster: "c".to_owned(),
            incarnation: Incarnation(1),
            listens: Some(listens),
        });
        assert!(Frame::decode(&frame.encode()[4..]).is_err());
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
        let key = SharedKey(Secret::new([7; SHARED_KEY_BYTES]));
        let stored = Frame::Stored {
            number: 1,
            place: 2,
            clock_ms: 3,
        };
        for frame in [
            Frame::Ping(3),
            Frame::Ack(4),
            Frame::Gap(5),
            Frame::Key(6, key),
            stored,
            Frame::Lacks(7),
        ] {
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
