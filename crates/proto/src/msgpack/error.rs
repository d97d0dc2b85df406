//! What can be wrong with bytes and with values.

use thiserror::Error;

use crate::limits::DEPTH_MAX;

/// Why a value cannot be packed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PackError {
    /// Lists and maps are nested beyond [`DEPTH_MAX`].
    #[error("the value is nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// A text, list or map has more than 2^32-1 parts.
    #[error("a {kind} has {len} parts, more than the format can hold")]
    TooLong {
        /// What it is.
        kind: &'static str,
        /// How many parts it has.
        len: usize,
    },
}

/// Why bytes are no message. Positions are byte offsets from its start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnpackError {
    /// The message ends within a value.
    #[error("the message ends at byte {at}, within a value")]
    Truncated {
        /// Where the missing part should begin.
        at: usize,
    },
    /// More follows the value.
    #[error("{left} more bytes follow the value that ends at byte {at}")]
    Trailing {
        /// Where the value ends.
        at: usize,
        /// How many bytes follow.
        left: usize,
    },
    /// The byte 0xc1, which begins no value.
    #[error("no value begins with the byte at {at}")]
    Unused {
        /// Where it is.
        at: usize,
    },
    /// The message is longer than the limit, or says so.
    #[error("the message has more than {max} bytes")]
    TooLarge {
        /// The limit.
        max: usize,
    },
    /// Lists and maps are nested beyond the limit.
    #[error("the value at byte {at} is nested deeper than {max} levels")]
    TooDeep {
        /// Where the value that is too deep begins.
        at: usize,
        /// The limit.
        max: usize,
    },
    /// There are more values than the limit.
    #[error("the message has more than {max} values, counted up to byte {at}")]
    TooManyItems {
        /// Where the list or map begins that has too many.
        at: usize,
        /// The limit.
        max: usize,
    },
    /// A list or a map is the key of a map.
    #[error("the map key at byte {at} is a {kind}")]
    BadKey {
        /// Where the key begins.
        at: usize,
        /// What it is.
        kind: &'static str,
    },
    /// An extension that has a meaning holds something else.
    #[error("the extension {code} at byte {at} is not {expected}")]
    BadExt {
        /// Where the extension begins.
        at: usize,
        /// Its code.
        code: i8,
        /// What its data should have been.
        expected: &'static str,
    },
}
