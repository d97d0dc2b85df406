//! Files that minions push to the master (`cp.push`).
//!
//! Invariant: nothing is written against the switch, the limits or the rules of
//! paths, and nothing outside the minion's directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use halite_proto::MinionId;
use halite_proto::request::FileRecv;

use crate::ReceiveError;
use crate::limits::{
    FILE_RECV_BYTES_MAX, PUSHED_FILE_BYTES_MIN, PUSHED_FILES_MAX, PUSHED_PATH_PARTS_MAX,
    UNFINISHED_LOOK_INTERVAL,
};
use crate::pieces::{Piece, Pieces, missing, remove_abandoned};
use crate::requested_path::relative;
use crate::room::Room;

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
#[derive(Debug)]
pub struct Inbox {
    options: InboxOptions,
    room: Room,
    pieces: Pieces,
    /// When abandoned files were looked for.
    looked_at: Mutex<Option<Instant>>,
}

impl Inbox {
    /// Takes the options.
    pub fn new(options: InboxOptions) -> Self {
        Self {
            options,
            room: Room::default(),
            pieces: Pieces::default(),
            looked_at: Mutex::default(),
        }
    }

    /// Where a pushed file goes. The path is what a minion says: parts, which
    /// may hold separators themselves.
    ///
    /// # Errors
    /// When the path does not stay below the minion's directory.
    pub fn target(&self, id: &MinionId, parts: &[String]) -> Result<PathBuf, ReceiveError> {
        Ok(self.directory(id).join(FILES).join(checked(parts)?))
    }

    /// Takes a piece; the one at 0 begins the file anew. The file has its name
    /// when it is whole.
    ///
    /// # Errors
    /// See `ReceiveError`; nothing is written then.
    pub fn receive(&self, id: &MinionId, pushed: &FileRecv) -> Result<(), ReceiveError> {
        let options = &self.options;
        if !options.on {
            return Err(ReceiveError::Off);
        }
        let loc = pushed.loc;
        let data_len = pushed.data.len() as u64;
        // Without a size it cannot be said when the file is whole.
        let size = pushed.size.ok_or(ReceiveError::NoSize)?;
        if loc.saturating_add(data_len).max(size) > options.bytes_max {
            return Err(ReceiveError::TooLarge {
                max: options.bytes_max,
            });
        }
        let relative = checked(&pushed.path)?;
        let directory = self.directory(id);
        let home = directory.join(FILES);
        let unfinished = directory.join(UNFINISHED);
        let path = home.join(&relative);
        let write_error = |source| ReceiveError::Write {
            path: path.clone(),
            source,
        };
        let parent = path.parent().unwrap_or(&path);
        let is_confined = is_below(parent, &home).map(|is_below| {
            let is_real = !is_link(&unfinished) && !is_link(&path);
            is_below && is_real
        });
        if !is_confined.map_err(write_error)? {
            return Err(path_error(&relative, "leads through a link"));
        }
        let all_max = options.bytes_max.saturating_mul(PUSHED_FILES_MAX);
        let all_max = all_max.max(PUSHED_FILE_BYTES_MIN * PUSHED_FILES_MAX);
        let costs = match loc {
            // The directories are made with the first piece, so that no look
            // at the disk misses them.
            0 => {
                let dirs = missing(parent).filter(|dir| *dir != home && dir.starts_with(&home));
                let dirs = dirs.count() as u64 * PUSHED_FILE_BYTES_MIN;
                PUSHED_FILE_BYTES_MIN.max(data_len).saturating_add(dirs)
            }
            _ => data_len,
        };
        if !self.room.take(id, &[&home, &unfinished], costs, all_max) {
            return Err(ReceiveError::Full { max: all_max });
        }
        let piece = Piece {
            unfinished: &unfinished,
            path: &path,
            loc,
            size,
            data: &pushed.data,
            push: pushed.push.as_ref(),
        };
        self.pieces.take(&piece)
    }

    /// Removes the unfinished files that nobody sends the rest of. Looks at
    /// most once in [`UNFINISHED_LOOK_INTERVAL`]; to be called often, also when
    /// nothing is taken any more.
    pub fn remove_abandoned(&self) {
        let mut looked_at = self
            .looked_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if looked_at.is_some_and(|looked_at| looked_at.elapsed() < UNFINISHED_LOOK_INTERVAL) {
            return;
        }
        *looked_at = Some(Instant::now());
        drop(looked_at);
        let minions = fs::read_dir(self.options.cachedir.join("minions"));
        for minion in minions.into_iter().flatten().flatten() {
            let unfinished = minion.path().join(UNFINISHED);
            if !is_link(&unfinished) {
                remove_abandoned(&unfinished);
            }
        }
    }

    fn directory(&self, id: &MinionId) -> PathBuf {
        // An id is one path component.
        self.options.cachedir.join("minions").join(id.as_str())
    }
}

/// Where a minion's files are.
const FILES: &str = "files";

/// Where those are that are not whole; nothing serves them.
const UNFINISHED: &str = "unfinished";

/// The path within a minion's directory; it has no way up.
fn checked(parts: &[String]) -> Result<String, ReceiveError> {
    let joined = parts.join("/");
    let rel = relative(&joined).ok_or_else(|| path_error(&joined, "leads out"))?;
    if rel.split('/').count() > PUSHED_PATH_PARTS_MAX {
        return Err(path_error(&joined, "has too many parts"));
    }
    if rel.contains(char::is_control) {
        return Err(path_error(&joined, "holds control characters"));
    }
    if rel.split('/').any(|part| part.starts_with('-')) {
        return Err(path_error(&joined, "has a part that reads as an option"));
    }
    Ok(rel)
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_symlink())
}

/// Whether what there is of `dir` lies in `home`: a link may have been left
/// there by other means.
fn is_below(dir: &Path, home: &Path) -> io::Result<bool> {
    let Some(there) = dir.ancestors().find(|dir| dir.symlink_metadata().is_ok()) else {
        return Ok(true);
    };
    if !there.starts_with(home) {
        return Ok(true);
    }
    Ok(fs::canonicalize(there)?.starts_with(fs::canonicalize(home)?))
}

fn path_error(path: &str, why: &'static str) -> ReceiveError {
    const SHOWN_CHARS_MAX: usize = 200;
    ReceiveError::Path {
        path: path.chars().take(SHOWN_CHARS_MAX).collect(),
        why,
    }
}
