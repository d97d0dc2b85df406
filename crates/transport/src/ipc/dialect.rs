//! Which release of Salt a local program is from, where that matters: programs of
//! 3006 read the event bus in another framing than all later ones.
//!
//! Invariant: this only chooses between two framings of the same data for a program
//! that has opened the socket already. If the release is unknown, the newer one is
//! used.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use halite_proto::stream::Framing;

/// The last release whose programs want a length in front of each event.
const LAST_PREFIXED: u32 = 3006;

/// Names of the directories that Python packages are installed in.
const PACKAGE_DIRS: [&str; 2] = ["site-packages", "dist-packages"];

/// The framing that a process wants.
///
/// Its command line does not tell, Salt's programs rewrite it. But they have
/// libraries loaded from the directory that Salt itself is installed in.
pub fn framing_of(pid: u32) -> Option<Framing> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let release = package_dirs(&maps).iter().find_map(|dir| release_in(dir))?;
    Some(if release <= LAST_PREFIXED {
        Framing::Prefixed
    } else {
        Framing::Bare
    })
}

/// The package directories that a process has files loaded from.
fn package_dirs(maps: &str) -> BTreeSet<PathBuf> {
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])))
        .filter_map(|file| {
            let mut dirs = file.ancestors();
            dirs.find(|dir| PACKAGE_DIRS.iter().any(|name| dir.ends_with(name)))
        })
        .map(Path::to_owned)
        .collect()
}

/// The release of the Salt that is installed in a package directory.
fn release_in(dir: &Path) -> Option<u32> {
    let version = fs::read_to_string(dir.join("salt/_version.txt")).ok()?;
    version.trim().split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_libraries_tell_where_packages_are() {
        let maps = "\
7f0000000000-7f0000001000 r--p 00000000 fe:00 123  /v/lib/python3.11/site-packages/zmq/a.so
7f0000000000-7f0000001000 r--p 00000000 fe:00 123  /v/lib/python3.11/site-packages/msgpack/b.so
7f0000000000-7f0000001000 r--p 00000000 fe:00 123  /usr/lib/libc.so.6
7f0000000000-7f0000001000 rw-p 00000000 00:00 0    [heap]
";
        assert_eq!(
            package_dirs(maps).into_iter().collect::<Vec<_>>(),
            [PathBuf::from("/v/lib/python3.11/site-packages")]
        );
    }

    #[test]
    fn the_installed_release_is_found() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(release_in(dir.path()), None);
        let salt = dir.path().join("salt");
        fs::create_dir_all(&salt).unwrap();
        fs::write(salt.join("_version.txt"), "3006.30\n").unwrap();
        assert_eq!(release_in(dir.path()), Some(3006));
        fs::write(salt.join("_version.txt"), "unknown").unwrap();
        assert_eq!(release_in(dir.path()), None);
    }

    #[test]
    fn a_process_without_salt_is_of_no_release() {
        assert_eq!(framing_of(std::process::id()), None);
        assert_eq!(framing_of(u32::MAX), None);
    }
}
