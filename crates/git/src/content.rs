//! The content of a file: in memory if it is small, else in a copy on disk.
//!
//! Invariant: memory holds no more of a file than
//! [`BLOB_IN_MEMORY_BYTES_MAX`], whatever its size.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Instant, SystemTime};

use halite_crypto::files::ensure_private_dir;
use nix::unistd::gettid;

use crate::GitError;
use crate::limits::{
    BLOB_BYTES_MAX, BLOB_IN_MEMORY_BYTES_MAX, COPIES_BYTES_MAX, COPY_POLL, COPY_TIME_MAX,
};
use crate::objects::Id;
use crate::program::bare_git;
use crate::tree::{Tree, TreeFile};
use crate::watch::size;

/// What is in a file.
#[derive(Debug)]
pub enum Content {
    /// All of it.
    Memory(Vec<u8>),
    /// A copy of it.
    Copy(File),
}

impl Content {
    /// At most `bytes_max` bytes from `loc` on.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn read_at(&self, loc: u64, bytes_max: usize) -> io::Result<Vec<u8>> {
        match self {
            Self::Memory(bytes) => {
                let rest = usize::try_from(loc).ok().and_then(|loc| bytes.get(loc..));
                let rest = rest.unwrap_or_default();
                Ok(rest.get(..bytes_max).unwrap_or(rest).to_vec())
            }
            Self::Copy(file) => {
                let left = file.metadata()?.len().saturating_sub(loc);
                let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(bytes_max);
                let mut bytes = vec![0; wanted];
                file.read_exact_at(&mut bytes, loc)?;
                Ok(bytes)
            }
        }
    }

    /// Calls `on_piece` with all of it, piece by piece.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn each_piece(&self, on_piece: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut file = match self {
            Self::Memory(bytes) => {
                on_piece(bytes);
                return Ok(());
            }
            Self::Copy(file) => file,
        };
        let mut buffer = vec![0; 256 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(()),
                read => on_piece(buffer.get(..read).unwrap_or_default()),
            }
        }
    }
}

impl Tree {
    /// The size of a file, in bytes.
    ///
    /// # Errors
    /// When it is missing or damaged.
    pub fn size(&self, file: &TreeFile) -> Result<u64, GitError> {
        self.objects.blob_size(file.id)
    }

    /// The content of a file.
    ///
    /// # Errors
    /// When it is missing, damaged or larger than [`BLOB_BYTES_MAX`].
    pub fn content(&self, file: &TreeFile) -> Result<Content, GitError> {
        let bytes = self.size(file)?;
        if bytes <= BLOB_IN_MEMORY_BYTES_MAX {
            let content = self.objects.blob(file.id, BLOB_IN_MEMORY_BYTES_MAX)?;
            return Ok(Content::Memory(content));
        }
        if bytes > BLOB_BYTES_MAX {
            return Err(GitError::Unfit {
                id: file.id.to_string(),
                why: "it is too large",
            });
        }
        let copied = copy(self.objects.repository(), file.id, bytes);
        copied.map(Content::Copy)
    }
}

/// A copy of a file on disk, which is made if it is not there.
fn copy(repository: &Path, id: Id, bytes: u64) -> Result<File, GitError> {
    let dir = repository.with_file_name("copies");
    ensure_private_dir(&dir, None)?;
    let path = dir.join(id.to_string());
    let whole = || File::open(&path).ok().filter(|file| is_whole(file, bytes));
    if let Some(file) = whole() {
        // One that is in use stays longest.
        file.set_modified(SystemTime::now()).ok();
        return Ok(file);
    }
    let _making = Making::begin(&path).ok_or(SLOW)?;
    if let Some(file) = whole() {
        return Ok(file);
    }
    make_room(&dir, bytes);
    let fresh = dir.join(format!("new-{}-{}", std::process::id(), gettid()));
    let copied = write_copy(repository, id, &fresh).and_then(|()| {
        let file = File::open(&fresh).map_err(disk())?;
        if !is_whole(&file, bytes) {
            return Err(not_copied(id));
        }
        fs::rename(&fresh, &path).map_err(disk())?;
        Ok(file)
    });
    if copied.is_err() {
        fs::remove_file(&fresh).ok();
    }
    copied
}

/// Has git write a file to `fresh`, within [`COPY_TIME_MAX`].
fn write_copy(repository: &Path, id: Id, fresh: &Path) -> Result<(), GitError> {
    let file = File::create(fresh).map_err(disk())?;
    let mut git = bare_git(Path::new("/"));
    git.arg("--git-dir")
        .arg(repository)
        .args(["cat-file", "blob", &id.to_string()])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(Stdio::null());
    let mut git = git.spawn().map_err(GitError::Start)?;
    let give_up = Instant::now() + COPY_TIME_MAX;
    loop {
        match git.try_wait().map_err(disk())? {
            Some(ended) if ended.success() => return Ok(()),
            Some(_) => return Err(not_copied(id)),
            None if Instant::now() >= give_up => {
                git.kill().and_then(|()| git.wait()).map_err(disk())?;
                return Err(SLOW);
            }
            None => thread::sleep(COPY_POLL),
        }
    }
}

const SLOW: GitError = GitError::Slow {
    doing: "cat-file",
    limit: COPY_TIME_MAX,
};

fn disk() -> impl FnOnce(io::Error) -> GitError {
    GitError::disk("copying a large file")
}

fn not_copied(id: Id) -> GitError {
    GitError::Object {
        id: id.to_string(),
        why: "git could not copy it".to_owned(),
    }
}

fn is_whole(file: &File, bytes: u64) -> bool {
    file.metadata().is_ok_and(|data| data.len() == bytes)
}

/// The copies that this process makes; each is made once at a time.
static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static HAS_ENDED: Condvar = Condvar::new();

/// A copy that is being made, until it is dropped.
struct Making(PathBuf);

impl Making {
    /// Begins, after whoever makes the same copy; `None` if that takes longer
    /// than [`COPY_TIME_MAX`].
    fn begin(path: &Path) -> Option<Self> {
        let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = HAS_ENDED.wait_timeout_while(made, COPY_TIME_MAX, |made| made.contains(path));
        let (mut made, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        made.insert(path.to_owned());
        Some(Self(path.to_owned()))
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.remove(&self.0);
        HAS_ENDED.notify_all();
    }
}

/// Removes the copies that were not used for longest. Who reads one has it open.
fn make_room(dir: &Path, bytes: u64) {
    let room = COPIES_BYTES_MAX.saturating_sub(bytes);
    let mut held = size(dir);
    if held <= room {
        return;
    }
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<(SystemTime, u64, PathBuf)> = files
        .filter_map(|file| {
            let data = file.metadata().ok()?;
            Some((data.modified().ok()?, data.len(), file.path()))
        })
        .collect();
    files.sort();
    for (_, bytes, path) in files {
        if held <= room {
            return;
        }
        if fs::remove_file(path).is_ok() {
            held = held.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_made_once_at_a_time() {
        let (one, other) = (Path::new("/copies/one"), Path::new("/copies/other"));
        let making = Making::begin(one).unwrap();
        drop(Making::begin(other).unwrap());
        let second = thread::spawn(|| drop(Making::begin(Path::new("/copies/one")).unwrap()));
        assert!(MADE.lock().unwrap().contains(one));
        drop(making);
        second.join().unwrap();
        assert!(!MADE.lock().unwrap().contains(one));
    }
}
