//! The directories that a daemon works in.
//!
//! Invariant: nobody but the daemon's user enters one that holds keys.

use std::path::{Path, PathBuf};

use anyhow::Result;
use halite_process::hand_over::hand_over;
use halite_process::privileges::{self, User};

/// A directory that a daemon works in.
pub struct Directory {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it holds keys, so that nobody else may ever enter it. Of others
    /// an administrator may think differently (`publisher_acl` needs it).
    pub holds_keys: bool,
}

impl Directory {
    /// The directories that every daemon has.
    pub fn of(pki_dir: &Path, others: [&Path; 2]) -> Vec<Self> {
        let directory = |path: &Path, holds_keys| Self {
            path: path.to_owned(),
            holds_keys,
        };
        let others = others.map(|path| directory(path, false));
        std::iter::once(directory(pki_dir, true))
            .chain(others)
            .collect()
    }

    /// Makes it, if it is not there, and gives it to `user`, if that is another
    /// one than this process'.
    pub(super) fn prepare(&self, user: Option<&User>, permissive_keys: bool) -> Result<()> {
        if permissive_keys && self.holds_keys && user.is_some_and(|user| self.is_of_a_group(user)) {
            return Ok(());
        }
        if self.holds_keys || !self.path.is_dir() {
            let owner = user.map(|user| user.uid.as_raw());
            halite_crypto::files::ensure_private_dir(&self.path, owner)?;
        }
        if let Some(user) = user.filter(|_| privileges::is_root()) {
            hand_over(&self.path, user, JOBS)?;
        }
        Ok(())
    }

    /// Whether the directory's group is one of the user's.
    fn is_of_a_group(&self, user: &User) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(group) = std::fs::metadata(&self.path).map(|found| found.gid()) else {
            return false;
        };
        let groups = std::ffi::CString::new(user.name.as_str())
            .ok()
            .and_then(|name| nix::unistd::getgrouplist(&name, user.gid).ok());
        groups.is_some_and(|groups| groups.iter().any(|known| known.as_raw() == group))
    }
}

/// The directory of old jobs, which is not searched at every start.
const JOBS: &str = "jobs";
