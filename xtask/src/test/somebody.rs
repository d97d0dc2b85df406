//! Tests as another user than root: what is proven of a daemon of root's may
//! rest on root's rights.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use nix::unistd::User;
use tempfile::TempDir;

const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A user of this machine with a home of its own.
pub(super) struct Somebody {
    user: User,
    home: TempDir,
}

impl Somebody {
    pub(super) fn new(name: &str) -> Result<Self> {
        let user = User::from_name(name)?.with_context(|| format!("there is no user {name}"))?;
        let this = Self {
            user,
            home: tempfile::tempdir()?,
        };
        this.give(this.home.path())?;
        Ok(this)
    }

    /// Gives a file to the user.
    pub(super) fn give(&self, path: &Path) -> Result<()> {
        let (uid, gid) = (self.user.uid.as_raw(), self.user.gid.as_raw());
        chown(path, Some(uid), Some(gid)).with_context(|| path.display().to_string())
    }

    /// Has a program run as the user, in no group of root's.
    pub(super) fn run(&self, command: &mut Command) {
        command
            .uid(self.user.uid.as_raw())
            .gid(self.user.gid.as_raw())
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .env("USER", &self.user.name)
            // Directories of root's in it would be errors of their own.
            .env("PATH", SEARCH);
    }
}
