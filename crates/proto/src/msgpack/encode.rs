//! Values to bytes, exactly as Salt's packer would write them.
//!
//! Invariant: every value has one packed form per packing, so that what a peer
//! signed can be packed again and compared.

use super::error::PackError;
use super::len::{map_len, packed_len};
use super::writer::Writer;
use crate::{Map, Value};

/// One of Salt's two ways to pack text and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Text and bytes in one family, never `str8`.
    Wire,
    /// Text in the `str` family, bytes in the `bin` family.
    Modern,
}

/// Packs `value` for the network: text and bytes in one family.
///
/// # Errors
/// When the value is nested too deeply or holds something too long.
pub fn pack_wire(value: &Value) -> Result<Vec<u8>, PackError> {
    pack(value, Packing::Wire)
}

/// Packs `value` for events, tcp frames and files: `bin` for bytes.
///
/// # Errors
/// When the value is nested too deeply or holds something too long.
pub fn pack_modern(value: &Value) -> Result<Vec<u8>, PackError> {
    pack(value, Packing::Modern)
}

/// Packs `value` in the given way.
///
/// # Errors
/// When the value is nested too deeply or holds something too long.
pub fn pack(value: &Value, packing: Packing) -> Result<Vec<u8>, PackError> {
    let mut writer = Writer::with_capacity(packing, packed_len(value, packing));
    writer.value(value)?;
    Ok(writer.into_bytes())
}

/// Packs `map` in the given way.
///
/// # Errors
/// When the map is nested too deeply or holds something too long.
pub fn pack_map(map: &Map, packing: Packing) -> Result<Vec<u8>, PackError> {
    let mut writer = Writer::with_capacity(packing, map_len(map, packing, 0));
    writer.map(map)?;
    Ok(writer.into_bytes())
}

/// Packs `map` as if the entries of `more` had been put into it, without making
/// that map.
///
/// # Errors
/// When the map is nested too deeply or holds something too long.
pub fn pack_map_with(map: &Map, more: &Map, packing: Packing) -> Result<Vec<u8>, PackError> {
    let bytes = map_len(map, packing, 0) + map_len(more, packing, 0);
    let mut writer = Writer::with_capacity(packing, bytes);
    let added = more.keys().filter(|key| map.get_value(key).is_none());
    writer.begin_map(map.len() + added.count())?;
    for (key, value) in map {
        writer.inner_value(key)?;
        writer.inner_value(more.get_value(key).unwrap_or(value))?;
    }
    for (key, value) in more {
        if map.get_value(key).is_none() {
            writer.inner_value(key)?;
            writer.inner_value(value)?;
        }
    }
    Ok(writer.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::DEPTH_MAX;

    #[test]
    fn a_map_with_more_is_packed_as_the_map_of_both() {
        let map = Map::from([("a", 1), ("b", 2), ("c", 3)]);
        for more in [
            Map::new(),
            Map::from([("b", "two")]),
            Map::from([("d", "four"), ("a", "one"), ("e", "five")]),
        ] {
            let mut both = map.clone();
            both.extend(more.clone());
            assert_eq!(
                pack_map_with(&map, &more, Packing::Wire),
                pack_map(&both, Packing::Wire)
            );
        }
    }

    #[test]
    fn integers_take_the_shortest_form() {
        let cases: [(i128, &[u8]); 9] = [
            (0, &[0]),
            (127, &[0x7f]),
            (128, &[0xcc, 0x80]),
            (256, &[0xcd, 1, 0]),
            (-1, &[0xff]),
            (-32, &[0xe0]),
            (-33, &[0xd0, 0xdf]),
            (-129, &[0xd1, 0xff, 0x7f]),
            (1 << 32, &[0xcf, 0, 0, 0, 1, 0, 0, 0, 0]),
        ];
        for (int, packed) in cases {
            assert_eq!(pack_wire(&Value::Int(int)).unwrap(), packed, "{int}");
        }
    }

    #[test]
    fn an_integer_beyond_64_bits_is_decimal_text() {
        let packed = pack_wire(&Value::Int(1 << 64)).unwrap();
        assert_eq!(packed, b"\xb418446744073709551616");
    }

    #[test]
    fn the_wire_has_no_str8_and_no_bin() {
        let text = Value::from("a".repeat(40));
        let bytes = Value::Bytes(vec![0xff; 3]);
        assert_eq!(pack_wire(&text).unwrap()[..3], [0xda, 0, 40]);
        assert_eq!(pack_wire(&bytes).unwrap()[..1], [0xa3]);
        assert_eq!(pack_modern(&text).unwrap()[..2], [0xd9, 40]);
        assert_eq!(pack_modern(&bytes).unwrap()[..2], [0xc4, 3]);
    }

    #[test]
    fn what_is_too_deep_is_refused_and_not_overflown() {
        let nest = |levels: usize| {
            (0..levels).fold(Value::Nil, |inside, level| {
                if level % 2 == 0 {
                    Value::List(vec![inside])
                } else {
                    Value::Map(Map::from([("k", inside)]))
                }
            })
        };
        assert!(pack_wire(&nest(DEPTH_MAX)).is_ok());
        assert_eq!(pack_wire(&nest(DEPTH_MAX + 1)), Err(PackError::TooDeep));
    }
}
