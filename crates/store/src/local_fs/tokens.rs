//! Tokens, each in a file that is named by the token (`tokens/<token>.p`).
//!
//! Errors name the directory only, because the name of a file gives access to the
//! master.

use std::path::{Path, PathBuf};

use halite_crypto::files::{self, FileError, MODE_SECRET, WriteOptions};
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, Value};

use super::atomic::entries;
use crate::error::StoreError;
use crate::kept::{TokenId, is_over};
use crate::limits::TOKEN_BYTES_MAX;

/// The tokens of a cache directory.
#[derive(Debug)]
pub(crate) struct Tokens {
    dir: PathBuf,
}

impl Tokens {
    pub(super) fn new(cachedir: &Path) -> Self {
        Self {
            dir: cachedir.join("tokens"),
        }
    }

    pub(crate) fn put(
        &self,
        token: &TokenId,
        data: &Map,
        expires_s: i64,
    ) -> Result<(), StoreError> {
        let stored = Map::from([
            ("data", Value::from(data.clone())),
            ("_expires", expires_s.into()),
        ]);
        let packed = pack_modern(&stored.into())
            .map_err(|source| StoreError::pack(self.dir.display(), source))?;
        files::ensure_private_dir(&self.dir, None)?;
        let file = &self.files(token)[0];
        files::write_atomic(file, WriteOptions::new(MODE_SECRET), &packed)
            .map_err(|error| self.without_name(error))
    }

    pub(crate) fn get(&self, token: &TokenId) -> Result<Option<Map>, StoreError> {
        for file in self.files(token) {
            if let Some(data) = self.read(&file)? {
                return Ok(Some(match data.get("data") {
                    Some(Value::Map(inner)) => inner.clone(),
                    _ => data,
                }));
            }
        }
        Ok(None)
    }

    pub(crate) fn delete(&self, token: &TokenId) -> Result<bool, StoreError> {
        let mut was_there = false;
        for file in self.files(token) {
            match std::fs::remove_file(&file) {
                Ok(()) => was_there = true,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(StoreError::remove(&self.dir, source)),
            }
        }
        Ok(was_there)
    }

    pub(crate) fn list(&self) -> Result<Vec<TokenId>, StoreError> {
        let mut tokens: Vec<TokenId> = entries(&self.dir)?
            .iter()
            .filter_map(|entry| {
                let name = entry.file_name();
                let name = name.to_str()?;
                TokenId::parse(name.strip_suffix(".p").unwrap_or(name))
            })
            .collect();
        tokens.sort_unstable();
        tokens.dedup();
        Ok(tokens)
    }

    pub(crate) fn expire(&self, now_s: i64) -> Result<usize, StoreError> {
        let mut expired = 0;
        for token in self.list()? {
            // One that cannot be read now is looked at again next time.
            let data = self.get(&token).ok().flatten();
            if data.and_then(|data| is_over(&data, now_s)) == Some(true) && self.delete(&token)? {
                expired += 1;
            }
        }
        Ok(expired)
    }

    fn read(&self, file: &Path) -> Result<Option<Map>, StoreError> {
        let bytes = match files::read_limited(file, TOKEN_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == Some(std::io::ErrorKind::NotFound) => return Ok(None),
            Err(FileError::TooLarge { .. }) => return Ok(None),
            Err(error) => return Err(self.without_name(error)),
        };
        match unpack_modern(&bytes) {
            Ok(Value::Map(map)) => Ok(Some(map)),
            _ => Ok(None),
        }
    }

    fn without_name(&self, error: FileError) -> StoreError {
        let path = self.dir.clone();
        match error {
            FileError::Read { source, .. } => FileError::Read { path, source }.into(),
            FileError::Write { source, .. } => FileError::Write { path, source }.into(),
            other => other.into(),
        }
    }

    /// The file of 3008, and the one of 3006: the bare map, without an ending.
    fn files(&self, token: &TokenId) -> [PathBuf; 2] {
        let name = token.expose();
        [self.dir.join(format!("{name}.p")), self.dir.join(name)]
    }
}
