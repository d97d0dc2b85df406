//! One answer to the request for a piece of a file.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use halite_proto::Value;
use halite_proto::request::{ChunkBeyond, FileChunk};

use crate::limits::FILE_PIECE_BYTES_MAX;

/// A piece of a file, as it is to be written.
pub(super) struct Piece {
    /// Its bytes; none at the end of the file.
    pub(super) data: Vec<u8>,
    /// Whether there is no such file.
    pub(super) is_missing: bool,
    /// What a Halite master says besides.
    pub(super) beyond: Option<ChunkBeyond>,
}

impl Piece {
    /// Reads an answer.
    ///
    /// # Errors
    /// When it is none; the text says why.
    pub(super) fn read(answer: Value) -> Result<Self, String> {
        let chunk = FileChunk::from_value(answer).map_err(|error| error.to_string())?;
        let is_missing = chunk.is_missing();
        let is_packed = chunk.gzip.is_some_and(|level| level != 0) && !chunk.data.is_empty();
        let data = if is_packed {
            gunzip(&chunk.data)?
        } else {
            chunk.data
        };
        Ok(Self {
            data,
            is_missing,
            beyond: chunk.beyond,
        })
    }
}

fn gunzip(data: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    let mut reader = MultiGzDecoder::new(data).take(FILE_PIECE_BYTES_MAX + 1);
    reader
        .read_to_end(&mut plain)
        .map_err(|error| format!("it is not compressed as it says: {error}"))?;
    if plain.len() as u64 > FILE_PIECE_BYTES_MAX {
        return Err("it is too large".to_owned());
    }
    Ok(plain)
}
