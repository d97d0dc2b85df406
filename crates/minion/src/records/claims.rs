//! The jobs that this minion has begun, on disk, so that a job runs once even if
//! the minion has died since and a master offers it again.
//!
//! A master offers jobs that were not returned to *it*; the return may have gone to
//! another master meanwhile. Invariant: a job is in the file before its function
//! runs, so it survives the death of the process (not a power cut: such a job may
//! be offered, and run, again).

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use halite_crypto::files;
use halite_proto::Jid;
use tracing::warn;

use crate::core::origin::{JobKey, JobName, Origin};
use crate::limits::CLAIMS_PER_FILE_MAX;

/// Largest file that is read; twice what is written.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The file of claims, and the one before it.
#[derive(Debug)]
pub struct Claims {
    path: PathBuf,
    open: Mutex<Option<Open>>,
    /// Whether the disk did not take the last one.
    is_failing: AtomicBool,
}

#[derive(Debug)]
struct Open {
    file: File,
    lines: usize,
}

impl Claims {
    /// The claims in `<cachedir>/claims`; nothing is opened yet.
    pub fn new(cachedir: &Path) -> Self {
        Self {
            path: cachedir.join("claims"),
            open: Mutex::new(None),
            is_failing: AtomicBool::new(false),
        }
    }

    /// What earlier runs have claimed, oldest first.
    pub fn earlier(&self) -> Vec<JobName> {
        [self.before(), self.path.clone()]
            .iter()
            .flat_map(|path| read(path))
            .collect()
    }

    /// Records that a job starts. If the disk does not accept that, the job runs anyway.
    /// For job threads.
    pub fn record(&self, jid: &Jid, master: &str, key: &JobKey) {
        let appended = self.append(jid, master, key);
        self.is_failing.store(appended.is_err(), Ordering::Relaxed);
        if let Err(error) = appended {
            warn!(%jid, %error, "could not record a job: it may run again after a restart");
        }
    }

    /// Whether claims can be kept on disk, as far as is known.
    pub fn keeps_on_disk(&self) -> bool {
        !self.is_failing.load(Ordering::Relaxed)
    }

    /// Writes the file again if somebody has removed it.
    pub fn keep(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.keep_open(&mut open)
            && !self.is_failing.swap(true, Ordering::Relaxed)
        {
            warn!(%error, "could not record jobs: they may run again after a restart");
        }
    }

    fn keep_open(&self, open: &mut Option<Open>) -> io::Result<()> {
        let removed = open.as_mut().filter(|open| open.is_removed());
        if let Some(removed) = removed {
            *removed = self.restore(removed)?;
        }
        Ok(())
    }

    fn append(&self, jid: &Jid, master: &str, key: &JobKey) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.keep_open(&mut open)?;
        let full = |open: &Open| open.lines >= CLAIMS_PER_FILE_MAX;
        if open.as_ref().is_some_and(full) {
            fs::rename(&self.path, self.before())?;
            *open = None;
        }
        let current = match &mut *open {
            Some(current) => current,
            none => none.insert(self.open()?),
        };
        current.lines += 1;
        // One write, so a crash leaves whole lines and at most one torn one.
        current.file.write_all(line(jid, master, key).as_bytes())
    }

    /// The file again, which somebody has removed: what it held can still be
    /// read.
    fn restore(&self, removed: &Open) -> io::Result<Open> {
        let mut held = Vec::new();
        let mut file = &removed.file;
        file.rewind()?;
        file.take(FILE_BYTES_MAX).read_to_end(&mut held)?;
        let mut open = self.open()?;
        open.file.write_all(&held)?;
        warn!(path = %self.path.display(), "the record of jobs was removed; writing it again");
        Ok(Open {
            lines: open.lines + removed.lines,
            ..open
        })
    }

    fn open(&self) -> io::Result<Open> {
        if let Some(dir) = self.path.parent() {
            // Somebody may have removed it.
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let lines = read(&self.path).len();
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)?;
        if lines > 0 {
            // Ends a line that a crash may have left open.
            file.write_all(b"\n")?;
        }
        Ok(Open { file, lines })
    }

    fn before(&self) -> PathBuf {
        self.path.with_extension("old")
    }
}

impl Open {
    fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|data| data.nlink() == 0)
    }
}

/// The line of a job's claim in the file.
pub(crate) fn line(jid: &Jid, master: &str, key: &JobKey) -> String {
    let master = master.replace(char::is_whitespace, "_");
    format!("{jid} {master} {key}\n")
}

/// The claims of a file.
fn read(path: &Path) -> Vec<JobName> {
    match files::read_limited(path, FILE_BYTES_MAX) {
        Ok(bytes) => parse(&bytes),
        Err(_) => Vec::new(),
    }
}

/// The whole lines that are claims. Older versions have written no key.
pub(crate) fn parse(bytes: &[u8]) -> Vec<JobName> {
    let text = String::from_utf8_lossy(bytes);
    let claim = |line: &str| {
        let mut words = line.split(' ');
        let jid = Jid::parse(words.next()?).ok()?;
        // A line with another blank in it is none that was written here.
        let master = words
            .next()
            .filter(|name| !name.contains(char::is_whitespace))?;
        let key = words.next().and_then(JobKey::parse);
        let origin = Origin::master(master, key);
        Some(JobName { jid, origin })
    };
    text.lines().filter_map(claim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jid(n: usize) -> Jid {
        Jid::parse(format!("{n:020}")).unwrap()
    }

    fn key() -> JobKey {
        JobKey::parse("0123456789abcdef0123456789abcdef01234567-0123456789abcdef").unwrap()
    }

    #[test]
    fn what_began_is_known_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let claims = Claims::new(dir.path());
        assert_eq!(claims.earlier(), []);
        claims.record(&jid(1), "127.0.0.1:4506", &key());
        claims.record(&jid(2), "", &key());
        let expected = [(1, "127.0.0.1:4506"), (2, "")].map(|(n, master)| JobName {
            jid: jid(n),
            origin: Origin::master(master, Some(key())),
        });
        assert_eq!(Claims::new(dir.path()).earlier(), expected);
    }

    #[test]
    fn what_an_older_version_has_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let old = format!("{} 127.0.0.1:4506\n{} \n", jid(1), jid(2));
        fs::write(dir.path().join("claims"), old).unwrap();
        let claims = Claims::new(dir.path());
        claims.record(&jid(3), "m1", &key());
        let expected = [
            (1, "127.0.0.1:4506", None),
            (2, "", None),
            (3, "m1", Some(key())),
        ]
        .map(|(n, master, key)| JobName {
            jid: jid(n),
            origin: Origin::master(master, key),
        });
        assert_eq!(Claims::new(dir.path()).earlier(), expected);
    }

    #[test]
    fn what_began_outlives_the_removal_of_its_file() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("cache");
        fs::create_dir(&dir).unwrap();
        let claims = Claims::new(&dir);
        claims.record(&jid(1), "m1", &key());
        fs::remove_dir_all(&dir).unwrap();
        claims.keep();
        assert_eq!(Claims::new(&dir).earlier().len(), 1);
        fs::remove_dir_all(&dir).unwrap();
        claims.record(&jid(2), "m1", &key());
        let known = Claims::new(&dir).earlier();
        let known: Vec<Jid> = known.into_iter().map(|claim| claim.jid).collect();
        assert_eq!(known, [jid(1), jid(2)]);
    }

    #[test]
    fn a_torn_line_costs_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        Claims::new(dir.path()).record(&jid(1), "m1", &key());
        let path = dir.path().join("claims");
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"0000000000").unwrap();
        Claims::new(dir.path()).record(&jid(3), "m1", &key());
        let known: Vec<Jid> = Claims::new(dir.path())
            .earlier()
            .into_iter()
            .map(|claim| claim.jid)
            .collect();
        assert_eq!(known, [jid(1), jid(3)]);
    }

    #[test]
    fn the_files_are_bounded_and_the_latest_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let claims = Claims::new(dir.path());
        let count = CLAIMS_PER_FILE_MAX * 3 + 1;
        for n in 0..count {
            claims.record(&jid(n), "m1", &key());
        }
        let known = claims.earlier();
        assert_eq!(known.len(), CLAIMS_PER_FILE_MAX + 1);
        assert_eq!(known.last().unwrap().jid, jid(count - 1));
    }
}
