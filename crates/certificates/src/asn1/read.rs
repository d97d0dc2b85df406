//! Reading DER.
//!
//! Invariant: an item lies within the bytes it was read from; nothing is
//! allocated for a length that is only claimed.

use thiserror::Error;

use super::{oid_from_der, tag};

/// Why bytes are not what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum DerError {
    #[error("the data ends too early")]
    Short,
    #[error("a length cannot be read")]
    Length,
    #[error("found the tag {found:#04x} instead of {expected:#04x}")]
    Tag { expected: u8, found: u8 },
    #[error("there is data after the end of the value")]
    Long,
    #[error("a value cannot be read")]
    Value,
}

/// One value with its tag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) tag: u8,
    pub(crate) body: &'a [u8],
    /// With tag and length.
    pub(crate) whole: &'a [u8],
}

impl<'a> Item<'a> {
    /// The values within.
    pub(crate) fn inside(&self) -> Reader<'a> {
        Reader::new(self.body)
    }

    pub(crate) fn oid(&self) -> Result<String, DerError> {
        oid_from_der(self.body).ok_or(DerError::Value)
    }

    /// A text of any of the kinds in use.
    pub(crate) fn text(&self) -> String {
        if self.tag == tag::BMP {
            let units: Vec<u16> = self
                .body
                .chunks_exact(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect();
            return String::from_utf16_lossy(&units);
        }
        String::from_utf8_lossy(self.body).into_owned()
    }

    /// A small number.
    pub(crate) fn number(&self) -> Result<i64, DerError> {
        let negative = self.body.first().ok_or(DerError::Value)? & 0x80 != 0;
        if self.body.len() > 8 {
            return Err(DerError::Value);
        }
        let mut bytes = if negative { [0xff; 8] } else { [0; 8] };
        bytes[8 - self.body.len()..].copy_from_slice(self.body);
        Ok(i64::from_be_bytes(bytes))
    }

    /// The bits of a bit string that has whole bytes, or flags.
    pub(crate) fn bits(&self) -> Result<&'a [u8], DerError> {
        let (unused, bits) = self.body.split_first().ok_or(DerError::Value)?;
        if *unused > 7 {
            return Err(DerError::Value);
        }
        Ok(bits)
    }
}

/// Values one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// All of `bytes` as one value.
    pub(crate) fn one(bytes: &'a [u8], expected: u8) -> Result<Item<'a>, DerError> {
        let mut reader = Self::new(bytes);
        let item = reader.expect(expected)?;
        reader.end()?;
        Ok(item)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub(crate) fn end(&self) -> Result<(), DerError> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(DerError::Long)
        }
    }

    pub(crate) fn next(&mut self) -> Result<Item<'a>, DerError> {
        let tag = *self.rest.first().ok_or(DerError::Short)?;
        let first = usize::from(*self.rest.get(1).ok_or(DerError::Short)?);
        if tag & 0x1f == 0x1f {
            return Err(DerError::Value);
        }
        let (start, length) = if first < 0x80 {
            (2, first)
        } else {
            let count = first - 0x80;
            if count == 0 || count > 4 {
                return Err(DerError::Length);
            }
            let bytes = self.rest.get(2..2 + count).ok_or(DerError::Short)?;
            let length = bytes
                .iter()
                .fold(0usize, |all, byte| all << 8 | usize::from(*byte));
            (2 + count, length)
        };
        let end = start.checked_add(length).ok_or(DerError::Length)?;
        let whole = self.rest.get(..end).ok_or(DerError::Short)?;
        self.rest = &self.rest[end..];
        Ok(Item {
            tag,
            body: &whole[start..],
            whole,
        })
    }

    pub(crate) fn expect(&mut self, expected: u8) -> Result<Item<'a>, DerError> {
        let item = self.next()?;
        if item.tag == expected {
            Ok(item)
        } else {
            Err(DerError::Tag {
                expected,
                found: item.tag,
            })
        }
    }

    /// The next value if it has the tag.
    pub(crate) fn maybe(&mut self, wanted: u8) -> Result<Option<Item<'a>>, DerError> {
        if self.peek() == Some(wanted) {
            self.next().map(Some)
        } else {
            Ok(None)
        }
    }

    /// All that is left.
    pub(crate) fn all(mut self) -> Result<Vec<Item<'a>>, DerError> {
        let mut items = Vec::new();
        while !self.is_empty() {
            items.push(self.next()?);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_or_too_long_is_refused() {
        for bytes in [
            &[][..],
            &[0x30],
            &[0x30, 0x02, 0x01],
            &[0x30, 0x80],
            &[0x30, 0x85, 1, 1, 1, 1, 1],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[0x1f, 0x00],
            &[0x30, 0x00, 0x00],
        ] {
            assert!(Reader::one(bytes, tag::SEQUENCE).is_err(), "{bytes:?}");
        }
        assert!(Reader::one(&[0x30, 0x00], tag::SEQUENCE).is_ok());
    }

    #[test]
    fn numbers_may_be_negative() {
        let item = |bytes| Reader::one(bytes, tag::INTEGER).unwrap().number();
        assert_eq!(item(&[2, 1, 0xff]), Ok(-1));
        assert_eq!(item(&[2, 2, 0, 0xff]), Ok(255));
        assert_eq!(item(&[2, 0]), Err(DerError::Value));
    }
}
