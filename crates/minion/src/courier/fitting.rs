//! Makes returns fit into a request.
//!
//! Invariant: the result can be packed, sent, and read by every master. A return
//! says what was left out of it.

use halite_proto::limits::{DEPTH_MAX, ITEMS_MAX};
use halite_proto::msgpack::{Packing, packed_len};
use halite_proto::request::COMMITS;
use halite_proto::returns::NOTES;
use halite_proto::{Map, Value};

use crate::limits::RETURN_BYTES_MAX;

/// Levels and values of a request around its return.
const AROUND: usize = 64;

/// Bytes of what says that a text was cut, at most.
const MARK_BYTES: usize = 128;

/// Cuts what is too long in a `_return` request, or replaces it. Whether
/// anything was changed.
pub(super) fn fit(load: &mut Map) -> bool {
    fit_within(load, RETURN_BYTES_MAX)
}

fn fit_within(load: &mut Map, bytes_max: usize) -> bool {
    let whole = Size::of(load);
    if whole.fits(bytes_max) {
        return false;
    }
    if whole.has_readable_shape()
        && let Some(longest) = longest_text(&whole, bytes_max)
    {
        for (_, value) in load.iter_mut() {
            cut(value, longest);
        }
        if Size::of(load).fits(bytes_max) {
            return true;
        }
    }
    let text = format!(
        "ERROR: the result of this job cannot be returned: it has {} bytes in {} values, nested \
         {} deep; a return can have {bytes_max} bytes in {ITEMS_MAX} values, nested {DEPTH_MAX} deep",
        whole.bytes, whole.values, whole.depth
    );
    load.insert("return", text);
    load.insert("retcode", 1);
    load.insert("success", false);
    for field in ["fun_args", "metadata", NOTES, COMMITS] {
        let is_beside = load.get(field).is_some();
        if is_beside && !Size::of(load).fits(bytes_max) {
            load.insert(field, Value::Nil);
        }
    }
    true
}

/// How large a request is.
#[derive(Debug, Default)]
struct Size {
    bytes: usize,
    values: usize,
    depth: usize,
    /// Lengths of its texts that are longer than what would mark them as cut.
    texts: Vec<usize>,
}

impl Size {
    fn of(load: &Map) -> Self {
        let mut size = Self::default();
        for (key, value) in load.iter() {
            size.bytes += packed_len(key, Packing::Modern) + packed_len(value, Packing::Modern);
            size.add(value, 1);
        }
        size
    }

    fn add(&mut self, value: &Value, depth: usize) {
        self.values += 1;
        self.depth = self.depth.max(depth);
        // What is nested deeper is not looked at: it does not fit.
        if !self.has_readable_shape() {
            return;
        }
        match value {
            Value::List(items) => items.iter().for_each(|item| self.add(item, depth + 1)),
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    self.add(key, depth + 1);
                    self.add(value, depth + 1);
                }
            }
            Value::Str(text) if text.len() > MARK_BYTES => self.texts.push(text.len()),
            Value::Bytes(bytes) if bytes.len() > MARK_BYTES => self.texts.push(bytes.len()),
            _ => {}
        }
    }

    fn has_readable_shape(&self) -> bool {
        self.depth + AROUND <= DEPTH_MAX && self.values + AROUND <= ITEMS_MAX
    }

    fn fits(&self, bytes_max: usize) -> bool {
        self.bytes <= bytes_max && self.has_readable_shape()
    }
}

/// How long texts may be so that all fits, where the longest are cut to one
/// length. `None` if the rest alone is too long.
fn longest_text(size: &Size, bytes_max: usize) -> Option<usize> {
    let mut texts = size.texts.clone();
    texts.sort_unstable_by(|one, other| other.cmp(one));
    let mut left: usize = texts.iter().sum();
    let beside = size.bytes.checked_sub(left)?;
    let room = bytes_max.checked_sub(beside)?;
    for (index, text) in texts.iter().enumerate() {
        // This one and those before it are cut, what is left stays whole.
        left -= text;
        let cut = index + 1;
        let Some(room) = room.checked_sub(left) else {
            continue;
        };
        let each = room / cut;
        let next = texts.get(cut).copied().unwrap_or_default();
        if each >= next + MARK_BYTES {
            return Some(each - MARK_BYTES);
        }
    }
    None
}

/// Cuts the texts in a value that are longer than that.
fn cut(value: &mut Value, longest: usize) {
    match value {
        Value::Str(text) if text.len() > longest + MARK_BYTES => {
            let at = text.floor_char_boundary(longest);
            let mark = mark(text.len() - at);
            text.truncate(at);
            text.push_str(&mark);
        }
        Value::Bytes(bytes) if bytes.len() > longest + MARK_BYTES => {
            let mark = mark(bytes.len() - longest);
            bytes.truncate(longest);
            bytes.extend_from_slice(mark.as_bytes());
        }
        Value::List(items) => items.iter_mut().for_each(|item| cut(item, longest)),
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| cut(value, longest)),
        _ => {}
    }
}

fn mark(bytes: usize) -> String {
    format!("\n[cut here: {bytes} more bytes are left out, a return cannot carry them]")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 10_000;

    fn load(ret: impl Into<Value>) -> Map {
        Map::from([
            ("cmd", Value::from("_return")),
            ("jid", "20261120141841939742".into()),
            ("return", ret.into()),
            ("retcode", 0.into()),
            ("success", true.into()),
            ("fun_args", Value::List(vec!["x".into()])),
        ])
    }

    fn fitted(ret: impl Into<Value>) -> Map {
        let mut load = load(ret);
        assert!(fit_within(&mut load, ROOM));
        assert!(packed_len(&Value::Map(load.clone()), Packing::Modern) <= ROOM);
        load
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        let mut whole = load("x".repeat(9000));
        let before = whole.clone();
        assert!(!fit_within(&mut whole, ROOM));
        assert_eq!(whole, before);
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        for text in ["x".repeat(50_000), "ü".repeat(25_000)] {
            let load = fitted(text.as_str());
            let cut = load.get("return").and_then(Value::as_str).unwrap();
            let (kept, said) = cut.split_once("\n[cut here: ").unwrap();
            assert!(kept.len() > 9000 && text.starts_with(kept));
            let left = format!("{} more bytes are left out", text.len() - kept.len());
            assert!(said.starts_with(&left), "{said}");
            assert_eq!(load.get("retcode"), Some(&0.into()));
        }
    }

    #[test]
    fn the_longest_texts_of_a_value_are_cut_and_no_others() {
        let several = Map::from([
            ("stdout", Value::from("o".repeat(30_000))),
            ("stderr", "e".repeat(8000).into()),
            ("short", "s".repeat(1000).into()),
            ("raw", Value::Bytes(vec![7; 20_000])),
        ]);
        let load = fitted(several);
        let length = |name: &str| {
            let value = load.get("return").and_then(|ret| ret.get(name)).unwrap();
            value
                .as_str()
                .map_or_else(|| value.as_bytes().unwrap_or_default().len(), str::len)
        };
        assert_eq!(length("short"), 1000);
        for name in ["stdout", "stderr", "raw"] {
            assert!((2000..4000).contains(&length(name)), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_cut_becomes_a_return_that_says_why() {
        let many = Value::List(vec![Value::from("abcd"); 5000]);
        let deep = (0..DEPTH_MAX).fold(Value::Nil, |inner, _| Value::List(vec![inner]));
        for odd in [many, deep] {
            let load = fitted(odd);
            let text = load.get("return").and_then(Value::as_str).unwrap();
            assert!(text.starts_with("ERROR: the result of this job cannot be returned"));
            assert_eq!(load.get("retcode"), Some(&1.into()));
            assert_eq!(load.get("success"), Some(&false.into()));
            assert_eq!(
                load.get("fun_args")
                    .and_then(Value::as_list)
                    .map(<[_]>::len),
                Some(1)
            );
        }
        let mut load = load(true);
        load.insert("fun_args", Value::List(vec![Value::from("abcd"); 5000]));
        assert!(fit_within(&mut load, ROOM));
        assert_eq!(load.get("fun_args"), Some(&Value::Nil));
    }
}
