//! Building: one choice of features for everything, so that nothing is built twice,
//! and the list of the results.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, SyncSender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::progress::Progress;

/// A program or a test that cargo made.
#[derive(Clone, Debug)]
pub(crate) struct Artifact {
    /// The name of the package.
    pub(crate) package: String,
    /// The directory of the package: where its tests expect to run.
    pub(crate) package_dir: PathBuf,
    /// The name of the target.
    pub(crate) target: String,
    /// Whether it is a test.
    pub(crate) is_test: bool,
    /// The file.
    pub(crate) path: PathBuf,
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or_else(|| Path::new("."))
}

/// Whether the development files of OpenSSL are here: the one in the sources takes
/// minutes to build.
pub(crate) fn has_openssl() -> bool {
    std::env::var_os("OPENSSL_DIR").is_some()
        || Command::new("pkg-config")
            .args(["--exists", "openssl >= 3"])
            .status()
            .is_ok_and(|status| status.success())
}

/// The arguments that choose the OpenSSL for the whole workspace.
pub(crate) fn features() -> Vec<&'static str> {
    match has_openssl() {
        true => vec![
            "--no-default-features",
            "--features",
            "halite/servers,halite-integration-tests/wire",
        ],
        false => Vec::new(),
    }
}

/// The same for the programs alone: what belongs to another package is no feature of
/// theirs.
pub(crate) fn program_features() -> &'static [&'static str] {
    match has_openssl() {
        true => &["--no-default-features", "--features", "halite/servers"],
        false => &[],
    }
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(
        std::env::var_os("CARGO")
            .as_deref()
            .unwrap_or_else(|| OsStr::new("cargo")),
    );
    command.current_dir(root());
    if is_ci() && std::env::var_os("CARGO_TARGET_DIR").is_none() {
        // A fresh clone of each run, with what earlier runs have built.
        if let Ok(cache) = halite_integration_tests::cache_dir() {
            command.env("CARGO_TARGET_DIR", cache.join("target"));
        }
    }
    command
}

/// Whether this is the run of `.ci/run` for a change.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|ci| ci == "true")
}

/// Makes a build one that lints with `CI=true`: `clippy-driver` compiles our crates, as in
/// `cargo clippy`, which only checks. So the external crates are compiled once, and ours
/// too: linting takes an eighth of their time, a separate `cargo clippy` twice as long as
/// everything else of `cargo xtask lint`. What it makes is no slower.
pub(crate) fn lint_in_ci(command: &mut Command) {
    if is_ci() {
        command
            .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
            .env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    }
}

/// Builds our programs, and beside them the tests and programs of these names.
///
/// The features are those of the whole workspace with all its tests, whatever
/// is built: so what `cargo xtask demo` has built is not built again for
/// `cargo xtask test`, nor the other way round.
pub(crate) fn build_programs(tests: &[&str], others: &[&str]) -> Result<Vec<Artifact>> {
    let programs = programs()?;
    let mut args = vec!["--workspace"];
    for name in programs
        .iter()
        .map(String::as_str)
        .chain(others.iter().copied())
    {
        args.extend(["--bin", name]);
    }
    // Cargo takes the tests into account where it builds one.
    for name in tests.iter().copied().chain([SMALL_TEST]) {
        args.extend(["--test", name]);
    }
    args.extend(features());
    build(&args)
}

/// Builds our programs, and those that measure them, with optimisation.
pub(crate) fn build_to_measure() -> Result<Vec<Artifact>> {
    let tests = "halite-integration-tests";
    let mut args = vec!["--release", "-p", "halite", "-p", tests, "--bins"];
    args.extend(features());
    build(&args)
}

/// A test that takes no time to build.
const SMALL_TEST: &str = "report";

/// The program that is in no package.
pub(crate) const EMULATOR: &str = "salt-emulate";

/// The names of our programs: the files that cargo makes them of.
fn programs() -> Result<Vec<String>> {
    let dir = root().join("crates/halite/src/bin");
    let mut names = vec![EMULATOR.to_owned()];
    for entry in std::fs::read_dir(&dir).with_context(|| format!("{}", dir.display()))? {
        let path = entry?.path();
        if let Some(name) = path.file_stem().and_then(OsStr::to_str) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Runs `cargo build` and lists the programs and tests that it made.
pub(crate) fn build(args: &[&str]) -> Result<Vec<Artifact>> {
    let mut command = cargo();
    if stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    lint_in_ci(&mut command);
    let mut child = command
        .args(["build", "--message-format=json-render-diagnostics"])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("could not run cargo")?;
    let stdout = child.stdout.take().context("cargo has no output")?;
    let errors = child.stderr.take().context("cargo has no output")?;
    let (tx, lines) = mpsc::sync_channel(LINES_MAX);
    let messages = tx.clone();
    let readers = [
        thread::spawn(move || forward(stdout, &messages, Said::Message)),
        thread::spawn(move || forward(errors, &tx, Said::Line)),
    ];
    let mut artifacts = Vec::new();
    let mut progress = Progress::new(crates(args));
    loop {
        match lines.recv_timeout(SHOWN_EVERY) {
            Ok(Said::Line(line)) => progress.line(&plain(&line), &line),
            Ok(Said::Message(line)) => {
                let message: Value =
                    serde_json::from_str(&line).context("cargo said what is no JSON")?;
                let made = artifact(&message);
                if let Some(package) = built(&message) {
                    progress.built(package, made.is_some());
                }
                artifacts.extend(made);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => progress.show(),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    for reader in readers {
        let _ = reader.join();
    }
    progress.end();
    if !child.wait()?.success() {
        bail!("the build failed{}", full_disk().unwrap_or_default());
    }
    Ok(artifacts)
}

/// Less is a full disk: a linker may need as much for one program, and ends by
/// SIGBUS without it.
const FREE_BYTES_MIN: u64 = 1 << 30;

/// Says that the disk of the target directory is full, if it is.
fn full_disk() -> Option<String> {
    let dir = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let dir = dir.unwrap_or_else(|| root().join("target"));
    let about = nix::sys::statvfs::statvfs(&dir).ok()?;
    let free = about.blocks_available() * about.fragment_size();
    let dir = dir.display();
    (free < FREE_BYTES_MIN).then(|| format!(": the disk is full below {dir}"))
}

/// What cargo has said.
enum Said {
    /// On standard output, for programs.
    Message(String),
    /// On standard error, for people.
    Line(String),
}

/// How often the seconds of the progress line change.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// How many lines of cargo's may wait; then cargo waits.
const LINES_MAX: usize = 64;

fn forward(from: impl Read, to: &SyncSender<Said>, wrap: fn(String) -> Said) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        if to.send(wrap(line)).is_err() {
            return;
        }
    }
}

/// The line without its colours.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut pieces = line.split("\x1b[");
    text.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        // `m` ends a colour.
        text.push_str(piece.split_once('m').map_or(piece, |(_, rest)| rest));
    }
    text
}

/// The crate that a message says is built.
fn built(message: &Value) -> Option<&str> {
    let kinds = message["target"]["kind"].as_array()?;
    let is_script = kinds.iter().any(|kind| kind == "custom-build");
    (message["reason"] == "compiler-artifact" && !is_script)
        .then(|| message["package_id"].as_str())
        .flatten()
}

/// How many crates a build with these arguments has; 0 if cargo does not say.
fn crates(args: &[&str]) -> usize {
    let mut command = cargo();
    command.args(["tree", "--prefix", "none", "--format", "{p}"]);
    if args.contains(&"--bin") || !args.contains(&"--workspace") {
        command.args(["-p", "halite", "-e", "normal,build"]);
    } else {
        command.arg("--workspace");
    }
    let output = command.stderr(Stdio::null()).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let names: BTreeSet<&str> = text
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.is_empty())
        .collect();
    names.len()
}

fn artifact(message: &Value) -> Option<Artifact> {
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let package_dir = manifest.parent()?.to_path_buf();
    Some(Artifact {
        package: package_name(message["package_id"].as_str()?, &package_dir),
        package_dir,
        target: message["target"]["name"].as_str()?.to_owned(),
        is_test: message["profile"]["test"].as_bool()?,
        path: PathBuf::from(message["executable"].as_str()?),
    })
}

/// The name in `path+file:///…/crates/proto#halite-proto@0.1.0`, or the last
/// part of the directory where cargo leaves the name out.
fn package_name(id: &str, dir: &Path) -> String {
    id.rsplit_once('#')
        .and_then(|(_, name)| name.split_once('@'))
        .map_or_else(
            || {
                dir.file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned()
            },
            |(name, _)| name.to_owned(),
        )
}

/// The directory of our programs among the artifacts.
pub(crate) fn bin_dir(artifacts: &[Artifact]) -> Result<PathBuf> {
    artifacts
        .iter()
        .find(|artifact| !artifact.is_test && artifact.target == "salt-master")
        .and_then(|artifact| artifact.path.parent())
        .map(Path::to_path_buf)
        .context("the build has made no salt-master")
}
