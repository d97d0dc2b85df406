//! Files that are not complete yet.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::AtFlags;

use crate::paths::HeldName;
use crate::replace::{Dress, Old, create_beside, put_on, umask};

/// Mode of a file that is new, but for the mask of the process.
const MODE: u32 = 0o644;

/// A file that is being written beside the place it is for; gone unless it is
/// finished, and known as a remnant if the process is killed.
pub(super) struct Partial {
    pub(super) file: File,
    to: HeldName,
    beside: String,
    finished: bool,
}

impl Partial {
    pub(super) fn create(to: &Path) -> io::Result<Self> {
        let to = HeldName::of(to)?;
        let (beside, file) = create_beside(to.directory(), to.name())?;
        Ok(Self {
            file,
            to,
            beside,
            finished: false,
        })
    }

    /// The owner and mode of a file that was there before stay.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let (directory, name) = (self.to.directory(), self.to.name());
        let old = Old::of(directory, name).filter(Old::is_file);
        put_on(&self.file, Dress::kept(MODE & !umask()), old.as_ref())?;
        rustix::fs::renameat(directory, self.beside.as_str(), directory, name)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.finished {
            let beside = self.beside.as_str();
            let _ = rustix::fs::unlinkat(self.to.directory(), beside, AtFlags::empty());
        }
    }
}
