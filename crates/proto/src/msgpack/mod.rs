//! The packing of everything that travels or is stored.
//!
//! Salt packs in two ways. "Wire" (`use_bin_type=False`) puts text and bytes in
//! one family, without `str8`; network payloads and everything encrypted or
//! signed are packed so. "Modern" has `bin` for bytes; events, tcp frames and
//! cache files are packed so.
//!
//! Invariant: no input makes a function of this module panic, nest deeper than
//! its limit or allocate more than a small multiple of the bytes it was given.

mod decode;
mod encode;
mod entries;
mod error;
mod heads;
mod len;
mod parts;
mod pick;
mod reader;
mod scan;
mod writer;

pub use decode::{
    Reading, unpack, unpack_modern, unpack_prefix, unpack_raw, unpack_wire, unpack_with,
};
pub use encode::{Packing, pack, pack_map, pack_map_with, pack_modern, pack_wire};
pub use entries::Entries;
pub use error::{PackError, UnpackError};
pub use heads::{Head, Heads};
pub use len::packed_len;
pub use parts::{Parts, pack_wire_parts, string_in, wire_bytes_head};
pub use pick::{entry, map_head, pick, text};
pub use scan::Scanner;
pub use writer::Writer;

/// First bytes of the packed kinds, from the msgpack specification.
mod marker {
    pub(super) const FIX_MAP: u8 = 0x80;
    pub(super) const FIX_ARRAY: u8 = 0x90;
    pub(super) const FIX_STR: u8 = 0xa0;
    pub(super) const NIL: u8 = 0xc0;
    pub(super) const FALSE: u8 = 0xc2;
    pub(super) const TRUE: u8 = 0xc3;
    pub(super) const BIN_8: u8 = 0xc4;
    pub(super) const BIN_16: u8 = 0xc5;
    pub(super) const BIN_32: u8 = 0xc6;
    pub(super) const EXT_8: u8 = 0xc7;
    pub(super) const EXT_16: u8 = 0xc8;
    pub(super) const EXT_32: u8 = 0xc9;
    pub(super) const FLOAT_32: u8 = 0xca;
    pub(super) const FLOAT_64: u8 = 0xcb;
    pub(super) const UINT_8: u8 = 0xcc;
    pub(super) const UINT_16: u8 = 0xcd;
    pub(super) const UINT_32: u8 = 0xce;
    pub(super) const UINT_64: u8 = 0xcf;
    pub(super) const INT_8: u8 = 0xd0;
    pub(super) const INT_16: u8 = 0xd1;
    pub(super) const INT_32: u8 = 0xd2;
    pub(super) const INT_64: u8 = 0xd3;
    pub(super) const FIX_EXT_1: u8 = 0xd4;
    pub(super) const FIX_EXT_2: u8 = 0xd5;
    pub(super) const FIX_EXT_4: u8 = 0xd6;
    pub(super) const FIX_EXT_8: u8 = 0xd7;
    pub(super) const FIX_EXT_16: u8 = 0xd8;
    pub(super) const STR_8: u8 = 0xd9;
    pub(super) const STR_16: u8 = 0xda;
    pub(super) const STR_32: u8 = 0xdb;
    pub(super) const ARRAY_16: u8 = 0xdc;
    pub(super) const ARRAY_32: u8 = 0xdd;
    pub(super) const MAP_16: u8 = 0xde;
    pub(super) const MAP_32: u8 = 0xdf;
}
