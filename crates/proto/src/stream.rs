//! Frames on streams: the local event bus.
//!
//! Described in `docs/protocol.md`, "Event bus". Every frame is a packed map of
//! `head` and `body`. The event bus puts a length of four bytes before it where
//! events are pushed, and on the publishing side of 3006; everything else is a bare
//! stream.
//!
//! Invariant: a reader buffers at most one frame of the limit and what arrived with
//! it, and reads each byte once to find a frame's end.

use thiserror::Error;

pub use crate::frame::Frame;
use crate::frame::LATE;
use crate::limits::{EVENT_BYTES_MAX, Limits};
use crate::msgpack::{Packing, Scanner, UnpackError, Writer};
use crate::{Map, PackError};

/// Bytes of the length in front of a frame.
const LENGTH_BYTES: usize = 4;

/// Why a stream cannot be read on. The connection is of no more use then.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A frame is longer than the limit, or says so.
    #[error("a frame has more than {max} bytes")]
    TooLarge {
        /// The limit.
        max: usize,
    },
    /// A frame is no msgpack.
    #[error("a frame is unreadable")]
    Unreadable(#[source] UnpackError),
    /// A frame is no map with a `body`.
    #[error("a frame is not a map with a `body`")]
    NoBody,
    /// The body of an event's frame is not bytes.
    #[error("the body of an event's frame is a {0}")]
    BodyType(&'static str),
}

/// An event as it is pushed onto the bus, and published by 3006: the length, then
/// the frame.
///
/// # Errors
/// When the event is longer than the format can hold.
pub fn frame_push(event: &[u8]) -> Result<Vec<u8>, PackError> {
    let mut out = Vec::with_capacity(LENGTH_BYTES + event.len() + FRAME_OVERHEAD_BYTES);
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    with_length(frame_after(out, event)?)
}

/// An event as 3007 and 3008 publish it on the bus: the bare frame.
///
/// # Errors
/// When the event is longer than the format can hold.
pub fn frame_bare(event: &[u8]) -> Result<Vec<u8>, PackError> {
    let out = Vec::with_capacity(event.len() + FRAME_OVERHEAD_BYTES);
    frame_after(out, event)
}

/// An event that was fired before a subscriber came, for that one. Salt's
/// programs do not look at the head of an event's frame.
///
/// # Errors
/// When the event is longer than the format can hold.
pub fn frame_late(event: &[u8], framing: Framing) -> Result<Vec<u8>, PackError> {
    const HEAD_BYTES: usize = 6;
    let capacity = LENGTH_BYTES + event.len() + FRAME_OVERHEAD_BYTES + HEAD_BYTES;
    let mut out = Vec::with_capacity(capacity);
    let head = Map::from([(LATE, true)]);
    match framing {
        Framing::Bare => frame_with(out, &head, event),
        Framing::Prefixed => {
            out.extend_from_slice(&[0; LENGTH_BYTES]);
            with_length(frame_with(out, &head, event)?)
        }
    }
}

const FRAME_OVERHEAD_BYTES: usize = 17;

/// Fills in the length in front of a frame.
fn with_length(mut framed: Vec<u8>) -> Result<Vec<u8>, PackError> {
    let len = framed.len() - LENGTH_BYTES;
    let len = u32::try_from(len).map_err(|_| PackError::TooLong { kind: "frame", len })?;
    if let Some(prefix) = framed.first_chunk_mut() {
        *prefix = len.to_be_bytes();
    }
    Ok(framed)
}

fn frame_after(out: Vec<u8>, body: &[u8]) -> Result<Vec<u8>, PackError> {
    frame_with(out, &Map::new(), body)
}

fn frame_with(out: Vec<u8>, head: &Map, body: &[u8]) -> Result<Vec<u8>, PackError> {
    let mut writer = Writer::append_to(Packing::Modern, out);
    writer.begin_map(2)?;
    writer.str("head")?;
    writer.map(head)?;
    writer.str("body")?;
    writer.bytes(body)?;
    Ok(writer.into_bytes())
}

/// How frames follow each other on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Each has its length in front.
    Prefixed,
    /// They follow each other.
    Bare,
}

/// Cuts a stream into frames.
#[derive(Debug)]
pub struct FrameReader {
    /// `None` until the first byte tells.
    framing: Option<Framing>,
    buffer: Vec<u8>,
    /// Bytes at the beginning of the buffer that were given out.
    done: usize,
    scanner: Scanner,
    bytes_max: usize,
}

impl FrameReader {
    /// A reader of a stream whose framing shows in its first byte: a frame
    /// begins with a map's marker, a length with a small number.
    pub fn detecting() -> Self {
        Self::with_framing(None, EVENT_BYTES_MAX)
    }

    /// A reader of a stream of known framing.
    pub fn new(framing: Framing) -> Self {
        Self::with_framing(Some(framing), EVENT_BYTES_MAX)
    }

    /// A reader that refuses frames beyond `bytes_max`.
    pub fn with_limit(framing: Framing, bytes_max: usize) -> Self {
        Self::with_framing(Some(framing), bytes_max)
    }

    /// The framing, once it is known.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// Takes in what arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.done > 0 {
            self.buffer.drain(..self.done);
            self.done = 0;
        }
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT_BYTES_MAX {
            self.buffer = Vec::new();
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, packed, without its length. To be called until it
    /// gives `None`.
    ///
    /// # Errors
    /// When the stream cannot be read on.
    pub fn next_packed(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let rest = self.buffer.get(self.done..).unwrap_or_default();
        let Some(&first) = rest.first() else {
            return Ok(None);
        };
        let framing = *self.framing.get_or_insert(match first {
            0x80..=0x8f | 0xde | 0xdf => Framing::Bare,
            _ => Framing::Prefixed,
        });
        let end = match framing {
            Framing::Prefixed => prefixed_end(rest, self.bytes_max)?,
            Framing::Bare => self.scanner.scan(rest).map_err(|error| match error {
                UnpackError::TooLarge { max } => FrameError::TooLarge { max },
                error => FrameError::Unreadable(error),
            })?,
        };
        let Some(end) = end else {
            return Ok(None);
        };
        let start = match framing {
            Framing::Prefixed => self.done + LENGTH_BYTES,
            Framing::Bare => self.done,
        };
        self.done += end;
        Ok(self.buffer.get(start..self.done))
    }

    /// The next frame.
    ///
    /// # Errors
    /// When the stream cannot be read on.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        self.next_packed()?.map(Frame::decode).transpose()
    }

    /// The next event, packed: the body of the next frame.
    ///
    /// # Errors
    /// When the stream cannot be read on.
    pub fn next_event(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        self.next_frame()?.map(Frame::into_event).transpose()
    }

    /// Bytes that wait for the rest of their frame.
    pub fn buffered(&self) -> usize {
        self.buffer.len() - self.done
    }

    fn with_framing(framing: Option<Framing>, bytes_max: usize) -> Self {
        let limits = Limits {
            bytes_max,
            ..Limits::MESSAGE
        };
        Self {
            framing,
            buffer: Vec::new(),
            done: 0,
            scanner: Scanner::new(limits),
            bytes_max,
        }
    }
}

/// Most bytes that an empty buffer keeps for the next frames.
const KEPT_BYTES_MAX: usize = 64 * 1024;

fn prefixed_end(bytes: &[u8], bytes_max: usize) -> Result<Option<usize>, FrameError> {
    let Some(prefix) = bytes.first_chunk() else {
        return Ok(None);
    };
    let len = usize::try_from(u32::from_be_bytes(*prefix)).unwrap_or(usize::MAX);
    if len > bytes_max {
        return Err(FrameError::TooLarge { max: bytes_max });
    }
    let end = LENGTH_BYTES + len;
    Ok((bytes.len() >= end).then_some(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(reader: &mut FrameReader) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        while let Some(event) = reader.next_event().unwrap() {
            events.push(event);
        }
        events
    }

    #[test]
    fn both_framings_are_told_apart_and_read_in_any_pieces() {
        let sent = [vec![1; 3], vec![2; 70_000], vec![]];
        for (framing, frame) in [
            (Framing::Prefixed, frame_push as fn(&[u8]) -> _),
            (Framing::Bare, frame_bare),
        ] {
            let stream: Vec<u8> = sent
                .iter()
                .flat_map(|event| frame(event).unwrap())
                .collect();
            for piece in [1, 7, 4096, stream.len()] {
                let mut reader = FrameReader::detecting();
                let mut got = Vec::new();
                for bytes in stream.chunks(piece) {
                    reader.push(bytes);
                    got.extend(events(&mut reader));
                }
                assert_eq!(got, sent, "{framing:?} in pieces of {piece}");
                assert_eq!(reader.framing(), Some(framing));
                assert_eq!(reader.buffered(), 0);
            }
        }
    }

    #[test]
    fn a_frame_beyond_the_limit_is_refused_before_it_arrives() {
        let large = frame_push(&[0; 200]).unwrap();
        let mut reader = FrameReader::with_limit(Framing::Prefixed, 100);
        reader.push(&large[..4]);
        assert_eq!(reader.next_packed(), Err(FrameError::TooLarge { max: 100 }));
        let large = frame_bare(&[0; 200]).unwrap();
        let mut reader = FrameReader::with_limit(Framing::Bare, 100);
        reader.push(&large[..16]);
        assert_eq!(reader.next_packed(), Err(FrameError::TooLarge { max: 100 }));
    }

    #[test]
    fn events_of_the_time_before_are_marked_in_both_framings() {
        for framing in [Framing::Prefixed, Framing::Bare] {
            let mut reader = FrameReader::detecting();
            reader.push(&frame_late(b"tag", framing).unwrap());
            let packed = reader.next_packed().unwrap().unwrap();
            assert_eq!(Frame::new_event(packed), Ok(None));
            let frame = Frame::decode(packed).unwrap();
            assert!(frame.is_late());
            assert_eq!(frame.into_event().unwrap(), b"tag");
            assert_eq!(reader.buffered(), 0);
            assert_eq!(reader.framing(), Some(framing));
        }
        let mut reader = FrameReader::detecting();
        reader.push(&frame_push(b"tag").unwrap());
        let packed = reader.next_packed().unwrap().unwrap();
        assert!(!Frame::decode(packed).unwrap().is_late());
        assert_eq!(Frame::new_event(packed), Ok(Some(&b"tag"[..])));
    }

    #[test]
    fn a_frame_without_a_body_is_refused() {
        let mut reader = FrameReader::new(Framing::Bare);
        reader.push(&[0x81, 0xa4, b'h', b'e', b'a', b'd', 0x80]);
        let packed = reader.next_packed().unwrap().unwrap();
        assert_eq!(Frame::decode(packed), Err(FrameError::NoBody));
        assert_eq!(Frame::new_event(packed), Err(FrameError::NoBody));
    }
}
