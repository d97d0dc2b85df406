//! Text filled up to a width.

use crate::error::{Error, Result};
use crate::limits::TEXT_BYTES_MAX;
use crate::value::to_usize;

/// Python's `center`, `ljust`, `rjust`.
pub(crate) fn pad(text: &str, width: i128, fill: char, name: &str) -> Result<String> {
    let length = text.chars().count();
    let width = to_usize(width.max(0)).unwrap_or(usize::MAX);
    if width > TEXT_BYTES_MAX {
        return Err(Error::long_text());
    }
    let missing = width.saturating_sub(length);
    let left = match name {
        "ljust" => 0,
        "rjust" => missing,
        _ => missing / 2 + (missing & width & 1),
    };
    let fill = |count: usize| fill.to_string().repeat(count);
    Ok([&fill(left), text, &fill(missing - left)].concat())
}
