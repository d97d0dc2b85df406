//! Reads the format piece by piece, for those who need no values of it.
//!
//! Invariant: a length in a header counts only as far as bytes follow it, and nothing
//! is allocated.

use super::decode::Reading;
use super::error::UnpackError;
use super::marker;
use super::scan::Scanner;
use crate::limits::{DEPTH_MAX, Limits};
use crate::value::EXT_DATETIME;
use crate::{Value, time};

/// What begins at a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Head<'a> {
    /// `None`.
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A text.
    Str(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// An extension with a meaning.
    Ext(i8, &'a [u8]),
    /// A list of so many values, which follow.
    List(usize),
    /// A map of so many entries, which follow: each key before its value.
    Map(usize),
}

impl Head<'_> {
    /// The value, if it is no list or map: of those, an empty one.
    pub fn into_value(self) -> Value {
        match self {
            Self::Nil => Value::Nil,
            Self::Bool(bool) => Value::Bool(bool),
            Self::Int(int) => Value::Int(int),
            Self::Float(number) => Value::Float(number),
            Self::Str(text) => Value::Str(text.to_owned()),
            Self::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
            Self::Ext(code, data) => Value::Ext(code, data.to_vec()),
            Self::List(_) => Value::List(Vec::new()),
            Self::Map(_) => Value::Map(crate::Map::new()),
        }
    }
}

/// Reads one head after the other.
#[derive(Clone, Debug)]
pub struct Heads<'a> {
    bytes: &'a [u8],
    at: usize,
    reading: Reading,
}

impl<'a> Heads<'a> {
    /// At the beginning of packed values.
    pub fn new(bytes: &'a [u8], reading: Reading) -> Self {
        Self {
            bytes,
            at: 0,
            reading,
        }
    }

    /// How many bytes were read.
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The bytes of the next value, with all its parts.
    ///
    /// # Errors
    /// When it is no whole value, or nested beyond [`DEPTH_MAX`].
    pub fn value(&mut self) -> Result<&'a [u8], UnpackError> {
        let start = self.at;
        self.skip(0)?;
        Ok(self.bytes.get(start..self.at).unwrap_or_default())
    }

    fn skip(&mut self, depth: usize) -> Result<(), UnpackError> {
        let start = self.at;
        let (entries, is_map) = match self.head()? {
            Head::List(len) => (len, false),
            Head::Map(len) => (len, true),
            _ => return Ok(()),
        };
        if depth >= DEPTH_MAX {
            return Err(UnpackError::TooDeep {
                at: start,
                max: DEPTH_MAX,
            });
        }
        for _ in 0..entries {
            if is_map {
                self.key()?;
            }
            self.skip(depth + 1)?;
        }
        Ok(())
    }

    /// The key of a map's next entry.
    ///
    /// # Errors
    /// When it is a list or a map, or the bytes end.
    pub fn key(&mut self) -> Result<Head<'a>, UnpackError> {
        let at = self.at;
        match self.head()? {
            Head::List(_) => Err(UnpackError::BadKey { at, kind: "list" }),
            Head::Map(_) => Err(UnpackError::BadKey { at, kind: "dict" }),
            key => Ok(key),
        }
    }

    /// What begins here. The parts of a list or a map come next.
    ///
    /// # Errors
    /// When the bytes end, or are none of the format.
    pub fn head(&mut self) -> Result<Head<'a>, UnpackError> {
        let start = self.at;
        let [first] = self.array()?;
        Ok(match first {
            0x00..=0x7f => Head::Int(first.into()),
            0x80..=0x8f => Head::Map((first & 0x0f).into()),
            0x90..=0x9f => Head::List((first & 0x0f).into()),
            0xa0..=0xbf => self.str((first & 0x1f).into())?,
            0xe0..=0xff => Head::Int(i8::from_be_bytes([first]).into()),
            marker::NIL => Head::Nil,
            0xc1 => return Err(UnpackError::Unused { at: start }),
            marker::FALSE => Head::Bool(false),
            marker::TRUE => Head::Bool(true),
            marker::FLOAT_32 => Head::Float(f32::from_be_bytes(self.array()?).into()),
            marker::FLOAT_64 => Head::Float(f64::from_be_bytes(self.array()?)),
            marker::UINT_8 => Head::Int(u8::from_be_bytes(self.array()?).into()),
            marker::UINT_16 => Head::Int(u16::from_be_bytes(self.array()?).into()),
            marker::UINT_32 => Head::Int(u32::from_be_bytes(self.array()?).into()),
            marker::UINT_64 => Head::Int(u64::from_be_bytes(self.array()?).into()),
            marker::INT_8 => Head::Int(i8::from_be_bytes(self.array()?).into()),
            marker::INT_16 => Head::Int(i16::from_be_bytes(self.array()?).into()),
            marker::INT_32 => Head::Int(i32::from_be_bytes(self.array()?).into()),
            marker::INT_64 => Head::Int(i64::from_be_bytes(self.array()?).into()),
            marker::FIX_EXT_1 => self.ext(start, 1)?,
            marker::FIX_EXT_2 => self.ext(start, 2)?,
            marker::FIX_EXT_4 => self.ext(start, 4)?,
            marker::FIX_EXT_8 => self.ext(start, 8)?,
            marker::FIX_EXT_16 => self.ext(start, 16)?,
            marker::BIN_8..=marker::EXT_32 | marker::STR_8..=marker::MAP_32 => {
                self.sized(start, first)?
            }
        })
    }

    /// What has its length behind its first byte.
    fn sized(&mut self, start: usize, first: u8) -> Result<Head<'a>, UnpackError> {
        let len = match first {
            marker::BIN_8 | marker::EXT_8 | marker::STR_8 => {
                u8::from_be_bytes(self.array()?).into()
            }
            marker::BIN_16
            | marker::EXT_16
            | marker::STR_16
            | marker::ARRAY_16
            | marker::MAP_16 => u16::from_be_bytes(self.array()?).into(),
            _ => usize::try_from(u32::from_be_bytes(self.array()?)).unwrap_or(usize::MAX),
        };
        Ok(match first {
            marker::ARRAY_16 | marker::ARRAY_32 => Head::List(len),
            marker::MAP_16 | marker::MAP_32 => Head::Map(len),
            marker::BIN_8 | marker::BIN_16 | marker::BIN_32 => self.bin(len)?,
            marker::EXT_8 | marker::EXT_16 | marker::EXT_32 => self.ext(start, len)?,
            _ => self.str(len)?,
        })
    }

    fn str(&mut self, len: usize) -> Result<Head<'a>, UnpackError> {
        let bytes = self.take(len)?;
        Ok(match self.reading {
            Reading::Raw => Head::Bytes(bytes),
            Reading::Wire | Reading::Modern => text_or_bytes(bytes),
        })
    }

    fn bin(&mut self, len: usize) -> Result<Head<'a>, UnpackError> {
        let bytes = self.take(len)?;
        Ok(match self.reading {
            Reading::Wire => text_or_bytes(bytes),
            Reading::Raw | Reading::Modern => Head::Bytes(bytes),
        })
    }

    fn ext(&mut self, start: usize, len: usize) -> Result<Head<'a>, UnpackError> {
        let [code] = self.array()?;
        let code = i8::from_be_bytes([code]);
        let data = self.take(len)?;
        let bad = |expected| UnpackError::BadExt {
            at: start,
            code,
            expected,
        };
        match code {
            EXT_DATETIME if time::parse_datetime(data).is_none() => Err(bad("a date and time")),
            EXT_CONSTANT if !is_constant(data) => Err(bad("a name and a value")),
            EXT_DATETIME | EXT_CONSTANT => Ok(Head::Ext(code, data)),
            // Salt keeps the data of codes it does not know.
            _ => Ok(match self.reading {
                Reading::Wire => text_or_bytes(data),
                Reading::Raw | Reading::Modern => Head::Bytes(data),
            }),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], UnpackError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.first_chunk() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(self.truncated()),
        }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], UnpackError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.get(..len) {
            Some(taken) => {
                self.at += len;
                Ok(taken)
            }
            None => Err(self.truncated()),
        }
    }

    pub(super) fn truncated(&self) -> UnpackError {
        UnpackError::Truncated {
            at: self.bytes.len(),
        }
    }
}

/// The extension for a constant of Salt's loader: a packed `[name, value]`.
pub(crate) const EXT_CONSTANT: i8 = 79;

fn text_or_bytes(bytes: &[u8]) -> Head<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Head::Str(text),
        Err(_) => Head::Bytes(bytes),
    }
}

/// Whether `data` is a packed list of a name and a value. It is looked at
/// without building the value, which would let extensions nest without limit.
fn is_constant(data: &[u8]) -> bool {
    const PAIR: u8 = marker::FIX_ARRAY | 2;
    let name_is_text = matches!(
        data.get(1),
        Some(0xa0..=0xbf | &marker::STR_8 | &marker::STR_16 | &marker::STR_32)
    );
    data.first() == Some(&PAIR)
        && name_is_text
        && matches!(Scanner::new(Limits::MESSAGE).scan(data), Ok(Some(end)) if end == data.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Map;
    use crate::msgpack::{pack_modern, unpack_modern};

    #[test]
    fn a_value_is_passed_over_with_its_parts() {
        let value = Value::from(Map::from([
            (
                "a",
                Value::List(vec![1.into(), Map::from([("b", 1.5)]).into()]),
            ),
            ("c", Value::Bytes(vec![0; 300])),
        ]));
        let mut packed = pack_modern(&value).unwrap();
        let end = packed.len();
        packed.push(7);
        let mut heads = Heads::new(&packed, Reading::Modern);
        assert_eq!(heads.value(), Ok(&packed[..end]));
        assert_eq!(heads.head(), Ok(Head::Int(7)));
        assert_eq!(heads.left(), 0);
        for cut in 0..end {
            assert!(Heads::new(&packed[..cut], Reading::Modern).value().is_err());
        }
    }

    #[test]
    fn what_cannot_be_unpacked_is_not_passed_over() {
        let mut deep = vec![0x91; DEPTH_MAX];
        deep.push(0xc0);
        assert!(Heads::new(&deep, Reading::Modern).value().is_ok());
        deep.insert(0, 0x91);
        for packed in [
            &deep[..],
            b"\x81\x91\x01\x01",
            b"\xc1",
            b"\xdd\xff\xff\xff\xff",
        ] {
            assert!(unpack_modern(packed).is_err(), "{packed:x?}");
            assert!(Heads::new(packed, Reading::Modern).value().is_err());
        }
    }
}
