//! Large byte strings that are not copied: packed in parts, and read in place.

use super::encode::Packing;
use super::error::PackError;
use super::len::packed_len;
use super::marker;
use super::writer::Writer;
use crate::Value;

/// Shorter byte strings are copied: that costs less than a part of its own.
const LARGE_BYTES: usize = 16 * 1024;

/// A packed value in parts, to be read one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts<'v> {
    /// Everything but the large strings.
    written: Vec<u8>,
    /// The large strings, with where in `written` each belongs.
    large: Vec<(usize, &'v [u8])>,
}

impl<'v> Parts<'v> {
    /// The parts in their order.
    pub fn slices(&self) -> Vec<&[u8]> {
        let mut slices: Vec<&[u8]> = Vec::with_capacity(2 * self.large.len() + 1);
        let mut rest = &self.written[..];
        let mut begin = 0;
        for (at, large) in &self.large {
            let (before, behind) = rest.split_at(at - begin);
            slices.extend([before, large]);
            (rest, begin) = (behind, *at);
        }
        slices.push(rest);
        slices
    }
}

/// Packs `value` for the network, without copying large byte strings of the
/// outermost map.
///
/// # Errors
/// When the value is nested too deeply or holds something too long.
pub fn pack_wire_parts(value: &Value) -> Result<Parts<'_>, PackError> {
    let mut large = Vec::new();
    let is_large = |value: &Value| matches!(value, Value::Bytes(b) if b.len() >= LARGE_BYTES);
    let map = value.as_map().filter(|map| map.values().any(is_large));
    let mut writer = match map {
        None => Writer::with_capacity(Packing::Wire, packed_len(value, Packing::Wire)),
        Some(_) => Writer::with_capacity(Packing::Wire, LARGE_BYTES),
    };
    let Some(map) = map else {
        writer.value(value)?;
        let written = writer.into_bytes();
        return Ok(Parts { written, large });
    };
    writer.begin_map(map.len())?;
    for (key, value) in map {
        writer.inner_value(key)?;
        match value {
            Value::Bytes(bytes) if is_large(value) => {
                writer.text_head(bytes.len())?;
                large.push((writer.len(), &bytes[..]));
            }
            value => writer.inner_value(value)?,
        }
    }
    let written = writer.into_bytes();
    Ok(Parts { written, large })
}

/// The head of a byte string of `len` bytes as the network has it.
///
/// # Errors
/// When it is longer than the format can hold.
pub fn wire_bytes_head(len: usize) -> Result<Vec<u8>, PackError> {
    const HEAD_BYTES_MAX: usize = 5;
    let mut writer = Writer::with_capacity(Packing::Wire, HEAD_BYTES_MAX);
    writer.text_head(len)?;
    Ok(writer.into_bytes())
}

/// The content of the one string, text or bytes, that `packed` is; `None` if it
/// is anything else.
pub fn string_in(packed: &[u8]) -> Option<&[u8]> {
    let (first, rest) = packed.split_first()?;
    let (len, content) = match *first {
        marker::STR_8 | marker::BIN_8 => {
            let (len, content) = rest.split_first_chunk()?;
            (u8::from_be_bytes(*len).into(), content)
        }
        marker::STR_16 | marker::BIN_16 => {
            let (len, content) = rest.split_first_chunk()?;
            (u16::from_be_bytes(*len).into(), content)
        }
        marker::STR_32 | marker::BIN_32 => {
            let (len, content) = rest.split_first_chunk()?;
            (usize::try_from(u32::from_be_bytes(*len)).ok()?, content)
        }
        short if short & 0xe0 == marker::FIX_STR => (usize::from(short & 0x1f), rest),
        _ => return None,
    };
    (content.len() == len).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Map;
    use crate::msgpack::pack_wire;

    #[test]
    fn parts_are_what_is_packed_whole() {
        let large = |bytes: usize| Value::Bytes(vec![0xfe; bytes]);
        let values = [
            Value::Nil,
            Map::new().into(),
            Map::from([("data", large(LARGE_BYTES - 1))]).into(),
            Map::from([
                ("a", 1.into()),
                ("data", large(LARGE_BYTES)),
                ("dest", "x".into()),
            ])
            .into(),
            Map::from([("one", large(70_000)), ("two", large(LARGE_BYTES))]).into(),
            Value::List(vec![large(LARGE_BYTES)]),
        ];
        for value in values {
            let parts = pack_wire_parts(&value).unwrap();
            assert_eq!(parts.slices().concat(), pack_wire(&value).unwrap());
        }
    }

    #[test]
    fn what_is_too_deep_is_refused_in_parts_too() {
        let deep = (0..600).fold(Value::Nil, |inner, _| Value::List(vec![inner]));
        let map = Map::from([("deep", deep), ("data", Value::Bytes(vec![0; LARGE_BYTES]))]);
        assert!(pack_wire_parts(&map.into()).is_err());
    }

    #[test]
    fn a_string_is_found_where_it_lies() {
        for len in [0, 1, 31, 32, 255, 256, 65_535, 65_536] {
            let bytes = vec![0xfe; len];
            for value in [Value::Bytes(bytes.clone()), "x".repeat(len).into()] {
                let packed = pack_wire(&value).unwrap();
                let content = string_in(&packed).unwrap();
                assert_eq!(Some(content), value.as_bytes());
                let head = wire_bytes_head(len).unwrap();
                assert_eq!([&head, content].concat(), packed);
                // Neither cut nor followed by anything.
                assert_eq!(string_in(&packed[..packed.len() - 1]), None, "{len}");
                assert_eq!(string_in(&[&packed[..], &[0]].concat()), None, "{len}");
            }
        }
        for other in [&b""[..], b"\x80", b"\x90", b"\xc0", b"\xdb\xff\xff\xff\xff"] {
            assert_eq!(string_in(other), None);
        }
    }
}
