//! A disk that cannot be written.
//!
//! A directory that is a link to itself stands for the disk: nobody, not even root,
//! can write or read there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

/// A directory that cannot be used until this is mended.
#[derive(Debug)]
pub struct FullDisk {
    place: PathBuf,
    aside: PathBuf,
}

impl FullDisk {
    /// Makes a directory one that cannot be used.
    pub fn at(place: &Path) -> Result<Self> {
        let aside = place.with_extension("aside");
        fs::rename(place, &aside).with_context(|| place.display().to_string())?;
        symlink(place.file_name().context("no name")?, place)?;
        let place = place.to_owned();
        Ok(Self { place, aside })
    }

    /// Makes it as it was, in one step: who finds nothing there makes a directory.
    pub fn mend(self) -> Result<()> {
        let exchange = RenameFlags::RENAME_EXCHANGE;
        renameat2(AT_FDCWD, &self.aside, AT_FDCWD, &self.place, exchange)?;
        Ok(fs::remove_file(&self.aside)?)
    }
}
