//! Gives the fuzz targets access to the private decoders of this crate; no
//! interface.

use crate::zmtp::{Decoder, Item};

/// The largest frame that is read.
const FRAME_BYTES_MAX: usize = 1 << 16;

/// What a stranger sends to a port: the first byte says in which pieces it
/// arrives.
///
/// # Panics
/// When it matters in which pieces bytes arrive, or more is kept than has
/// arrived.
pub fn zmtp(bytes: &[u8]) {
    let Some((&piece, bytes)) = bytes.split_first() else {
        return;
    };
    let at_once = items(bytes, bytes.len().max(1));
    let in_pieces = items(bytes, usize::from(piece).max(1));
    assert_eq!(at_once, in_pieces, "pieces of {piece} bytes");
}

/// The items, and whether the connection would be ended.
fn items(bytes: &[u8], piece: usize) -> (Vec<Item>, bool) {
    /// Memory reserved at first for the body of a frame.
    const RESERVED: usize = 4096;
    let mut decoder = Decoder::new(FRAME_BYTES_MAX);
    let mut items = Vec::new();
    for mut piece in bytes.chunks(piece) {
        while !piece.is_empty() {
            match decoder.feed(&mut piece) {
                Ok(item) => items.extend(item),
                Err(_) => return (items, true),
            }
            assert!(decoder.kept() <= RESERVED.max(2 * bytes.len()));
        }
    }
    (items, false)
}
