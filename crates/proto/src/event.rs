//! Events of the local bus.
//!
//! Described in `docs/protocol.md`, "Event bus". Mirrors `salt.utils.event` of 3006
//! to 3008: an event is its tag, a blank line and packed data.
//!
//! Invariant: a [`Tag`] has no blank line and does not end with a line break, so
//! the first blank line of an event is the one after its tag.

use crate::fields::MessageError;
use crate::msgpack::{Entries, Packing, Writer, map_head, unpack_modern};
use crate::trim::has_larger;
use crate::{IdError, Map, PackError, Tag, Value};

pub use crate::stream::{FrameReader, Framing, frame_bare, frame_push};
pub use crate::time::stamp;
pub use crate::trim::{VALUE_TRIMMED, is_trimmed, may_be_trimmed, may_have_larger, trim};

/// Between the tag and the data.
pub const TAG_END: &[u8] = b"\n\n";

/// The first part of every tag that Salt itself makes.
pub const TAG_BASE: &str = "salt";

/// Salt's default of `max_event_size`, in bytes.
pub const EVENT_SIZE_MAX_DEFAULT: usize = 1_048_576;

/// The field of the time when an event was fired.
pub const STAMP: &str = "_stamp";

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub tag: Tag,
    /// The details, with `_stamp` among them once it was fired.
    pub data: Map,
}

const EVENT: &str = "the event";

impl Event {
    /// An event that is not stamped yet.
    pub fn new(tag: Tag, data: Map) -> Self {
        Self { tag, data }
    }

    /// Says when it happened. An older stamp is replaced in its place.
    pub fn stamp(&mut self, unix_micros: u64, offset: bool) {
        self.data.insert(STAMP, stamp(unix_micros, offset));
    }

    /// The bytes of the event.
    ///
    /// # Errors
    /// When the data is nested too deeply or holds something too long.
    pub fn pack(&self) -> Result<Vec<u8>, PackError> {
        pack(&self.tag, &self.data)
    }

    /// The bytes of the event, trimmed if they are more than `size_max`.
    ///
    /// # Errors
    /// When the data is nested too deeply or holds something too long.
    pub fn pack_trimmed(&self, size_max: usize) -> Result<Vec<u8>, PackError> {
        let packed = self.pack()?;
        // A long list of jobs has no large value: nothing can be left out of it.
        if packed.len() <= size_max || !has_larger(&self.data, size_max) {
            return Ok(packed);
        }
        let mut data = self.data.clone();
        trim(&mut data, size_max);
        pack(&self.tag, &data)
    }

    /// Reads an event.
    ///
    /// # Errors
    /// When there is no tag, or its data is no map.
    pub fn unpack(bytes: &[u8]) -> Result<Self, MessageError> {
        let (tag, data) = split(bytes)?;
        let value = unpack_modern(data).map_err(|source| MessageError::Unreadable {
            message: EVENT,
            source,
        })?;
        match value {
            Value::Map(data) => Ok(Self { tag, data }),
            other => Err(MessageError::WrongKind {
                message: EVENT,
                expected: "dict",
                found: other.type_name(),
            }),
        }
    }
}

/// The tag and the packed data of an event, which is enough to forward it.
///
/// # Errors
/// When there is no tag.
pub fn split(bytes: &[u8]) -> Result<(Tag, &[u8]), MessageError> {
    let bad = |why| MessageError::BadValue {
        message: EVENT,
        field: "tag",
        why,
    };
    let at = bytes
        .windows(TAG_END.len())
        .position(|window| window == TAG_END)
        .ok_or_else(|| bad("is not followed by a blank line"))?;
    let (tag, rest) = bytes.split_at(at);
    let tag = std::str::from_utf8(tag).map_err(|_| bad("is not UTF-8"))?;
    let tag = Tag::parse(tag).map_err(|source| MessageError::BadName {
        message: EVENT,
        field: "tag",
        source,
    })?;
    Ok((tag, rest.get(TAG_END.len()..).unwrap_or_default()))
}

/// The bytes of an event.
///
/// # Errors
/// When the data is nested too deeply or holds something too long.
pub fn pack(tag: &Tag, data: &Map) -> Result<Vec<u8>, PackError> {
    const ROOM_BYTES: usize = 256;
    let mut out = Vec::with_capacity(tag.as_str().len() + TAG_END.len() + ROOM_BYTES);
    out.extend_from_slice(tag.as_str().as_bytes());
    out.extend_from_slice(TAG_END);
    let mut writer = Writer::append_to(Packing::Modern, out);
    writer.map(data)?;
    Ok(writer.into_bytes())
}

/// The bytes of an event of packed data, with the time when it was fired.
///
/// # Errors
/// When the data holds more than the format can.
pub fn pack_entries(
    tag: &Tag,
    data: &Entries,
    unix_micros: u64,
    offset: bool,
) -> Result<Vec<u8>, PackError> {
    let begin = |writer: &mut Writer| data.begin_map(writer, 1);
    let stamp = stamp(unix_micros, offset);
    pack_one_more(tag, data.bytes(), begin, STAMP, &stamp)
}

/// The bytes of an event whose data is a packed map, with one more field, which the
/// data does not have; `None` if it is no map.
pub fn pack_with(tag: &Tag, data: &[u8], field: &str, text: &str) -> Option<Vec<u8>> {
    let (fields, entries) = map_head(data)?;
    let fields = fields.checked_add(1)?;
    let begin = |writer: &mut Writer| {
        writer.begin_map(fields)?;
        writer.packed(entries);
        Ok(())
    };
    pack_one_more(tag, data.len(), begin, field, text).ok()
}

/// The bytes of an event whose data `begin` writes, all but the last field.
fn pack_one_more(
    tag: &Tag,
    data_bytes: usize,
    begin: impl FnOnce(&mut Writer) -> Result<(), PackError>,
    field: &str,
    text: &str,
) -> Result<Vec<u8>, PackError> {
    // The heads of the map and of the two texts.
    const HEADS_BYTES: usize = 15;
    let tag = tag.as_str().as_bytes();
    let more = TAG_END.len() + HEADS_BYTES + field.len() + text.len();
    let mut out = Vec::with_capacity(tag.len() + data_bytes + more);
    out.extend_from_slice(tag);
    out.extend_from_slice(TAG_END);
    let mut writer = Writer::append_to(Packing::Modern, out);
    begin(&mut writer)?;
    writer.str(field)?;
    writer.str(text)?;
    Ok(writer.into_bytes())
}

/// A tag of parts: the base, a prefix and suffixes; empty parts are dropped.
///
/// # Errors
/// When nothing is left, or a part has what no tag may have.
pub fn tagify<'a>(
    suffixes: impl IntoIterator<Item = &'a str>,
    prefix: &'a str,
) -> Result<Tag, IdError> {
    let mut tag = TAG_BASE.to_owned();
    for part in std::iter::once(prefix).chain(suffixes) {
        if !part.is_empty() {
            tag.push('/');
            tag.push_str(part);
        }
    }
    Tag::parse(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_ends_at_the_first_blank_line() {
        let event = Event::new(
            Tag::parse("new\nline tag").unwrap(),
            [("text", "a\n\nb")].into(),
        );
        assert_eq!(Event::unpack(&event.pack().unwrap()), Ok(event));
    }

    #[test]
    fn packed_data_gets_another_field() {
        let tag = Tag::parse("t").unwrap();
        // Also where the head of the map gets longer.
        for fields in [0, 14, 15, 16, 70_000] {
            let mut data: Map = (0..fields).map(|n| (n, n)).collect();
            let packed = pack(&tag, &data).unwrap();
            let (_, packed) = split(&packed).unwrap();
            let more = pack_with(&tag, packed, "by", "m2").unwrap();
            data.insert("by", "m2");
            assert_eq!(more, pack(&tag, &data).unwrap());
        }
        for bytes in [&b""[..], b"\x90", b"\xde\x01"] {
            assert_eq!(pack_with(&tag, bytes, "by", "m2"), None);
        }
    }

    #[test]
    fn what_is_no_event_is_refused() {
        for bytes in [
            &b""[..],
            b"tag",
            b"\n\n\x80",
            b"t\n\n",
            b"t\n\n\x01",
            b"\xff\n\n\x80",
        ] {
            assert!(Event::unpack(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_stamp_replaces_an_older_one() {
        let mut event = Event::new(
            Tag::parse("t").unwrap(),
            [("_stamp", "old"), ("a", "b")].into(),
        );
        event.stamp(0, true);
        let keys: Vec<_> = event.data.keys().filter_map(Value::as_str).collect();
        assert_eq!(keys, ["_stamp", "a"]);
        assert_eq!(
            event.data.get("_stamp"),
            Some(&"1970-01-01T00:00:00+00:00".into())
        );
    }

    #[test]
    fn an_event_of_packed_data_is_the_same() {
        let data = Map::from([("fun", Value::from("x")), ("return", vec![1.into()].into())]);
        let entries = Entries::of(&data, Packing::Modern).unwrap();
        let tag = Tag::parse("salt/run/1/ret").unwrap();
        let packed = pack_entries(&tag, &entries, 7, true).unwrap();
        let mut event = Event::new(tag, data);
        event.stamp(7, true);
        assert_eq!(packed, event.pack().unwrap());
    }
}
