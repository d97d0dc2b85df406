//! Directories that hold secrets: they are private, and they are checked not to be
//! links or another user's.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::Path;

use nix::unistd::{Uid, geteuid};

use super::FileError;

/// Mode of a directory with secrets.
pub const MODE_DIR: u32 = 0o700;
/// The other mode of a directory with secrets that an admin may have chosen.
const MODE_DIR_GROUP: u32 = 0o750;

/// Makes the directory with mode 0700, and its parents as the umask says. An
/// existing one is set to 0700 unless it is 0750, which an admin may choose.
///
/// # Errors
/// When it cannot be made, or its mode is too open and cannot be changed, or it
/// is behind a link of a user whose it is not.
pub fn ensure_private_dir(path: &Path, owner: Option<u32>) -> Result<(), FileError> {
    let make = || -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match DirBuilder::new().mode(MODE_DIR).create(path) {
            Ok(()) => match owner {
                Some(_) => lchown(path, owner, None),
                None => Ok(()),
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            Err(error) => Err(error),
        }
    };
    make().map_err(|source| FileError::MakeDir {
        path: path.to_owned(),
        source,
    })?;
    restrict_dir(path)
}

fn restrict_dir(path: &Path) -> Result<(), FileError> {
    let mode_of = |path: &Path| fs::metadata(path).map(|meta| meta.mode() & 0o7777);
    let mode = mode_of(path).map_err(|source| FileError::List {
        path: path.to_owned(),
        source,
    })?;
    if !is_for_us(path)? {
        return Err(FileError::Foreign {
            path: path.to_owned(),
        });
    }
    if mode == MODE_DIR || mode == MODE_DIR_GROUP {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(MODE_DIR)).map_err(|source| FileError::Mode {
        path: path.to_owned(),
        mode,
        wanted: MODE_DIR,
        source,
    })
}

/// A user's link to somebody else's directory is no reason to close that one,
/// nor to remove or write files there: root may work in directories of a user.
fn is_for_us(path: &Path) -> Result<bool, FileError> {
    let look = || Ok((fs::symlink_metadata(path)?, fs::metadata(path)?));
    let (link, directory) = look().map_err(|source| FileError::List {
        path: path.to_owned(),
        source,
    })?;
    Ok(is_trusted(geteuid(), link.uid(), directory.uid()))
}

/// Whether a process of `us` may take a directory of `owner` for its own, to
/// which something of `made_by` leads. Who is not root gains nothing by a link.
fn is_trusted(us: Uid, made_by: u32, owner: u32) -> bool {
    !us.is_root() || made_by == 0 || made_by == owner
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_directory_is_made_private_unless_it_is_0750() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/pki");
        ensure_private_dir(&path, None).unwrap();
        assert_eq!(mode(&path), 0o700);
        for (before, after) in [(0o755, 0o700), (0o750, 0o750), (0o777, 0o700)] {
            fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
            ensure_private_dir(&path, None).unwrap();
            assert_eq!(mode(&path), after);
        }
    }

    #[test]
    fn a_file_in_the_way_of_a_directory_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "x").unwrap();
        assert!(matches!(
            ensure_private_dir(&path, None),
            Err(FileError::MakeDir { .. })
        ));
    }

    #[test]
    fn only_root_minds_who_made_a_link() {
        let (root, user) = (Uid::from_raw(0), Uid::from_raw(1000));
        assert!(is_trusted(root, 0, 0) && is_trusted(root, 0, 1000));
        assert!(is_trusted(root, 1000, 1000), "the user's own");
        assert!(!is_trusted(root, 1000, 0) && !is_trusted(root, 1000, 1001));
        // An admin's directory for their group, by a link of their own.
        assert!(is_trusted(user, 1000, 0) && is_trusted(user, 1001, 0));
    }

    #[test]
    fn a_users_link_closes_no_directory_of_others() {
        if !halite_test_support::have_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (theirs, link) = (dir.path().join("theirs"), dir.path().join("link"));
        fs::create_dir(&theirs).unwrap();
        fs::set_permissions(&theirs, Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(&theirs, &link).unwrap();
        lchown(&link, Some(65_534), None).unwrap();
        ensure_private_dir(&link, None).unwrap_err();
        assert_eq!(mode(&theirs), 0o755);
        // Nor is one that is closed already taken for the user's.
        fs::set_permissions(&theirs, Permissions::from_mode(MODE_DIR)).unwrap();
        ensure_private_dir(&link, None).unwrap_err();
        fs::set_permissions(&theirs, Permissions::from_mode(0o755)).unwrap();
        lchown(&link, Some(0), None).unwrap();
        ensure_private_dir(&link, None).unwrap();
        assert_eq!(mode(&theirs), MODE_DIR);
    }
}
