//! A job that the master learns of by its first return: its directory is filled
//! under another name and appears in its place whole.
//!
//! Invariant: of two writers that create the same job at once, one wins and the
//! other notices. What a crash leaves behind has a hidden name and is removed by
//! the cleaner like any old job.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use halite_crypto::files::MODE_SECRET;

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId};

use super::atomic::temp_beside;
use super::jobs::{COMMITS, JID, Jobs, LOAD, MINIONS, OUT, RETURN, make_dir};
use crate::error::StoreError;
use crate::packing::{commits_of, load_of_return, pack_commits, pack_load, pack_minions, pack_out};

impl Jobs {
    /// Stores the first return of a job that has no directory yet; false, without a
    /// change, if it has one by now.
    pub(crate) fn save_unknown(
        &self,
        jid: &Jid,
        dir: &Path,
        id: &MinionId,
        ret: &JobReturn,
        pack: impl Fn(&Path) -> Result<Vec<u8>, StoreError>,
    ) -> Result<bool, StoreError> {
        let minion = Path::new(id.as_str());
        let load = load_of_return(jid, id, ret);
        let staged = Staged::beside(dir)?;
        staged.add(LOAD, &pack_load(dir.join(LOAD).display(), &load)?)?;
        // Nobody else says who was meant, and 3006 wants the list.
        let ids = vec![id.to_string()];
        staged.add(MINIONS, &pack_minions(dir.join(MINIONS).display(), ids)?)?;
        staged.add_dir(minion)?;
        if let Some(out) = &ret.out {
            let path = minion.join(OUT);
            staged.add(&path, &pack_out(dir.join(&path).display(), out)?)?;
        }
        let commits = commits_of(ret);
        if !commits.is_empty() {
            let path = minion.join(COMMITS);
            staged.add(&path, &pack_commits(dir.join(&path).display(), &commits)?)?;
        }
        let path = minion.join(RETURN);
        staged.add(&path, &pack(&dir.join(&path))?)?;
        // Last, so that who looks at hidden names too takes it for no job.
        staged.add(JID, jid.as_str().as_bytes())?;
        staged.put(dir)
    }
}

/// A directory that is not in its place yet.
#[derive(Debug)]
struct Staged {
    dir: PathBuf,
    is_placed: bool,
}

impl Staged {
    /// An empty directory that shall be `target`.
    fn beside(target: &Path) -> Result<Self, StoreError> {
        loop {
            let dir = temp_beside(target);
            // One that is there was left by a process of the same number.
            if make_dir(&dir)? {
                return Ok(Self {
                    dir,
                    is_placed: false,
                });
            }
        }
    }

    /// Adds a directory.
    fn add_dir(&self, name: &Path) -> Result<(), StoreError> {
        let dir = self.dir.join(name);
        fs::create_dir(&dir).map_err(|source| StoreError::make_dir(&dir, source))
    }

    /// Adds a file that is readable by its owner only.
    fn add(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.dir.join(name);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(MODE_SECRET)
            .open(&path)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(|source| StoreError::write(&path, source))
    }

    /// Moves the directory into its place; false, without a change, if there is one
    /// already.
    fn put(mut self, target: &Path) -> Result<bool, StoreError> {
        match fs::rename(&self.dir, target) {
            Ok(()) => {
                self.is_placed = true;
                Ok(true)
            }
            Err(error) if is_taken(&error) => Ok(false),
            Err(source) => Err(StoreError::make_dir(target, source)),
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.is_placed {
            // What cannot be removed now is removed as an old job.
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotADirectory
    )
}
