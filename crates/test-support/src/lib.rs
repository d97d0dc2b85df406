//! What tests of every crate need: how a test says that this machine cannot run
//! it, files of inputs ([`inputs`]), requests over HTTP ([`http`]), and checks of the
//! repository itself ([`map`], [`module_order`]).
//!
//! A test that needs root, a program or a feature of the kernel asks for it
//! first and returns if it is missing:
//!
//! ```
//! # fn a_test() {
//! if !halite_test_support::have_programs(&["gpg"]) {
//!     return;
//! }
//! # }
//! ```
//!
//! To libtest such a test has passed. `cargo xtask test` reads the lines that
//! are written here and counts it as skipped instead.
//!
//! Invariant: a function that returns `false` has reported why. Nothing in
//! here calls code of ours: a test that fails because our own program does not
//! work must fail.

pub mod differences;
pub mod http;
pub mod inputs;
pub mod map;
pub mod module_order;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Names the file that collects the reports, set by `cargo xtask test`.
pub const REPORT_FILE: &str = "HALITE_NOT_RUN";

/// What each report begins with; the name of the test and what is missing
/// follow, separated by a colon.
pub const PREFIX: &str = "not run: ";

/// Reports that the calling test cannot run because something is missing. The
/// test must return after this.
///
/// Call it from the test's own thread: libtest names the thread after the test.
pub fn not_run(missing: &str) {
    let thread = std::thread::current();
    not_run_named(thread.name().unwrap_or("a test"), missing);
}

/// Reports that the named test cannot run, in a program without libtest.
pub fn not_run_named(test: &str, missing: &str) {
    let line = format!("{PREFIX}{test}: {}\n", missing.replace('\n', " "));
    let reported = std::env::var_os(REPORT_FILE).is_some_and(|path| {
        let file = OpenOptions::new().append(true).open(path);
        file.is_ok_and(|mut file| file.write_all(line.as_bytes()).is_ok())
    });
    if !reported {
        // Not `eprint!`: libtest hides what a passing test prints with it.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

/// Whether the test runs as root; reports it if not.
#[must_use]
pub fn have_root() -> bool {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0);
    if !is_root {
        not_run("only root can do what this test does");
    }
    is_root
}

/// Whether all of these programs are installed; reports those that are not.
#[must_use]
pub fn have_programs(names: &[&str]) -> bool {
    let missing: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !is_installed(name))
        .collect();
    if !missing.is_empty() {
        not_run(&format!("{} not installed", missing.join(", ")));
    }
    missing.is_empty()
}

/// Whether a user may make namespaces here; reports it if not.
#[must_use]
pub fn have_user_namespaces() -> bool {
    let trial = Command::new("unshare")
        .args(["-Urm", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let works = trial.is_ok_and(|status| status.success());
    if !works {
        not_run("no user namespaces (`unshare -Urm true` fails)");
    }
    works
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| is_program(&dir.join(name)))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::{is_installed, is_program};

    #[test]
    fn a_program_is_a_file_that_can_be_executed() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program"));
        assert!(!is_program("/etc".as_ref()));
        assert!(!is_program("/etc/passwd".as_ref()));
    }
}
