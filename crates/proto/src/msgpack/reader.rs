//! Reads the format: headers, their lengths, and values.
//!
//! Invariant: a length in a header counts only as far as bytes follow it; nothing
//! is allocated for the rest.

use super::decode::Reading;
use super::error::UnpackError;
use super::marker;
use super::scan::Scanner;
use crate::limits::Limits;
use crate::value::EXT_DATETIME;
use crate::{Map, Value, time};

/// Reads one value after the other.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    reading: Reading,
    limits: &'a Limits,
    items: usize,
    /// Lists and maps that are not complete, the innermost last: nesting takes
    /// room here and not on the thread's stack.
    open: Vec<Open>,
}

/// A list or a map of which some parts were read.
enum Open {
    List {
        items: Vec<Value>,
        left: usize,
    },
    Map {
        map: Map,
        key: Option<Value>,
        left: usize,
    },
}

/// What begins at a position.
enum Head {
    Whole(Value),
    List(usize),
    Map(usize),
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], reading: Reading, limits: &'a Limits) -> Self {
        Self {
            bytes,
            at: 0,
            reading,
            limits,
            items: 0,
            open: Vec::new(),
        }
    }

    pub(super) fn value(&mut self) -> Result<Value, UnpackError> {
        loop {
            let start = self.at;
            let whole = match self.head()? {
                Head::Whole(value) => value,
                Head::List(left) => {
                    self.enter(start, left, 1, "list")?;
                    let items = Vec::with_capacity(left.min(PREALLOCATED_MAX));
                    if left > 0 {
                        self.open.push(Open::List { items, left });
                        continue;
                    }
                    Value::List(items)
                }
                Head::Map(left) => {
                    self.enter(start, left, 2, "dict")?;
                    let map = Map::with_capacity(left.min(PREALLOCATED_MAX));
                    if left > 0 {
                        let key = None;
                        self.open.push(Open::Map { map, key, left });
                        continue;
                    }
                    Value::Map(map)
                }
            };
            if let Some(value) = self.attach(whole) {
                return Ok(value);
            }
        }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Puts a value where it belongs; gives the outermost one once it is whole.
    fn attach(&mut self, mut value: Value) -> Option<Value> {
        loop {
            value = match self.open.last_mut() {
                None => return Some(value),
                Some(Open::List { items, left }) => {
                    items.push(value);
                    *left -= 1;
                    if *left > 0 {
                        return None;
                    }
                    Value::List(std::mem::take(items))
                }
                Some(Open::Map { map, key, left }) => {
                    let Some(key) = key.take() else {
                        *key = Some(value);
                        return None;
                    };
                    map.insert(key, value);
                    *left -= 1;
                    if *left > 0 {
                        return None;
                    }
                    Value::Map(std::mem::take(map))
                }
            };
            self.open.pop();
        }
    }

    /// Checks what a list or map of `len` parts of `width` values may not be.
    fn enter(
        &mut self,
        start: usize,
        len: usize,
        width: usize,
        kind: &'static str,
    ) -> Result<(), UnpackError> {
        if let Some(Open::Map { key: None, .. }) = self.open.last() {
            return Err(UnpackError::BadKey { at: start, kind });
        }
        if self.open.len() >= self.limits.depth_max {
            return Err(UnpackError::TooDeep {
                at: start,
                max: self.limits.depth_max,
            });
        }
        // Each value has at least one byte: a length that no bytes follow for
        // is a message that was cut.
        let values = len.saturating_mul(width);
        if values > self.bytes.len().saturating_sub(self.at) {
            return Err(self.truncated());
        }
        self.items = self.items.saturating_add(values);
        if self.items > self.limits.items_max {
            return Err(UnpackError::TooManyItems {
                at: start,
                max: self.limits.items_max,
            });
        }
        Ok(())
    }

    fn head(&mut self) -> Result<Head, UnpackError> {
        let start = self.at;
        let [first] = self.array()?;
        Ok(Head::Whole(match first {
            0x00..=0x7f => Value::Int(first.into()),
            0x80..=0x8f => return Ok(Head::Map((first & 0x0f).into())),
            0x90..=0x9f => return Ok(Head::List((first & 0x0f).into())),
            0xa0..=0xbf => self.str((first & 0x1f).into())?,
            0xe0..=0xff => Value::Int(i8::from_be_bytes([first]).into()),
            marker::NIL => Value::Nil,
            0xc1 => return Err(UnpackError::Unused { at: start }),
            marker::FALSE => Value::Bool(false),
            marker::TRUE => Value::Bool(true),
            marker::FLOAT_32 => Value::Float(f32::from_be_bytes(self.array()?).into()),
            marker::FLOAT_64 => Value::Float(f64::from_be_bytes(self.array()?)),
            marker::UINT_8 => Value::Int(u8::from_be_bytes(self.array()?).into()),
            marker::UINT_16 => Value::Int(u16::from_be_bytes(self.array()?).into()),
            marker::UINT_32 => Value::Int(u32::from_be_bytes(self.array()?).into()),
            marker::UINT_64 => Value::Int(u64::from_be_bytes(self.array()?).into()),
            marker::INT_8 => Value::Int(i8::from_be_bytes(self.array()?).into()),
            marker::INT_16 => Value::Int(i16::from_be_bytes(self.array()?).into()),
            marker::INT_32 => Value::Int(i32::from_be_bytes(self.array()?).into()),
            marker::INT_64 => Value::Int(i64::from_be_bytes(self.array()?).into()),
            marker::FIX_EXT_1 => self.ext(start, 1)?,
            marker::FIX_EXT_2 => self.ext(start, 2)?,
            marker::FIX_EXT_4 => self.ext(start, 4)?,
            marker::FIX_EXT_8 => self.ext(start, 8)?,
            marker::FIX_EXT_16 => self.ext(start, 16)?,
            marker::BIN_8..=marker::EXT_32 | marker::STR_8..=marker::MAP_32 => {
                return self.sized(start, first);
            }
        }))
    }

    /// What has its length behind its first byte.
    fn sized(&mut self, start: usize, first: u8) -> Result<Head, UnpackError> {
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
            marker::BIN_8 | marker::BIN_16 | marker::BIN_32 => Head::Whole(self.bin(len)?),
            marker::EXT_8 | marker::EXT_16 | marker::EXT_32 => Head::Whole(self.ext(start, len)?),
            _ => Head::Whole(self.str(len)?),
        })
    }

    fn str(&mut self, len: usize) -> Result<Value, UnpackError> {
        let bytes = self.take(len)?;
        Ok(match self.reading {
            Reading::Raw => Value::Bytes(bytes.to_vec()),
            Reading::Wire | Reading::Modern => text_or_bytes(bytes),
        })
    }

    fn bin(&mut self, len: usize) -> Result<Value, UnpackError> {
        let bytes = self.take(len)?;
        Ok(match self.reading {
            Reading::Wire => text_or_bytes(bytes),
            Reading::Raw | Reading::Modern => Value::Bytes(bytes.to_vec()),
        })
    }

    fn ext(&mut self, start: usize, len: usize) -> Result<Value, UnpackError> {
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
            EXT_DATETIME | EXT_CONSTANT => Ok(Value::Ext(code, data.to_vec())),
            // Salt keeps the data of codes it does not know.
            _ => Ok(match self.reading {
                Reading::Wire => text_or_bytes(data),
                Reading::Raw | Reading::Modern => Value::Bytes(data.to_vec()),
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

    fn truncated(&self) -> UnpackError {
        UnpackError::Truncated {
            at: self.bytes.len(),
        }
    }
}

/// Most parts that a list or map gets room for before they are read: a header
/// may announce more than will follow.
const PREALLOCATED_MAX: usize = 1024;

/// The extension for a constant of Salt's loader: a packed `[name, value]`.
pub(crate) const EXT_CONSTANT: i8 = 79;

fn text_or_bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::Str(text.to_owned()),
        Err(_) => Value::Bytes(bytes.to_vec()),
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
