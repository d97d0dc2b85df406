//! Frames of the local bus: a map `{head: {}, body: <event>}`, with its length
//! in front or without.

use std::fmt;
use std::sync::Arc;

use halite_proto::limits::{EVENT_BYTES_MAX, Limits};
use halite_proto::msgpack::{Reading, Scanner, unpack};
use thiserror::Error;

/// How frames follow each other on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Each frame has four bytes in front, its length: into all buses, and out
    /// of 3006's.
    Prefixed,
    /// Frames follow each other directly: out of 3007's and later buses.
    Bare,
}

/// A packed event on its way, `tag "\n\n" data`. Clones share the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct BusEvent {
    frame: Arc<[u8]>,
    /// Where the event starts in the frame, of which it is the end.
    start: usize,
}

impl BusEvent {
    /// Frames a packed event.
    pub(super) fn new(event: &[u8], framing: Framing) -> Self {
        let mut frame = Vec::with_capacity(event.len() + HEAD_BYTES_MAX);
        write_frame(&mut frame, event, framing);
        Self {
            start: frame.len() - event.len(),
            frame: frame.into(),
        }
    }

    /// The packed event.
    pub fn bytes(&self) -> &[u8] {
        self.frame.get(self.start..).unwrap_or_default()
    }

    /// The tag. An event without one, or with one that is not text, does not
    /// get onto a bus.
    pub fn tag(&self) -> &str {
        tag(self.bytes()).unwrap_or_default()
    }

    /// The packed data behind the tag.
    pub fn data(&self) -> &[u8] {
        let bytes = self.bytes();
        bytes
            .get(self.tag().len() + TAG_END.len()..)
            .unwrap_or_default()
    }

    pub(super) fn frame(&self) -> &[u8] {
        &self.frame
    }
}

impl fmt::Debug for BusEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "BusEvent({:?}, {} bytes)",
            self.tag(),
            self.bytes().len()
        )
    }
}

const TAG_END: &[u8] = b"\n\n";

/// The tag of a packed event, if it has one.
pub(super) fn tag(event: &[u8]) -> Option<&str> {
    let end = event.windows(TAG_END.len()).position(|at| at == TAG_END)?;
    match std::str::from_utf8(event.get(..end)?) {
        Ok("") | Err(_) => None,
        Ok(tag) => Some(tag),
    }
}

/// Bytes of a frame around its event at most.
const HEAD_BYTES_MAX: usize = 4 + 1 + 5 + 1 + 5 + 5;

/// Appends a frame with `event`.
pub(super) fn write_frame(out: &mut Vec<u8>, event: &[u8], framing: Framing) {
    let start = out.len();
    if framing == Framing::Prefixed {
        out.extend_from_slice(&[0; 4]);
    }
    let map = out.len();
    out.extend_from_slice(b"\x82\xa4head\x80\xa4body");
    let len = event.len();
    if let Ok(len) = u8::try_from(len) {
        out.extend_from_slice(&[0xc4, len]);
    } else if let Ok(len) = u16::try_from(len) {
        out.push(0xc5);
        out.extend_from_slice(&len.to_be_bytes());
    } else {
        // Longer events are refused before they get here.
        out.push(0xc6);
        out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes());
    }
    out.extend_from_slice(event);
    if framing == Framing::Prefixed {
        let len = u32::try_from(out.len() - map).unwrap_or(u32::MAX);
        if let Some(prefix) = out.get_mut(start..map) {
            prefix.copy_from_slice(&len.to_be_bytes());
        }
    }
}

/// What is wrong with a stream of frames. There is no way to go on in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Longer than any event.
    #[error("a frame of {bytes} bytes is longer than the limit of {max}")]
    TooLong {
        /// The announced length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// Not msgpack, or not a map with an event in it.
    #[error("a frame is not a map with an event as its body")]
    Malformed,
}

/// Takes a stream of frames apart, in either framing.
///
/// A length's first byte is below 0x80, a map's is not, so each frame says
/// which framing it has.
#[derive(Debug)]
pub(super) struct FrameReader {
    buffer: Vec<u8>,
    /// Bytes of the buffer that are done with.
    at: usize,
    scanner: Scanner,
}

impl FrameReader {
    pub(super) fn new() -> Self {
        Self {
            buffer: Vec::new(),
            at: 0,
            scanner: Scanner::new(Limits {
                bytes_max: EVENT_BYTES_MAX,
                ..Limits::MESSAGE
            }),
        }
    }

    /// Where to put the bytes that follow.
    pub(super) fn space(&mut self, bytes: usize) -> &mut Vec<u8> {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
            if self.buffer.is_empty() {
                // One large event must not cost its size for ever.
                self.buffer.shrink_to(KEPT_BYTES_MAX);
            }
        }
        self.buffer.reserve(bytes);
        &mut self.buffer
    }

    /// The next whole event, if it is here.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let here = self.buffer.get(self.at..).unwrap_or_default();
        let Some(first) = here.first() else {
            return Ok(None);
        };
        let (head, len) = if *first < 0x80 {
            let Some(prefix) = here.first_chunk::<4>() else {
                return Ok(None);
            };
            let len = u32::from_be_bytes(*prefix) as usize;
            if len > EVENT_BYTES_MAX {
                return Err(FrameError::TooLong {
                    bytes: len,
                    max: EVENT_BYTES_MAX,
                });
            }
            (prefix.len(), len)
        } else {
            match self.scanner.scan(here) {
                Ok(Some(len)) => (0, len),
                Ok(None) => return Ok(None),
                Err(_) => return Err(FrameError::Malformed),
            }
        };
        let Some(frame) = here.get(head..head + len) else {
            return Ok(None);
        };
        let event = body(frame)?;
        self.at += head + len;
        Ok(Some(event))
    }
}

/// What a reader keeps allocated between events.
const KEPT_BYTES_MAX: usize = 256 * 1024;

fn body(frame: &[u8]) -> Result<Vec<u8>, FrameError> {
    let value = unpack(frame, Reading::Raw).map_err(|_| FrameError::Malformed)?;
    let map = value.as_map().ok_or(FrameError::Malformed)?;
    map.iter()
        .find(|(key, _)| key.as_bytes() == Some(b"body"))
        .and_then(|(_, body)| body.as_bytes())
        .map(<[u8]>::to_vec)
        .ok_or(FrameError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8], piece: usize) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut reader = FrameReader::new();
        let mut events = Vec::new();
        for piece in bytes.chunks(piece) {
            reader.space(piece.len()).extend_from_slice(piece);
            while let Some(event) = reader.next()? {
                events.push(event);
            }
        }
        Ok(events)
    }

    #[test]
    fn frames_are_salts_bytes() {
        let mut out = Vec::new();
        write_frame(&mut out, b"t\n\n\x80", Framing::Prefixed);
        assert_eq!(out, b"\0\0\0\x12\x82\xa4head\x80\xa4body\xc4\x04t\n\n\x80");
        out.clear();
        write_frame(&mut out, &[7; 300], Framing::Bare);
        assert!(out.starts_with(b"\x82\xa4head\x80\xa4body\xc5\x01\x2c\x07"));
        out.clear();
        write_frame(&mut out, &[7; 70_000], Framing::Bare);
        assert!(out.starts_with(b"\x82\xa4head\x80\xa4body\xc6\x00\x01\x11\x70\x07"));
    }

    #[test]
    fn frames_of_both_kinds_are_read_in_pieces_of_any_size() {
        let events: Vec<Vec<u8>> = [0, 1, 255, 256, 70_000]
            .map(|len| [b"tag\n\n", vec![b'x'; len].as_slice()].concat())
            .into();
        let mut stream = Vec::new();
        for (index, event) in events.iter().enumerate() {
            let framing = if index % 2 == 0 {
                Framing::Prefixed
            } else {
                Framing::Bare
            };
            write_frame(&mut stream, event, framing);
        }
        for piece in [1, 7, 4096, stream.len()] {
            assert_eq!(read_all(&stream, piece).unwrap(), events, "{piece}");
        }
    }

    #[test]
    fn what_is_no_frame_ends_the_stream() {
        for bytes in [
            &b"\x7f\xff\xff\xff"[..],
            b"\x82\xc1",
            b"\x00\x00\x00\x01\xc0",
            b"\x80",
            b"\x81\xa4body\xc0",
            b"\x00\x00\x00\x00",
        ] {
            assert!(read_all(bytes, 1).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn an_event_knows_its_tag_and_data() {
        let event = BusEvent::new(b"salt/auth\n\n\x80", Framing::Bare);
        assert_eq!(event.tag(), "salt/auth");
        assert_eq!(event.data(), b"\x80");
        assert_eq!(event.bytes(), b"salt/auth\n\n\x80");
        assert_eq!(tag(b"no end"), None);
        assert_eq!(tag(b"\n\n\x80"), None);
        assert_eq!(tag(b"\xff\n\n\x80"), None);
    }
}
