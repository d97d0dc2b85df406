//! Writes the format: headers, numbers, texts, and values of them.
//!
//! Invariant: of several headers that could hold a length or a number, the
//! shortest that Salt's packer knows is written.

use super::encode::Packing;
use super::error::PackError;
use super::marker;
use crate::limits::DEPTH_MAX;
use crate::{Map, Value};

/// Writes packed values one after the other, for messages whose shape is known.
#[derive(Debug)]
pub struct Writer {
    out: Vec<u8>,
    packing: Packing,
}

impl Writer {
    /// A writer with room for `bytes`.
    pub fn with_capacity(packing: Packing, bytes: usize) -> Self {
        Self {
            out: Vec::with_capacity(bytes),
            packing,
        }
    }

    /// A writer that goes on after `out`.
    pub fn append_to(packing: Packing, out: Vec<u8>) -> Self {
        Self { out, packing }
    }

    /// Writes `None`.
    pub fn nil(&mut self) {
        self.out.push(marker::NIL);
    }

    /// Writes a boolean.
    pub fn bool(&mut self, value: bool) {
        self.out
            .push(if value { marker::TRUE } else { marker::FALSE });
    }

    /// Writes an integer in its shortest form; one beyond 64 bits becomes
    /// decimal text, as Salt does with integer job ids.
    pub fn int(&mut self, value: i128) {
        if let Ok(value) = u64::try_from(value) {
            self.uint(value);
        } else if let Ok(value) = i64::try_from(value) {
            self.negative(value);
        } else {
            // At most 40 characters: it cannot be too long.
            let _ = self.str(&value.to_string());
        }
    }

    /// Writes a float.
    pub fn float(&mut self, value: f64) {
        self.out.push(marker::FLOAT_64);
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    /// Writes text.
    ///
    /// # Errors
    /// When it is longer than the format can hold.
    pub fn str(&mut self, text: &str) -> Result<(), PackError> {
        self.str_family(text.as_bytes())
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// When they are more than the format can hold.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), PackError> {
        match self.packing {
            Packing::Wire => self.str_family(bytes),
            Packing::Modern => {
                self.sized(
                    "byte string",
                    bytes.len(),
                    Some(marker::BIN_8),
                    marker::BIN_16,
                    marker::BIN_32,
                )?;
                self.out.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Begins a list of `len` values, which the caller writes next.
    ///
    /// # Errors
    /// When it is longer than the format can hold.
    pub fn begin_list(&mut self, len: usize) -> Result<(), PackError> {
        match u8::try_from(len) {
            Ok(short) if short < 16 => {
                self.out.push(marker::FIX_ARRAY | short);
                Ok(())
            }
            _ => self.sized("list", len, None, marker::ARRAY_16, marker::ARRAY_32),
        }
    }

    /// Begins a map of `len` keys, which the caller writes next, each followed
    /// by its value.
    ///
    /// # Errors
    /// When it is longer than the format can hold.
    pub fn begin_map(&mut self, len: usize) -> Result<(), PackError> {
        match u8::try_from(len) {
            Ok(short) if short < 16 => {
                self.out.push(marker::FIX_MAP | short);
                Ok(())
            }
            _ => self.sized("map", len, None, marker::MAP_16, marker::MAP_32),
        }
    }

    /// Writes an extension.
    ///
    /// # Errors
    /// When its data is longer than the format can hold.
    pub fn ext(&mut self, code: i8, data: &[u8]) -> Result<(), PackError> {
        let fixed = match data.len() {
            1 => Some(marker::FIX_EXT_1),
            2 => Some(marker::FIX_EXT_2),
            4 => Some(marker::FIX_EXT_4),
            8 => Some(marker::FIX_EXT_8),
            16 => Some(marker::FIX_EXT_16),
            _ => None,
        };
        match fixed {
            Some(fixed) => self.out.push(fixed),
            None => self.sized(
                "extension",
                data.len(),
                Some(marker::EXT_8),
                marker::EXT_16,
                marker::EXT_32,
            )?,
        }
        self.out.extend_from_slice(&code.to_be_bytes());
        self.out.extend_from_slice(data);
        Ok(())
    }

    /// Writes a value of any kind.
    ///
    /// # Errors
    /// When it is nested too deeply or holds something too long.
    pub fn value(&mut self, value: &Value) -> Result<(), PackError> {
        self.value_at(value, 0)
    }

    /// Writes a map.
    ///
    /// # Errors
    /// When it is nested too deeply or holds something too long.
    pub fn map(&mut self, map: &Map) -> Result<(), PackError> {
        self.map_at(map, 0)
    }

    /// Writes what is packed already, in the same way.
    pub fn packed(&mut self, packed: &[u8]) {
        self.out.extend_from_slice(packed);
    }

    /// Writes a value that is part of a list or map.
    pub(super) fn inner_value(&mut self, value: &Value) -> Result<(), PackError> {
        self.value_at(value, 1)
    }

    /// How much was written.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    fn value_at(&mut self, value: &Value, depth: usize) -> Result<(), PackError> {
        match value {
            Value::Nil => self.nil(),
            Value::Bool(value) => self.bool(*value),
            Value::Int(value) => self.int(*value),
            Value::Float(value) => self.float(*value),
            Value::Str(text) => self.str(text)?,
            Value::Bytes(bytes) => self.bytes(bytes)?,
            Value::List(items) => {
                if depth >= DEPTH_MAX {
                    return Err(PackError::TooDeep);
                }
                self.begin_list(items.len())?;
                for item in items {
                    self.value_at(item, depth + 1)?;
                }
            }
            Value::Map(map) => self.map_at(map, depth)?,
            Value::Ext(code, data) => self.ext(*code, data)?,
        }
        Ok(())
    }

    fn map_at(&mut self, map: &Map, depth: usize) -> Result<(), PackError> {
        if depth >= DEPTH_MAX {
            return Err(PackError::TooDeep);
        }
        self.begin_map(map.len())?;
        for (key, value) in map {
            self.value_at(key, depth + 1)?;
            self.value_at(value, depth + 1)?;
        }
        Ok(())
    }

    fn uint(&mut self, value: u64) {
        if let Ok(value) = u8::try_from(value) {
            if value < 0x80 {
                self.out.push(value);
            } else {
                self.out.extend_from_slice(&[marker::UINT_8, value]);
            }
        } else if let Ok(value) = u16::try_from(value) {
            self.out.push(marker::UINT_16);
            self.out.extend_from_slice(&value.to_be_bytes());
        } else if let Ok(value) = u32::try_from(value) {
            self.out.push(marker::UINT_32);
            self.out.extend_from_slice(&value.to_be_bytes());
        } else {
            self.out.push(marker::UINT_64);
            self.out.extend_from_slice(&value.to_be_bytes());
        }
    }

    fn negative(&mut self, value: i64) {
        if let Ok(value) = i8::try_from(value) {
            if value < -32 {
                self.out.push(marker::INT_8);
            }
            self.out.extend_from_slice(&value.to_be_bytes());
        } else if let Ok(value) = i16::try_from(value) {
            self.out.push(marker::INT_16);
            self.out.extend_from_slice(&value.to_be_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.out.push(marker::INT_32);
            self.out.extend_from_slice(&value.to_be_bytes());
        } else {
            self.out.push(marker::INT_64);
            self.out.extend_from_slice(&value.to_be_bytes());
        }
    }

    fn str_family(&mut self, bytes: &[u8]) -> Result<(), PackError> {
        self.text_head(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes what stands before text of `len` bytes.
    pub(super) fn text_head(&mut self, len: usize) -> Result<(), PackError> {
        match u8::try_from(len) {
            Ok(short) if short < 32 => {
                self.out.push(marker::FIX_STR | short);
                Ok(())
            }
            _ => {
                let eight = match self.packing {
                    Packing::Wire => None,
                    Packing::Modern => Some(marker::STR_8),
                };
                self.sized("text", len, eight, marker::STR_16, marker::STR_32)
            }
        }
    }

    /// Writes the shortest of a kind's headers that can hold `len`.
    fn sized(
        &mut self,
        kind: &'static str,
        len: usize,
        eight: Option<u8>,
        sixteen: u8,
        thirty_two: u8,
    ) -> Result<(), PackError> {
        if let (Some(eight), Ok(len)) = (eight, u8::try_from(len)) {
            self.out.extend_from_slice(&[eight, len]);
        } else if let Ok(len) = u16::try_from(len) {
            self.out.push(sixteen);
            self.out.extend_from_slice(&len.to_be_bytes());
        } else if let Ok(len) = u32::try_from(len) {
            self.out.push(thirty_two);
            self.out.extend_from_slice(&len.to_be_bytes());
        } else {
            return Err(PackError::TooLong { kind, len });
        }
        Ok(())
    }
}
