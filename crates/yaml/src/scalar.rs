//! What scalars mean: from the text and type of a scalar to its value.

use halite_proto::{Value, python};

use crate::resolve::Tag;

/// The value of the scalar `text` of the type `tag`.
///
/// # Errors
/// What is wrong, when the text is not of the type or the type has no scalars.
pub(crate) fn construct(tag: &Tag, text: &str) -> Result<Value, String> {
    match tag {
        Tag::Null => Ok(Value::Nil),
        Tag::Bool => match bool_of(text) {
            Some(bool) => Ok(Value::Bool(bool)),
            None => Err(format!("{text:?} is not a boolean")),
        },
        Tag::Int => int(text).ok_or_else(|| format!("{text:?} is not an integer")),
        Tag::Float => match float(text) {
            Some(float) => Ok(Value::Float(float)),
            None => Err(format!("{text:?} is not a number")),
        },
        Tag::Str | Tag::Timestamp => Ok(Value::from(text)),
        Tag::Binary => binary(text).map(Value::Bytes),
        Tag::List | Tag::OrderedMap | Tag::Pairs => {
            let wanted = if *tag == Tag::OrderedMap {
                "mapping"
            } else {
                "sequence"
            };
            Err(format!("expected a {wanted} node, but found scalar"))
        }
        Tag::Map | Tag::Set => Err("expected a mapping node, but found scalar".to_owned()),
        Tag::Merge | Tag::Default | Tag::Other(_) => Err(no_constructor(tag)),
    }
}

/// PyYAML's words for a type it does not build.
pub(crate) fn no_constructor(tag: &Tag) -> String {
    let name = python::str_repr(&tag.name());
    format!("could not determine a constructor for the tag {name}")
}

/// The boolean that `text` spells, in any case.
pub(crate) fn bool_of(text: &str) -> Option<bool> {
    const LONGEST: usize = 5;
    if text.len() > LONGEST {
        return None;
    }
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("yes") || is("true") || is("on") {
        Some(true)
    } else if is("no") || is("false") || is("off") {
        Some(false)
    } else {
        None
    }
}

/// Salt strips leading zeros, so that `0644` is 644; behind a sign PyYAML
/// still reads octal.
fn int(text: &str) -> Option<Value> {
    let mut text = text;
    if text.starts_with('0') && !text.starts_with("0b") && !text.starts_with("0x") {
        text = text.trim_start_matches('0');
        if text.is_empty() {
            text = "0";
        }
    }
    let text = text.replace('_', "");
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    if digits.contains(':') {
        return sexagesimal(digits).map(|value| sign(value, negative));
    }
    let (digits, radix) = if digits == "0" {
        (digits, 10)
    } else if let Some(digits) = digits.strip_prefix("0b") {
        (digits, 2)
    } else if let Some(digits) = digits.strip_prefix("0x") {
        (digits, 16)
    } else if digits.starts_with('0') {
        (digits, 8)
    } else {
        (digits, 10)
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    match i128::from_str_radix(digits, radix) {
        Ok(value) => Some(sign(value, negative)),
        // Beyond all integers of the wire, where such numbers travel as text.
        Err(_) => Some(Value::from(text.as_str())),
    }
}

fn sign(value: i128, negative: bool) -> Value {
    Value::Int(if negative { -value } else { value })
}

fn sexagesimal(text: &str) -> Option<i128> {
    text.split(':').try_fold(0i128, |value, part| {
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        value.checked_mul(60)?.checked_add(part.parse().ok()?)
    })
}

fn float(text: &str) -> Option<f64> {
    let text = text.replace('_', "").to_ascii_lowercase();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    let value = match digits {
        ".inf" => f64::INFINITY,
        ".nan" => return Some(f64::NAN),
        _ => {
            digits
                .split(':')
                .rev()
                .try_fold((0.0, 1.0), |(sum, base), part| {
                    let part: f64 = part.parse().ok()?;
                    Some((sum + part * base, base * 60.0))
                })?
                .0
        }
    };
    Some(if negative { -value } else { value })
}

/// Base 64 as Salt takes it: characters outside the alphabet are skipped, and
/// a text whose length is no multiple of four is filled up with `=`.
fn binary(text: &str) -> Result<Vec<u8>, String> {
    if !text.is_ascii() {
        return Err("failed to convert base64 data into ascii".to_owned());
    }
    let missing = match text.len() % 4 {
        0 => 0,
        over => 4 - over,
    };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut bits = 0u32;
    let mut count = 0;
    let mut pads = 0;
    for byte in text.bytes().chain(std::iter::repeat_n(b'=', missing)) {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' if count >= 2 => {
                pads += 1;
                if count + pads >= 4 {
                    break;
                }
                continue;
            }
            _ => continue,
        };
        pads = 0;
        bits = (bits << 6) | u32::from(six);
        count += 1;
        if count == 4 {
            out.extend(bits.to_be_bytes().into_iter().skip(1));
            bits = 0;
            count = 0;
        }
    }
    match (count, pads) {
        (0, _) => {}
        (2, 2..) => out.extend((bits >> 4).to_be_bytes().into_iter().skip(3)),
        (3, 1..) => out.extend((bits >> 2).to_be_bytes().into_iter().skip(2)),
        _ => return Err("failed to decode base64 data: incorrect padding".to_owned()),
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_tolerates_what_salt_tolerates() {
        assert_eq!(binary("YWJj").unwrap(), b"abc");
        assert_eq!(binary("YWJ j\nZA==").unwrap(), b"abcd");
        assert_eq!(binary("a1b2c3").unwrap(), b"kV\xf6s");
        assert!(binary("YWJjZ").is_err());
        assert!(binary("é").is_err());
    }
}
