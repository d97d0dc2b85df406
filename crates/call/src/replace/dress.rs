//! The owner, mode and attributes of a replaced file.
//!
//! Invariant: what is not given stays as it was with the old file, and a user who
//! may not give a file away never leaves one that runs as its owner.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};

use rustix::fs::{Mode, OFlags};

/// Owner and mode of the new file. What is not said is as it was with the old
/// one; a new file is our own, with the mode `fresh`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dress {
    /// The mode of a file that nobody had before.
    pub fresh: u32,
    /// The mode, whatever the old one had.
    pub mode: Option<u32>,
    /// The owner, whoever had the old one.
    pub uid: Option<u32>,
    /// The group, whichever the old one had.
    pub gid: Option<u32>,
}

impl Dress {
    /// As the old file; a new one with this mode.
    pub fn kept(fresh: u32) -> Self {
        Self {
            fresh,
            ..Self::default()
        }
    }

    /// This mode, and ours whoever had the old file.
    pub fn ours(mode: u32) -> Self {
        Self {
            uid: Some(nix::unistd::geteuid().as_raw()),
            gid: Some(nix::unistd::getegid().as_raw()),
            ..Self::with_mode(mode)
        }
    }

    /// This mode, and the owner of the old file.
    pub fn with_mode(mode: u32) -> Self {
        Self {
            fresh: mode,
            mode: Some(mode),
            ..Self::default()
        }
    }
}

const SET_ID: u32 = 0o6000;

/// The file that is replaced.
pub(crate) struct Old {
    pub(super) data: Metadata,
    pub(super) opened: Option<File>,
}

impl Old {
    /// What has the name now, a link being one itself.
    pub(crate) fn of(directory: &OwnedFd, name: &OsStr) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = rustix::fs::openat(directory, name, flags, Mode::empty()).ok()?;
        let data = File::from(place).metadata().ok()?;
        if !data.is_file() {
            return Some(Self { data, opened: None });
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = rustix::fs::openat(directory, name, flags, Mode::empty()).ok();
        Some(Self {
            data,
            opened: opened.map(File::from),
        })
    }

    /// Whether it has content that can be replaced.
    pub(crate) fn is_file(&self) -> bool {
        self.data.is_file()
    }

    pub(super) fn is_device(&self) -> bool {
        let kind = self.data.file_type();
        kind.is_char_device() || kind.is_block_device() || kind.is_fifo() || kind.is_socket()
    }
}

/// Gives the new file its owner, attributes and mode; what it was before.
pub(crate) fn put_on(file: &File, dress: Dress, old: Option<&Old>) -> io::Result<Metadata> {
    let own = file.metadata()?;
    let uid = dress.uid.or_else(|| old.map(|old| old.data.uid()));
    let gid = dress.gid.or_else(|| old.map(|old| old.data.gid()));
    let mut mode = dress
        .mode
        .or_else(|| old.map(|old| old.data.permissions().mode()))
        .unwrap_or(dress.fresh)
        & 0o7777;
    let is_other =
        uid.is_some_and(|uid| uid != own.uid()) || gid.is_some_and(|gid| gid != own.gid());
    if is_other && std::os::unix::fs::fchown(file, uid, gid).is_err() {
        // Who may not give files away keeps his own; nobody runs it as him.
        mode &= !SET_ID;
    }
    let opened = old.and_then(|old| old.opened.as_ref());
    let has_more = opened.is_some_and(|opened| copy_attributes(opened, file));
    // An ACL is a part of the mode.
    if is_other || has_more || own.permissions().mode() & 0o7777 != mode {
        file.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    Ok(own)
}

/// The largest list of attributes, and the largest attribute, that Linux has.
const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;

/// Extended attributes (labels, ACLs, capabilities) of one file to another;
/// what the file system does not take is left out. Whether there are any.
fn copy_attributes(from: &File, to: &File) -> bool {
    // Nearly no file has more than a label.
    let mut few = [0_u8; 256];
    let mut many = Vec::new();
    let names = match rustix::fs::flistxattr(from, few.as_mut_slice()) {
        Ok(0) => return false,
        Ok(length) => &few[..length],
        Err(rustix::io::Errno::RANGE) => {
            many.resize(ATTRIBUTE_BYTES_MAX, 0);
            match rustix::fs::flistxattr(from, many.as_mut_slice()) {
                Ok(length) => &many[..length],
                Err(_) => return false,
            }
        }
        Err(_) => return false,
    };
    for name in names.split(|byte| *byte == 0) {
        if name.is_empty() {
            continue;
        }
        let Ok(name) = std::ffi::CString::new(name) else {
            continue;
        };
        let mut value = vec![0_u8; ATTRIBUTE_BYTES_MAX];
        if let Ok(length) = rustix::fs::fgetxattr(from, name.as_c_str(), value.as_mut_slice()) {
            let flags = rustix::fs::XattrFlags::empty();
            let _ = rustix::fs::fsetxattr(to, name.as_c_str(), &value[..length], flags);
        }
    }
    true
}
