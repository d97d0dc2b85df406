//! Tests as another user than root, because a defence that is tested as root may
//! depend on root's rights.
//!
//! The build is usually in a place that only its owner can read (a home, the cache
//! of CI). So the programs, the tests and the sources that tests read are copied to
//! a directory that everybody can enter, and run there.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::unistd::User;
use tempfile::{NamedTempFile, TempDir};

use crate::build::{Artifact, root};

const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What of the sources no test reads.
const NOT_COPIED: [&str; 2] = [".git", "target"];

/// A user of this machine, with a home and with copies of what is run.
pub(super) struct Somebody {
    user: User,
    /// Root's, for everybody to read.
    place: TempDir,
    /// Beside it: the names of sockets below it have a length.
    home: TempDir,
}

impl Somebody {
    /// The user of this name, with the programs and the sources.
    pub(super) fn new(name: &str, artifacts: &[Artifact]) -> Result<Self> {
        let user = User::from_name(name)?.with_context(|| format!("there is no user {name}"))?;
        let place = reachable(&user)?;
        let above = place.path().parent().unwrap_or_else(|| Path::new("/"));
        let this = Self {
            home: TempDir::new_in(above)?,
            user,
            place,
        };
        for directory in [this.bin_dir(), this.tests_dir()] {
            fs::create_dir(&directory)?;
            fs::set_permissions(&directory, Permissions::from_mode(0o755))?;
        }
        this.give(this.home.path())?;
        for artifact in artifacts.iter().filter(|artifact| !artifact.is_test) {
            put(&artifact.path, &this.bin_dir())?;
        }
        copy_tree(root(), &this.root())?;
        Ok(this)
    }

    /// Where the programs are.
    pub(super) fn bin_dir(&self) -> PathBuf {
        self.place.path().join("bin")
    }

    /// Where the sources are.
    pub(super) fn root(&self) -> PathBuf {
        self.place.path().join("sources")
    }

    fn tests_dir(&self) -> PathBuf {
        self.place.path().join("tests")
    }

    /// A test program where the user can run it.
    pub(super) fn program(&self, program: &Artifact) -> Result<Artifact> {
        let package = program.package_dir.strip_prefix(root());
        let package = package.context("a test of another workspace")?;
        Ok(Artifact {
            path: put(&program.path, &self.tests_dir())?,
            package_dir: self.root().join(package),
            ..program.clone()
        })
    }

    /// A file that the user may write.
    pub(super) fn file(&self) -> Result<NamedTempFile> {
        let file = NamedTempFile::new_in(self.place.path()).context("no temporary file")?;
        self.give(file.path())?;
        Ok(file)
    }

    fn give(&self, path: &Path) -> Result<()> {
        let (uid, gid) = (self.user.uid.as_raw(), self.user.gid.as_raw());
        chown(path, Some(uid), Some(gid)).with_context(|| path.display().to_string())
    }

    /// Has a program run as the user, in no group of root's.
    pub(super) fn run(&self, command: &mut Command) {
        as_user(&self.user, command)
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .env("USER", &self.user.name);
    }
}

fn as_user<'c>(user: &User, command: &'c mut Command) -> &'c mut Command {
    command
        .uid(user.uid.as_raw())
        .gid(user.gid.as_raw())
        // Directories of root's in it would be errors of their own.
        .env("PATH", SEARCH)
}

/// A new directory that the user gets to.
fn reachable(user: &User) -> Result<TempDir> {
    for above in [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()] {
        let Ok(place) = TempDir::new_in(&above) else {
            continue;
        };
        fs::set_permissions(place.path(), Permissions::from_mode(0o755))?;
        let mut enter = Command::new("/bin/sh");
        enter.args(["-c", "cd \"$0\""]).arg(place.path());
        let entered = as_user(user, enter.stderr(Stdio::null())).status()?;
        if entered.success() {
            return Ok(place);
        }
    }
    bail!("{} gets to no directory for temporary files", user.name)
}

/// Puts a program into a directory; where it is then. No bytes are copied on one
/// file system.
fn put(program: &Path, directory: &Path) -> Result<PathBuf> {
    let name = program.file_name().context("a program without a name")?;
    let place = directory.join(name);
    if place.exists() {
        return Ok(place);
    }
    let mode = fs::metadata(program)?.permissions().mode();
    let is_for_all = mode & 0o005 == 0o005;
    if !is_for_all || fs::hard_link(program, &place).is_err() {
        fs::copy(program, &place).with_context(|| program.display().to_string())?;
        fs::set_permissions(&place, Permissions::from_mode(0o755))?;
    }
    Ok(place)
}

/// Copies the sources, for everybody to read.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if NOT_COPIED.map(OsStr::new).contains(&name.as_os_str()) {
            continue;
        }
        let place = to.join(&name);
        if kind.is_dir() {
            copy_tree(&entry.path(), &place)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &place)?;
            let mode = entry.metadata()?.permissions().mode() & 0o755 | 0o444;
            fs::set_permissions(&place, Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use halite_test_support::have_root;

    use super::*;

    /// As in CI, where all of it is below a home of root's.
    #[test]
    fn what_nobody_gets_to_is_run_elsewhere() {
        if !have_root() {
            return;
        }
        let private = tempfile::tempdir().unwrap();
        fs::set_permissions(private.path(), Permissions::from_mode(0o700)).unwrap();
        let program = private.path().join("program");
        fs::copy("/bin/cat", &program).unwrap();
        let artifact = Artifact {
            package: "halite-xtask".to_owned(),
            package_dir: root().join("xtask"),
            target: "program".to_owned(),
            is_test: true,
            path: program,
        };
        let nobody = User::from_name("nobody").unwrap().unwrap();
        let mut direct = Command::new(&artifact.path);
        direct.arg(private.path().join("program"));
        direct.stdout(Stdio::null());
        let direct = as_user(&nobody, &mut direct).status();
        assert!(!direct.is_ok_and(|status| status.success()));

        let daemon = Artifact {
            is_test: false,
            ..artifact.clone()
        };
        let somebody = Somebody::new("nobody", &[daemon]).unwrap();
        let there = somebody.program(&artifact).unwrap();
        let mut command = Command::new(&there.path);
        command.arg(there.package_dir.join("Cargo.toml"));
        command.arg(somebody.bin_dir().join("program"));
        somebody.run(command.stdout(Stdio::null()));
        assert!(command.status().unwrap().success());
        let written = somebody.file().unwrap();
        let mut write = Command::new("/bin/sh");
        write
            .args(["-c", "echo x > \"$0\" && touch ~/y"])
            .arg(written.path());
        somebody.run(&mut write);
        assert!(write.status().unwrap().success());
    }
}
