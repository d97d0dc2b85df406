//! A disk that is soon full.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::place::give_away;
use crate::postgres::Postgres;

/// A disk of its own, which can be filled.
#[derive(Debug)]
pub struct SmallDisk {
    above: TempDir,
}

impl SmallDisk {
    /// One of so many MiB that servers may write to; `None`, and reported, where none can
    /// be mounted.
    ///
    /// # Panics
    /// When the place for it cannot be made.
    #[allow(clippy::unwrap_used)]
    pub fn for_test(megabytes: u32) -> Option<Self> {
        if !halite_test_support::have_root() {
            return None;
        }
        let disk = Self::place().unwrap();
        let options = format!("size={megabytes}m,mode=0700");
        let path = disk.path();
        if !run("mount", &["-t", "tmpfs", "-o", &options, "tmpfs"], &path) {
            halite_test_support::not_run("a file system that can be mounted");
            return None;
        }
        give_away(&path).unwrap();
        Some(disk)
    }

    fn place() -> Result<Self> {
        let above = tempfile::tempdir()?;
        fs::set_permissions(above.path(), Permissions::from_mode(0o755))?;
        let disk = Self { above };
        fs::create_dir(disk.path())?;
        Ok(disk)
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.above.path().join("disk")
    }

    /// Leaves no byte.
    ///
    /// # Errors
    /// When nothing can be written at all.
    pub fn fill(&self) -> Result<()> {
        let mut filler = File::create(self.filler()).context("could not fill a disk")?;
        let zeros = vec![0; 64 * 1024];
        while filler.write_all(&zeros).is_ok() {}
        while filler.write_all(&[0]).is_ok() {}
        Ok(())
    }

    /// Takes away what filled it.
    ///
    /// # Errors
    /// When it was not filled.
    pub fn make_room(&self) -> Result<()> {
        fs::remove_file(self.filler()).context("could not make room on a disk")
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    /// Makes the database `small` of a PostgreSQL whose tables are on it: without room
    /// for its log the server would end.
    ///
    /// # Errors
    /// When the server makes none.
    pub fn database_on(&self, postgres: &Postgres) -> Result<&'static str> {
        let place = self.path().join("space");
        fs::create_dir(&place)?;
        give_away(&place)?;
        let statements = format!(
            "create tablespace small location '{}';\ncreate database small tablespace small;\n",
            place.display()
        );
        postgres.sql("postgres", &statements)?;
        Ok("small")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", &["-l"], &self.path());
    }
}

fn run(program: &str, args: &[&str], path: &Path) -> bool {
    let mut command = Command::new(program);
    let status = command.args(args).arg(path).status();
    status.is_ok_and(|status| status.success())
}
