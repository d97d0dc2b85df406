//! Gives a directory to the user as whom a daemon is about to run.
//!
//! Invariant: nothing outside the directory changes owner. Its former owner may
//! still be active in it, so every step uses an open directory and no symbolic link
//! is followed.

use std::ffi::{CStr, CString};
use std::io;
use std::path::{Path, PathBuf};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::unistd::{fchown, fchownat};
use thiserror::Error;

use crate::limits::HAND_OVER_DEPTH_MAX;
use crate::privileges::User;

/// Why a directory still has its former owner.
#[derive(Debug, Error)]
#[error("could not give {} to user {user:?}", path.display())]
pub struct HandOverError {
    /// The directory.
    path: PathBuf,
    /// Who should have it.
    user: String,
    /// Why not.
    #[source]
    source: io::Error,
}

/// Gives the directory `path` with everything in it to `user`. In a directory
/// that is the user's already, entries whose names contain `spared` are not
/// searched: there may be a great many files below, and the user's own.
///
/// # Errors
/// When it cannot be read, or the process is not root.
pub fn hand_over(path: &Path, user: &User, spared: &str) -> Result<(), HandOverError> {
    let failed = |source: Errno| HandOverError {
        path: path.to_owned(),
        user: user.name.clone(),
        source: source.into(),
    };
    // The directory itself may be a link: that is the administrator's doing.
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut top = Dir::open(path, flags, Mode::empty()).map_err(failed)?;
    let is_the_users = fstat(&top).map_err(failed)?.st_uid == user.uid.as_raw();
    let is_spared = |name: &CStr| is_the_users && name.to_string_lossy().contains(spared);
    for entry in entries(&mut top).map_err(failed)? {
        if !is_spared(&entry.0) {
            give(&top, &entry, user, 0).map_err(failed)?;
        }
    }
    // Last, so that a run that was cut short is taken up again.
    match is_the_users {
        true => Ok(()),
        false => fchown(&top, Some(user.uid), Some(user.gid)).map_err(failed),
    }
}

type Entry = (CString, Option<Type>);

fn entries(dir: &mut Dir) -> Result<Vec<Entry>, Errno> {
    let mut entries = Vec::new();
    for entry in dir.iter() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            entries.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    Ok(entries)
}

fn give(dir: &Dir, (name, kind): &Entry, user: &User, depth: usize) -> Result<(), Errno> {
    if depth > HAND_OVER_DEPTH_MAX {
        return Err(Errno::ELOOP);
    }
    // Where the file system does not tell, opening does.
    if matches!(kind, None | Some(Type::Directory)) {
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match Dir::openat(dir, name.as_c_str(), flags, Mode::empty()) {
            Ok(mut inner) => {
                for entry in entries(&mut inner)? {
                    give(&inner, &entry, user, depth + 1)?;
                }
            }
            Err(Errno::ENOTDIR | Errno::ELOOP | Errno::ENOENT) => {}
            Err(error) => return Err(error),
        }
    }
    let given = give_one(dir, name, user);
    // It may have been removed meanwhile.
    given.or_else(|error| match error {
        Errno::ENOENT => Ok(()),
        error => Err(error),
    })
}

fn give_one(dir: &Dir, name: &CStr, user: &User) -> Result<(), Errno> {
    let no_link = AtFlags::AT_SYMLINK_NOFOLLOW;
    if fstatat(dir, name, no_link)?.st_uid == user.uid.as_raw() {
        return Ok(());
    }
    fchownat(dir, name, Some(user.uid), Some(user.gid), no_link)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;
    use crate::privileges::is_root;

    #[test]
    fn everything_inside_changes_hands_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (given, outside) = (dir.path().join("cache"), dir.path().join("outside"));
        fs::create_dir_all(given.join("jobs/ab")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(given.join("jobs/ab/jid"), "x").unwrap();
        fs::write(outside.join("secret"), "x").unwrap();
        symlink(&outside, given.join("link")).unwrap();
        let user = User::lookup("nobody").unwrap();
        if !is_root() {
            let other = User::lookup("daemon").unwrap();
            assert!(hand_over(&given, &other, "jobs").is_err());
        }
        if !halite_test_support::have_root() {
            return;
        }
        hand_over(&given, &user, "jobs").unwrap();
        let owner = |path: &Path| fs::symlink_metadata(path).unwrap().uid();
        for path in ["", "jobs", "jobs/ab", "jobs/ab/jid", "link"] {
            assert_eq!(owner(&given.join(path)), user.uid.as_raw(), "{path}");
        }
        // What root has left there since is found, too, but not below jobs.
        fs::write(given.join("jobs/new"), "x").unwrap();
        fs::write(given.join("new"), "x").unwrap();
        hand_over(&given, &user, "jobs").unwrap();
        assert_eq!(owner(&given.join("jobs/new")), 0);
        assert_eq!(owner(&given.join("new")), user.uid.as_raw());
        assert_eq!(owner(&outside), 0);
        assert_eq!(owner(&outside.join("secret")), 0);
    }
}
