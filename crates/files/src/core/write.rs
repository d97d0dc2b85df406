//! Replaces a file in one step.
//!
//! [`halite_call::replace`] does it; this decides what is written, and when a file
//! must be written in place.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use halite_call::paths::HeldName;
use halite_call::replace::place_at;

use super::open;

pub(crate) use halite_call::replace::{Dress, Placed, replace_with};

/// What is to be in a file.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// These bytes.
    Bytes(Vec<u8>),
    /// What is in this file.
    File(PathBuf),
}

impl Body {
    /// All of it.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::File(path) => open::read(path),
        }
    }

    fn write_to(&self, file: &mut File) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => file.write_all(bytes),
            Self::File(path) => io::copy(&mut open::to_read(path)?, file).map(|_| ()),
        }
    }

    /// Whether a file holds exactly this.
    pub(crate) fn is_in(&self, path: &Path) -> io::Result<bool> {
        // Not opened without need: it may be a pipe.
        self.is_in_file_of(path, fs::metadata(path)?.len())
    }

    /// Whether the file, which has this many bytes, holds exactly this.
    pub(crate) fn is_in_file_of(&self, path: &Path, length: u64) -> io::Result<bool> {
        match self {
            Self::Bytes(bytes) => {
                Ok(length == bytes.len() as u64 && holds(&mut open::to_read(path)?, bytes)?)
            }
            Self::File(own) => {
                if length != fs::metadata(own)?.len() {
                    return Ok(false);
                }
                same(&mut open::to_read(path)?, &mut open::to_read(own)?, length)
            }
        }
    }
}

/// Most bytes of a file that are compared at once.
const PIECE: usize = 64 << 10;

/// Whether a file holds these bytes and no more.
fn holds(file: &mut File, bytes: &[u8]) -> io::Result<bool> {
    // One more than there should be: so that the last piece shows the end.
    let mut read = vec![0; PIECE.min(bytes.len() + 1)];
    let mut left = bytes;
    loop {
        match file.read(&mut read)? {
            0 => return Ok(left.is_empty()),
            got => match left.strip_prefix(&read[..got]) {
                Some(rest) => left = rest,
                None => return Ok(false),
            },
        }
    }
}

fn same(one: &mut File, two: &mut File, length: u64) -> io::Result<bool> {
    let piece = usize::try_from(length).map_or(PIECE, |length| PIECE.min(length.max(1)));
    let (mut a, mut b) = (vec![0; piece], vec![0; piece]);
    loop {
        let got = one.read(&mut a)?;
        if got == 0 {
            return Ok(two.read(&mut b)? == 0);
        }
        if two.read_exact(&mut b[..got]).is_err() || a[..got] != b[..got] {
            return Ok(false);
        }
    }
}

/// Replaces the file `to`, which keeps its owner, mode and attributes; a new
/// one gets `mode`.
pub(crate) fn replace(to: &Path, body: &Body, mode: u32) -> io::Result<()> {
    replace_dressed(to, body, Dress::kept(mode))
}

/// Replaces the file `to`; owner and mode are those asked for from the first
/// moment.
pub(crate) fn replace_dressed(to: &Path, body: &Body, dress: Dress) -> io::Result<()> {
    replace_with(to, dress, |file| body.write_to(file))
}

/// The same for those who have more to do with the file.
pub(crate) fn place(to: &Path, body: &Body, dress: Dress) -> io::Result<Placed> {
    halite_call::replace::place(to, dress, |file| body.write_to(file))
}

/// Changes the content of a file that is there. With other names for the same
/// file (hard links) it is written in place, so that it stays one file; else
/// replaced in one step.
pub(crate) fn update(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let place = HeldName::followed(path)?;
    let data = place.data()?;
    if data.nlink() > 1 {
        return in_place(path, bytes);
    }
    let dress = Dress::kept(data.permissions().mode());
    match place_at(&place, dress, |file| file.write_all(bytes)) {
        // A file that something is mounted on cannot be replaced.
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => in_place(path, bytes),
        done => done.map(drop),
    }
}

fn in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = open::to_write(path)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Body {
        Body::Bytes(text.into())
    }

    #[test]
    fn a_link_in_the_way_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, path) = (dir.path().join("victim"), dir.path().join("f"));
        fs::write(&victim, "safe").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        replace(&path, &bytes("new"), 0o644).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"safe");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn hard_links_stay_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("1"), dir.path().join("2"));
        fs::write(&one, "long old text").unwrap();
        fs::hard_link(&one, &two).unwrap();
        update(&one, b"new").unwrap();
        assert_eq!(fs::read(&two).unwrap(), b"new");
    }

    #[test]
    fn contents_are_compared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "abc").unwrap();
        assert!(bytes("abc").is_in(&path).unwrap());
        assert!(!bytes("abd").is_in(&path).unwrap());
        assert!(!bytes("ab").is_in(&path).unwrap());
        // What has grown or shrunk since somebody looked at it.
        assert!(!bytes("ab").is_in_file_of(&path, 2).unwrap());
        assert!(!bytes("abcd").is_in_file_of(&path, 4).unwrap());
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1] {
            let mut whole = vec![b'x'; length];
            fs::write(&path, &whole).unwrap();
            let copy = dir.path().join("copy");
            fs::write(&copy, &whole).unwrap();
            assert!(Body::Bytes(whole.clone()).is_in(&path).unwrap());
            assert!(Body::File(copy.clone()).is_in(&path).unwrap());
            let Some(last) = whole.last_mut() else {
                continue;
            };
            *last = b'y';
            fs::write(&copy, &whole).unwrap();
            assert!(!Body::Bytes(whole).is_in(&path).unwrap());
            assert!(!Body::File(copy).is_in(&path).unwrap());
        }
    }
}
