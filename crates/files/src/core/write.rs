//! Replacing a file in one step.
//!
//! How that is done is [`halite_modules::replace`]'s; this says what is
//! written, and when a file has to be written in place after all.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(crate) use halite_modules::replace::{Dress, replace_with};

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
            Self::File(path) => fs::read(path),
        }
    }

    fn write_to(&self, file: &mut File) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => file.write_all(bytes),
            Self::File(path) => io::copy(&mut File::open(path)?, file).map(|_| ()),
        }
    }

    /// Whether a file holds exactly this.
    pub(crate) fn is_in(&self, path: &Path) -> io::Result<bool> {
        match self {
            Self::Bytes(bytes) => {
                let size = fs::metadata(path)?.len();
                if size != bytes.len() as u64 {
                    return Ok(false);
                }
                same(&mut File::open(path)?, &mut bytes.as_slice())
            }
            Self::File(own) => {
                if fs::metadata(path)?.len() != fs::metadata(own)?.len() {
                    return Ok(false);
                }
                same(&mut File::open(path)?, &mut File::open(own)?)
            }
        }
    }
}

fn same(one: &mut dyn Read, two: &mut dyn Read) -> io::Result<bool> {
    let (mut a, mut b) = (vec![0; 64 << 10], vec![0; 64 << 10]);
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

/// Changes the content of a file that is there. With other names for the same
/// file (hard links) it is written in place, so that it stays one file; else
/// replaced in one step.
pub(crate) fn update(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let real = fs::canonicalize(path)?;
    let data = fs::metadata(&real)?;
    if data.nlink() > 1 {
        return in_place(&real, bytes);
    }
    match replace(
        &real,
        &Body::Bytes(bytes.to_vec()),
        data.permissions().mode(),
    ) {
        // A file that something is mounted on cannot be replaced.
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => in_place(&real, bytes),
        done => done,
    }
}

fn in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
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
    }
}
