//! Access for fuzz targets to the reader of archives; no interface.

use std::fs;
use std::path::Path;

use halite_call::paths;

use super::format::Format;
use super::read::Contents;
use super::unpack_package;

/// What is extracted at most.
const BYTES_MAX: u64 = 1 << 20;

/// An archive in the empty directory `dir`: its contents are listed, and it is
/// extracted as a package of states.
///
/// # Panics
/// When something was extracted to another place than below `dir`.
pub fn archive(bytes: &[u8], dir: &Path) {
    let path = dir.join("archive");
    if paths::write(&path, bytes).is_err() {
        return;
    }
    // These go to a program each.
    let is_for_a_program = [&b"BZh"[..], b"\xfd7zXZ\0", b"\x5d\0\0", b"\x28\xb5\x2f\xfd"]
        .iter()
        .any(|magic| bytes.starts_with(magic));
    if !is_for_a_program {
        let _ = Contents::of(&path, Format::Tar, None);
    }
    let _ = Contents::of(&path, Format::Zip, None);
    let into = dir.join("within").join("package");
    let _ = paths::create_dir_all(&into);
    let _ = unpack_package(bytes, &into, BYTES_MAX);
    let count = |dir: &Path| fs::read_dir(dir).map_or(0, Iterator::count);
    assert_eq!((count(dir), count(&dir.join("within"))), (2, 1));
    let _ = paths::remove_dir_all(dir.join("within"));
}
