//! Finds the end of a packed value in a stream that arrives in pieces.
//!
//! Invariant: each byte is read once, however many pieces it comes in, and nothing
//! is built or copied before the whole value is there.

use super::error::UnpackError;
use super::marker;
use crate::limits::Limits;

/// Where one value of a stream ends. It keeps its place between calls.
#[derive(Debug)]
pub struct Scanner {
    limits: Limits,
    /// Bytes that are done with.
    at: usize,
    /// Values still to come, per open list or map, the innermost last.
    open: Vec<usize>,
    items: usize,
}

impl Scanner {
    /// A scanner at the beginning of a value.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            at: 0,
            open: Vec::new(),
            items: 0,
        }
    }

    /// Goes on in `bytes`, which begin where the value begins and hold at least
    /// what they held in the last call. Gives the length of the value once it
    /// is complete; the scanner is then at its beginning again.
    ///
    /// # Errors
    /// When the bytes cannot be the beginning of a value within the limits.
    pub fn scan(&mut self, bytes: &[u8]) -> Result<Option<usize>, UnpackError> {
        loop {
            let Some(head) = head(bytes, self.at)? else {
                return self.wait(bytes.len());
            };
            let end = self
                .at
                .saturating_add(head.header)
                .saturating_add(head.data);
            if end > self.limits.bytes_max {
                return Err(self.too_large());
            }
            if end > bytes.len() {
                return Ok(None);
            }
            if let Some(values) = head.values {
                self.enter(values)?;
            }
            self.at = end;
            if head.values.is_none_or(|values| values == 0) && self.close() {
                self.at = 0;
                self.items = 0;
                return Ok(Some(end));
            }
        }
    }

    fn wait(&self, len: usize) -> Result<Option<usize>, UnpackError> {
        if len > self.limits.bytes_max {
            Err(self.too_large())
        } else {
            Ok(None)
        }
    }

    fn enter(&mut self, values: usize) -> Result<(), UnpackError> {
        if self.open.len() >= self.limits.depth_max {
            return Err(UnpackError::TooDeep {
                at: self.at,
                max: self.limits.depth_max,
            });
        }
        self.items = self.items.saturating_add(values);
        if self.items > self.limits.items_max {
            return Err(UnpackError::TooManyItems {
                at: self.at,
                max: self.limits.items_max,
            });
        }
        if values > 0 {
            self.open.push(values);
        }
        Ok(())
    }

    /// Counts a complete value; true when nothing is open any more.
    fn close(&mut self) -> bool {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return false;
            }
            self.open.pop();
        }
        true
    }

    fn too_large(&self) -> UnpackError {
        UnpackError::TooLarge {
            max: self.limits.bytes_max,
        }
    }
}

/// What the first bytes of a value say about it.
struct Head {
    /// Bytes of the marker and the length behind it.
    header: usize,
    /// Bytes of data behind the header.
    data: usize,
    /// For lists and maps: how many values follow.
    values: Option<usize>,
}

fn head(bytes: &[u8], at: usize) -> Result<Option<Head>, UnpackError> {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some((&first, rest)) = rest.split_first() else {
        return Ok(None);
    };
    let flat = |data: usize| {
        Some(Head {
            header: 1,
            data,
            values: None,
        })
    };
    let open = |values: u8, width: usize| {
        Some(Head {
            header: 1,
            data: 0,
            values: Some(usize::from(values & 0x0f) * width),
        })
    };
    let sized = |width: usize, extra: usize| {
        len(rest, width).map(|len| Head {
            header: 1 + width,
            data: len.saturating_add(extra),
            values: None,
        })
    };
    let opened = |bytes: usize, width: usize| {
        len(rest, bytes).map(|len| Head {
            header: 1 + bytes,
            data: 0,
            values: Some(len.saturating_mul(width)),
        })
    };
    Ok(match first {
        0x00..=0x7f | 0xe0..=0xff | marker::NIL | marker::FALSE | marker::TRUE => flat(0),
        0x80..=0x8f => open(first, 2),
        0x90..=0x9f => open(first, 1),
        0xa0..=0xbf => flat((first & 0x1f).into()),
        0xc1 => return Err(UnpackError::Unused { at }),
        marker::BIN_8 | marker::STR_8 => sized(1, 0),
        marker::BIN_16 | marker::STR_16 => sized(2, 0),
        marker::BIN_32 | marker::STR_32 => sized(4, 0),
        marker::EXT_8 => sized(1, 1),
        marker::EXT_16 => sized(2, 1),
        marker::EXT_32 => sized(4, 1),
        marker::UINT_8 | marker::INT_8 => flat(1),
        marker::UINT_16 | marker::INT_16 => flat(2),
        marker::UINT_32 | marker::INT_32 | marker::FLOAT_32 => flat(4),
        marker::UINT_64 | marker::INT_64 | marker::FLOAT_64 => flat(8),
        marker::FIX_EXT_1 => flat(2),
        marker::FIX_EXT_2 => flat(3),
        marker::FIX_EXT_4 => flat(5),
        marker::FIX_EXT_8 => flat(9),
        marker::FIX_EXT_16 => flat(17),
        marker::ARRAY_16 => opened(2, 1),
        marker::ARRAY_32 => opened(4, 1),
        marker::MAP_16 => opened(2, 2),
        marker::MAP_32 => opened(4, 2),
    })
}

/// The big-endian length in the first `width` bytes.
fn len(bytes: &[u8], width: usize) -> Option<usize> {
    let bytes = bytes.get(..width)?;
    Some(
        bytes
            .iter()
            .fold(0, |len: usize, byte| (len << 8) | usize::from(*byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::msgpack::pack_modern;

    #[test]
    fn a_value_in_single_bytes_ends_where_it_ends() {
        let value = Value::List(vec![
            Value::from("a".repeat(300)),
            Value::List(Vec::new()),
            Value::Map([("k", 1.5)].into()),
            Value::Ext(5, vec![1; 9]),
            Value::Int(-70_000),
        ]);
        let mut packed = pack_modern(&value).unwrap();
        let end = packed.len();
        packed.extend_from_slice(&[1, 2, 3]);
        let mut scanner = Scanner::new(Limits::MESSAGE);
        for len in 0..end {
            assert_eq!(scanner.scan(&packed[..len]), Ok(None), "{len}");
        }
        assert_eq!(scanner.scan(&packed), Ok(Some(end)));
        assert_eq!(scanner.scan(&packed[end..]), Ok(Some(1)));
    }

    #[test]
    fn a_declared_length_beyond_the_limit_is_refused_at_once() {
        let limits = Limits {
            bytes_max: 100,
            depth_max: 4,
            items_max: 8,
        };
        let scan = |bytes: &[u8]| Scanner::new(limits).scan(bytes);
        assert_eq!(
            scan(&[0xc6, 0xff, 0xff, 0xff, 0xff]),
            Err(UnpackError::TooLarge { max: 100 })
        );
        assert_eq!(
            scan(&[0xdd, 0xff, 0xff, 0xff, 0xff]),
            Err(UnpackError::TooManyItems { at: 0, max: 8 })
        );
        assert_eq!(
            scan(&[0x91, 0x91, 0x91, 0x91, 0x91, 0x91]),
            Err(UnpackError::TooDeep { at: 4, max: 4 })
        );
        assert_eq!(scan(&[0xc1]), Err(UnpackError::Unused { at: 0 }));
    }
}
