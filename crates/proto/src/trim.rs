//! What is left out of an event that is too large.

use crate::msgpack::{Head, Heads, Packing, Reading, packed_len};
use crate::{Map, UnpackError, Value};

/// What stands in the place of a value that was too large.
pub const VALUE_TRIMMED: &str = "VALUE_TRIMMED";

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

/// Whether there is a value that [`trim`] would replace.
pub(crate) fn has_larger(data: &Map, size_max: usize) -> bool {
    let value_size_max = percent_of(size_max, PERCENT_LAST);
    data.values().any(|value| match value {
        Value::Map(inner) => has_larger(inner, size_max),
        value => python_size(value) > value_size_max,
    })
}

/// Whether parts of packed data may have been left out: what stands for them is there,
/// as a value of its own or within another text.
pub fn may_be_trimmed(packed: &[u8]) -> bool {
    // Its first letter is not in it again.
    let Some((first, rest)) = VALUE_TRIMMED.as_bytes().split_first() else {
        return false;
    };
    let mut parts = packed.split(|byte| byte == first).skip(1);
    parts.any(|after| after.starts_with(rest))
}

/// Whether there may be a value in packed data that [`trim`] would replace.
///
/// # Errors
/// When it is not packed data.
pub fn may_have_larger(packed: &[u8], size_max: usize) -> Result<bool, UnpackError> {
    let value_size_max = percent_of(size_max, PERCENT_LAST);
    let mut heads = Heads::new(packed, Reading::Modern);
    while heads.left() > 0 {
        let size = match heads.head()? {
            Head::Str(text) => TEXT_SIZE_MIN + TEXT_WIDTH_MAX * text.len(),
            Head::Bytes(bytes) => bytes_size(bytes.len()),
            Head::List(len) => list_size(len),
            Head::Map(_) => continue,
            _ => FLAT_SIZE_MAX,
        };
        if size > value_size_max {
            return Ok(true);
        }
    }
    Ok(false)
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

/// Bytes of a text in Python that is not ASCII, beside its characters, and the most that
/// one of these takes.
const TEXT_SIZE_MIN: usize = 74;
const TEXT_WIDTH_MAX: usize = 4;

/// The most that anything takes whose size does not depend on what is in it.
const FLAT_SIZE_MAX: usize = 48;

const fn bytes_size(len: usize) -> usize {
    33 + len
}

const fn list_size(len: usize) -> usize {
    56 + len.saturating_mul(8)
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
                _ => TEXT_WIDTH_MAX,
            };
            TEXT_SIZE_MIN + text.chars().count() * width
        }
        Value::Bytes(bytes) => bytes_size(bytes.len()),
        Value::List(items) => list_size(items.len()),
        Value::Map(map) => 64 + map.len() * 100,
        Value::Ext(..) => FLAT_SIZE_MAX,
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
    use crate::Tag;
    use crate::event::{Event, split};

    #[test]
    fn what_may_be_trimmed_is_found_in_packed_data() {
        let trims = |value: Value| {
            let data = Map::from([("a", Map::from([("b", value)]))]);
            let event = Event::new(Tag::parse("t").unwrap(), data);
            let packed = event.pack().unwrap();
            let (_, data) = split(&packed).unwrap();
            let trimmed = event.pack_trimmed(1000).unwrap();
            (
                may_have_larger(data, 1000).unwrap(),
                may_be_trimmed(&trimmed),
                may_be_trimmed(&packed),
            )
        };
        assert_eq!(trims("x".repeat(2000).into()), (true, true, false));
        assert_eq!(trims(vec![Value::Nil; 2000].into()), (true, true, false));
        assert_eq!(trims("VALUE".into()), (false, false, false));
        assert_eq!(trims("VVALUE_TRIMMED".into()), (true, true, true));
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
