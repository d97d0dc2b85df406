//! The content of a file: in memory if it is small, else in a copy on disk.
//!
//! Invariant: memory holds no more of a file than
//! [`BLOB_IN_MEMORY_BYTES_MAX`], whatever its size.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use halite_crypto::files::ensure_private_dir;
use nix::unistd::gettid;

use crate::GitError;
use crate::limits::{BLOB_BYTES_MAX, BLOB_IN_MEMORY_BYTES_MAX, COPIES_BYTES_MAX};
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
            return Err(GitError::Object {
                id: file.id.to_string(),
                why: "it is too large".to_owned(),
            });
        }
        let copied = copy(self.objects.repository(), file.id, bytes);
        copied.map(Content::Copy)
    }
}

/// A copy of a file on disk, which is made if it is not there.
fn copy(repository: &Path, id: Id, bytes: u64) -> Result<File, GitError> {
    let disk = || GitError::disk("copying a large file");
    let dir = repository.with_file_name("copies");
    ensure_private_dir(&dir, None)?;
    let path = dir.join(id.to_string());
    if let Ok(file) = File::open(&path)
        && file.metadata().is_ok_and(|data| data.len() == bytes)
    {
        // One that is in use stays longest.
        file.set_modified(SystemTime::now()).ok();
        return Ok(file);
    }
    make_room(&dir, bytes);
    let own = format!("new-{}-{}", std::process::id(), gettid());
    let fresh = dir.join(own);
    let file = File::create(&fresh).map_err(disk())?;
    let mut git = bare_git(Path::new("/"));
    git.arg("--git-dir")
        .arg(repository)
        .args(["cat-file", "blob", &id.to_string()])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(Stdio::null());
    let ended = git.status().map_err(GitError::Start);
    let copied = ended.and_then(|ended| {
        let file = File::open(&fresh).map_err(disk())?;
        let is_whole = ended.success() && file.metadata().map_err(disk())?.len() == bytes;
        if !is_whole {
            return Err(GitError::Object {
                id: id.to_string(),
                why: "git could not copy it".to_owned(),
            });
        }
        fs::rename(&fresh, &path).map_err(disk())?;
        Ok(file)
    });
    if copied.is_err() {
        fs::remove_file(&fresh).ok();
    }
    copied
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
