//! The files of a spool: `<number>.seg`, read as a whole when the spool is
//! opened, appended to while it is used.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const MODE: u32 = 0o600;
const ENDING: &str = "seg";

/// A file that records are appended to.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Which one; larger is later.
    pub(crate) number: u64,
    /// Bytes in it.
    pub(crate) bytes: u64,
    path: PathBuf,
    file: Arc<File>,
    /// Whether the disk may not have its name yet; whoever waits for the disk
    /// knows.
    is_new: Arc<AtomicBool>,
}

impl Segment {
    /// Makes a new file.
    pub(crate) fn create(dir: &Path, number: u64) -> io::Result<Self> {
        let path = path(dir, number);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(&path)?;
        Ok(Self {
            number,
            bytes: 0,
            path,
            file: Arc::new(file),
            is_new: Arc::new(AtomicBool::new(true)),
        })
    }

    /// Opens a file that is there, cutting it to its first `bytes` bytes.
    pub(crate) fn open(dir: &Path, number: u64, bytes: u64) -> io::Result<Self> {
        let path = path(dir, number);
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        if file.metadata()?.len() > bytes {
            file.set_len(bytes)?;
        }
        Ok(Self {
            number,
            bytes,
            path,
            file: Arc::new(file),
            // Whoever wrote it may have been killed before the disk had it.
            is_new: Arc::new(AtomicBool::new(true)),
        })
    }

    /// Appends whole records; where they begin is returned. After an error the
    /// file is as it was before, and the next ones stand where these were to.
    pub(crate) fn append(&mut self, records: &[u8]) -> io::Result<u64> {
        let start = self.bytes;
        match self.file.write_all_at(records, start) {
            Ok(()) => {
                self.bytes += records.len() as u64;
                Ok(start)
            }
            Err(error) => {
                // A half written record would hide what is appended later.
                let _ = self.file.set_len(start);
                Err(error)
            }
        }
    }

    /// Reads `length` bytes at `at`.
    pub(crate) fn read_at(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    /// What has to be waited for until the disk has everything, which goes on
    /// beside appends.
    pub(crate) fn unsynced(&self) -> Sync {
        Sync {
            file: Arc::clone(&self.file),
            dir: self.path.parent().map(Path::to_owned),
            is_new: Arc::clone(&self.is_new),
        }
    }

    /// Waits until the disk has everything.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.unsynced().wait()
    }

    /// Removes the file, which somebody else may have done.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Whether somebody has removed the file: what is in it can still be read,
    /// by this process alone.
    pub(crate) fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|data| data.nlink() == 0)
    }
}

/// What the disk may not have yet.
#[derive(Debug)]
pub(crate) struct Sync {
    file: Arc<File>,
    /// Where the name of the file is.
    dir: Option<PathBuf>,
    is_new: Arc<AtomicBool>,
}

impl Sync {
    /// Waits until it has. After an error the next one waits for the name too.
    pub(crate) fn wait(&self) -> io::Result<()> {
        self.file.sync_data()?;
        if self.is_new.load(Ordering::Acquire)
            && let Some(dir) = &self.dir
        {
            File::open(dir)?.sync_all()?;
        }
        self.is_new.store(false, Ordering::Release);
        Ok(())
    }
}

/// The numbers of the files in `dir`, in order.
pub(crate) fn list(dir: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let number = Path::new(&name)
            .file_stem()
            .filter(|_| {
                Path::new(&name)
                    .extension()
                    .is_some_and(|ending| ending == ENDING)
            })
            .and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The whole content of a file.
pub(crate) fn read(dir: &Path, number: u64) -> io::Result<Vec<u8>> {
    fs::read(path(dir, number))
}

fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:020}.{ENDING}"))
}
