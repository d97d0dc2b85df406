//! Environments that are held at a commit, whatever their branches name, until
//! somebody moves them: `fileserver.promote`.
//!
//! Invariant: the file is replaced as a whole, and lies where clearing the cache
//! does not reach.

use std::collections::BTreeMap;
use std::path::Path;

use halite_crypto::files::{WriteOptions, read_limited, write_atomic};

use crate::GitError;
use crate::limits::{PROMOTED_MAX, PROMOTIONS_BYTES_MAX};
use crate::objects::Id;

const MODE: u32 = 0o600;

/// The commits that environments are held at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Promotions(BTreeMap<String, Promoted>);

/// Where an environment is held, and where it was before: runs that began there
/// go on with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Promoted {
    now: Id,
    before: Id,
}

impl Promotions {
    /// Reads the file, if it is there.
    ///
    /// # Errors
    /// When it is there and cannot be read: nothing is served then that somebody
    /// holds back.
    pub(crate) fn load(path: &Path) -> Result<Self, GitError> {
        let bytes = match read_limited(path, PROMOTIONS_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == Some(std::io::ErrorKind::NotFound) => {
                return Ok(Self::default());
            }
            Err(error) => return Err(error.into()),
        };
        let text = String::from_utf8_lossy(&bytes);
        let promoted = text.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let (env, now, before) = (words.next()?, words.next()?, words.next()?);
            let promoted = Promoted {
                now: Id::parse(now)?,
                before: Id::parse(before)?,
            };
            Some((env.to_owned(), promoted))
        });
        Ok(Self(promoted.take(PROMOTED_MAX).collect()))
    }

    pub(crate) fn store(&self, path: &Path) -> Result<(), GitError> {
        let lines = self
            .0
            .iter()
            .map(|(env, it)| format!("{env} {} {}\n", it.now, it.before));
        let text: String = lines.collect();
        write_atomic(path, WriteOptions::new(MODE), text.as_bytes())?;
        Ok(())
    }

    /// Holds an environment at a commit, or no more.
    pub(crate) fn set(&mut self, env: &str, commit: Option<Id>) {
        let before = self.now(env);
        match commit {
            Some(now) => {
                let before = before.unwrap_or(now);
                self.0.insert(env.to_owned(), Promoted { now, before });
            }
            None => {
                self.0.remove(env);
            }
        }
    }

    /// Where an environment is held.
    pub(crate) fn now(&self, env: &str) -> Option<Id> {
        self.0.get(env).map(|it| it.now)
    }

    /// Whether it is held there, or was before.
    pub(crate) fn was(&self, env: &str, id: Id) -> bool {
        let it = self.0.get(env);
        it.is_some_and(|it| it.now == id || it.before == id)
    }

    /// The environments that are held, and where.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Id)> {
        self.0.iter().map(|(env, it)| (env.as_str(), it.now))
    }

    /// All commits that are to stay.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        self.0.values().flat_map(|it| [it.now, it.before])
    }
}
