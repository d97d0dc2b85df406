//! The lock files in a repository.

use std::ffi::CStr;

use nix::dir::{Dir, Type};
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::stat::{Mode, fstatat};

/// Deeper than names of branches go.
pub(super) const DEPTH_MAX: u32 = 32;

pub(super) const DIRECTORY: OFlag = OFlag::O_DIRECTORY
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);

/// What git locks at the top of a repository, beside `HEAD` and its like.
const LOCKED: [&str; 4] = ["config", "index", "packed-refs", "shallow"];

/// What is done with a lock file in a directory, by its name and its time in
/// seconds since 1970.
pub(super) type OnLock<'a> = &'a mut dyn FnMut(&Dir, &CStr, i64) -> nix::Result<u32>;

/// Calls `on_lock` with each lock file at the top of a repository and below its
/// references, and when it was made; the sum.
pub(super) fn locks_in(git_dir: &mut Dir, on_lock: OnLock<'_>) -> nix::Result<u32> {
    let mut sum = 0;
    for (name, kind) in entries(git_dir)? {
        let stem = name.to_bytes().strip_suffix(b".lock");
        let is_lock = |stem: &[u8]| {
            let is_head = stem.iter().all(|b| b.is_ascii_uppercase() || *b == b'_');
            is_head || LOCKED.iter().any(|known| known.as_bytes() == stem)
        };
        match (kind, stem) {
            (Type::File, Some(stem)) if is_lock(stem) => sum += visit(git_dir, &name, on_lock)?,
            (Type::Directory, _) if name.to_bytes() == b"refs" => {
                let mut refs = Dir::openat(&*git_dir, &*name, DIRECTORY, Mode::empty())?;
                sum += locks_below(&mut refs, on_lock, DEPTH_MAX)?;
            }
            _ => {}
        }
    }
    Ok(sum)
}

/// The same with each lock file in a directory and those below it.
pub(super) fn locks_below(dir: &mut Dir, on_lock: OnLock<'_>, depth: u32) -> nix::Result<u32> {
    let mut sum = 0;
    for (name, kind) in entries(dir)? {
        match kind {
            Type::File if name.to_bytes().ends_with(b".lock") => sum += visit(dir, &name, on_lock)?,
            Type::Directory if depth > 0 => {
                let mut below = Dir::openat(&*dir, &*name, DIRECTORY, Mode::empty())?;
                sum += locks_below(&mut below, on_lock, depth - 1)?;
            }
            _ => {}
        }
    }
    Ok(sum)
}

/// Calls `on_lock` with one lock file.
fn visit(dir: &Dir, name: &CStr, on_lock: OnLock<'_>) -> nix::Result<u32> {
    let data = fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    on_lock(dir, name, data.st_mtime)
}

/// What is in a directory.
fn entries(dir: &mut Dir) -> nix::Result<Vec<(std::ffi::CString, Type)>> {
    let mut all = Vec::new();
    for entry in dir.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(kind) = entry.file_type()
            && !matches!(name.to_bytes(), b"." | b"..")
        {
            all.push((name.to_owned(), kind));
        }
    }
    Ok(all)
}
