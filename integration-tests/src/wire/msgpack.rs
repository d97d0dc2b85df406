//! Enough of msgpack to read events and replies, and to write requests.
//!
//! Invariant: text and bytes are the same here, as on the wire; the reader says
//! which of the two it expects.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

/// How deep a message may be nested.
const DEPTH_MAX: usize = 200;

/// A message or a part of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Nothing.
    Nil,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Another number.
    Float(f64),
    /// Text or bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Self>),
    /// A map in the order of the wire.
    Map(Vec<(Self, Self)>),
}

impl From<&str> for Item {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Item {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<i64> for Item {
    fn from(number: i64) -> Self {
        Self::Int(number.into())
    }
}

impl From<bool> for Item {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl Item {
    /// A map with text keys, in the given order.
    pub fn map<const N: usize>(entries: [(&str, Self); N]) -> Self {
        Self::Map(
            entries
                .into_iter()
                .map(|(key, value)| (Self::from(key), value))
                .collect(),
        )
    }

    /// The value under a text key of a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else {
            return None;
        };
        entries
            .iter()
            .find(|(name, _)| name.bytes() == Some(key.as_bytes()))
            .map(|(_, value)| value)
    }

    /// Text or bytes as bytes.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Text or bytes as text.
    pub fn text(&self) -> Option<&str> {
        self.bytes()
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// The same as JSON; bytes that are no text lose what is not.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Nil => Value::Null,
            Self::Bool(value) => Value::from(*value),
            Self::Int(number) => {
                i64::try_from(*number).map_or_else(|_| Value::from(number.to_string()), Value::from)
            }
            Self::Float(number) => Value::from(*number),
            Self::Bytes(bytes) => Value::from(String::from_utf8_lossy(bytes)),
            Self::List(items) => Value::from(items.iter().map(Self::to_json).collect::<Vec<_>>()),
            Self::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| {
                        let key = match key.to_json() {
                            Value::String(text) => text,
                            other => other.to_string(),
                        };
                        (key, value.to_json())
                    })
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// The bytes of this message, with all text and bytes in the old family.
    pub fn pack(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.pack_into(&mut out);
        out
    }

    fn pack_into(&self, out: &mut Vec<u8>) {
        match self {
            Self::Nil => out.push(0xc0),
            Self::Bool(value) => out.push(if *value { 0xc3 } else { 0xc2 }),
            Self::Int(number) => pack_int(*number, out),
            Self::Float(number) => {
                out.push(0xcb);
                out.extend(number.to_be_bytes());
            }
            Self::Bytes(bytes) => {
                pack_head(bytes.len(), 0xa0, 31, 0xda, out);
                out.extend(bytes);
            }
            Self::List(items) => {
                pack_head(items.len(), 0x90, 15, 0xdc, out);
                items.iter().for_each(|item| item.pack_into(out));
            }
            Self::Map(entries) => {
                pack_head(entries.len(), 0x80, 15, 0xde, out);
                for (key, value) in entries {
                    key.pack_into(out);
                    value.pack_into(out);
                }
            }
        }
    }

    /// The one message in `bytes`.
    pub fn unpack(bytes: &[u8]) -> Result<Self> {
        match Self::unpack_prefix(bytes)? {
            Some((item, used)) if used == bytes.len() => Ok(item),
            Some((_, used)) => bail!("{} bytes after a message of {used}", bytes.len() - used),
            None => bail!("a message of {} bytes is not whole", bytes.len()),
        }
    }

    /// The message at the start of `bytes` and its length; nothing if it is
    /// not whole yet.
    pub fn unpack_prefix(bytes: &[u8]) -> Result<Option<(Self, usize)>> {
        let mut reader = Reader { bytes, at: 0 };
        Ok(reader.item(0)?.map(|item| (item, reader.at)))
    }
}

fn pack_int(number: i128, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let (code, width) = match number {
        -32..=0x7f => (None, 1),
        0x80..=0xff => (Some(0xcc), 1),
        0x100..=0xffff => (Some(0xcd), 2),
        0x1_0000..=0xffff_ffff => (Some(0xce), 4),
        0x1_0000_0000.. => (Some(0xcf), 8),
        _ => (Some(0xd3), 8),
    };
    out.extend(code);
    out.extend(&bytes[bytes.len() - width..]);
}

/// A length: in the first byte if it is small, else in two or four bytes.
fn pack_head(len: usize, small: u8, small_max: usize, wide: u8, out: &mut Vec<u8>) {
    let bytes = len.to_be_bytes();
    let tail = bytes.len() - 4;
    if len <= small_max {
        out.push(small | bytes[tail + 3]);
    } else if len <= 0xffff {
        out.push(wide);
        out.extend(&bytes[tail + 2..]);
    } else {
        out.push(wide + 1);
        out.extend(&bytes[tail..]);
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn item(&mut self, depth: usize) -> Result<Option<Item>> {
        if depth > DEPTH_MAX {
            bail!("a message is nested deeper than {DEPTH_MAX}");
        }
        let Some(&[code]) = self.take(1) else {
            return Ok(None);
        };
        match code {
            0x00..=0x7f => Ok(Some(Item::Int(code.into()))),
            0xe0..=0xff => Ok(Some(Item::Int(i128::from(code) - 256))),
            0x80..=0x8f => self.map(usize::from(code & 0x0f), depth),
            0x90..=0x9f => self.list(usize::from(code & 0x0f), depth),
            0xa0..=0xbf => Ok(self.data(usize::from(code & 0x1f))),
            0xc0 => Ok(Some(Item::Nil)),
            0xc2 => Ok(Some(Item::Bool(false))),
            0xc3 => Ok(Some(Item::Bool(true))),
            0xc4 | 0xd9 => self.sized(1, depth, |reader, len, _| Ok(reader.data(len))),
            0xc5 | 0xda => self.sized(2, depth, |reader, len, _| Ok(reader.data(len))),
            0xc6 | 0xdb => self.sized(4, depth, |reader, len, _| Ok(reader.data(len))),
            0xc7 => self.sized(1, depth, |reader, len, _| Ok(reader.data(len + 1))),
            0xd8 => Ok(self.data(17)),
            0xdc => self.sized(2, depth, Self::list),
            0xdd => self.sized(4, depth, Self::list),
            0xde => self.sized(2, depth, Self::map),
            0xdf => self.sized(4, depth, Self::map),
            0xca => Ok(self
                .take(4)
                .and_then(|bytes| bytes.first_chunk())
                .map(|bytes| Item::Float(f32::from_be_bytes(*bytes).into()))),
            0xcb => Ok(self.number(8).map(|bits| Item::Float(f64::from_bits(bits)))),
            0xcc => Ok(self.number(1).map(|number| Item::Int(number.into()))),
            0xcd => Ok(self.number(2).map(|number| Item::Int(number.into()))),
            0xce => Ok(self.number(4).map(|number| Item::Int(number.into()))),
            0xcf => Ok(self.number(8).map(|number| Item::Int(number.into()))),
            0xd0 => Ok(self.signed(1)),
            0xd1 => Ok(self.signed(2)),
            0xd2 => Ok(self.signed(4)),
            0xd3 => Ok(self.signed(8)),
            _ => bail!("no message begins with byte {code:#04x}"),
        }
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..)?.get(..len)?;
        self.at += len;
        Some(taken)
    }

    fn data(&mut self, len: usize) -> Option<Item> {
        self.take(len).map(Item::from)
    }

    fn number(&mut self, len: usize) -> Option<u64> {
        let bytes = self.take(len)?;
        Some(
            bytes
                .iter()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    }

    fn signed(&mut self, len: u32) -> Option<Item> {
        let bits = len * 8;
        let number = i128::from(self.number(len as usize)?);
        let negative = number >> (bits - 1) != 0;
        Some(Item::Int(if negative {
            number - (1 << bits)
        } else {
            number
        }))
    }

    fn sized(
        &mut self,
        width: usize,
        depth: usize,
        read: impl FnOnce(&mut Self, usize, usize) -> Result<Option<Item>>,
    ) -> Result<Option<Item>> {
        match self.number(width) {
            Some(len) => read(
                self,
                usize::try_from(len).context("a length beyond memory")?,
                depth,
            ),
            None => Ok(None),
        }
    }

    fn list(&mut self, len: usize, depth: usize) -> Result<Option<Item>> {
        let mut items = Vec::new();
        for _ in 0..len {
            let Some(item) = self.item(depth + 1)? else {
                return Ok(None);
            };
            items.push(item);
        }
        Ok(Some(Item::List(items)))
    }

    fn map(&mut self, len: usize, depth: usize) -> Result<Option<Item>> {
        let mut entries = Vec::new();
        for _ in 0..len {
            let (Some(key), Some(value)) = (self.item(depth + 1)?, self.item(depth + 1)?) else {
                return Ok(None);
            };
            entries.push((key, value));
        }
        Ok(Some(Item::Map(entries)))
    }
}

#[cfg(test)]
mod tests {
    use super::Item;

    fn check(item: &Item) {
        let bytes = item.pack();
        assert_eq!(&Item::unpack(&bytes).unwrap(), item);
        for cut in 0..bytes.len() {
            assert_eq!(
                Item::unpack_prefix(&bytes[..cut]).unwrap(),
                None,
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for number in [
            0,
            1,
            127,
            128,
            255,
            256,
            65535,
            65536,
            4_294_967_296,
            -1,
            -32,
            -33,
            i64::MIN,
        ] {
            check(&Item::from(number));
        }
        for len in [0, 31, 32, 255, 256, 70_000] {
            check(&Item::Bytes(vec![b'x'; len]));
        }
        check(&Item::List(vec![
            Item::Nil,
            Item::from(true),
            Item::Float(1.5),
        ]));
        check(&Item::map([
            ("a", Item::from(1)),
            ("b", Item::List(vec![Item::from("c"); 20])),
        ]));
    }

    #[test]
    fn a_deep_message_is_refused() {
        assert!(Item::unpack(&[0x91; 100_000]).is_err());
    }
}
