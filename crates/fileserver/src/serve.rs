//! Files in chunks.
//!
//! Each chunk opens its file again: that costs a hundredth of sending it, and a
//! file that was replaced between two chunks is not held open. Memory is one chunk,
//! whatever the size of the file.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::{Compression, GzBuilder};
use halite_process::clock::unix_seconds;
use halite_proto::SaltEnv;

use crate::hash::Identity;
use crate::limits::CHUNK_BYTES_MAX;
use crate::roots::Roots;
use crate::{FileServer, Found, ReadError, file};

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its bytes, compressed or not. Empty at the end of the file.
    pub data: Vec<u8>,
    /// The file's path within its root.
    pub dest: String,
    /// The level it was asked to be compressed with, if it is compressed.
    pub gzip: Option<i64>,
    /// The content that it is a part of: it changes when that does.
    pub version: String,
}

impl FileServer {
    /// Reads the chunk at `loc` (counted in uncompressed bytes); `None` if
    /// there is no such file. With a `gzip` level above 0 the chunk is a gzip
    /// member of its own.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn serve(
        &self,
        path: &str,
        saltenv: &SaltEnv,
        loc: u64,
        gzip: Option<i64>,
    ) -> Result<Option<Chunk>, ReadError> {
        match self.find(path, saltenv) {
            Some(found) => self.serve_found(&found, loc, gzip, None).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the chunk at `loc` of a file that was found, of `bytes` at most.
    pub(crate) fn serve_found(
        &self,
        found: &Found<'_>,
        loc: u64,
        gzip: Option<i64>,
        bytes: Option<u64>,
    ) -> Result<Chunk, ReadError> {
        let bytes_max = self.buffer_bytes.clamp(1, CHUNK_BYTES_MAX);
        let bytes_max = match bytes {
            Some(bytes) => usize::try_from(bytes).map_or(bytes_max, |bytes| bytes.min(bytes_max)),
            None => bytes_max,
        };
        let (data, version) = found.read(loc, bytes_max)?;
        let (data, gzip) = match gzip {
            Some(level) if level != 0 && !data.is_empty() => {
                let packed = compress(&data, level).map_err(|source| found.unreadable(source))?;
                (packed, Some(level))
            }
            _ => (data, None),
        };
        Ok(Chunk {
            data,
            dest: found.rel.clone(),
            gzip,
            version,
        })
    }
}

impl Roots {
    /// Reads at most `bytes_max` bytes from `loc` on of a file of a root, and
    /// tells which content they belong to.
    pub(crate) fn read(
        &self,
        root: &Path,
        path: &Path,
        loc: u64,
        bytes_max: usize,
    ) -> io::Result<(Vec<u8>, String)> {
        let (file, _) = file::open(root, path, self.options.follow_symlinks)?;
        read_piece(&file, loc, bytes_max)
    }
}

/// Reads at most `bytes_max` bytes from `loc` on of an open file, and tells
/// which content they belong to.
pub(crate) fn read_piece(file: &File, loc: u64, bytes_max: usize) -> io::Result<(Vec<u8>, String)> {
    let metadata = file.metadata()?;
    let left = metadata.len().saturating_sub(loc);
    let bytes = usize::try_from(left).map_or(bytes_max, |left| left.min(bytes_max));
    let mut data = vec![0; bytes];
    let mut filled = 0;
    while let Some(rest) = data.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, loc + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    data.truncate(filled);
    Ok((data, Identity::from(&metadata).to_string()))
}

/// A gzip member of `data`.
fn compress(data: &[u8], level: i64) -> io::Result<Vec<u8>> {
    const LEVEL_MAX: u32 = 9;
    let level = match u32::try_from(level) {
        Ok(level) => Compression::new(level.min(LEVEL_MAX)),
        // Python's -1.
        Err(_) => Compression::default(),
    };
    let mut writer = GzBuilder::new()
        .mtime(u32::try_from(unix_seconds()).unwrap_or_default())
        .write(Vec::with_capacity(data.len() / 2), level);
    writer.write_all(data)?;
    writer.finish()
}
