//! Attributes of files, as `chattr` sets them.

use std::fs::File;
use std::io;
use std::path::Path;

use halite_call::paths::{self, HeldName};
use halite_call::{CallError, StateReturn};
use halite_proto::Map;
use rustix::fs::IFlags;

/// The letters there are, in the order in which they are listed, each with its bit
/// (`FS_*_FL` of Linux).
const LETTERS: [(char, u32); 15] = [
    ('s', 0x0000_0001),
    ('u', 0x0000_0002),
    ('S', 0x0000_0008),
    ('D', 0x0001_0000),
    ('i', 0x0000_0010),
    ('a', 0x0000_0020),
    ('d', 0x0000_0040),
    ('A', 0x0000_0080),
    ('c', 0x0000_0004),
    ('j', 0x0000_4000),
    ('t', 0x0000_8000),
    ('T', 0x0002_0000),
    ('e', 0x0008_0000),
    ('C', 0x0080_0000),
    ('P', 0x2000_0000),
];

/// A file or directory that has attributes, by the rule of links.
fn open(path: &Path) -> io::Result<File> {
    let place = HeldName::followed(path)?;
    let kind = place.data()?.file_type();
    match kind.is_file() || kind.is_dir() {
        true => paths::open_to_read(path),
        false => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// The attributes of a file; nothing where its file system knows none.
pub(crate) fn letters_of(path: &Path) -> Option<String> {
    let bits = rustix::fs::ioctl_getflags(open(path).ok()?).ok()?.bits();
    let letters = LETTERS.iter().filter(|(_, bit)| bits & bit != 0);
    Some(letters.map(|(letter, _)| *letter).collect())
}

/// Sets or removes attributes: `+i`, `-i`.
pub(crate) fn change(path: &Path, change: &str) -> bool {
    changed(path, change).is_ok()
}

fn changed(path: &Path, change: &str) -> io::Result<()> {
    let file = open(path)?;
    let old = rustix::fs::ioctl_getflags(&file)?;
    let bit = |letter| LETTERS.iter().find(|(known, _)| *known == letter);
    let mut bits = 0;
    for letter in change.chars().skip(1) {
        let (_, bit) = bit(letter).ok_or(io::ErrorKind::InvalidInput)?;
        bits |= bit;
    }
    let new = match change.starts_with('-') {
        true => old.bits() & !bits,
        false => old.bits() | bits,
    };
    Ok(rustix::fs::ioctl_setflags(
        &file,
        IFlags::from_bits_retain(new),
    )?)
}

/// Makes the attributes those wanted (`e`, the extents, is nobody's choice).
pub(crate) fn check(
    ret: &mut StateReturn,
    path: &Path,
    wanted: &str,
    test: bool,
    complaints: &mut Vec<String>,
) -> Result<(), CallError> {
    let Some(now) = letters_of(path) else {
        return Ok(());
    };
    let add: String = wanted
        .chars()
        .filter(|c| *c != 'e' && !now.contains(*c))
        .collect();
    let remove: String = now
        .chars()
        .filter(|c| *c != 'e' && !wanted.contains(*c))
        .collect();
    if add.is_empty() && remove.is_empty() {
        return Ok(());
    }
    if test {
        ret.result = None;
        ret.changes.insert("attrs", wanted);
        return Ok(());
    }
    let mut done = true;
    if !remove.is_empty() {
        done &= change(path, &format!("-{remove}"));
    }
    if !add.is_empty() {
        done &= change(path, &format!("+{add}"));
    }
    if done {
        let change = Map::from([("old", now.as_str()), ("new", wanted)]);
        ret.changes.insert("attrs", change);
    } else {
        ret.result = Some(false);
        complaints.push(format!("Failed to change attributes to {wanted}"));
    }
    Ok(())
}
