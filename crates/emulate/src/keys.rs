//! Keys of the minions, made once and kept.
//!
//! A pair takes a tenth of a second of a core to make, ten thousand of them a
//! quarter of an hour; so minions may share a few. The master notices nothing, as
//! it keeps a key for each id, but its caches then hold fewer different keys than
//! with ten thousand real minions.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io, thread};

use halite_key::KeyStoreError;
use halite_key::minion::MinionKeys;
use thiserror::Error;

/// The files of a pair.
const FILES: [&str; 2] = ["minion.pem", "minion.pub"];

/// Why there are no keys.
#[derive(Debug, Error)]
pub enum KeysError {
    /// A pair cannot be made or read.
    #[error("could not make keys in {}", dir.display())]
    Make {
        /// Where.
        dir: PathBuf,
        /// Why.
        #[source]
        source: KeyStoreError,
    },
    /// A minion's directory of keys cannot be made.
    #[error("could not copy a key to {}", dir.display())]
    Give {
        /// Its directory.
        dir: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Key pairs in a directory.
#[derive(Clone, Debug)]
pub struct KeyPool {
    dir: PathBuf,
    count: u32,
}

impl KeyPool {
    /// The pool in `dir` with `count` pairs of so many bits; those that are
    /// missing are made, on all cores.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn open(dir: &Path, count: u32, bits: u32) -> Result<Self, KeysError> {
        let pool = Self {
            dir: dir.to_owned(),
            count: count.max(1),
        };
        let next = AtomicU32::new(0);
        let failed = Mutex::new(None);
        thread::scope(|scope| {
            let cores = thread::available_parallelism().map_or(1, NonZero::get);
            for _ in 0..cores {
                scope.spawn(|| {
                    if let Err(error) = pool.make_those_left(&next, bits)
                        && let Ok(mut failed) = failed.lock()
                    {
                        *failed = Some(error);
                    }
                });
            }
        });
        match failed.into_inner().ok().flatten() {
            Some(error) => Err(error),
            None => Ok(pool),
        }
    }

    fn make_those_left(&self, next: &AtomicU32, bits: u32) -> Result<(), KeysError> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= self.count {
                return Ok(());
            }
            let dir = self.pair(number);
            if FILES.iter().all(|file| dir.join(file).exists()) {
                continue;
            }
            if let Err(source) = MinionKeys::load_or_generate(&dir, bits, None) {
                return Err(KeysError::Make { dir, source });
            }
        }
    }

    /// Gives the minion with this number its key, unless it has one.
    ///
    /// # Errors
    /// When its directory cannot be written.
    pub fn give(&self, number: u32, pki_dir: &Path) -> Result<(), KeysError> {
        let give = || {
            fs::create_dir_all(pki_dir)?;
            for file in FILES {
                let to = pki_dir.join(file);
                if !to.exists() {
                    fs::copy(self.pair(number % self.count).join(file), to)?;
                }
            }
            Ok(())
        };
        give().map_err(|source| KeysError::Give {
            dir: pki_dir.to_owned(),
            source,
        })
    }

    fn pair(&self, number: u32) -> PathBuf {
        self.dir.join(format!("{number:05}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_made_once_and_taken_in_turn() {
        let dir = tempfile::tempdir().unwrap();
        let pool = KeyPool::open(&dir.path().join("keys"), 2, 2048).unwrap();
        let key_of = |pool: &KeyPool, number: u32| {
            let pki = dir.path().join(format!("pki-{number}"));
            pool.give(number, &pki).unwrap();
            fs::read(pki.join("minion.pem")).unwrap()
        };
        let first: Vec<_> = (0..3).map(|number| key_of(&pool, number)).collect();
        assert_eq!(first[0], first[2]);
        assert_ne!(first[0], first[1]);
        let again = KeyPool::open(&dir.path().join("keys"), 2, 2048).unwrap();
        assert_eq!(key_of(&again, 4), first[0]);
    }
}
