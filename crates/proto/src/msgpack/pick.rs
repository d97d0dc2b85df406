//! A few entries of a packed map, without building the others.

use std::collections::BTreeSet;

use super::decode::{Reading, unpack};
use super::error::UnpackError;
use super::marker::{FIX_MAP, FIX_STR, MAP_16, MAP_32, STR_8, STR_16, STR_32};
use super::scan::Scanner;
use crate::limits::Limits;
use crate::{Map, Value};

/// The entries of a map whose keys are among these; `None` if it is no map.
///
/// # Errors
/// When the bytes are not one whole value within the limits.
pub fn pick(
    bytes: &[u8],
    keys: &BTreeSet<String>,
    reading: Reading,
) -> Result<Option<Map>, UnpackError> {
    let Some((entries, mut rest)) = map_head(bytes) else {
        return Ok(None);
    };
    let mut picked = Map::new();
    for _ in 0..entries {
        let (key, after) = one(rest)?;
        let (value, after) = one(after)?;
        rest = after;
        if let Some(key) = text(key).filter(|key| keys.contains(*key)) {
            picked.insert(Value::from(key), unpack(value, reading)?);
        }
    }
    if !rest.is_empty() {
        return Err(UnpackError::Trailing {
            at: bytes.len() - rest.len(),
            left: rest.len(),
        });
    }
    Ok(Some(picked))
}

/// The packed value of one entry of a map, wherever it stands; of several under
/// one key the last, as in unpacking. `None` where the bytes are no whole map
/// within the limits, or it has no such entry.
pub fn entry<'a>(bytes: &'a [u8], key: &str, limits: Limits) -> Option<&'a [u8]> {
    // What follows looks at no more values than this did.
    let len = Scanner::new(limits).scan(bytes).ok()??;
    let (entries, mut rest) = map_head(bytes.get(..len)?)?;
    let mut found = None;
    for _ in 0..entries {
        let (name, after) = one(rest).ok()?;
        let (value, after) = one(after).ok()?;
        rest = after;
        if text(name) == Some(key) {
            found = Some(value);
        }
    }
    found
}

/// The packed value at the beginning, and what is behind it.
fn one(bytes: &[u8]) -> Result<(&[u8], &[u8]), UnpackError> {
    let len = Scanner::new(Limits::default()).scan(bytes)?;
    len.and_then(|len| bytes.split_at_checked(len))
        .ok_or(UnpackError::Truncated { at: bytes.len() })
}

/// How many entries a packed map has, and the bytes behind its head; `None` if it is
/// no map.
pub fn map_head(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    match *first {
        MAP_16 => {
            let (len, rest) = rest.split_first_chunk::<2>()?;
            Some((usize::from(u16::from_be_bytes(*len)), rest))
        }
        MAP_32 => {
            let (len, rest) = rest.split_first_chunk::<4>()?;
            Some((usize::try_from(u32::from_be_bytes(*len)).ok()?, rest))
        }
        short if short & 0xf0 == FIX_MAP => Some((usize::from(short & 0x0f), rest)),
        _ => None,
    }
}

/// The text that a whole packed value is, if it is one.
pub fn text(packed: &[u8]) -> Option<&str> {
    let (first, rest) = packed.split_first()?;
    let header = match *first {
        STR_8 => 1,
        STR_16 => 2,
        STR_32 => 4,
        short if short & 0xe0 == FIX_STR => 0,
        _ => return None,
    };
    std::str::from_utf8(rest.get(header..)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::{Packing, pack_map};

    fn keys(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_picked_is_what_unpacking_gives() {
        let long = "x".repeat(70_000);
        let mut map = Map::from([
            ("os", Value::from("Debian")),
            ("list", Value::List(vec![1.into(), Value::Nil, "a".into()])),
            ("deep", Map::from([("os", Map::from([("a", 1.5)]))]).into()),
        ]);
        map.insert(Value::from(7), Value::from("number"));
        map.insert(Value::from(long.as_str()), Value::from(true));
        for number in 0..40 {
            map.insert(format!("more{number}"), number);
        }
        for packing in [Packing::Modern, Packing::Wire] {
            let packed = pack_map(&map, packing).unwrap();
            let wanted = keys(&["deep", "list", "nosuch", "more39", &long]);
            let picked = pick(&packed, &wanted, Reading::Modern).unwrap().unwrap();
            assert_eq!(picked.len(), 4);
            for (key, value) in &picked {
                assert_eq!(map.get_value(key), Some(value));
            }
            for cut in [0, 1, packed.len() / 2, packed.len() - 1] {
                let found = pick(&packed[..cut], &wanted, Reading::Modern);
                assert!(!matches!(found, Ok(Some(_))), "cut at {cut}");
            }
        }
        assert_eq!(pick(&[0xc0], &keys(&[]), Reading::Modern), Ok(None));
        // A length that nothing stands behind.
        assert!(pick(&[0xdf, 255, 255, 255, 255], &keys(&["a"]), Reading::Modern).is_err());
    }
    #[test]
    fn an_entry_is_found_wherever_it_stands() {
        let limits = Limits {
            items_max: 8,
            ..Limits::default()
        };
        let found = |map: &Map, key: &str| {
            let packed = pack_map(map, Packing::Wire).unwrap();
            entry(&packed, key, limits).map(|value| unpack(value, Reading::Wire).unwrap())
        };
        let load = Map::from([("cmd", "ping")]);
        let map = Map::from([("load", Value::from(load.clone())), ("enc", "clear".into())]);
        assert_eq!(found(&map, "enc"), Some("clear".into()));
        assert_eq!(found(&map, "load"), Some(load.into()));
        assert_eq!(found(&map, "cmd"), None);
        let list = vec![Value::Nil; 9];
        assert_eq!(found(&Map::from([("enc", Value::List(list))]), "enc"), None);
        let twice = b"\x82\xa3enc\xa3aes\xa3enc\xa5clear";
        assert_eq!(entry(twice, "enc", limits).and_then(text), Some("clear"));
        for cut in 0..twice.len() {
            assert_eq!(entry(&twice[..cut], "enc", limits), None);
        }
    }
}
