//! Files that are not complete yet.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::replace::{Dress, Old, create_beside, put_on, umask};

/// Mode of a file that is new, but for the mask of the process.
const MODE: u32 = 0o644;

/// A file that is being written beside the place it is for; gone unless it is
/// finished, and known as a remnant if the process is killed.
pub(super) struct Partial {
    pub(super) file: File,
    directory: OwnedFd,
    path: PathBuf,
    finished: bool,
}

impl Partial {
    pub(super) fn create(to: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let parent = match to.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let directory = rustix::fs::open(parent, flags, Mode::empty())?;
        let name = to.file_name().unwrap_or_default();
        let (beside, file) = create_beside(&directory, name)?;
        Ok(Self {
            file,
            directory,
            path: to.with_file_name(beside),
            finished: false,
        })
    }

    /// The owner and mode of a file that was there before stay.
    pub(super) fn finish(mut self, to: &Path) -> io::Result<()> {
        let old = Old::of(&self.directory, to.file_name().unwrap_or_default());
        let old = old.filter(Old::is_file);
        put_on(&self.file, Dress::kept(MODE & !umask()), old.as_ref())?;
        fs::rename(&self.path, to)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(&self.path);
        }
    }
}
