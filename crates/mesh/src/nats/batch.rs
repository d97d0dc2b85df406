//! Messages of a master's log in the form of the bus: several together, cut into
//! pieces that the engine accepts.
//!
//! Pure. Invariant: a decoded batch is a run of numbers without a gap, within the
//! limits of its head.

use std::time::Instant;

use crate::log::LoggedMessage;
use crate::peer::{Incarnation, PeerId};

const VERSION: u8 = 1;

/// Bytes of a head.
pub(crate) const HEAD_BYTES: usize = 1 + 4 * 8 + 2 * 4;

/// What stands in front of a piece, in the clear and authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// The life of the master that tells.
    pub(crate) life: Incarnation,
    /// Which of its keys.
    pub(crate) epoch: u64,
    /// The number of the first message of the batch.
    pub(crate) first: u64,
    /// That of the last.
    pub(crate) last: u64,
    /// Which piece of the batch this is, from 0.
    pub(crate) piece: u32,
    /// How many there are.
    pub(crate) pieces: u32,
}

impl Head {
    pub(crate) fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = vec![VERSION];
        for number in [self.life.0, self.epoch, self.first, self.last] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        for number in [self.piece, self.pieces] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        let mut head = [0; HEAD_BYTES];
        head.copy_from_slice(&bytes);
        head
    }

    /// Reads the head of a sealed piece; `None` if the bytes are not one.
    pub(crate) fn decode(sealed: &[u8]) -> Option<Self> {
        let mut bytes = sealed.strip_prefix(&[VERSION])?;
        let head = Self {
            life: Incarnation(u64(&mut bytes)?),
            epoch: u64(&mut bytes)?,
            first: u64(&mut bytes)?,
            last: u64(&mut bytes)?,
            piece: u32(&mut bytes)?,
            pieces: u32(&mut bytes)?,
        };
        let is_sound = head.first > 0 && head.first <= head.last && head.piece < head.pieces;
        is_sound.then_some(head)
    }
}

/// A message of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// When it was told: milliseconds since the life of its master began.
    pub(crate) at_ms: u64,
    /// Whom it is for; everybody unless it says so.
    pub(crate) to: Option<PeerId>,
    pub(crate) message: Vec<u8>,
}

/// The bytes of messages.
pub(crate) fn encode(told: &[LoggedMessage], begun: Instant) -> Vec<u8> {
    let bytes = told.iter().map(|told| told.message.len() + 64).sum();
    let mut out = Vec::with_capacity(bytes);
    for told in told {
        let at = told.at.saturating_duration_since(begun);
        let at_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
        let to = told.to.as_ref().map_or("", PeerId::as_str);
        out.extend_from_slice(&told.number.to_be_bytes());
        out.extend_from_slice(&at_ms.to_be_bytes());
        for text in [to.as_bytes(), &told.message] {
            let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(text);
        }
    }
    out
}

/// Reads the messages from `first` to `last`, and nothing else.
pub(crate) fn decode(mut bytes: &[u8], first: u64, last: u64) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut next = Some(first);
    while !bytes.is_empty() {
        let number = u64(&mut bytes)?;
        let at_ms = u64(&mut bytes)?;
        let to = std::str::from_utf8(text(&mut bytes)?).ok()?;
        let to = match to {
            "" => None,
            name => Some(PeerId::parse(name).ok()?),
        };
        let message = text(&mut bytes)?.to_vec();
        if Some(number) != next || number > last {
            return None;
        }
        next = number.checked_add(1);
        entries.push(Entry {
            number,
            at_ms,
            to,
            message,
        });
    }
    let ends = entries.last().map(|entry| entry.number);
    (ends == Some(last)).then_some(entries)
}

fn u64(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_be_bytes(*number))
}

fn u32(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_be_bytes(*number))
}

fn text<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(u32(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        let begun = Instant::now();
        let told = |number: u64, to: Option<&str>, message: &[u8]| LoggedMessage {
            number,
            at: begun + Duration::from_millis(number * 10),
            to: to.map(|to| PeerId::parse(to).unwrap()),
            message: message.into(),
        };
        let all = [told(4, None, b"abc"), told(5, Some("m2"), b"")];
        let bytes = encode(&all, begun);
        let read = decode(&bytes, 4, 5).unwrap();
        let entry = |n: usize, number| Entry {
            number,
            at_ms: number * 10,
            to: all[n].to.clone(),
            message: all[n].message.to_vec(),
        };
        assert_eq!(read, [entry(0, 4), entry(1, 5)]);
        // Its head says what it is.
        for (first, last) in [(4, 6), (3, 5), (4, 4), (5, 5)] {
            assert_eq!(decode(&bytes, first, last), None);
        }
        assert_eq!(decode(&bytes[..bytes.len() - 1], 4, 5), None);
        // A member may use any numbers.
        let end = encode(
            &[LoggedMessage {
                number: u64::MAX,
                ..told(1, None, b"")
            }],
            begun,
        );
        assert_eq!(decode(&end, u64::MAX, u64::MAX).unwrap().len(), 1);
    }

    #[test]
    fn a_head_comes_back_and_is_sound() {
        let head = Head {
            life: Incarnation(7),
            epoch: 2,
            first: 3,
            last: 9,
            piece: 1,
            pieces: 2,
        };
        assert_eq!(Head::decode(&head.encode()), Some(head));
        for wrong in [
            Head { first: 10, ..head },
            Head { first: 0, ..head },
            Head { piece: 2, ..head },
        ] {
            assert_eq!(Head::decode(&wrong.encode()), None);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_more_than_nothing(
            bytes in prop::collection::vec(any::<u8>(), 0..90),
            first in 0u64..4,
            last in 0u64..4,
        ) {
            let _ = Head::decode(&bytes);
            let _ = decode(&bytes, first, last);
        }
    }
}
