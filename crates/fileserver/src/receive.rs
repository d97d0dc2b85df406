//! Files that minions push to the master (`cp.push`).
//!
//! Mirrors `_file_recv` of `salt/master.py` (3008.5). A piece is written where
//! it says it belongs, not at the end of the file, so a piece that is sent
//! twice does no harm.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use halite_proto::MinionId;
use nix::fcntl::OFlag;

use crate::ReceiveError;
use crate::limits::FILE_RECV_BYTES_MAX;
use crate::wanted::relative;

/// Where pushed files go.
#[derive(Clone, Debug)]
pub struct InboxOptions {
    /// `cachedir`; files go to `minions/<id>/files` below it.
    pub cachedir: PathBuf,
    /// `file_recv`.
    pub on: bool,
    /// `file_recv_max_size`, in bytes.
    pub bytes_max: u64,
}

impl InboxOptions {
    /// Salt's defaults: nothing is taken.
    pub fn new(cachedir: impl Into<PathBuf>) -> Self {
        Self {
            cachedir: cachedir.into(),
            on: false,
            bytes_max: FILE_RECV_BYTES_MAX,
        }
    }
}

/// Takes pushed files.
#[derive(Clone, Debug)]
pub struct Inbox(InboxOptions);

impl Inbox {
    /// Takes the options.
    pub fn new(options: InboxOptions) -> Self {
        Self(options)
    }

    /// Where a pushed file goes. The path is what a minion says: parts, which
    /// may hold separators themselves.
    ///
    /// # Errors
    /// When the path does not stay below the minion's directory.
    pub fn target(&self, id: &MinionId, parts: &[String]) -> Result<PathBuf, ReceiveError> {
        let joined = parts.join("/");
        // `relative` leaves no way up, so joining stays below.
        let rel = relative(&joined).ok_or_else(|| path_error(&joined, "leads out"))?;
        Ok(self.directory(id).join(rel))
    }

    /// Takes the piece at `loc`; the one at 0 begins the file anew.
    ///
    /// # Errors
    /// See `ReceiveError`; nothing is written then.
    pub fn receive(
        &self,
        id: &MinionId,
        parts: &[String],
        loc: u64,
        data: &[u8],
    ) -> Result<(), ReceiveError> {
        let options = &self.0;
        if !options.on {
            return Err(ReceiveError::Off);
        }
        if loc.saturating_add(data.len() as u64) > options.bytes_max {
            return Err(ReceiveError::TooLarge {
                max: options.bytes_max,
            });
        }
        let path = self.target(id, parts)?;
        let write_error = |source| ReceiveError::Write {
            path: path.clone(),
            source,
        };
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent).map_err(write_error)?;
        // A link may have been left there by other means.
        let real = fs::canonicalize(parent).map_err(write_error)?;
        let home = fs::canonicalize(self.directory(id)).map_err(write_error)?;
        if !real.starts_with(home) {
            return Err(path_error(&path.to_string_lossy(), "leads through a link"));
        }
        let file = open(&path, loc == 0).map_err(write_error)?;
        let len = file.metadata().map_err(write_error)?.len();
        if loc > len {
            return Err(ReceiveError::Gap { loc, len });
        }
        file.write_all_at(data, loc).map_err(write_error)
    }

    fn directory(&self, id: &MinionId) -> PathBuf {
        // An id is one path component.
        let minions = self.0.cachedir.join("minions");
        minions.join(id.as_str()).join("files")
    }
}

fn open(path: &Path, anew: bool) -> io::Result<File> {
    let file = File::options()
        .write(true)
        .create(anew)
        .truncate(anew)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

fn path_error(path: &str, why: &'static str) -> ReceiveError {
    const SHOWN_CHARS_MAX: usize = 200;
    ReceiveError::Path {
        path: path.chars().take(SHOWN_CHARS_MAX).collect(),
        why,
    }
}
