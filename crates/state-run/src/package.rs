//! Archives with everything that a run of states needs: the chunks, their files,
//! their pillar and grains (`state.pkg`). Salt's `salt-ssh` packs them.
//!
//! Invariant: an archive is unpacked only if it has the given checksum, and nothing
//! of it is left when the package is dropped.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use halite_crypto::{HashType, Hasher};
use halite_fileserver::{FileServer, RootsOptions};
use halite_pillar::LocalFiles;
use halite_proto::{Map, Value, json};
use halite_state::Chunk;
use tempfile::TempDir;

use crate::limits::{PACKAGE_BYTES_MAX, PACKAGE_DATA_BYTES_MAX, PACKAGE_PACKED_BYTES_MAX};

/// An archive that is unpacked.
pub(crate) struct Package {
    /// What is to be run.
    pub(crate) chunks: Vec<Chunk>,
    /// The pillar of the run, if there is one in it.
    pub(crate) pillar: Option<Map>,
    /// The grains of the run, if there are any in it.
    pub(crate) grains: Option<Map>,
    /// The environments with their directories, as `file_roots` says it.
    pub(crate) file_roots: Map,
    /// The same, for those who ask for files.
    pub(crate) files: LocalFiles,
    _unpacked: TempDir,
}

impl Package {
    /// Checks and unpacks an archive.
    ///
    /// # Errors
    /// When its sum is another one, or it is no such archive; in words.
    pub(crate) fn open(
        path: &Path,
        sum: &str,
        hash_type: &str,
        opts: &Map,
    ) -> Result<Self, String> {
        let shown = path.display();
        let unreadable = |error: io::Error| format!("could not read {shown}: {error}");
        let hash_type =
            HashType::parse(hash_type).map_err(|_| format!("Invalid hash type: {hash_type}"))?;
        let file = File::open(path).map_err(unreadable)?;
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(format!("{shown} is no file"));
        }
        // What the sum is taken of is what is unpacked, whoever writes to the
        // archive meanwhile.
        let failed = |error: io::Error| format!("could not unpack {shown}: {error}");
        let mut copy = tempfile::tempfile().map_err(failed)?;
        let found = copied(file, &mut copy, hash_type, PACKAGE_PACKED_BYTES_MAX);
        let found = found.map_err(unreadable)?;
        if found != sum {
            return Err(format!("the sum of {shown} is {found}, not {sum}"));
        }
        copy.rewind().map_err(failed)?;
        let unpacked = TempDir::with_prefix("state-pkg-").map_err(failed)?;
        halite_files::unpack_package(BufReader::new(copy), unpacked.path(), PACKAGE_BYTES_MAX)
            .map_err(failed)?;
        Self::of(unpacked, opts).map_err(|error| format!("{shown}: {error}"))
    }

    fn of(unpacked: TempDir, opts: &Map) -> Result<Self, String> {
        let low = data(unpacked.path(), "lowstate.json")?;
        let low = low.ok_or_else(|| "there is no lowstate.json in it".to_owned())?;
        let chunks = chunks(low)?;
        let mut options = RootsOptions::from_opts(opts).map_err(|error| error.to_string())?;
        options.file_roots = Vec::new();
        let mut file_roots = Map::new();
        let entries = fs::read_dir(unpacked.path()).map_err(|error| error.to_string())?;
        for entry in entries.flatten() {
            let path = entry.path();
            let (true, Ok(env)) = (path.is_dir(), entry.file_name().into_string()) else {
                continue;
            };
            let shown = Value::from(path.to_string_lossy().as_ref());
            file_roots.insert(env.as_str(), Value::List(vec![shown]));
            options.file_roots.push((env, vec![path]));
        }
        let files = FileServer::from_roots(options).map_err(|error| error.to_string())?;
        Ok(Self {
            chunks,
            pillar: map(unpacked.path(), "pillar.json")?,
            grains: map(unpacked.path(), "roster_grains.json")?,
            file_roots,
            files: LocalFiles::new(Arc::new(files)),
            _unpacked: unpacked,
        })
    }
}

/// Copies at most `bytes_max` bytes; the sum of what was copied.
fn copied(
    from: impl Read,
    to: &mut impl Write,
    hash_type: HashType,
    bytes_max: u64,
) -> io::Result<String> {
    let mut from = from.take(bytes_max.saturating_add(1));
    let mut hasher = Hasher::new(hash_type);
    let mut piece = vec![0; 1 << 16];
    let mut left = bytes_max;
    loop {
        let count = from.read(&mut piece)?;
        let piece = piece.get(..count).unwrap_or_default();
        if piece.is_empty() {
            return Ok(hasher.finish_hex());
        }
        let Some(rest) = left.checked_sub(count as u64) else {
            return Err(io::Error::other("it is too large"));
        };
        left = rest;
        hasher.update(piece);
        to.write_all(piece)?;
    }
}

fn chunks(low: Value) -> Result<Vec<Chunk>, String> {
    let Value::List(chunks) = low else {
        return Err("its lowstate.json is no list".to_owned());
    };
    let is_chunk = |map: &Map| {
        let is_text = |key: &&str| map.get(key).and_then(Value::as_str).is_some();
        ["state", "fun", "__id__", "__sls__", "__env__"]
            .iter()
            .all(is_text)
    };
    let chunks = chunks.into_iter().map(|chunk| match chunk {
        Value::Map(map) if is_chunk(&map) => Ok(Chunk::new(map)),
        _ => Err("its lowstate.json holds something else than states".to_owned()),
    });
    chunks.collect()
}

/// The data of a file; nothing if there is no such file.
fn data(dir: &Path, name: &str) -> Result<Option<Value>, String> {
    let path = dir.join(name);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = halite_crypto::files::read_limited(&path, PACKAGE_DATA_BYTES_MAX);
    let bytes = bytes.map_err(|_| format!("its {name} cannot be read"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("its {name} is no text"))?;
    let data = json::read(&text).map_err(|error| format!("its {name} is no JSON: {error}"))?;
    Ok(Some(data))
}

fn map(dir: &Path, name: &str) -> Result<Option<Map>, String> {
    match data(dir, name)? {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::Map(map)) => Ok(Some(map)),
        Some(_) => Err(format!("its {name} is no map")),
    }
}

#[cfg(test)]
mod tests {
    use halite_crypto::hash_hex;

    use super::*;

    #[test]
    fn the_sum_is_that_of_what_was_copied() {
        let text = vec![7; (1 << 16) + 1];
        let size = text.len() as u64;
        let mut copy = Vec::new();
        let sum = copied(&*text, &mut copy, HashType::Sha256, size).unwrap();
        assert_eq!(sum, hash_hex(HashType::Sha256, &copy));
        assert_eq!(copy, text);
        copied(&*text, &mut io::sink(), HashType::Sha256, size - 1).unwrap_err();
    }
}
