//! Events of the local bus.
//!
//! Described in `docs/protocol.md`, "Event bus". Mirrors `salt.utils.event` of 3006
//! to 3008: an event is its tag, a blank line and packed data.
//!
//! Invariant: a [`Tag`] has no blank line and does not end with a line break, so
//! the first blank line of an event is the one after its tag.

use crate::fields::MessageError;
use crate::msgpack::{Packing, Writer, map_head, packed_len, unpack_modern};
use crate::{IdError, Map, PackError, Tag, Value};

pub use crate::stream::{FrameReader, Framing, frame_bare, frame_push};
pub use crate::time::stamp;

/// Between the tag and the data.
pub const TAG_END: &[u8] = b"\n\n";

/// The first part of every tag that Salt itself makes.
pub const TAG_BASE: &str = "salt";

/// Salt's default of `max_event_size`, in bytes.
pub const EVENT_SIZE_MAX_DEFAULT: usize = 1_048_576;

/// The field of the time when an event was fired.
pub const STAMP: &str = "_stamp";

/// What stands in the place of a value that was too large.
pub const VALUE_TRIMMED: &str = "VALUE_TRIMMED";

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
        if packed.len() <= size_max || !has_larger(&self.data, percent_of(size_max, PERCENT_LAST)) {
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

/// The bytes of an event whose data is packed already, with one more field, which the
/// data does not have; `None` if it is no map.
pub fn pack_with(tag: &Tag, data: &[u8], field: &str, text: &str) -> Option<Vec<u8>> {
    // The heads of the map and of the two texts.
    const HEADS_BYTES: usize = 15;
    let (fields, entries) = map_head(data)?;
    let tag = tag.as_str().as_bytes();
    let more = TAG_END.len() + HEADS_BYTES + field.len() + text.len();
    let mut out = Vec::with_capacity(tag.len() + data.len() + more);
    out.extend_from_slice(tag);
    out.extend_from_slice(TAG_END);
    let mut writer = Writer::append_to(Packing::Modern, out);
    writer.begin_map(fields.checked_add(1)?).ok()?;
    writer.packed(entries);
    writer.str(field).ok()?;
    writer.str(text).ok()?;
    Some(writer.into_bytes())
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

/// The share of an event beyond which values are replaced: at first, and by how much
/// less each time.
const PERCENT_FIRST: usize = 50;
const PERCENT_STEP: usize = 10;

/// The smallest of these shares.
const PERCENT_LAST: usize = PERCENT_STEP;

/// Replaces the largest values by [`VALUE_TRIMMED`] until the packed data is at
/// most `size_max` bytes: first those that take more than half of it, then those
/// beyond 40 %, and so on. Lists are one value; maps are looked into.
pub fn trim(data: &mut Map, size_max: usize) {
    let mut is_too_large = map_packed_len(data) > size_max;
    let mut percent = PERCENT_FIRST;
    while is_too_large && percent > 0 {
        if trim_beyond(data, percent_of(size_max, percent)) {
            is_too_large = map_packed_len(data) > size_max;
        }
        percent -= PERCENT_STEP;
    }
}

const fn percent_of(size: usize, percent: usize) -> usize {
    size / 100 * percent + size % 100 * percent / 100
}

/// Whether there is a value that [`trim_beyond`] would replace.
fn has_larger(data: &Map, value_size_max: usize) -> bool {
    data.values().any(|value| match value {
        Value::Map(inner) => has_larger(inner, value_size_max),
        value => python_size(value) > value_size_max,
    })
}

/// Whether parts of a value were left out of its event.
pub fn is_trimmed(value: &Value) -> bool {
    match value {
        Value::Str(text) => text == VALUE_TRIMMED,
        Value::Map(map) => map.values().any(is_trimmed),
        _ => false,
    }
}

/// Replaces what is larger than that; whether there was anything.
fn trim_beyond(data: &mut Map, value_size_max: usize) -> bool {
    let mut is_trimmed = false;
    for (_, value) in data.iter_mut() {
        match value {
            Value::Map(inner) => is_trimmed |= trim_beyond(inner, value_size_max),
            value if python_size(value) > value_size_max => {
                *value = VALUE_TRIMMED.into();
                is_trimmed = true;
            }
            _ => {}
        }
    }
    is_trimmed
}

/// What Python says a value takes in memory, without what is inside a list.
fn python_size(value: &Value) -> usize {
    match value {
        Value::Nil => 16,
        Value::Bool(_) | Value::Int(_) => 28,
        Value::Float(_) => 24,
        Value::Str(text) if text.is_ascii() => 49 + text.len(),
        Value::Str(text) => {
            let widest = text.chars().max().unwrap_or_default();
            let width = match u32::from(widest) {
                0..=0xff => 1,
                0x100..=0xffff => 2,
                _ => 4,
            };
            74 + text.chars().count() * width
        }
        Value::Bytes(bytes) => 33 + bytes.len(),
        Value::List(items) => 56 + items.len() * 8,
        Value::Map(map) => 64 + map.len() * 100,
        Value::Ext(..) => 48,
    }
}

fn map_packed_len(map: &Map) -> usize {
    map.iter()
        .map(|(key, value)| packed_len(key, Packing::Modern) + packed_len(value, Packing::Modern))
        .sum::<usize>()
        + 5
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
    fn many_middling_values_are_trimmed_in_steps() {
        let mut data: Map = (0..10).map(|n| (n, "x".repeat(250))).collect();
        trim(&mut data, 1000);
        assert!(map_packed_len(&data) <= 1000);
    }

    /// The steps of real Salt 3008.5, by running it.
    #[test]
    fn the_largest_values_go_first() {
        let sizes = [600, 450, 350, 250, 60];
        for (size_max, kept) in [
            (3000, &sizes[..]),
            (1200, &[450, 350, 250, 60]),
            (1000, &[350, 250, 60]),
            (800, &[350, 250, 60]),
            (500, &[60]),
            (200, &[]),
        ] {
            let mut data: Map = sizes
                .iter()
                .map(|size| (*size, "x".repeat(*size)))
                .collect();
            trim(&mut data, size_max);
            let left: Vec<_> = data
                .values()
                .filter_map(Value::as_str)
                .filter(|text| *text != VALUE_TRIMMED)
                .map(str::len)
                .collect();
            assert_eq!(left, kept, "{size_max}");
        }
    }

    #[test]
    fn what_cannot_be_made_small_ends() {
        let mut data: Map = (0..1000).map(|n| (n, n)).collect();
        trim(&mut data, 10);
        assert_eq!(data.len(), 1000);
    }
}
