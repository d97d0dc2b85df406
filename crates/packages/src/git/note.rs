//! A note that git is at work, among the minion's caches: the next run finds it
//! if that one was cut off.
//!
//! Invariant: a note is held by one run at a time, and one that nobody holds is
//! of a run that has not ended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use halite_modules::Call;

/// A longer note is not one of ours.
const NOTE_BYTES_MAX: u64 = 64 * 1024;

/// File systems may have coarser times than the clock.
pub(super) const MTIME_SLACK: Duration = Duration::from_secs(1);

/// A note, held as long as this process lives.
#[derive(Debug)]
pub(super) struct Note {
    path: PathBuf,
    file: File,
    about: PathBuf,
    with: String,
    cut_off: Option<SystemTime>,
}

/// Where the notes of a minion are.
pub(super) fn notes_of(call: &Call<'_>) -> PathBuf {
    call.ctx.cachedir().join("git")
}

impl Note {
    /// The note `name` about the directory `about`, made if it is not there.
    /// Nothing if somebody holds it.
    pub(super) fn hold(notes: &Path, name: &str, about: &Path) -> io::Result<Option<Self>> {
        fs::create_dir_all(notes)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false);
        Self::open(&mut options, notes.join(name), about)
    }

    /// The note of a run that was cut off, if there is one.
    pub(super) fn left(notes: &Path, name: &str, about: &Path) -> Option<(Self, SystemTime)> {
        let note = Self::open(&mut OpenOptions::new(), notes.join(name), about);
        let note = note.ok().flatten()?;
        let begun = note.cut_off?;
        Some((note, begun))
    }

    fn open(options: &mut OpenOptions, path: PathBuf, about: &Path) -> io::Result<Option<Self>> {
        let mut file = options.read(true).write(true).mode(0o600).open(&path)?;
        if file.try_lock().is_err() {
            return Ok(None);
        }
        let mut earlier = Vec::new();
        Read::take(&mut file, NOTE_BYTES_MAX).read_to_end(&mut earlier)?;
        let (line, with) = match earlier.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => (&earlier[..at], &earlier[at + 1..]),
            None => (&earlier[..0], &earlier[..0]),
        };
        let cut_off = match line == about.as_os_str().as_bytes() {
            true => Some(file.metadata()?.modified()?),
            false => None,
        };
        let with = String::from_utf8_lossy(with).into_owned();
        Ok(Some(Self {
            path,
            file,
            about: about.to_owned(),
            with,
            cut_off,
        }))
    }

    /// When the run began that has left this note.
    pub(super) const fn cut_off(&self) -> Option<SystemTime> {
        self.cut_off
    }

    /// What that run had taken down beside.
    pub(super) fn with(&self) -> &str {
        &self.with
    }

    /// Takes down that git begins.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.begin_with("")
    }

    /// Takes down that git begins, and a word about it.
    pub(super) fn begin_with(&mut self, word: &str) -> io::Result<()> {
        let text = [self.about.as_os_str().as_bytes(), b"\n", word.as_bytes()].concat();
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&text)?;
        // A power cut is to find it.
        self.file.sync_data()
    }

    /// There is nothing to see to any more.
    pub(super) fn end(self) {
        // One that stays costs a look the next time.
        fs::remove_file(&self.path).ok();
    }
}
