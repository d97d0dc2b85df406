//! Real Salt, installed from the Python index into a virtual environment per
//! release, in the user's cache.
//!
//! Invariant: an environment with its stamp is complete; without, the
//! installation goes on where it was.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use halite_integration_tests::{Kind, Programs};

/// Written last, with the release in it.
const STAMP: &str = ".salt-installed";

/// What Salt needs to run as master and minion, in case its metadata does not
/// list it all.
const NEEDED: &str = "import zmq, msgpack, Cryptodome, cryptography, jinja2, yaml, tornado, distro, psutil, looseversion, packaging, requests, pkg_resources";

/// Lists what the installed salt wants on this interpreter.
const LIST_REQUIREMENTS: &str = "\
import importlib.metadata
from packaging.requirements import Requirement
for line in importlib.metadata.requires('salt') or ():
    wanted = Requirement(line)
    if wanted.marker is None or wanted.marker.evaluate({'extra': ''}):
        wanted.marker = None
        print(wanted)
";

/// Clients of PostgreSQL, MySQL, etcd and Redis.
const CLIENTS: [&str; 4] = ["psycopg2-binary", "PyMySQL", "python-etcd", "redis"];

/// The directory with the web server that Salt's API is a part of.
const WEB_SERVER: &str = "rest-server";

/// A client of that API in browsers: its repository, and the commit of its release
/// 1.34.0, which is also the name of its directory.
const SALTGUI: &str = "https://github.com/erwindon/SaltGUI";
const SALTGUI_COMMIT: &str = "8796c46a2834abe60d33414b19367237af8c140f";

/// How long git may take for it.
const SALTGUI_TIME: &str = "60s";

/// The directory with a client of that API.
const PEPPER: &str = "pepper";

const TOOLS: [&str; 6] = [
    "salt-master",
    "salt-minion",
    "salt",
    "salt-key",
    "salt-call",
    "salt-run",
];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also the release that only the long form of the tests uses
    #[arg(long)]
    long: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    provide(&releases(args.long))?;
    Ok(ExitCode::SUCCESS)
}

/// The releases that a form of the tests uses.
pub(crate) fn releases(long: bool) -> Vec<Kind> {
    let mut kinds = vec![Kind::Salt3008, Kind::Salt3006];
    if long {
        kinds.push(Kind::Salt3007);
    }
    kinds
}

/// Installs what is not installed yet.
pub(crate) fn provide(kinds: &[Kind]) -> Result<()> {
    let dir = Programs::peers_dir()?;
    fs::create_dir_all(&dir).with_context(|| format!("could not make {}", dir.display()))?;
    for release in kinds.iter().filter_map(|kind| kind.release()) {
        Environment {
            release,
            dir: dir.join(format!("salt-{release}")),
        }
        .provide()
        .with_context(|| format!("salt {release} is not installed"))?;
    }
    provide_beside(&dir, halite_test_services::CLIENTS, &CLIENTS)?;
    provide_beside(&dir, WEB_SERVER, &["cherrypy"])?;
    provide_beside(&dir, PEPPER, &["salt-pepper"])?;
    // Its repository is not an index of packages: not every machine reaches it, and its
    // test says so.
    if let Err(error) = provide_saltgui(&dir) {
        println!("SaltGUI could not be had: {error:#}");
    }
    Ok(())
}

/// Takes SaltGUI out of its repository, at its commit.
fn provide_saltgui(dir: &Path) -> Result<()> {
    let place = dir.join(format!("saltgui-{SALTGUI_COMMIT}"));
    let lock = File::create(place.with_extension("lock"))?;
    lock.lock().context("could not lock the directory")?;
    if place.exists() {
        return Ok(());
    }
    // Complete when it has its name.
    let new = place.with_extension("new");
    let _ = fs::remove_dir_all(&new);
    fs::create_dir(&new)?;
    let git = |args: &[&str]| {
        // A network that lets nothing through would hold git for minutes.
        let mut git = Command::new("timeout");
        git.arg(SALTGUI_TIME).arg("git");
        git.current_dir(&new).env("GIT_TERMINAL_PROMPT", "0");
        said_by(git.args(args)).map(drop)
    };
    git(&["init", "-q"])?;
    git(&["fetch", "-q", "--depth=1", SALTGUI, SALTGUI_COMMIT])?;
    git(&["checkout", "-q", "--detach", SALTGUI_COMMIT])?;
    fs::rename(&new, &place)?;
    Ok(())
}

/// Installs packages of Python beside all releases: those stay as their index
/// has them.
fn provide_beside(dir: &Path, name: &str, packages: &[&str]) -> Result<()> {
    let place = dir.join(name);
    let lock = File::create(place.with_extension("lock"))?;
    lock.lock().context("could not lock the directory")?;
    if place.exists() {
        return Ok(());
    }
    let Some(python) = Kind::Salt3008.release().map(|release| {
        let dir = dir.join(format!("salt-{release}"));
        Environment { release, dir }
    }) else {
        return Ok(());
    };
    println!(
        "installing {} into {}",
        packages.join(", "),
        place.display()
    );
    // Complete when it has its name.
    let new = place.with_extension("new");
    let _ = fs::remove_dir_all(&new);
    let target = new.display().to_string();
    python.pip(&[&["--target", target.as_str()], packages].concat())?;
    fs::rename(&new, &place)?;
    Ok(())
}

struct Environment {
    release: &'static str,
    dir: PathBuf,
}

impl Environment {
    fn provide(&self) -> Result<()> {
        // Two runs at once install once.
        let lock = File::create(self.dir.with_extension("lock"))?;
        lock.lock().context("could not lock the directory")?;
        let stamp = self.dir.join(STAMP);
        if fs::read_to_string(&stamp).is_ok_and(|text| text.trim() == self.release) {
            return Ok(());
        }
        println!(
            "installing salt {} into {} (some minutes, once)",
            self.release,
            self.dir.display()
        );
        self.make_environment()?;
        self.install()?;
        for tool in TOOLS {
            let version = self.said(&self.dir.join("bin").join(tool), &["--version"])?;
            ensure!(
                version.contains(self.release),
                "{tool} says `{}`",
                version.trim()
            );
        }
        fs::write(stamp, self.release)?;
        Ok(())
    }

    fn python(&self) -> PathBuf {
        self.dir.join("bin/python")
    }

    fn make_environment(&self) -> Result<()> {
        if self
            .said(&self.python(), &["-m", "pip", "--version"])
            .is_ok()
        {
            return Ok(());
        }
        let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        self.said(
            Path::new(&python),
            &["-m", "venv", "--clear", &self.dir.display().to_string()],
        )
        .context("a python3 with venv is needed (PYTHON names another one)")?;
        Ok(())
    }

    /// A release of Salt asks for the newest versions of its day. Where the
    /// index is some days behind, those that cannot be had are replaced by
    /// what there is.
    fn install(&self) -> Result<()> {
        let salt = format!("salt=={}", self.release);
        if self.pip(&[&salt]).is_err() {
            // The build of salt reads its list of requirements only with the
            // old setuptools.
            self.pip(&["setuptools<81", "wheel", "packaging"])?;
            self.pip(&["--no-deps", &salt])?;
            let listed = self.said(&self.python(), &["-c", LIST_REQUIREMENTS])?;
            self.install_relaxed(listed.lines().map(str::to_owned).collect())?;
        }
        if self.said(&self.python(), &["-c", NEEDED]).is_err() {
            self.pip(&[
                "setuptools<81",
                "pyzmq",
                "msgpack",
                "pycryptodomex",
                "cryptography",
                "jinja2",
                "pyyaml",
            ])?;
            self.pip(&[
                "tornado",
                "distro",
                "psutil",
                "looseversion",
                "packaging",
                "requests",
            ])?;
            self.said(&self.python(), &["-c", NEEDED])?;
        }
        Ok(())
    }

    fn install_relaxed(&self, mut wanted: Vec<String>) -> Result<()> {
        // Each round either succeeds or frees one more name of its version.
        for _ in 0..=wanted.len() {
            let refs: Vec<&str> = wanted.iter().map(String::as_str).collect();
            let Err(error) = self.pip(&refs) else {
                return Ok(());
            };
            let text = format!("{error:#}");
            let Some(culprit) = unavailable(&text) else {
                return Err(error);
            };
            let Some(entry) = wanted
                .iter_mut()
                .find(|entry| name_of(entry) == culprit && name_of(entry) != entry.as_str())
            else {
                return Err(error);
            };
            println!("  {entry} is not in the index: any version will do");
            *entry = culprit.to_owned();
        }
        bail!("the requirements of salt cannot be met")
    }

    fn pip(&self, packages: &[&str]) -> Result<()> {
        let mut args = vec![
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--no-input",
            "install",
            "-q",
        ];
        args.extend(packages);
        self.said(&self.python(), &args).map(drop)
    }

    fn said(&self, program: &Path, args: &[&str]) -> Result<String> {
        said_by(Command::new(program).args(args))
    }
}

/// Runs a program; gives what it said, on failure as the error.
fn said_by(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("could not run {}", program.display()))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let args: Vec<_> = command
            .get_args()
            .map(|arg| arg.to_string_lossy())
            .collect();
        bail!(
            "{} {}: {}",
            program.display(),
            args.join(" "),
            stderr.trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The name that pip could not find in the wanted version.
fn unavailable(error: &str) -> Option<&str> {
    let (_, rest) = error.split_once("No matching distribution found for ")?;
    rest.split_whitespace().next().map(name_of)
}

/// `certifi` of `certifi>=2026.10.23`.
fn name_of(requirement: &str) -> &str {
    requirement
        .split(|char: char| !(char.is_ascii_alphanumeric() || "-_.".contains(char)))
        .next()
        .unwrap_or(requirement)
}

#[cfg(test)]
mod tests {
    use super::{name_of, unavailable};

    #[test]
    fn the_culprit_is_found_in_the_words_of_pip() {
        let said = "ERROR: Could not find a version that satisfies the requirement certifi>=2026.10.23 (from versions: 0.0.1)\nERROR: No matching distribution found for certifi>=2026.10.23\n";
        assert_eq!(unavailable(said), Some("certifi"));
        assert_eq!(unavailable("ERROR: no network"), None);
        assert_eq!(name_of("jaraco.text>=4.2.0"), "jaraco.text");
        assert_eq!(name_of("croniter!=0.3.22,>=6.2.2"), "croniter");
    }
}
