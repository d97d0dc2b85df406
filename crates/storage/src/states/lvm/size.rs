//! The current and the wanted size of a logical volume.

use std::cmp::Ordering;

use halite_call::{CallError, python};
use halite_proto::Value;

/// Sectors of 512 bytes in a MiB.
const SECTORS: f64 = 2048.0;

pub(super) enum Size {
    Megabytes(f64),
    Extents(i64),
    /// A part of something, as `lvcreate` takes it: `50%VG`.
    Share(String),
}

impl Size {
    /// So many extents, or a share.
    pub(super) fn extents(value: &Value) -> Result<Self, CallError> {
        let text = python::str(value);
        if text.contains('%') {
            return Ok(Self::Share(text));
        }
        python::int(value).map(Self::Extents)
    }

    /// What `lvdisplay` tells, in the unit of `like`.
    pub(super) fn of(about: &Value, like: Option<&Self>) -> Result<Self, CallError> {
        let number = |key: &str| python::int(about.get(key).unwrap_or(&Value::Nil));
        Ok(match like {
            Some(Self::Extents(_)) => Self::Extents(number("Current Logical Extents Associated")?),
            _ => Self::Megabytes(megabytes(&format!("{}s", number("Logical Volume Size")?))?),
        })
    }

    pub(super) fn compared_to(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Megabytes(a), Self::Megabytes(b)) => a.total_cmp(b),
            (Self::Extents(a), Self::Extents(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }
}

/// MiB of a size: a number of them, or one of sectors (s), MiB (m), GiB (g),
/// TiB (t) or PiB (p), in any case, with or without a b.
///
/// # Errors
/// When it is no number, or has another unit.
pub(super) fn megabytes(size: &str) -> Result<f64, CallError> {
    let wrong = |text: String| CallError::exception("ArgumentValueError", text);
    let lower = size.to_lowercase();
    let (number, unit) = match lower.strip_suffix('b').unwrap_or(&lower) {
        rest if rest.ends_with(|c: char| c.is_ascii_digit()) => (rest, 'm'),
        rest => match rest.char_indices().next_back() {
            Some((at, unit)) => (rest.get(..at).unwrap_or_default(), unit),
            None => ("", 'm'),
        },
    };
    let number: i64 = number
        .parse()
        .map_err(|_| wrong(format!("Size {size} is invalid.")))?;
    let factor = match unit {
        's' => SECTORS.recip(),
        'm' => 1.0,
        'g' => 1024.0,
        't' => f64::from(1 << 20),
        'p' => f64::from(1 << 30),
        _ => return Err(wrong(format!("Unit {unit} is invalid."))),
    };
    #[allow(clippy::cast_precision_loss)]
    Ok(number as f64 * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, mib) in [
            ("10", 10.0),
            ("10m", 10.0),
            ("10MB", 10.0),
            ("4096s", 2.0),
            ("2G", 2048.0),
            ("1T", 1_048_576.0),
            ("1pb", 1_073_741_824.0),
        ] {
            assert_eq!(megabytes(text), Ok(mib), "{text}");
        }
        for text in ["", "g", "x", "1k", "1.5g", "b"] {
            assert!(megabytes(text).is_err(), "{text}");
        }
    }
}
