//! `json.dumps` of what is packed, without building its values.

use std::fmt::Write;

use super::write::{Unwritable, float, truth, write_text};
use crate::UnpackError;
use crate::limits::DEPTH_MAX;
use crate::msgpack::{Head, Heads};
use crate::value::Value;

/// Why packed data cannot be written as JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackedError {
    /// It is not what it should be.
    #[error("could not read the packed data")]
    Unreadable(#[from] UnpackError),
    /// JSON cannot hold it.
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
}

/// Writes the next packed value on one line and in ASCII: what [`write`](super::write)
/// makes of the value with the style of this `default`. Keys that a map has several
/// times are written as often; whoever packs a map has none.
///
/// # Errors
/// For data that JSON cannot hold, and bytes that are no packed value. Some of it may be
/// written then.
pub fn write_packed(
    heads: &mut Heads<'_>,
    default: fn(&Value) -> String,
    out: &mut String,
) -> Result<(), PackedError> {
    Packed { default, out }.value(heads, 0)
}

struct Packed<'o> {
    default: fn(&Value) -> String,
    out: &'o mut String,
}

impl Packed<'_> {
    fn value(&mut self, heads: &mut Heads<'_>, depth: usize) -> Result<(), PackedError> {
        if depth > DEPTH_MAX {
            return Err(Unwritable::Depth.into());
        }
        match heads.head()? {
            Head::Nil => self.out.push_str("null"),
            Head::Bool(bool) => self.out.push_str(truth(bool)),
            Head::Int(int) => {
                let _ = write!(self.out, "{int}");
            }
            Head::Float(number) => self.out.push_str(&float(number)),
            Head::Str(text) => write_text(self.out, text, true),
            Head::List(len) => {
                self.out.push('[');
                for index in 0..len {
                    self.separate(index);
                    self.value(heads, depth + 1)?;
                }
                self.out.push(']');
            }
            Head::Map(len) => {
                self.out.push('{');
                for index in 0..len {
                    self.separate(index);
                    self.key(heads.key()?)?;
                    self.out.push_str(": ");
                    self.value(heads, depth + 1)?;
                }
                self.out.push('}');
            }
            other @ (Head::Bytes(_) | Head::Ext(..)) => {
                let text = (self.default)(&other.into_value());
                write_text(self.out, &text, true);
            }
        }
        Ok(())
    }

    fn key(&mut self, key: Head<'_>) -> Result<(), Unwritable> {
        let _ = match key {
            Head::Str(text) => {
                write_text(self.out, text, true);
                Ok(())
            }
            Head::Nil => write!(self.out, "\"null\""),
            Head::Bool(bool) => write!(self.out, "\"{}\"", truth(bool)),
            Head::Int(int) => write!(self.out, "\"{int}\""),
            Head::Float(number) => write!(self.out, "\"{}\"", float(number)),
            other => return Err(Unwritable::Key(other.into_value().type_name())),
        };
        Ok(())
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(", ");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Style, write};
    use super::*;
    use crate::Map;
    use crate::msgpack::{Reading, pack_modern};
    use crate::python;

    fn of_packed(packed: &[u8]) -> Result<String, PackedError> {
        let mut out = String::new();
        let mut heads = Heads::new(packed, Reading::Modern);
        write_packed(&mut heads, python::str, &mut out)?;
        assert_eq!(heads.left(), 0);
        Ok(out)
    }

    fn of_value(value: &Value) -> Result<String, Unwritable> {
        let style = Style {
            default: Some(python::str),
            ..Style::default()
        };
        write(value, style)
    }

    #[test]
    fn what_is_packed_is_written_as_its_values_are() {
        let keys = Map::from([
            (Value::Nil, Value::from("ä😀\"\\\n")),
            (Value::from(true), Value::List(Vec::new())),
            (Value::from(1.0), Map::new().into()),
            (Value::from(-7), Value::from(f64::NAN)),
            (Value::from(""), Value::from(u64::MAX)),
        ]);
        let values = [
            Value::from(keys),
            Value::List(vec![Value::Bytes(vec![0xff]), 1.5.into(), false.into()]),
            Value::Ext(
                crate::value::EXT_DATETIME,
                b"20260102T03:04:05.000006".to_vec(),
            ),
        ];
        for value in values {
            let packed = pack_modern(&value).unwrap();
            assert_eq!(of_packed(&packed).unwrap(), of_value(&value).unwrap());
        }
    }

    #[test]
    fn what_json_cannot_hold_is_refused_alike() {
        let bytes = Value::from(Map::from([(Value::Bytes(vec![0xff]), 1)]));
        let refused = of_packed(&pack_modern(&bytes).unwrap());
        assert_eq!(refused, Err(of_value(&bytes).unwrap_err().into()));
        let mut deep = vec![0x91; DEPTH_MAX + 1];
        deep.push(0xc0);
        assert_eq!(of_packed(&deep), Err(Unwritable::Depth.into()));
        for packed in [
            &b""[..],
            b"\x92\x01",
            b"\x81\x90\x01",
            b"\xdd\xff\xff\xff\xff",
        ] {
            let refused = of_packed(packed).unwrap_err();
            assert!(matches!(refused, PackedError::Unreadable(_)), "{packed:x?}");
        }
    }
}
