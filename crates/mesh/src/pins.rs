//! The public keys of the peers: the files `peers/<id>.pub`.
//!
//! Invariant: a key belongs to one peer, the first by name that has it, and to
//! none once its file is gone.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_crypto::PublicKey;
use halite_crypto::files::{FileError, read_limited};

use crate::limits::{PEERS_MAX, PIN_BYTES_MAX};
use crate::peer::PeerId;

const EXTENSION: &str = ".pub";

/// The keys in a directory, as they were when it was last read.
#[derive(Debug)]
pub struct Pins {
    dir: PathBuf,
    known: Mutex<HashMap<String, PeerId>>,
    /// Files beyond the limit, which was logged.
    left_out: AtomicUsize,
    /// How often keys were found to be gone.
    removals: AtomicUsize,
}

impl Pins {
    /// Reads the files of a directory. One that is missing has none.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn open(dir: PathBuf) -> Result<Self, FileError> {
        let pins = Self {
            dir,
            known: Mutex::default(),
            left_out: AtomicUsize::new(0),
            removals: AtomicUsize::new(0),
        };
        pins.refresh()?;
        Ok(pins)
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads the files again. A file that is no key is left out, and logged.
    ///
    /// # Errors
    /// When the directory cannot be listed; what was known stays.
    pub fn refresh(&self) -> Result<(), FileError> {
        let mut found = HashMap::new();
        for peer in self.names()? {
            let path = self.dir.join(format!("{peer}{EXTENSION}"));
            match read_key(&path) {
                Ok(key) => {
                    found.entry(key).or_insert(peer);
                }
                Err(why) => tracing::warn!("{} is not used: {why}", path.display()),
            }
        }
        let mut known = self.lock();
        let is_gone = |(key, peer): (&String, &PeerId)| found.get(key) != Some(peer);
        if known.iter().any(is_gone) {
            self.removals.fetch_add(1, Ordering::Relaxed);
        }
        *known = found;
        Ok(())
    }

    /// Whose a key is, by its normalised PEM text.
    pub fn owner(&self, key: &str) -> Option<PeerId> {
        self.lock().get(key).cloned()
    }

    /// How often keys were found to be gone: changes when one is.
    pub(crate) fn removals(&self) -> usize {
        self.removals.load(Ordering::Relaxed)
    }

    /// Whether a peer has a key here.
    pub(crate) fn has(&self, peer: &PeerId) -> bool {
        self.lock().values().any(|of| of == peer)
    }

    /// All peers, sorted.
    pub fn peers(&self) -> Vec<PeerId> {
        let mut peers: Vec<PeerId> = self.lock().values().cloned().collect();
        peers.sort_unstable();
        peers
    }

    fn names(&self) -> Result<Vec<PeerId>, FileError> {
        let failed = |source| FileError::List {
            path: self.dir.clone(),
            source,
        };
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            // One that had keys is not removed, but not mounted.
            Err(error) if error.kind() == ErrorKind::NotFound && self.lock().is_empty() => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(failed(error)),
        };
        let mut peers = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(EXTENSION));
            peers.extend(stem.and_then(|stem| PeerId::parse(stem).ok()));
        }
        peers.sort_unstable();
        let left_out = peers.len().saturating_sub(PEERS_MAX);
        if self.left_out.swap(left_out, Ordering::Relaxed) != left_out && left_out > 0 {
            tracing::error!(
                "{}: a cluster has at most {PEERS_MAX} masters, the last {left_out} by name are \
                 not linked",
                self.dir.display()
            );
        }
        peers.truncate(PEERS_MAX);
        Ok(peers)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, PeerId>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_key(path: &Path) -> Result<String, String> {
    let bytes = read_limited(path, PIN_BYTES_MAX).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    PublicKey::from_pem(&text)
        .and_then(|key| key.clean_pem())
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use halite_crypto::PrivateKey;

    use super::*;

    #[test]
    fn a_key_belongs_to_the_peer_whose_file_it_is_in() {
        let dir = tempfile::tempdir().unwrap();
        let key = PrivateKey::generate(2048).unwrap().public().unwrap();
        let clean = key.clean_pem().unwrap();
        let path = dir.path().join("10.0.0.2.pub");
        fs::write(&path, key.to_pem().unwrap()).unwrap();
        fs::write(dir.path().join("zz.pub"), key.to_pem().unwrap()).unwrap();
        fs::write(dir.path().join("rubbish.pub"), "no key").unwrap();
        fs::write(dir.path().join(".hidden.pub"), key.to_pem().unwrap()).unwrap();
        let pins = Pins::open(dir.path().to_owned()).unwrap();
        assert_eq!(pins.owner(&clean).unwrap().as_str(), "10.0.0.2");
        assert_eq!(pins.peers().len(), 1);
        pins.refresh().unwrap();
        assert_eq!(pins.removals(), 0);
        fs::remove_file(path).unwrap();
        pins.refresh().unwrap();
        assert_eq!(pins.removals(), 1);
        assert_eq!(pins.owner(&clean).unwrap().as_str(), "zz");
    }

    #[test]
    fn files_beyond_the_limit_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..PEERS_MAX + 2 {
            fs::write(dir.path().join(format!("m{n}.pub")), "no key").unwrap();
        }
        let pins = Pins::open(dir.path().to_owned()).unwrap();
        assert_eq!(pins.names().unwrap().len(), PEERS_MAX);
        assert_eq!(pins.left_out.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn keys_stay_known_while_their_directory_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let peers = dir.path().join("peers");
        fs::create_dir(&peers).unwrap();
        let key = PrivateKey::generate(2048).unwrap().public().unwrap();
        fs::write(peers.join("m2.pub"), key.to_pem().unwrap()).unwrap();
        let pins = Pins::open(peers.clone()).unwrap();
        let aside = dir.path().join("aside");
        fs::rename(&peers, &aside).unwrap();
        pins.refresh().unwrap_err();
        assert_eq!((pins.peers().len(), pins.removals()), (1, 0));
        fs::rename(&aside, &peers).unwrap();
        pins.refresh().unwrap();
        assert_eq!((pins.peers().len(), pins.removals()), (1, 0));
    }

    #[test]
    fn a_missing_directory_has_no_keys() {
        let dir = tempfile::tempdir().unwrap();
        let pins = Pins::open(dir.path().join("none")).unwrap();
        assert!(pins.peers().is_empty());
    }
}
