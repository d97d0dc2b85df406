//! The file that names the running daemon.
//!
//! Invariant: a pid file never keeps a daemon from starting unless the process it
//! names lives *and* is this program; a process id that was reused does not count.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process;

use thiserror::Error;

use crate::privileges::User;

/// Why the pid file could not be taken.
#[derive(Debug, Error)]
pub enum PidFileError {
    /// The program runs already.
    #[error("already running with process id {pid} (pid file {})", path.display())]
    Running {
        /// Its process id.
        pid: u32,
        /// The file that says so.
        path: PathBuf,
    },
    /// The file could not be written.
    #[error("could not write the pid file {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// The daemon's pid file; dropping it removes the file.
#[derive(Debug)]
pub struct PidFile {
    path: PathBuf,
    pid: u32,
}

impl PidFile {
    /// Writes this process's id to `path`, for `owner` if given (so that the
    /// daemon can remove it after giving up root). A stale file is replaced.
    /// To be called by the process that stays: after daemonizing.
    ///
    /// # Errors
    /// When the program runs already or the file cannot be written.
    pub fn claim(path: &Path, owner: Option<&User>) -> Result<Self, PidFileError> {
        let pid = process::id();
        if let Some(running) = read(path)
            .filter(|other| *other != pid)
            .filter(|other| is_this_program(*other))
        {
            return Err(PidFileError::Running {
                pid: running,
                path: path.to_owned(),
            });
        }
        write(path, pid, owner).map_err(|source| PidFileError::Write {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            pid,
        })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // A child that was forked off must not take the file along, and a
        // successor's file is not ours.
        if process::id() == self.pid && read(&self.path) == Some(self.pid) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The id in a pid file, if there is a file with a number.
pub fn read(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Whether the process `pid` lives and runs the program that this process
/// runs: the same executable, or one that was started under the same name
/// (another version, or the Python program that this one replaces).
pub fn is_this_program(pid: u32) -> bool {
    let Ok(theirs) = fs::read(format!("/proc/{pid}/cmdline")) else {
        return false;
    };
    let Some(name) = program_name(&fs::read("/proc/self/cmdline").unwrap_or_default()) else {
        return false;
    };
    // A script's interpreter comes first, so the second word counts as well.
    theirs
        .split(|byte| *byte == 0)
        .take(2)
        .any(|word| program_name(word).as_ref() == Some(&name))
}

fn program_name(cmdline: &[u8]) -> Option<Vec<u8>> {
    let word = cmdline.split(|byte| *byte == 0).next()?;
    let name = word.rsplit(|byte| *byte == b'/').next()?;
    (!name.is_empty()).then(|| name.to_vec())
}

fn write(path: &Path, pid: u32, owner: Option<&User>) -> io::Result<()> {
    if let Some(directory) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        fs::create_dir_all(directory)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{pid}"));
    let beside = path.with_file_name(name);
    let result = write_new(&beside, pid, owner).and_then(|()| fs::rename(&beside, path));
    if result.is_err() {
        let _ = fs::remove_file(&beside);
    }
    result
}

fn write_new(path: &Path, pid: u32, owner: Option<&User>) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file: File = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(path)?;
    write!(file, "{pid}")?;
    if let Some(owner) = owner {
        // Not by its name: the directory may be theirs already.
        fchown(&file, Some(owner.uid.as_raw()), Some(owner.gid.as_raw()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_lives_as_long_as_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/x.pid");
        let held = PidFile::claim(&path, None).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            process::id().to_string()
        );
        drop(held);
        assert!(!path.exists());
    }

    #[test]
    fn a_live_process_that_is_another_program_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.pid");
        for stale in ["1", "4194304", "rubbish", ""] {
            fs::write(&path, stale).unwrap();
            drop(PidFile::claim(&path, None).unwrap());
        }
    }

    #[test]
    fn a_live_process_of_the_same_name_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.pid");
        let own = fs::read("/proc/self/cmdline").unwrap();
        let name = String::from_utf8(program_name(&own).unwrap()).unwrap();
        let script = dir.path().join(&name);
        fs::write(&script, "#!/bin/sh\nread line\n").unwrap();
        let mut other = process::Command::new("/bin/sh")
            .arg(&script)
            .stdin(process::Stdio::piped())
            .spawn()
            .unwrap();
        // The name shows as soon as the program has been started.
        while !is_this_program(other.id()) {
            std::thread::yield_now();
        }
        fs::write(&path, other.id().to_string()).unwrap();
        let error = PidFile::claim(&path, None).unwrap_err();
        assert!(matches!(error, PidFileError::Running { pid, .. } if pid == other.id()));
        drop(other.stdin.take());
        other.wait().unwrap();
        drop(PidFile::claim(&path, None).unwrap());
    }

    #[test]
    fn a_successors_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.pid");
        let held = PidFile::claim(&path, None).unwrap();
        fs::write(&path, "4194304").unwrap();
        drop(held);
        assert!(path.exists());
    }
}
