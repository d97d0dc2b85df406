//! Reports of rewritten loads, for all programs that list jobs.
//!
//! A list does not read an old load again. A program that rewrites one reports it
//! afterwards in a file, a line each. When the file is full another one takes its
//! place, and a reader that notices this reads all loads once more. A program that
//! is killed before it writes the line has reported nothing.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use halite_crypto::files::MODE_SECRET;
use halite_proto::Jid;

use super::atomic::{put, read};
use super::stamp::Stamp;
use crate::error::StoreError;
use crate::limits::REWRITES_BYTES_MAX;

/// The file of one cache directory.
#[derive(Debug)]
pub(super) struct Rewrites {
    path: PathBuf,
}

/// How far somebody has read it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    file: Option<(Stamp, u64)>,
    lines: Vec<u8>,
}

/// The loads that were rewritten since.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rewritten {
    /// These.
    Loads(Vec<Jid>),
    /// Any of them may have been.
    Any,
}

impl Rewrites {
    /// `path` is not among the jobs: a Python master takes what is there for theirs.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Records that a load was rewritten.
    pub(super) fn record(&self, jid: &Jid) -> Result<(), StoreError> {
        let line = format!("{jid}\n");
        let size = fs::metadata(&self.path).map_or(0, |data| data.len());
        if size > REWRITES_BYTES_MAX {
            return put(&self.path, line.as_bytes());
        }
        self.append(line.as_bytes())
            .map_err(|source| StoreError::write(&self.path, source))
    }

    fn append(&self, line: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(MODE_SECRET)
            .open(&self.path)?;
        // One call: nobody's line comes between.
        file.write_all(line)
    }

    /// The rewrites that a reader has not seen.
    pub(super) fn since(&self, seen: &mut Seen) -> Rewritten {
        let size = fs::metadata(&self.path).ok().map(|data| data.len());
        let file = Stamp::of(&self.path).zip(size);
        if file == seen.file {
            return Rewritten::Loads(Vec::new());
        }
        let mut lines = match read(&self.path) {
            Ok(lines) => lines.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "could not read the list of rewritten jobs: reading the loads of all jobs again"
                );
                *seen = Seen::default();
                return Rewritten::Any;
            }
        };
        // The end of a line may still be written.
        let whole = lines.iter().rposition(|byte| *byte == b'\n');
        lines.truncate(whole.map_or(0, |end| end + 1));
        let inode = |file: Option<(Stamp, u64)>| file.map(|(stamp, _)| stamp.inode());
        let is_same = file.is_some() && inode(file) == inode(seen.file);
        let new = lines.strip_prefix(seen.lines.as_slice());
        let new = new.filter(|_| is_same).and_then(jids);
        *seen = Seen { file, lines };
        new.map_or(Rewritten::Any, Rewritten::Loads)
    }
}

/// `None` if one of them cannot be read: a line whose end was never written.
fn jids(lines: &[u8]) -> Option<Vec<Jid>> {
    let lines = lines.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .map(|line| Jid::parse(std::str::from_utf8(line).ok()?).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jid(number: usize) -> Jid {
        Jid::parse(format!("20260102030405{number:06}")).unwrap()
    }

    #[test]
    fn each_reader_hears_of_each_load_once() {
        let dir = tempfile::tempdir().unwrap();
        let rewrites = Rewrites::new(dir.path().join("rewrites"));
        let (mut one, mut other) = (Seen::default(), Seen::default());
        let loads =
            |numbers: &[usize]| Rewritten::Loads(numbers.iter().copied().map(jid).collect());
        assert_eq!(rewrites.since(&mut one), loads(&[]));
        // What was said in a file that is new may have been said in one before it, too.
        rewrites.record(&jid(1)).unwrap();
        assert_eq!(rewrites.since(&mut one), Rewritten::Any);
        assert_eq!(rewrites.since(&mut other), Rewritten::Any);
        rewrites.record(&jid(2)).unwrap();
        assert_eq!(rewrites.since(&mut one), loads(&[2]));
        assert_eq!(rewrites.since(&mut one), loads(&[]));
        rewrites.record(&jid(3)).unwrap();
        assert_eq!(rewrites.since(&mut one), loads(&[3]));
        assert_eq!(rewrites.since(&mut other), loads(&[2, 3]));
    }

    #[test]
    fn a_line_is_heard_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let rewrites = Rewrites::new(dir.path().join("rewrites"));
        let mut seen = Seen::default();
        rewrites.record(&jid(1)).unwrap();
        rewrites.since(&mut seen);
        let line = format!("{}\n", jid(2));
        let (first, rest) = line.split_at(7);
        rewrites.append(first.as_bytes()).unwrap();
        assert_eq!(rewrites.since(&mut seen), Rewritten::Loads(Vec::new()));
        rewrites.append(rest.as_bytes()).unwrap();
        assert_eq!(rewrites.since(&mut seen), Rewritten::Loads(vec![jid(2)]));
        // One that never gets its end spoils the next.
        rewrites.append(first.as_bytes()).unwrap();
        rewrites.record(&jid(3)).unwrap();
        assert_eq!(rewrites.since(&mut seen), Rewritten::Any);
    }

    #[test]
    fn a_file_in_its_place_that_begins_alike_is_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rewrites");
        let rewrites = Rewrites::new(path.clone());
        let mut seen = Seen::default();
        rewrites.record(&jid(1)).unwrap();
        rewrites.since(&mut seen);
        put(&path, format!("{}\n", jid(1)).as_bytes()).unwrap();
        assert_eq!(rewrites.since(&mut seen), Rewritten::Any);
    }

    #[test]
    fn a_full_file_begins_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rewrites");
        let rewrites = Rewrites::new(path.clone());
        let mut seen = Seen::default();
        rewrites.record(&jid(1)).unwrap();
        rewrites.since(&mut seen);
        let line = format!("{}\n", jid(2));
        let lines = usize::try_from(REWRITES_BYTES_MAX).unwrap() / line.len() + 1;
        fs::write(&path, line.repeat(lines)).unwrap();
        assert_eq!(rewrites.since(&mut seen), Rewritten::Any);
        rewrites.record(&jid(3)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", jid(3)));
        assert_eq!(rewrites.since(&mut seen), Rewritten::Any);
        rewrites.record(&jid(4)).unwrap();
        assert_eq!(rewrites.since(&mut seen), Rewritten::Loads(vec![jid(4)]));
    }
}
