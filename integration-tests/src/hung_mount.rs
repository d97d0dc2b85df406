//! A file system that does not answer, as NFS while its server is away.
//!
//! It is mounted by FUSE, and nobody serves it: whoever looks below its place waits until
//! it is mended, or is killed.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nix::mount::{MntFlags, MsFlags, mount, umount2};

/// The kernel's end of FUSE.
const DEVICE: &str = "/dev/fuse";

/// A directory over which such a file system is mounted until this is dropped.
#[derive(Debug)]
pub struct HungMount {
    place: PathBuf,
    /// The mount lives as long as this is open; taken when it ends.
    device: Option<File>,
}

impl HungMount {
    /// Mounts it over a directory; the error says why that is impossible here.
    ///
    /// # Errors
    /// When the machine has no FUSE, or this process must not mount.
    pub fn over(place: &Path) -> Result<Self> {
        let device = OpenOptions::new().read(true).write(true).open(DEVICE);
        let device = device.context(DEVICE)?;
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0",
            device.as_raw_fd()
        );
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(
            Some("hung"),
            place,
            Some("fuse"),
            flags,
            Some(options.as_str()),
        )
        .with_context(|| format!("could not mount over {}", place.display()))?;
        Ok(Self {
            place: place.to_owned(),
            device: Some(device),
        })
    }

    /// Takes it away: those that wait get an error, and the directory is there again.
    ///
    /// # Errors
    /// When it cannot be unmounted.
    pub fn mend(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let Some(device) = self.device.take() else {
            return Ok(());
        };
        // The kernel ends all that wait when nobody can serve them any more.
        drop(device);
        umount2(&self.place, MntFlags::MNT_DETACH)
            .with_context(|| format!("could not unmount {}", self.place.display()))
    }
}

impl Drop for HungMount {
    fn drop(&mut self) {
        // Nothing can be done about a mount that stays.
        let _ = self.end();
    }
}
