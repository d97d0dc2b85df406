//! Files that are not complete yet.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file that is being written beside the place it is for; gone unless it is
/// finished.
pub(super) struct Partial {
    pub(super) file: File,
    path: PathBuf,
    finished: bool,
}

impl Partial {
    pub(super) fn create(to: &Path) -> io::Result<Self> {
        let random: String = halite_crypto::random_bytes::<6>()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        // Names may be as long as the system allows.
        let short: String = name.chars().take(40).collect();
        let path = to.with_file_name(format!(".{short}.{random}.part"));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&path)?;
        Ok(Self {
            file,
            path,
            finished: false,
        })
    }

    /// Where it lies for now.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The mode of a file that was there before stays.
    pub(super) fn finish(mut self, to: &Path) -> io::Result<()> {
        if let Ok(data) = fs::metadata(to) {
            self.file.set_permissions(data.permissions())?;
        }
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
