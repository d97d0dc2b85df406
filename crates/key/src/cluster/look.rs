//! What is read of a shared directory while masters run.
//!
//! Invariant: nothing is made there. What is missing then may be on a file system that is
//! not mounted, and a new one would hide it, or differ from that of other masters.

use halite_crypto::files::read_limited;
use halite_crypto::{Secret, SymmetricKey};

use super::{ClusterDir, PUBLISH_KEY};
use crate::error::KeyStoreError;
use crate::key_file::check_dir;
use crate::limits::KEY_FILE_BYTES_MAX;

impl ClusterDir {
    /// Checks that the directory is still there and can be read.
    ///
    /// # Errors
    /// When it is not, as while its file system is not mounted.
    pub fn check_readable(&self) -> Result<(), KeyStoreError> {
        check_dir(&self.peers())
    }

    /// The key of publications that is there.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn read_publish_key(&self) -> Result<SymmetricKey, KeyStoreError> {
        let path = self.dir.join(PUBLISH_KEY);
        let bytes = Secret::new(read_limited(&path, KEY_FILE_BYTES_MAX)?);
        let text = std::str::from_utf8(bytes.expose()).unwrap_or_default();
        SymmetricKey::parse(text).map_err(|_| KeyStoreError::NoPublishKey { path })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nothing_is_made_in_a_directory_that_has_lost_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("pki");
        let cluster = ClusterDir::open(place.clone()).unwrap();
        let key = cluster.publish_key().unwrap();
        assert!(cluster.read_publish_key().unwrap().is_same(&key));
        cluster.check_readable().unwrap();
        fs::rename(&place, dir.path().join("aside")).unwrap();
        fs::create_dir(&place).unwrap();
        assert!(cluster.read_publish_key().is_err());
        cluster.check_readable().unwrap_err();
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    }
}
