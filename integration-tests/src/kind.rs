//! Which implementation a daemon or tool is from, and where its programs are.
//!
//! Invariant: a missing program is an error that says what provides it; a test is
//! never skipped for that.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// An implementation of Salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The programs of this workspace.
    Ours,
    /// The long term release before the last.
    Salt3006,
    /// The release between the two; part of the long form of the suites.
    Salt3007,
    /// The newest long term release, the reference.
    Salt3008,
}

impl Kind {
    /// The exact release, for the kinds that are real Salt.
    pub const fn release(self) -> Option<&'static str> {
        match self {
            Self::Ours => None,
            Self::Salt3006 => Some("3006.30"),
            Self::Salt3007 => Some("3007.17"),
            Self::Salt3008 => Some("3008.5"),
        }
    }

    /// The real Salt of that release, if the tests know it.
    pub fn of_release(release: &str) -> Option<Self> {
        [Self::Salt3006, Self::Salt3007, Self::Salt3008]
            .into_iter()
            .find(|kind| kind.release() == Some(release))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.release() {
            None => out.write_str("halite"),
            Some(release) => write!(out, "salt {release}"),
        }
    }
}

/// A program that either side offers under the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// `salt-master`
    Master,
    /// `salt-minion`
    Minion,
    /// `salt`
    Salt,
    /// `salt-key`
    Key,
    /// `salt-call`
    Call,
    /// `salt-run`
    Run,
    /// `salt-cp`
    Cp,
    /// `salt-api`
    Api,
    /// `salt-emulate`, which only we have
    Emulate,
    /// The Python interpreter that real Salt is installed for.
    Python,
}

impl Program {
    /// The file name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Master => "salt-master",
            Self::Minion => "salt-minion",
            Self::Salt => "salt",
            Self::Key => "salt-key",
            Self::Call => "salt-call",
            Self::Run => "salt-run",
            Self::Cp => "salt-cp",
            Self::Api => "salt-api",
            Self::Emulate => "salt-emulate",
            Self::Python => "python",
        }
    }
}

/// Where the programs of each kind are.
#[derive(Clone, Debug)]
pub struct Programs {
    ours: PathBuf,
    peers: PathBuf,
}

impl Programs {
    /// Our programs in `ours`; the peers where [`Programs::peers_dir`] says.
    pub fn new(ours: &Path) -> Result<Self> {
        Ok(Self {
            // Programs run in directories of their own.
            ours: std::path::absolute(ours)?,
            peers: Self::peers_dir()?,
        })
    }

    /// As `HALITE_BIN_DIR` says, or beside the running test: cargo puts tests
    /// in `deps/` under the directory that holds the programs.
    pub fn from_env() -> Result<Self> {
        if let Some(dir) = std::env::var_os("HALITE_BIN_DIR") {
            return Self::new(Path::new(&dir));
        }
        let exe = std::env::current_exe().context("where is this program?")?;
        let dir = exe
            .ancestors()
            .skip(1)
            .find(|dir| dir.file_name() != Some(OsStr::new("deps")))
            .with_context(|| format!("{} has no directory", exe.display()))?;
        Self::new(dir)
    }

    /// The directory that holds one virtual environment per release of Salt:
    /// `HALITE_PEERS_DIR`, else `halite/peers` in the user's cache.
    pub fn peers_dir() -> Result<PathBuf> {
        if let Some(dir) = std::env::var_os("HALITE_PEERS_DIR") {
            return Ok(PathBuf::from(dir));
        }
        Ok(cache_dir()?.join("peers"))
    }

    /// The path of a program of a kind.
    pub fn path(&self, kind: Kind, program: Program) -> Result<PathBuf> {
        let path = match kind.release() {
            None => self.ours.join(program.name()),
            Some(release) => self
                .peers
                .join(format!("salt-{release}"))
                .join("bin")
                .join(program.name()),
        };
        if !path.is_file() {
            match kind.release() {
                None => bail!(
                    "{} is missing: `cargo build -p halite -p halite-emulate`",
                    path.display()
                ),
                Some(_) => bail!("{} is missing: `cargo xtask peers`", path.display()),
            }
        }
        Ok(path)
    }
}

/// The directory of this package, of which tests read some: that of the sources, or
/// the copy of it that the runner of the tests has named.
pub fn package_dir() -> PathBuf {
    let given = std::env::var_os("CARGO_MANIFEST_DIR");
    given.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}

/// The project's folder in the user's cache: `${XDG_CACHE_HOME:-~/.cache}/halite`.
pub fn cache_dir() -> Result<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir),
        None => PathBuf::from(
            std::env::var_os("HOME").context("neither XDG_CACHE_HOME nor HOME is set")?,
        )
        .join(".cache"),
    };
    Ok(base.join("halite"))
}
