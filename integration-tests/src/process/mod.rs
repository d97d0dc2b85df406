//! Starting, watching and ending processes.
//!
//! Invariant: a signal only ever goes to processes that this module started,
//! or to their descendants: they lead a process group of their own, and carry
//! the fleet's directory in their environment.

mod daemon;
mod family;

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};

pub use self::daemon::Daemon;
pub(crate) use self::daemon::Running;
pub(crate) use self::family::end_fleet;
pub use self::family::{end_marked, family, marked, terminate};
use crate::output::Output;

/// The variable that marks everything that a fleet started.
const MARK: &str = "HALITE_FLEET";

/// What of our own environment programs get: no settings of the person who
/// runs the tests.
const ENV_KEPT: [&str; 4] = ["LD_LIBRARY_PATH", "USER", "LOGNAME", "HALITE_TEST_RUN"];

/// Where the programs of an administrator are, which a service finds and a
/// person without rights may not.
const SYSTEM_DIRS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// How to start a program.
#[derive(Clone, Debug)]
pub struct Recipe {
    name: String,
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    home: PathBuf,
    stdin: Vec<u8>,
}

impl Recipe {
    /// A program whose home, working directory and output files are in
    /// `home`, the fleet's directory.
    pub fn new(name: &str, program: PathBuf, home: &Path) -> Self {
        Self {
            name: name.to_owned(),
            program,
            args: Vec::new(),
            env: Vec::new(),
            home: home.to_path_buf(),
            stdin: Vec::new(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<str>>(mut self, args: &[S]) -> Self {
        self.args
            .extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What the program reads; nothing otherwise.
    #[must_use]
    pub fn stdin(mut self, text: &str) -> Self {
        self.stdin = text.as_bytes().to_vec();
        self
    }

    /// The command as one would type it.
    pub fn typed(&self) -> String {
        let name = self.program.file_name().unwrap_or_default();
        let mut typed = name.to_string_lossy().into_owned();
        for arg in &self.args {
            typed.push(' ');
            typed.push_str(&quoted(arg));
        }
        typed
    }

    fn command(&self, stdout: File, stderr: File) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(
                ENV_KEPT
                    .iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .env("PATH", search_path())
            .env("HOME", &self.home)
            .env("LANG", "C.UTF-8")
            .env(MARK, &self.home)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.home)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0);
        command
    }
}

/// Our own search path, and where services look.
fn search_path() -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&own).collect();
    for dir in SYSTEM_DIRS.map(PathBuf::from) {
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    std::env::join_paths(dirs).unwrap_or(own)
}

fn quoted(arg: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_=./:,@+%".contains(char);
    if !arg.is_empty() && arg.chars().all(plain) {
        return arg.to_owned();
    }
    format!("'{}'", arg.replace('\'', r"'\''"))
}

/// Runs a program to its end; an error if that takes longer than `deadline`.
pub fn run(recipe: &Recipe, deadline: Duration) -> Result<Output> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // Files rather than pipes: a grandchild that outlives the program and
    // holds its output open must not hold us.
    let out = recipe.home.join(format!("{number}.stdout"));
    let err = recipe.home.join(format!("{number}.stderr"));
    let running = Running::start(recipe, File::create(&out)?, File::create(&err)?)?;
    let status = running.wait(deadline);
    if status.is_none() {
        running.end();
    }
    let output = Output {
        command: recipe.typed(),
        code: status.and_then(|status| status.code()).unwrap_or(-1),
        stdout: lossy(&out),
        stderr: lossy(&err),
    };
    if status.is_none() {
        bail!("no end within {} s of {output}", deadline.as_secs());
    }
    fs::remove_file(out).ok();
    fs::remove_file(err).ok();
    Ok(output)
}

fn lossy(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
