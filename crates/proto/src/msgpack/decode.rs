//! Bytes to values, the three ways Salt reads them.
//!
//! Invariant: a value fills its bytes, or the reader learns how many of them it
//! took.

use super::error::UnpackError;
use super::reader::Reader;
use super::scan::Scanner;
use crate::Value;
use crate::limits::Limits;

/// What the `str` and `bin` families of the format are read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Both become text where they are UTF-8, else bytes: network messages.
    Wire,
    /// Both stay bytes, also as keys: the answers to raw requests.
    Raw,
    /// `str` is text (bytes where it is not UTF-8), `bin` is bytes: events and
    /// cache files.
    Modern,
}

/// Reads a network message: text where it is UTF-8, else bytes.
///
/// # Errors
/// When the bytes are not exactly one value within the limits.
pub fn unpack_wire(bytes: &[u8]) -> Result<Value, UnpackError> {
    unpack(bytes, Reading::Wire)
}

/// Reads a message whose strings all stay bytes, keys too.
///
/// # Errors
/// When the bytes are not exactly one value within the limits.
pub fn unpack_raw(bytes: &[u8]) -> Result<Value, UnpackError> {
    unpack(bytes, Reading::Raw)
}

/// Reads an event or a file: `str` is text and `bin` is bytes.
///
/// # Errors
/// When the bytes are not exactly one value within the limits.
pub fn unpack_modern(bytes: &[u8]) -> Result<Value, UnpackError> {
    unpack(bytes, Reading::Modern)
}

/// Reads one value that fills `bytes`.
///
/// # Errors
/// When the bytes are not exactly one value within the limits.
pub fn unpack(bytes: &[u8], reading: Reading) -> Result<Value, UnpackError> {
    unpack_with(bytes, reading, &Limits::MESSAGE)
}

/// Reads one value that fills `bytes`, within limits of the caller's choice.
///
/// # Errors
/// When the bytes are not exactly one value within the limits.
pub fn unpack_with(bytes: &[u8], reading: Reading, limits: &Limits) -> Result<Value, UnpackError> {
    if bytes.len() > limits.bytes_max {
        return Err(UnpackError::TooLarge {
            max: limits.bytes_max,
        });
    }
    let mut reader = Reader::new(bytes, reading, limits);
    let value = reader.value()?;
    match reader.left() {
        0 => Ok(value),
        left => Err(UnpackError::Trailing {
            at: bytes.len() - left,
            left,
        }),
    }
}

/// Reads the first value of a bare stream, with the number of bytes it took;
/// `None` when more bytes are needed.
///
/// A caller that reads a long value in many pieces holds a [`Scanner`] instead,
/// which does not start over with each piece.
///
/// # Errors
/// When the bytes cannot be the beginning of a value within the limits.
pub fn unpack_prefix(
    bytes: &[u8],
    reading: Reading,
) -> Result<Option<(Value, usize)>, UnpackError> {
    let limits = Limits::MESSAGE;
    let Some(end) = Scanner::new(limits).scan(bytes)? else {
        return Ok(None);
    };
    let value = unpack_with(bytes.get(..end).unwrap_or(bytes), reading, &limits)?;
    Ok(Some((value, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_key_keeps_its_place_and_takes_the_last_value() {
        let read = unpack_wire(b"\x83\xa1a\x01\xa1b\x02\xc4\x01a\x03").unwrap();
        let wanted = [("a".into(), 3.into()), ("b".into(), 2.into())];
        let Value::Map(map) = read else {
            panic!("not a map");
        };
        assert_eq!(map.into_iter().collect::<Vec<(Value, Value)>>(), wanted);
    }

    #[test]
    fn text_that_is_none_stays_bytes_in_every_reading() {
        for reading in [Reading::Wire, Reading::Raw, Reading::Modern] {
            let read = unpack(b"\xa2\xff\xfe", reading).unwrap();
            assert_eq!(read, Value::Bytes(vec![0xff, 0xfe]), "{reading:?}");
        }
    }

    #[test]
    fn extensions_without_a_meaning_are_their_data() {
        let packed = b"\xc7\x03\x05abc";
        assert_eq!(unpack_wire(packed), Ok("abc".into()));
        assert_eq!(unpack_raw(packed), Ok(Value::Bytes(b"abc".to_vec())));
    }

    #[test]
    fn errors_say_where() {
        let cases: [(&[u8], UnpackError); 7] = [
            (b"", UnpackError::Truncated { at: 0 }),
            (b"\x92\x01", UnpackError::Truncated { at: 2 }),
            (b"\xa3ab", UnpackError::Truncated { at: 3 }),
            (b"\x01\x02", UnpackError::Trailing { at: 1, left: 1 }),
            (b"\x92\x01\xc1", UnpackError::Unused { at: 2 }),
            (
                b"\x81\x91\x01\x01",
                UnpackError::BadKey {
                    at: 1,
                    kind: "list",
                },
            ),
            (
                b"\x91\xc7\x03\x4eabc",
                UnpackError::BadExt {
                    at: 1,
                    code: 78,
                    expected: "a date and time",
                },
            ),
        ];
        for (packed, wanted) in cases {
            assert_eq!(unpack_wire(packed), Err(wanted), "{packed:x?}");
        }
    }

    #[test]
    fn constants_are_a_name_and_a_value() {
        for (good, data) in [
            (true, &b"\x92\xa4NAME\xa5value"[..]),
            (false, b"\x01"),
            (false, b"\x92\x01\x02"),
            (false, b"\x92\xa4NAME"),
            (false, b"\x92\xa4NAME\x01\x01"),
        ] {
            let mut packed = vec![0xc7, u8::try_from(data.len()).unwrap(), 79];
            packed.extend_from_slice(data);
            assert_eq!(unpack_wire(&packed).is_ok(), good, "{data:?}");
        }
    }
}
