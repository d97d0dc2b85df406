//! An event on its way through the bus: framed once, shared by all subscribers.

use std::fmt;

use bytes::Bytes;
use halite_proto::MessageError;
use halite_proto::event::{Event, split};
use halite_proto::stream::{Framing, frame_late, frame_push};

/// The length in front of a frame, which `Framing::Bare` leaves out.
const LENGTH_BYTES: usize = 4;

/// Who has fired an event, and who has heard of it. Programs are not told: it is for
/// subscribers in the daemon's own process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// This daemon, or a program on the same machine.
    #[default]
    Here,
    /// This daemon, which has sent the event to the other daemons in another way.
    HereAndSent,
    /// Another daemon, which has sent it to this one.
    Elsewhere,
}

/// A packed event, `tag "\n\n" data`, that has a tag. Clones share the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct BusEvent {
    /// The frame with its length prefix.
    frame: Bytes,
    /// Where the event starts in the frame, of which it is the end.
    start: usize,
    tag_len: usize,
    origin: Origin,
}

impl BusEvent {
    /// Frames a packed event; `None` if it has no tag that any reader would
    /// take.
    pub(super) fn new(event: &[u8], origin: Origin) -> Option<Self> {
        let (tag, _) = split(event).ok()?;
        let frame = frame_push(event).ok()?;
        Some(Self {
            start: frame.len() - event.len(),
            tag_len: tag.as_str().len(),
            frame: frame.into(),
            origin,
        })
    }

    /// Who has fired it. An event that came over a socket is from `Here`.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The packed event.
    pub fn bytes(&self) -> &[u8] {
        self.frame.get(self.start..).unwrap_or_default()
    }

    /// The tag.
    pub fn tag(&self) -> &str {
        let tag = self.bytes().get(..self.tag_len).unwrap_or_default();
        std::str::from_utf8(tag).unwrap_or_default()
    }

    /// The packed data behind the tag.
    pub fn data(&self) -> &[u8] {
        const BLANK_LINE_BYTES: usize = 2;
        let data = self.tag_len + BLANK_LINE_BYTES;
        self.bytes().get(data..).unwrap_or_default()
    }

    /// The tag and the data as values.
    ///
    /// # Errors
    /// When the data is not a packed map.
    pub fn unpack(&self) -> Result<Event, MessageError> {
        Event::unpack(self.bytes())
    }

    pub(super) fn frame(&self, framing: Framing) -> &[u8] {
        match framing {
            Framing::Prefixed => &self.frame,
            Framing::Bare => self.frame.get(LENGTH_BYTES..).unwrap_or_default(),
        }
    }

    /// Framed for a subscriber that came after it was fired.
    pub(super) fn late_frame(&self, framing: Framing) -> Option<Vec<u8>> {
        frame_late(self.bytes(), framing).ok()
    }

    /// How much memory it takes.
    pub(super) fn size(&self) -> usize {
        self.frame.len()
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

#[cfg(test)]
mod tests {
    use halite_proto::stream::frame_bare;

    use super::*;

    #[test]
    fn an_event_knows_its_parts_and_both_framings() {
        let packed = b"salt/auth\n\n\x80";
        let event = BusEvent::new(packed, Origin::Here).unwrap();
        assert_eq!(event.tag(), "salt/auth");
        assert_eq!(event.data(), b"\x80");
        assert_eq!(event.bytes(), packed);
        assert!(event.unpack().unwrap().data.is_empty());
        assert_eq!(event.frame(Framing::Prefixed), frame_push(packed).unwrap());
        assert_eq!(event.frame(Framing::Bare), frame_bare(packed).unwrap());
    }

    #[test]
    fn what_has_no_tag_is_no_event() {
        for bytes in [&b"no end"[..], b"\n\n\x80", b"\xff\n\n\x80", b""] {
            assert!(BusEvent::new(bytes, Origin::Here).is_none(), "{bytes:?}");
        }
    }
}
