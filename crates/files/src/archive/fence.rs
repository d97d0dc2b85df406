//! Limits the headers of a tar: the library reads long names and other records
//! whole into memory, by their own length fields.
//!
//! Invariant: between two entries no more than [`HEADERS_BYTES_MAX`] are read.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use crate::limits::{ARCHIVE_NAME_BYTES_MAX, HEADERS_BYTES_MAX};

/// What a tar is read from, as far as its fence.
pub(super) struct Fenced<R> {
    inner: R,
    fence: Fence,
}

/// Where the reading of a tar ends, unless an entry is there and moves it on.
#[derive(Clone)]
pub(super) struct Fence(Rc<Cell<u64>>);

/// A tar and its fence.
pub(super) fn fenced<R: Read>(inner: R) -> (tar::Archive<Fenced<R>>, Fence) {
    let fence = Fence(Rc::new(Cell::new(HEADERS_BYTES_MAX)));
    let own = fence.clone();
    (tar::Archive::new(Fenced { inner, fence: own }), fence)
}

impl Fence {
    /// Lets the reading go on behind an entry; its name.
    ///
    /// # Errors
    /// When the name is longer than any path.
    pub(super) fn passed<R: Read>(&self, entry: &mut tar::Entry<'_, R>) -> io::Result<String> {
        let told = record(entry, "GNU.sparse.name")?;
        let header = entry.header();
        // A sparse file is larger than what there is of it.
        let stored = match header.entry_type().is_gnu_sparse() {
            true => header.entry_size()?,
            false => entry.size(),
        };
        self.0.set(stored.saturating_add(HEADERS_BYTES_MAX));
        let name = told.unwrap_or_else(|| entry.path_bytes().into_owned());
        if name.len() > ARCHIVE_NAME_BYTES_MAX {
            return Err(io::Error::other("a name is too long"));
        }
        Ok(String::from_utf8_lossy(&name).into_owned())
    }
}

/// Makes sure that the content of an entry is that of its file: some tars hold
/// the map of a sparse file before it, which the library takes for a part.
pub(super) fn check_content<R: Read>(entry: &mut tar::Entry<'_, R>) -> io::Result<()> {
    match record(entry, "GNU.sparse.")? {
        Some(_) => Err(io::Error::other(
            "a sparse file in the form of PAX is not understood",
        )),
        None => Ok(()),
    }
}

/// What the first record of an entry says whose name begins so.
fn record<R: Read>(entry: &mut tar::Entry<'_, R>, start: &str) -> io::Result<Option<Vec<u8>>> {
    let kind = entry.header().entry_type();
    if kind.is_pax_global_extensions() || kind.is_pax_local_extensions() {
        return Ok(None);
    }
    let mut found = entry.pax_extensions()?.into_iter().flatten().flatten();
    let found = found.find(|record| record.key_bytes().starts_with(start.as_bytes()));
    Ok(found.map(|record| record.value_bytes().to_vec()))
}

impl<R: Read> Read for Fenced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.fence.0.get();
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("headers are too large"));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX);
        let most = buffer.len().min(most);
        let count = self
            .inner
            .read(buffer.get_mut(..most).unwrap_or_default())?;
        self.fence.0.set(left.saturating_sub(count as u64));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use tar::EntryType;

    use super::*;

    /// A record of a kind and a size, then a file.
    fn tar(kind: EntryType, size: u64) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        tar.append(&header, io::repeat(b'a').take(size)).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        tar.append_data(&mut header, "b", &b"cd"[..]).unwrap();
        tar.into_inner().unwrap()
    }

    fn names(tar: &[u8]) -> io::Result<Vec<String>> {
        let (mut archive, fence) = fenced(tar);
        let entries = archive.entries()?;
        entries.map(|entry| fence.passed(&mut entry?)).collect()
    }

    #[test]
    fn records_that_are_too_large_are_not_read() {
        let long = |size: u64| names(&tar(EntryType::GNULongName, size));
        assert_eq!(long(4096).unwrap(), ["a".repeat(4096)]);
        for (size, why) in [(4097, "too long"), (HEADERS_BYTES_MAX, "too large")] {
            let error = long(size).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        for kind in [EntryType::GNULongLink, EntryType::XHeader] {
            names(&tar(kind, HEADERS_BYTES_MAX)).unwrap_err();
        }
    }

    #[test]
    fn a_map_of_a_file_is_not_taken_for_it() {
        for (key, name, is_whole) in [
            ("comment", "b", true),
            ("GNU.sparse.major", "b", false),
            ("GNU.sparse.name", "1", false),
        ] {
            let mut tar = tar::Builder::new(Vec::new());
            tar.append_pax_extensions([(key, &b"1"[..])]).unwrap();
            let mut header = tar::Header::new_ustar();
            header.set_size(2);
            tar.append_data(&mut header, "b", &b"1\n"[..]).unwrap();
            let tar = tar.into_inner().unwrap();
            let (mut archive, fence) = fenced(&*tar);
            let mut entry = archive.entries().unwrap().next().unwrap().unwrap();
            assert_eq!(fence.passed(&mut entry).unwrap(), name);
            assert_eq!(check_content(&mut entry).is_ok(), is_whole, "{key}");
        }
    }

    #[test]
    fn files_are_as_large_as_they_are() {
        let size = HEADERS_BYTES_MAX * 3;
        let names = names(&tar(EntryType::Regular, size)).unwrap();
        assert_eq!(names, ["", "b"]);
    }
}
