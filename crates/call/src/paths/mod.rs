//! The one way to walk and change paths.
//!
//! A user who may write to a directory can put a link there, and root would change
//! its destination. So every function that changes something by a path uses this
//! module: it walks part by part over descriptors of directories, and follows a
//! link only by the rule of links ([`links`]). `cargo xtask lint` checks that.
//!
//! The functions have the names and arguments of those in [`std::fs`]. Each walks
//! the path again; to check first and then change, take a [`HeldName`] or [`Held`].

mod handed;
mod held;
mod links;
mod place;
mod walk;

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

pub use handed::Handed;
pub use held::Held;
pub use links::NotFollowed;
pub use place::HeldName;

/// Opens a file to read what is going to be changed.
///
/// # Errors
/// When it cannot be opened, or is a named pipe.
pub fn open_to_read(path: impl AsRef<Path>) -> io::Result<File> {
    HeldName::followed(path.as_ref())?.open(OFlags::RDONLY, 0)
}

/// The bytes of a file that may be a user's.
///
/// # Errors
/// As [`open_to_read`].
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_to_read(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file that may be a user's.
///
/// # Errors
/// As [`open_to_read`], and when it is not UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    open_to_read(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Opens a file to change it where it is.
///
/// # Errors
/// As [`open_to_read`].
pub fn open_to_write(path: impl AsRef<Path>) -> io::Result<File> {
    HeldName::followed(path.as_ref())?.open(OFlags::WRONLY, 0)
}

/// Opens a file to read it and to write at its end.
///
/// # Errors
/// As [`open_to_read`].
pub fn open_to_append(path: impl AsRef<Path>) -> io::Result<File> {
    HeldName::followed(path.as_ref())?.open(OFlags::RDWR | OFlags::APPEND, 0)
}

/// As [`open_to_append`]; a file that is not there is made.
///
/// # Errors
/// As [`open_to_read`].
pub fn append_or_create(path: impl AsRef<Path>) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
    HeldName::followed(path.as_ref())?.open(flags, 0o666)
}

/// Makes a file, or empties the one that is there.
///
/// # Errors
/// As [`open_to_read`].
pub fn create(path: impl AsRef<Path>, mode: u32) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    HeldName::followed(path.as_ref())?.open(flags, mode)
}

/// Makes a file where nothing is.
///
/// # Errors
/// When something is there, or the directory does not take it.
pub fn create_new(path: impl AsRef<Path>, mode: u32) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    HeldName::of(path.as_ref())?.open(flags, mode)
}

/// Makes a file of these bytes, or writes them to the one that is there.
///
/// # Errors
/// As [`open_to_read`].
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    create(path, 0o666)?.write_all(bytes.as_ref())
}

/// Makes a directory.
///
/// # Errors
/// When something is there, or the directory above does not take it.
pub fn create_dir(path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    HeldName::of(path.as_ref())?.make_directory(mode)
}

/// Makes a directory and those above it, as far as they are missing.
///
/// # Errors
/// When one cannot be made.
pub fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    create_dirs(path.as_ref(), 0o777, |_| Ok(()))
}

/// As [`create_dir_all`]; each new directory has this mode, within the mask of
/// the process, and is handed to `made`.
///
/// # Errors
/// When one cannot be made, or `made` fails.
pub fn create_dirs(
    path: &Path,
    mode: u32,
    made: impl Fn(&Held) -> io::Result<()>,
) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut at = path;
    let above = loop {
        match walk::directory(at) {
            Ok(directory) => break directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing.push((at.file_name().ok_or(error)?, at));
                at = match at.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent,
                    _ => Path::new("."),
                };
            }
            Err(error) => return Err(error),
        }
    };
    let mut directory = Held::of(above.into(), at);
    while let Some((name, at)) = missing.pop() {
        let is_new = match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(mode)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let next = rustix::fs::openat(&directory, name, flags, Mode::empty())
            .map_err(|error| if is_new { error } else { Errno::EXIST })?;
        directory = Held::of(next.into(), at);
        if is_new {
            made(&directory)?;
        }
    }
    Ok(())
}

/// Makes a link.
///
/// # Errors
/// When something is there, or the directory does not take it.
pub fn symlink(target: impl AsRef<Path>, path: impl AsRef<Path>) -> io::Result<()> {
    HeldName::of(path.as_ref())?.make_link(target.as_ref())
}

/// Gives a file another name, too.
///
/// # Errors
/// When something has it already, or the directory does not take it.
pub fn hard_link(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    HeldName::of(from.as_ref())?.link_to(&HeldName::of(to.as_ref())?)
}

/// Moves something; a file that is there is replaced.
///
/// # Errors
/// What the system says.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    HeldName::of(from.as_ref())?.rename_to(&HeldName::of(to.as_ref())?)
}

/// Removes what is no directory.
///
/// # Errors
/// What the system says.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    HeldName::of(path.as_ref())?.remove_file()
}

/// Removes an empty directory.
///
/// # Errors
/// What the system says.
pub fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    HeldName::of(path.as_ref())?.remove_directory()
}

/// Removes a directory with all that is in it.
///
/// # Errors
/// What the system says.
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let place = HeldName::of(path.as_ref())?;
    match place.data()?.is_dir() {
        true => place.remove_tree(),
        false => Err(Errno::NOTDIR.into()),
    }
}

/// Gives something away; what a link leads to.
///
/// # Errors
/// What the system says.
pub fn chown(path: impl AsRef<Path>, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    Held::open(path.as_ref(), true)?.chown(uid, gid)
}

/// Gives something away, a link itself.
///
/// # Errors
/// What the system says.
pub fn lchown(path: impl AsRef<Path>, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    Held::open(path.as_ref(), false)?.chown(uid, gid)
}

/// Sets the mode, of what a link leads to.
///
/// # Errors
/// What the system says.
pub fn set_permissions(path: impl AsRef<Path>, permissions: &Permissions) -> io::Result<()> {
    Held::open(path.as_ref(), true)?.set_mode(permissions.mode())
}
