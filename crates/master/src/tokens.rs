//! Tokens: who has logged in once can show one for some hours instead.
//!
//! Invariant: a token is a file below `<cachedir>/tokens` named by the token
//! itself, so only what has the form of a token becomes a path; one that has
//! expired is as good as none.

use std::fs;
use std::path::{Path, PathBuf};

use halite_crypto::files::{self, FileError, MODE_SECRET, WriteOptions};
use halite_crypto::{HashType, hash_hex, random_bytes};
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, PackError, Value};
use thiserror::Error;

/// A token file larger than this is none.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// Random bytes behind a token.
const SEED_BYTES: usize = 512;

/// Why a token could not be made.
#[derive(Debug, Error)]
pub(crate) enum TokenError {
    /// What it stands for cannot be packed.
    #[error("could not pack the token")]
    Pack(#[from] PackError),
    /// It cannot be stored.
    #[error("could not store the token")]
    Store(#[from] FileError),
}

/// Who has logged in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who<'a> {
    /// The name.
    pub(crate) name: &'a str,
    /// The way to log in.
    pub(crate) eauth: &'a str,
    /// Their groups, which the token keeps.
    pub(crate) groups: &'a [String],
}

/// The tokens of one master.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    dir: PathBuf,
    hash_type: HashType,
}

impl Tokens {
    /// Tokens below `cachedir`.
    pub(crate) fn new(cachedir: &Path, hash_type: HashType) -> Self {
        Self {
            dir: cachedir.join("tokens"),
            hash_type,
        }
    }

    /// Makes a token for somebody who has logged in; gives all that it stands
    /// for.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub(crate) fn make(
        &self,
        who: Who<'_>,
        lifetime_s: u64,
        auth_list: Option<Vec<Value>>,
        now_s: i64,
    ) -> Result<Map, TokenError> {
        let token = hash_hex(self.hash_type, &random_bytes::<SEED_BYTES>());
        let expire = now_s.saturating_add(i64::try_from(lifetime_s).unwrap_or(i64::MAX / 2));
        #[expect(clippy::cast_precision_loss, reason = "Salt's tokens have floats here")]
        let float = |seconds: i64| Value::Float(seconds as f64);
        let mut data = Map::from([
            ("start", float(now_s)),
            ("expire", float(expire)),
            ("name", who.name.into()),
            ("eauth", who.eauth.into()),
            ("token", token.as_str().into()),
        ]);
        if !who.groups.is_empty() {
            let groups = who.groups.iter().map(|group| group.as_str().into());
            data.insert("groups", Value::List(groups.collect()));
        }
        if let Some(auth_list) = auth_list {
            data.insert("auth_list", auth_list);
        }
        let stored = Map::from([
            ("data", Value::from(data.clone())),
            ("_expires", expire.into()),
        ]);
        let packed = pack_modern(&stored.into())?;
        files::ensure_private_dir(&self.dir, None)?;
        files::write_atomic(&self.file(&token), WriteOptions::new(MODE_SECRET), &packed)?;
        Ok(data)
    }

    /// What a token stands for; `None` if it is none, or not any more.
    pub(crate) fn get(&self, token: &str, now_s: i64) -> Option<Map> {
        if !is_token(token) {
            return None;
        }
        // 3006 keeps the bare map in a file without an ending.
        let data = [self.file(token), self.dir.join(token)]
            .iter()
            .find_map(|path| read(path))?;
        let data = match data.get("data") {
            Some(Value::Map(inner)) => inner.clone(),
            _ => data,
        };
        let expire = data.get("expire").and_then(Value::as_f64)?;
        #[expect(clippy::cast_precision_loss, reason = "seconds of our time fit")]
        let is_over = expire < now_s as f64;
        if is_over {
            self.remove(token);
            return None;
        }
        Some(data)
    }

    /// Removes a token; false if there was none.
    pub(crate) fn remove(&self, token: &str) -> bool {
        if !is_token(token) {
            return false;
        }
        let new = fs::remove_file(self.file(token)).is_ok();
        let old = fs::remove_file(self.dir.join(token)).is_ok();
        new || old
    }

    /// Removes those that have expired.
    pub(crate) fn clean(&self, now_s: i64) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if let Some(name) = name.to_str() {
                // Looking at an old one removes it.
                let _ = self.get(name.strip_suffix(".p").unwrap_or(name), now_s);
            }
        }
    }

    fn file(&self, token: &str) -> PathBuf {
        self.dir.join(format!("{token}.p"))
    }
}

/// Whether a text has the form of a token: hexadecimal digits.
fn is_token(text: &str) -> bool {
    const CHARS_MAX: usize = 128;
    !text.is_empty() && text.len() <= CHARS_MAX && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn read(path: &Path) -> Option<Map> {
    let bytes = files::read_limited(path, FILE_BYTES_MAX).ok()?;
    match unpack_modern(&bytes).ok()? {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_until_it_expires() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = Tokens::new(dir.path(), HashType::Sha256);
        let who = Who {
            name: "alice",
            eauth: "pam",
            groups: &["ops".to_owned()],
        };
        let made = tokens.make(who, 100, None, 1000).unwrap();
        assert_eq!(made.get("groups"), Some(&Value::List(vec!["ops".into()])));
        let token = made.get("token").and_then(Value::as_str).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(tokens.get(token, 1050), Some(made.clone()));
        assert_eq!(tokens.get(&token[1..], 1050), None);
        assert_eq!(tokens.get(token, 1101), None);
        // It is gone now, whatever the clock says.
        assert_eq!(tokens.get(token, 1050), None);
    }

    #[test]
    fn only_what_has_the_form_of_a_token_is_a_path() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = Tokens::new(dir.path(), HashType::Sha256);
        for text in ["", "../tokens", "x", "a/b"] {
            assert_eq!(tokens.get(text, 0), None);
            assert!(!tokens.remove(text));
        }
    }
}
