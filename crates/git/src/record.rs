//! A record that git is running, in a file of its own: the next run finds it if
//! that one was interrupted.
//!
//! Invariant: a record is held by one run at a time, and one without a holder is of
//! a run that was killed. A run that fails by itself removes its record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use halite_crypto::{HashType, hash_hex};

/// A longer file is not a record. What is beyond is not read.
const RECORD_BYTES_MAX: u64 = 64 * 1024;

/// A record, held as long as this process lives.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    file: File,
    about: PathBuf,
    word: String,
    begun_before: Option<SystemTime>,
}

impl Record {
    /// The record of a kind about the directory `about`, made in the directory
    /// `records` if it is not there. `None` if another run holds it.
    ///
    /// # Errors
    /// When the file cannot be made or read.
    pub fn hold(records: &Path, kind: &str, about: &Path) -> io::Result<Option<Self>> {
        fs::create_dir_all(records)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false);
        Self::open(&mut options, records, kind, about)
    }

    /// The record of a run that was cut off, if there is one.
    pub fn left(records: &Path, kind: &str, about: &Path) -> Option<Self> {
        let record = Self::open(&mut OpenOptions::new(), records, kind, about);
        let record = record.ok().flatten()?;
        record.begun_before.is_some().then_some(record)
    }

    fn open(
        options: &mut OpenOptions,
        records: &Path,
        kind: &str,
        about: &Path,
    ) -> io::Result<Option<Self>> {
        let hash = hash_hex(HashType::Sha256, about.as_os_str().as_bytes());
        let path = records.join(format!("{kind}-{hash}"));
        let mut file = options.read(true).write(true).mode(0o600).open(&path)?;
        if file.try_lock().is_err() || file.metadata()?.nlink() == 0 {
            // Another run holds it, or has just removed it.
            return Ok(None);
        }
        let mut earlier = Vec::new();
        Read::take(&mut file, RECORD_BYTES_MAX).read_to_end(&mut earlier)?;
        let (line, word) = match earlier.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => (&earlier[..at], &earlier[at + 1..]),
            None => (&earlier[..0], &earlier[..0]),
        };
        let begun_before = match line == about.as_os_str().as_bytes() {
            true => Some(file.metadata()?.modified()?),
            false => None,
        };
        let word = String::from_utf8_lossy(word).into_owned();
        Ok(Some(Self {
            path,
            file,
            about: about.to_owned(),
            word,
            begun_before,
        }))
    }

    /// When the run began that has left this record.
    pub const fn begun_before(&self) -> Option<SystemTime> {
        self.begun_before
    }

    /// The word that this run had written beside.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// Writes down that git begins, and a word about it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(&mut self, word: &str) -> io::Result<()> {
        let text = [self.about.as_os_str().as_bytes(), b"\n", word.as_bytes()].concat();
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&text)?;
        // A power cut is to find it.
        self.file.sync_data()
    }

    /// Removes the record: nothing is left to repair.
    pub fn end(self) {
        // One that stays costs a look the next time.
        fs::remove_file(&self.path).ok();
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // A child of this process that has not begun its program yet has the file open
        // too, and the lock would last until then.
        self.file.unlock().ok();
    }
}

/// A clone or an update of several runs of git, with a record of it if one can
/// be kept.
#[derive(Debug, Default)]
pub struct Pending(Option<Record>);

impl Pending {
    /// Holds the record of a kind about the directory `target`; nothing is
    /// written down yet.
    pub fn hold(records: &Path, kind: &str, target: &Path) -> Self {
        Self(Record::hold(records, kind, target).ok().flatten())
    }

    /// Goes on with what an earlier run has left.
    pub const fn resume(record: Record) -> Self {
        Self(Some(record))
    }

    /// Writes down the commit that the next files belong to; an empty one is
    /// the commit that the remote side has checked out.
    pub fn towards(&mut self, commit: &str) {
        if let Some(record) = &mut self.0 {
            // Without a record all is well as long as nobody kills git.
            record.begin(commit).ok();
        }
    }

    /// It has ended, with success or without. Only after a kill the next run
    /// has something to repair.
    pub fn end(self, was_killed: bool) {
        if let Some(record) = self.0
            && !was_killed
        {
            record.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_did_not_end_leaves_its_record() {
        let dir = tempfile::tempdir().unwrap();
        let about = Path::new("/srv/tree");
        let left = || Record::left(dir.path(), "kind", about);
        let hold = || Record::hold(dir.path(), "kind", about).unwrap();
        assert!(left().is_none());
        let mut record = hold().unwrap();
        assert!(hold().is_none(), "two hold it");
        record.begin("word").unwrap();
        drop(record);
        assert_eq!(left().unwrap().word(), "word");
        assert!(Record::left(dir.path(), "kind", Path::new("/srv/other")).is_none());
        hold().unwrap().end();
        assert!(left().is_none());
        drop(hold());
        assert!(left().is_none(), "nothing has begun");
    }

    #[test]
    fn a_record_is_free_at_once_though_a_child_has_its_file_open() {
        let dir = tempfile::tempdir().unwrap();
        let hold = || Record::hold(dir.path(), "kind", Path::new("/srv/tree")).unwrap();
        let record = hold().unwrap();
        let inherited = record.file.try_clone().unwrap();
        drop(record);
        assert!(hold().is_some());
        drop(inherited);
    }
}
