//! How long something will be when it is packed, to allocate once.

use super::encode::Packing;
use crate::limits::DEPTH_MAX;
use crate::{Map, Value};

/// How many bytes `value` takes when packed; what is nested too deeply to be
/// packed is not counted.
pub fn packed_len(value: &Value, packing: Packing) -> usize {
    value_len(value, packing, 0)
}

fn value_len(value: &Value, packing: Packing, depth: usize) -> usize {
    match value {
        Value::Nil | Value::Bool(_) => 1,
        Value::Int(value) => int_len(*value, packing),
        Value::Float(_) => 9,
        Value::Str(text) => text_len(text.len(), packing),
        Value::Bytes(bytes) => match packing {
            Packing::Wire => text_len(bytes.len(), packing),
            Packing::Modern => sized_len(bytes.len(), true) + bytes.len(),
        },
        Value::List(_) if depth >= DEPTH_MAX => 0,
        Value::List(items) => {
            let parts = items.iter().map(|item| value_len(item, packing, depth + 1));
            list_header_len(items.len()) + parts.sum::<usize>()
        }
        Value::Map(map) => map_len(map, packing, depth),
        Value::Ext(_, data) => match data.len() {
            1 | 2 | 4 | 8 | 16 => 2 + data.len(),
            len => sized_len(len, true) + 1 + len,
        },
    }
}

pub(super) fn map_len(map: &Map, packing: Packing, depth: usize) -> usize {
    if depth >= DEPTH_MAX {
        return 0;
    }
    let parts = map.iter().map(|(key, value)| {
        value_len(key, packing, depth + 1) + value_len(value, packing, depth + 1)
    });
    list_header_len(map.len()) + parts.sum::<usize>()
}

fn int_len(value: i128, packing: Packing) -> usize {
    match value {
        -0x20..=0x7f => 1,
        -0x80..=0xff => 2,
        -0x8000..=0xffff => 3,
        -0x8000_0000..=0xffff_ffff => 5,
        -0x8000_0000_0000_0000..=0xffff_ffff_ffff_ffff => 9,
        _ => text_len(value.to_string().len(), packing),
    }
}

fn text_len(len: usize, packing: Packing) -> usize {
    match len {
        0..32 => 1 + len,
        _ => sized_len(len, packing == Packing::Modern) + len,
    }
}

fn sized_len(len: usize, has_eight: bool) -> usize {
    match len {
        0..=0xff if has_eight => 2,
        0..=0xffff => 3,
        _ => 5,
    }
}

fn list_header_len(len: usize) -> usize {
    match len {
        0..16 => 1,
        16..=0xffff => 3,
        _ => 5,
    }
}
