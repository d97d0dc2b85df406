//! A note that git is at work, among the minion's caches: the next run finds it
//! if that one was cut off.
//!
//! Invariant: a note is held by one run at a time, and one that nobody holds is
//! of a run that was killed. Runs that fail by themselves take theirs away.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use halite_crypto::{HashType, hash_hex};
use halite_modules::Call;

/// A longer note is not one of ours.
const NOTE_BYTES_MAX: u64 = 64 * 1024;

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
    /// The note of a kind about the directory `about`, made if it is not there.
    /// Nothing if somebody holds it.
    pub(super) fn hold(notes: &Path, kind: &str, about: &Path) -> io::Result<Option<Self>> {
        fs::create_dir_all(notes)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false);
        Self::open(&mut options, notes, kind, about)
    }

    /// The note of a run that was cut off, if there is one.
    pub(super) fn left(notes: &Path, kind: &str, about: &Path) -> Option<Self> {
        let note = Self::open(&mut OpenOptions::new(), notes, kind, about);
        let note = note.ok().flatten()?;
        note.cut_off.is_some().then_some(note)
    }

    fn open(
        options: &mut OpenOptions,
        notes: &Path,
        kind: &str,
        about: &Path,
    ) -> io::Result<Option<Self>> {
        let hash = hash_hex(HashType::Sha256, about.as_os_str().as_bytes());
        let path = notes.join(format!("{kind}-{hash}"));
        let mut file = options.read(true).write(true).mode(0o600).open(&path)?;
        if file.try_lock().is_err() || file.metadata()?.nlink() == 0 {
            // Held, or just taken away by who held it.
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

    /// Takes down that git begins, and a word about it.
    pub(super) fn begin(&mut self, word: &str) -> io::Result<()> {
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

/// A clone or an update that is noted while it is made, if it can be.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(Option<Note>);

impl UnderWay {
    /// Holds the note of a kind about the directory `target`; nothing is taken
    /// down yet.
    pub(super) fn hold(call: &Call<'_>, kind: &str, target: &Path) -> Self {
        Self(Note::hold(&notes_of(call), kind, target).ok().flatten())
    }

    /// Goes on with what an earlier run has left.
    pub(super) const fn again(note: Note) -> Self {
        Self(Some(note))
    }

    /// Takes down that its next files are those of a commit; an empty one is
    /// that which the remote side has checked out.
    pub(crate) fn towards(&mut self, commit: &str) {
        if let Some(note) = &mut self.0 {
            // Without a note it is as good, as long as nobody kills git.
            note.begin(commit).ok();
        }
    }

    /// It has come to its end, well or not. Only if git was killed the next run
    /// has to see to it.
    pub(crate) fn end(self, was_killed: bool) {
        if let Some(note) = self.0
            && !was_killed
        {
            note.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_left_by_who_did_not_end_it() {
        let dir = tempfile::tempdir().unwrap();
        let about = Path::new("/srv/tree");
        let left = || Note::left(dir.path(), "kind", about);
        let hold = || Note::hold(dir.path(), "kind", about).unwrap();
        assert!(left().is_none());
        let mut note = hold().unwrap();
        assert!(hold().is_none(), "two hold it");
        note.begin("word").unwrap();
        drop(note);
        assert_eq!(left().unwrap().with(), "word");
        assert!(Note::left(dir.path(), "kind", Path::new("/srv/other")).is_none());
        hold().unwrap().end();
        assert!(left().is_none());
        drop(hold());
        assert!(left().is_none(), "nothing has begun");
    }
}
