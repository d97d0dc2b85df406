//! Which loads have been written anew, for all programs that list jobs.
//!
//! A list does not look again at a load that has been there for long. Who writes
//! one anew says so afterwards in a file, a line each. When that is full it begins
//! again, and who has not read it to its end looks at all loads once more.

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

/// What has been written anew since.
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

    /// Says that a load has been written anew.
    pub(super) fn note(&self, jid: &Jid) -> Result<(), StoreError> {
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

    /// What is new to somebody.
    pub(super) fn since(&self, seen: &mut Seen) -> Rewritten {
        let size = fs::metadata(&self.path).ok().map(|data| data.len());
        let file = Stamp::of(&self.path).zip(size);
        if file == seen.file {
            return Rewritten::Loads(Vec::new());
        }
        let lines = match read(&self.path) {
            Ok(lines) => lines.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "all loads of jobs are looked at again");
                *seen = Seen::default();
                return Rewritten::Any;
            }
        };
        let new = lines.strip_prefix(seen.lines.as_slice()).map(jids);
        *seen = Seen { file, lines };
        new.map_or(Rewritten::Any, Rewritten::Loads)
    }
}

fn jids(lines: &[u8]) -> Vec<Jid> {
    let lines = lines.split(|byte| *byte == b'\n');
    let texts = lines.filter_map(|line| std::str::from_utf8(line).ok());
    texts.filter_map(|jid| Jid::parse(jid).ok()).collect()
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
        rewrites.note(&jid(1)).unwrap();
        assert_eq!(rewrites.since(&mut one), loads(&[1]));
        rewrites.note(&jid(2)).unwrap();
        assert_eq!(rewrites.since(&mut one), loads(&[2]));
        assert_eq!(rewrites.since(&mut one), loads(&[]));
        assert_eq!(rewrites.since(&mut other), loads(&[1, 2]));
    }

    #[test]
    fn a_full_file_begins_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rewrites");
        let rewrites = Rewrites::new(path.clone());
        let mut seen = Seen::default();
        rewrites.note(&jid(1)).unwrap();
        rewrites.since(&mut seen);
        let line = format!("{}\n", jid(2));
        let lines = usize::try_from(REWRITES_BYTES_MAX).unwrap() / line.len() + 1;
        fs::write(&path, line.repeat(lines)).unwrap();
        assert_eq!(rewrites.since(&mut seen), Rewritten::Any);
        rewrites.note(&jid(3)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", jid(3)));
        assert_eq!(rewrites.since(&mut seen), Rewritten::Any);
        rewrites.note(&jid(4)).unwrap();
        assert_eq!(rewrites.since(&mut seen), Rewritten::Loads(vec![jid(4)]));
    }
}
