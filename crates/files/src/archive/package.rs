//! Archives from elsewhere that may hold only files.

use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use halite_call::paths;

use super::fence::{check_content, fenced};
use super::unpack::inside;
use crate::limits::PACKAGE_ENTRIES_MAX;

/// Unpacks the files and directories of a tar archive that gzip has compressed
/// into the empty directory `into`; owners and modes are not kept. At most
/// `bytes_max` bytes are written.
///
/// # Errors
/// When the archive is damaged or too large, leads out of the directory, holds
/// a name twice, or something else than files and directories.
pub fn unpack_package(packed: impl Read, into: &Path, bytes_max: u64) -> io::Result<()> {
    unpack(packed, into, bytes_max, PACKAGE_ENTRIES_MAX)
}

/// The same with at most `places` files and directories.
fn unpack(packed: impl Read, into: &Path, bytes_max: u64, mut places: usize) -> io::Result<()> {
    let (mut archive, fence) = fenced(MultiGzDecoder::new(packed));
    let mut left = bytes_max;
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = fence.passed(&mut entry)?;
        check_content(&mut entry)?;
        let refused = |why: &str| Err(io::Error::other(format!("{name} {why}")));
        // Without links, a name without a way up stays below.
        let Some(path) = inside(into, &name) else {
            return refused("leads out of the directory");
        };
        // One for the entry, also where nothing comes of it.
        let missing = path.ancestors().skip(1).take_while(|at| !at.exists());
        let Some(rest) = places.checked_sub(missing.count() + 1) else {
            return refused("is one file too many");
        };
        places = rest;
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            paths::create_dir_all(&path)?;
            continue;
        }
        if !kind.is_file() && !kind.is_contiguous() {
            return refused("is neither a file nor a directory");
        }
        if let Some(parent) = path.parent() {
            paths::create_dir_all(parent)?;
        }
        let mut file = paths::create_new(&path, 0o600)
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
        let written = io::copy(&mut entry.take(left.saturating_add(1)), &mut file)?;
        let Some(rest) = left.checked_sub(written) else {
            return refused("is larger than what may be unpacked");
        };
        left = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::EntryType;

    use super::*;

    /// An archive of entries with a name, a kind, and content or a target.
    fn packed(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o4777);
            // As it is: the library does not write such names itself.
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            if kind.is_file() {
                header.set_size(content.len() as u64);
                header.set_cksum();
                tar.append(&header, content.as_bytes()).unwrap();
            } else {
                header.set_link_name(content).unwrap();
                header.set_size(0);
                header.set_cksum();
                tar.append(&header, io::empty()).unwrap();
            }
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    const FILE: EntryType = EntryType::Regular;

    #[test]
    fn files_are_unpacked_and_nothing_else() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let good = packed(&[("a", FILE, "x"), ("./base/b/c", FILE, "y")]);
        unpack_package(&*good, dir.path(), 2).unwrap();
        assert_eq!(fs::read(dir.path().join("base/b/c")).unwrap(), b"y");
        let mode = fs::metadata(dir.path().join("a")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o7777, 0o600);

        let outside = tempfile::tempdir().unwrap();
        let out = outside.path().to_str().unwrap();
        let absolute = format!("{out}/x");
        for (what, entries) in [
            ("leads out", &[("../x", FILE, "x")][..]),
            ("leads out", &[(absolute.as_str(), FILE, "x")]),
            (
                "neither",
                &[("l", EntryType::Symlink, out), ("l/x", FILE, "x")],
            ),
            ("neither", &[("a", FILE, "x"), ("l", EntryType::Link, "a")]),
            ("neither", &[("p", EntryType::Fifo, "x")]),
            ("exists", &[("a", FILE, "x"), ("a", FILE, "y")]),
            ("larger", &[("a", FILE, "xx"), ("b", FILE, "yy")]),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let error = unpack_package(&*packed(entries), dir.path(), 3).unwrap_err();
            assert!(error.to_string().contains(what), "{error}, not {what}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        unpack_package(&b"hello"[..], dir.path(), 3).unwrap_err();
    }

    #[test]
    fn directories_are_counted_too() {
        let archive = packed(&[("a/b/c", EntryType::Directory, "x"), ("a/d/e", FILE, "")]);
        for (places, is_enough) in [(5, true), (4, false)] {
            let dir = tempfile::tempdir().unwrap();
            let unpacked = unpack(&*archive, dir.path(), 0, places);
            assert_eq!(unpacked.is_ok(), is_enough, "{unpacked:?}");
        }
    }
}
