//! Which release of Salt a local program is of, where that shows: programs of
//! 3006 read the event bus in another framing than all later ones.
//!
//! Invariant: this only chooses between two ways to say the same to somebody
//! who has opened the socket already. When nothing can be told, the newer way
//! is used.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use halite_transport::ipc::Framing;

/// The last release whose programs want a length in front of each event.
const LAST_PREFIXED: u32 = 3006;

/// Words at the start of a command line that may tell where Salt is: the
/// interpreter, options of it, the script.
const WORDS_MAX: usize = 4;

/// The framing that a process wants.
pub(crate) fn framing_of(pid: u32) -> Option<Framing> {
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let release = prefixes(&command).find_map(|prefix| release_below(&prefix))?;
    Some(if release <= LAST_PREFIXED {
        Framing::Prefixed
    } else {
        Framing::Bare
    })
}

/// The directories above the `bin` of a command line's programs: of
/// `/opt/salt/bin/python3 /opt/salt/bin/salt`, `/opt/salt`.
fn prefixes(command: &[u8]) -> impl Iterator<Item = PathBuf> {
    command
        .split(|byte| *byte == 0)
        .take(WORDS_MAX)
        .map(|word| Path::new(OsStr::from_bytes(word)))
        .filter(|word| word.is_absolute())
        .filter_map(|word| {
            let bin = word.parent().filter(|dir| dir.ends_with("bin"))?;
            bin.parent().map(Path::to_owned)
        })
}

/// The release of the Salt that is installed below a prefix.
fn release_below(prefix: &Path) -> Option<u32> {
    let lib = fs::read_dir(prefix.join("lib")).ok()?;
    let pythons = lib
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_python(path));
    pythons
        .flat_map(|python| {
            ["site-packages", "dist-packages"]
                .map(|packages| python.join(packages).join("salt/_version.txt"))
        })
        .find_map(|version| release(&fs::read_to_string(version).ok()?))
}

fn is_python(path: &Path) -> bool {
    path.file_name()
        .and_then(OsStr::to_str)
        .is_some_and(|name| name.starts_with("python3"))
}

/// The first number of a version.
fn release(version: &str) -> Option<u32> {
    version.trim().split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_above_the_directory_of_programs() {
        let of = |command: &[u8]| prefixes(command).collect::<Vec<_>>();
        assert_eq!(
            of(b"/v/bin/python3\0/w/bin/salt\0-c\0/etc/bin/salt\0*\0"),
            [
                PathBuf::from("/v"),
                PathBuf::from("/w"),
                PathBuf::from("/etc")
            ]
        );
        assert!(of(b"python3\0salt\0").is_empty());
        assert!(of(b"").is_empty());
    }

    #[test]
    fn the_installed_release_is_found() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(release_below(dir.path()), None);
        let salt = dir.path().join("lib/python3.11/site-packages/salt");
        fs::create_dir_all(&salt).unwrap();
        fs::write(salt.join("_version.txt"), "3006.30\n").unwrap();
        assert_eq!(release_below(dir.path()), Some(3006));
        fs::write(salt.join("_version.txt"), "unknown").unwrap();
        assert_eq!(release_below(dir.path()), None);
    }

    #[test]
    fn a_process_without_salt_is_of_no_release() {
        assert_eq!(framing_of(std::process::id()), None);
        assert_eq!(framing_of(u32::MAX), None);
    }
}
