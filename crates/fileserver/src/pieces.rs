//! Joins pieces to a file.
//!
//! Invariant: an incomplete file has a name of its own in a directory that nothing
//! serves, and is renamed when its last piece is on the disk. A piece is written at
//! the place that it names, so one that is sent twice does no harm, and a push
//! continues after a restart of the master.
//!
//! Minions of ours name their push (`PushId`): pieces of different pushes never
//! mix, whatever a minion has sent to other masters meanwhile. They give the size
//! of the file with the last piece, and only with it.
//!
//! Those of Salt send what they read, and give the size that the file had when they
//! began. The file is complete when it has as many bytes, or when a piece is
//! shorter than the one before it: the file has become shorter, and that was its
//! end. A piece beyond the end of a complete file is from a file that has grown
//! meanwhile, and is appended.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use halite_crypto::files::sync_dir;
use halite_crypto::{HashType, hash_hex};
use halite_proto::request::PushId;
use nix::fcntl::OFlag;

use crate::ReceiveError;
use crate::limits::{PUSH_ATTEMPTS_MAX, PUSHES_AT_ONCE_MAX, UNFINISHED_KEPT};

/// A piece of a file; the places are checked.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    /// Where the minion's unfinished files are.
    pub(crate) unfinished: &'a Path,
    /// What the file is called when it is whole.
    pub(crate) path: &'a Path,
    /// Where the piece belongs.
    pub(crate) loc: u64,
    /// How large the minion says the whole file is.
    pub(crate) size: u64,
    /// The piece.
    pub(crate) data: &'a [u8],
    /// What it belongs to, if the minion says so.
    pub(crate) push: Option<&'a PushId>,
}

/// The pushes that are going on. What is not remembered costs no file, but the
/// end of one that has become shorter.
#[derive(Debug)]
pub(crate) struct Pieces([Mutex<VecDeque<Push>>; SHARDS]);

/// Pushes of different files hardly wait for each other's disk.
const SHARDS: usize = 16;

impl Default for Pieces {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

#[derive(Debug)]
struct Push {
    path: PathBuf,
    /// What its file is called until it is whole.
    name: String,
    /// How long its pieces are.
    piece_bytes: u64,
    is_whole: bool,
    /// Where it ended before it had the size that it was said to have.
    ended_early_at: Option<u64>,
}

impl Pieces {
    /// Takes a piece.
    ///
    /// # Errors
    /// When there is a gap in front of it, or the disk refuses.
    pub(crate) fn take(&self, piece: &Piece<'_>) -> Result<(), ReceiveError> {
        let file = piece.name(None);
        let sum: usize = file.bytes().map(usize::from).sum();
        let shard = sum % SHARDS;
        let Some(pushes) = self.0.get(shard) else {
            return Ok(());
        };
        let mut pushes = pushes.lock().unwrap_or_else(PoisonError::into_inner);
        let name = match piece.push {
            Some(_) => piece.name(piece.push),
            None => file,
        };
        let at = pushes.iter().position(|push| push.name == name);
        let push = piece.take(name, at.and_then(|at| pushes.get(at)))?;
        let before = at.and_then(|at| pushes.remove(at));
        let was_whole = piece.loc > 0 && before.is_some_and(|push| push.is_whole);
        if push.is_whole && !was_whole {
            // What was begun of the file before that is older than this.
            pushes.retain(|other| {
                let is_older = other.path == push.path;
                if is_older && !other.is_whole {
                    let removed = fs::remove_file(piece.unfinished.join(&other.name));
                    tracing::debug!(path = ?other.path, ?removed, "an older push");
                }
                !is_older
            });
        }
        if pushes.len() >= PUSHES_AT_ONCE_MAX / SHARDS {
            pushes.pop_front();
        }
        pushes.push_back(push);
        Ok(())
    }
}

impl Piece<'_> {
    /// What the file is called until it is whole.
    fn name(&self, push: Option<&PushId>) -> String {
        let mut name = self.path.as_os_str().as_encoded_bytes().to_vec();
        if let Some(push) = push {
            // No path holds a zero.
            name.push(0);
            name.extend(push.attempt.to_le_bytes());
            name.extend(push.id.bytes());
        }
        hash_hex(HashType::Sha256, &name)
    }

    /// Takes the piece of a push; what is to be remembered of that.
    fn take(&self, name: String, known: Option<&Push>) -> Result<Push, ReceiveError> {
        let write_error = |source| self.write_error(source);
        let partial = self.unfinished.join(&name);
        let is_end = self.is_end(known);
        let push = Push {
            path: self.path.to_owned(),
            name,
            piece_bytes: match known {
                Some(push) if self.loc > 0 => push.piece_bytes,
                _ => self.data.len() as u64,
            },
            is_whole: is_end,
            ended_early_at: (is_end && self.end() < self.size).then(|| self.end()),
        };
        let file = match self.loc {
            0 => self.begin(&partial).map_err(write_error)?,
            _ => match open(&partial, false) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Push {
                        is_whole: true,
                        ended_early_at: self.behind_the_end(known)?,
                        ..push
                    });
                }
                Err(error) => return Err(write_error(error)),
            },
        };
        let len = file.metadata().map_err(write_error)?.len();
        if self.loc > len {
            return Err(self.gap(len));
        }
        let mut written = self.write(&file);
        if is_end && written.is_ok() {
            written = self.finish(&file, &partial);
        }
        if written.is_err() && self.loc == 0 {
            // Whoever sent it knows that there is none.
            let removed = fs::remove_file(&partial);
            tracing::debug!(path = ?self.path, ?removed, "a push that could not begin");
        }
        written.map_err(write_error)?;
        Ok(push)
    }

    /// Makes the file anew, and where it belongs: what is in the way there is
    /// to be known before all of it was sent.
    fn begin(&self, partial: &Path) -> io::Result<File> {
        match self.path.symlink_metadata() {
            Ok(meta) if meta.is_file() => {}
            Ok(_) => return Err(not_regular()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        self.make_parent()?;
        make_dirs(self.unfinished)?;
        if let Some(push) = self.push {
            for attempt in 0..push.attempt.min(PUSH_ATTEMPTS_MAX) {
                let id = push.id.clone();
                let earlier = self.name(Some(&PushId { id, attempt }));
                // Most often there is none: it went to another master.
                let _ = fs::remove_file(self.unfinished.join(earlier));
            }
        }
        open(partial, true)
    }

    fn make_parent(&self) -> io::Result<()> {
        self.path.parent().map_or(Ok(()), make_dirs)
    }

    fn end(&self) -> u64 {
        self.loc.saturating_add(self.data.len() as u64)
    }

    /// Whether the file is whole with this piece.
    fn is_end(&self, known: Option<&Push>) -> bool {
        self.end() >= self.size || (self.push.is_none() && self.is_short(known))
    }

    /// Whether a piece of Salt's shows that the file has ended early.
    fn is_short(&self, known: Option<&Push>) -> bool {
        // Files of `/sys` say that they have a page, and come in one piece of
        // less. A `file_buffer_size` may be as odd, so that more comes behind
        // the end after all.
        const PAGE_BYTES: std::ops::RangeInclusive<u64> = 4096..=65_536;
        const ODD_PIECE_BYTES_MAX: u64 = 16 * 1024;
        const BUFFERS_ARE_MULTIPLES_OF: u64 = 1024;
        let len = self.data.len() as u64;
        match known {
            _ if self.loc == 0 => {
                let is_page = self.size.is_power_of_two() && PAGE_BYTES.contains(&self.size);
                let is_odd = !len.is_multiple_of(BUFFERS_ARE_MULTIPLES_OF);
                len == 0 || (is_page && is_odd && len < ODD_PIECE_BYTES_MAX)
            }
            Some(push) => len < push.piece_bytes,
            None => false,
        }
    }

    fn write(&self, file: &File) -> io::Result<()> {
        file.write_all_at(self.data, self.loc)
    }

    fn gap(&self, len: u64) -> ReceiveError {
        ReceiveError::Gap { loc: self.loc, len }
    }

    fn write_error(&self, source: io::Error) -> ReceiveError {
        ReceiveError::Write {
            path: self.path.to_owned(),
            source,
        }
    }

    /// Gives the file its name.
    fn finish(&self, file: &File, partial: &Path) -> io::Result<()> {
        match self.path.symlink_metadata() {
            // Who may read it is what somebody has set.
            Ok(meta) if meta.is_file() => file.set_permissions(meta.permissions())?,
            Ok(_) => return Err(not_regular()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        file.set_len(self.end())?;
        file.sync_all()?;
        self.make_parent()?;
        fs::rename(partial, self.path)?;
        self.sync_name()
    }

    /// The minion may remove its own file when it hears that we have it: so
    /// has the disk then, also what it is called.
    fn sync_name(&self) -> io::Result<()> {
        self.path.parent().map_or(Ok(()), sync_dir)
    }

    /// Takes what belongs to a file that is whole already: its last piece once
    /// more, or what it has grown by. Where it ended early, if it did.
    fn behind_the_end(&self, known: Option<&Push>) -> Result<Option<u64>, ReceiveError> {
        let write_error = |source| self.write_error(source);
        // Whole by another push is another file.
        if self.push.is_some() && !known.is_some_and(|push| push.is_whole) {
            return Err(self.gap(0));
        }
        let ended_early_at = known.and_then(|push| push.ended_early_at);
        let file = match open(self.path, false) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.gap(0)),
            Err(error) => return Err(write_error(error)),
        };
        let len = file.metadata().map_err(write_error)?.len();
        let has_grown = len == self.loc && (self.loc >= self.size || ended_early_at == Some(len));
        if has_grown && self.push.is_none() {
            let written = self.write(&file).and_then(|()| file.sync_all());
            written.map_err(write_error)?;
            return Ok(ended_early_at.map(|_| self.end()));
        }
        let mut there = vec![0; self.data.len()];
        match file.read_exact_at(&mut there, self.loc) {
            Ok(()) if there == self.data => {
                // Its name may not have reached the disk before a crash.
                self.sync_name().map_err(write_error)?;
                Ok(ended_early_at)
            }
            _ => Err(self.gap(0)),
        }
    }
}

// What a minion shows its master is nobody else's business.
const MODE_DIR: u32 = 0o700;
const MODE_FILE: u32 = 0o600;

/// The directories that are missing on the way to `dir`, itself first.
pub(crate) fn missing(dir: &Path) -> impl Iterator<Item = &Path> {
    dir.ancestors()
        .take_while(|dir| dir.symlink_metadata().is_err())
}

/// Makes a directory, and sees to it that the disk has all of the way to it.
fn make_dirs(path: &Path) -> io::Result<()> {
    let made: Vec<_> = missing(path).collect();
    let mut dirs = DirBuilder::new();
    dirs.recursive(true).mode(MODE_DIR).create(path)?;
    let mut parents = made.into_iter().filter_map(Path::parent);
    parents.try_for_each(sync_dir)
}

fn open(path: &Path, anew: bool) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(anew)
        .truncate(anew)
        .mode(MODE_FILE)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_regular()),
    }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

/// Removes what has not been touched for so long that nobody sends the rest.
pub(crate) fn remove_abandoned(unfinished: &Path) {
    for entry in fs::read_dir(unfinished).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age > UNFINISHED_KEPT) {
            let removed = fs::remove_file(entry.path());
            tracing::debug!(path = ?entry.path(), ?removed, "a push that was broken off");
        }
    }
}
