//! One of the two sides that apply the tree, in a temporary root.
//!
//! Invariant: nothing outside the temporary directory is written, and no process
//! survives the call: the first process of the private process namespace dies with
//! it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use halite_integration_tests::{Kind, Program, Programs};
use serde_json::{Map, Value};
use tempfile::TempDir;

use crate::layer::{self, Layer};

/// The namespaces of a root: whatever happens there, stays there.
const NAMESPACES: [&str; 9] = [
    "--mount",
    "--propagation",
    "private",
    "--net",
    "--pid",
    "--uts",
    "--ipc",
    "--fork",
    "--kill-child",
];

/// What the tree uses of the machine below.
const TOOLS: [&str; 6] = [
    "apt-get",
    "dpkg-deb",
    "git",
    "setpriv",
    "unzip",
    "update-rc.d",
];

/// Tries all that `root.sh` needs, in a directory.
const TRIAL: &str = "mount -t tmpfs none \"$1\" && mkdir \"$1/a\" \"$1/b\" \"$1/c\" \
    && mount -t overlay overlay -o \"lowerdir=/,upperdir=$1/a,workdir=$1/b\" \"$1/c\"";

/// Why the tree cannot be applied here, if it cannot.
pub(crate) fn unable() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("only the superuser can lay out a root that is thrown away".to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |tool: &&str| std::env::split_paths(&path).any(|dir| dir.join(tool).is_file());
    if let Some(tool) = TOOLS.iter().find(|tool| !has(tool)) {
        return Some(format!("there is no {tool}, the tree is one for Debian"));
    }
    let trial = tempfile::tempdir().ok()?;
    let done = Command::new("unshare")
        .args(NAMESPACES)
        .args(["sh", "-c", TRIAL, "trial"])
        .arg(trial.path())
        .output();
    match done {
        Ok(done) if done.status.success() => None,
        Ok(done) => Some(format!(
            "no overlay in a namespace: {}",
            String::from_utf8_lossy(&done.stderr).trim()
        )),
        Err(error) => Some(format!("no unshare: {error}")),
    }
}

/// The tree with all that it takes as given.
pub(crate) struct Prepared {
    dir: TempDir,
    programs: Programs,
}

impl Prepared {
    pub(crate) fn new() -> Result<Self> {
        let dir = tempfile::tempdir().context("no directory for the tree")?;
        let tree = dir.path().join("tree");
        let source = halite_integration_tests::package_dir().join("tests/big_tree");
        succeed(Command::new("cp").arg("-r").arg(source).arg(&tree))?;
        let fixtures = tree.join("fixtures");
        fs::create_dir(&fixtures)?;
        let programs = Programs::from_env()?;
        let prepared = Self { dir, programs };
        succeed(
            Command::new(prepared.programs.path(Kind::Salt3008, Program::Python)?)
                .arg(tree.join("fixtures.py"))
                .arg(&fixtures),
        )?;
        let environment = prepared.home(Kind::Salt3006)?.join("bin/virtualenv");
        let pillar = format!("virtualenv: {}\n", environment.display());
        fs::write(tree.join("pillar/machine.sls"), pillar)?;
        Ok(prepared)
    }

    /// The directory of a virtual environment.
    fn home(&self, kind: Kind) -> Result<PathBuf> {
        let python = self.programs.path(kind, Program::Python)?;
        let home = python.parent().and_then(Path::parent);
        Ok(home.context("a program lies in a directory")?.to_owned())
    }

    /// Where the interpreter of a virtual environment really is.
    fn interpreter(&self, kind: Kind) -> Result<PathBuf> {
        let python = self.programs.path(kind, Program::Python)?;
        let said = Command::new(python)
            .args(["-c", "import sys; print(sys.base_prefix)"])
            .output()?;
        Ok(PathBuf::from(String::from_utf8(said.stdout)?.trim()))
    }

    pub(crate) fn apply(&self, kind: Kind, what: &str) -> Result<Side> {
        let program = self.programs.path(kind, Program::Call)?;
        let mut dirs = vec![
            self.home(Kind::Salt3006)?,
            self.interpreter(Kind::Salt3006)?,
        ];
        if kind == Kind::Ours {
            let dir = program.parent().context("a program lies in a directory")?;
            dirs.push(dir.to_owned());
        } else {
            dirs.extend([self.home(kind)?, self.interpreter(kind)?]);
        }
        // The root of the system itself is there already.
        dirs.retain(|dir| dir != Path::new("/usr"));
        dirs.sort();
        dirs.dedup();
        let side = Side::new(kind)?;
        let log = File::create(side.out().join("log"))?;
        let status = Command::new("unshare")
            .args(NAMESPACES)
            .arg("sh")
            .arg(self.dir.path().join("tree/root.sh"))
            .args([&self.dir.path().join("tree"), side.out(), &program])
            .arg(what)
            .args(&dirs)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .status()
            .context("unshare")?;
        if !status.success() {
            let said = fs::read_to_string(side.out().join("log"))?;
            let prepared = side.text("prepare.log").unwrap_or_default();
            bail!("the root of {kind} failed: {said}\n{prepared}");
        }
        Ok(side)
    }
}

/// The two of a run whose directories were kept, to be compared again: their
/// paths with a colon between them.
pub(crate) fn kept(real: Kind, what: &str) -> Result<Option<(Side, Side)>> {
    let variable = match what {
        "bad" => "HALITE_BAD_TREE_KEPT",
        _ => "HALITE_BIG_TREE_KEPT",
    };
    let Ok(dirs) = std::env::var(variable) else {
        return Ok(None);
    };
    let (theirs, ours) = dirs.split_once(':').context("two directories")?;
    let side = |kind, dir: &str| Side {
        kind,
        out: PathBuf::from(dir),
        _dir: None,
    };
    Ok(Some((side(real, theirs), side(Kind::Ours, ours))))
}

fn succeed(command: &mut Command) -> Result<()> {
    let done = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(
        done.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    Ok(())
}

/// What one of the two has answered and left behind.
pub(crate) struct Side {
    kind: Kind,
    out: PathBuf,
    /// Removed at the end, unless it is to be looked at.
    _dir: Option<TempDir>,
}

impl Side {
    /// With `HALITE_TEST_KEEP` set the directory stays.
    fn new(kind: Kind) -> Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("big-tree.")
            .tempdir()
            .context("no directory for the results")?;
        let out = dir.path().to_owned();
        let _dir = match std::env::var_os("HALITE_TEST_KEEP") {
            Some(_) => {
                writeln!(std::io::stderr(), "{kind}: {}", dir.keep().display())?;
                None
            }
            None => Some(dir),
        };
        Ok(Self { kind, out, _dir })
    }

    fn out(&self) -> &PathBuf {
        &self.out
    }

    /// One of the texts that `play.sh` has written.
    pub(crate) fn text(&self, name: &str) -> Result<String> {
        let path = self.out.join("answers").join(name);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    }

    /// The results of a run, by their tags.
    pub(crate) fn run(&self, name: &str) -> Result<Map<String, Value>> {
        let text = self.text(&format!("{name}.json"))?;
        let said = || format!("{}, {name}: {text}\n{}", self.kind, self.problems(name));
        let value: Value = serde_json::from_str(&text).with_context(said)?;
        match &value["local"] {
            Value::Object(results) => Ok(results.clone()),
            _ => bail!("no results: {}", said()),
        }
    }

    /// The exit code of a run.
    pub(crate) fn code(&self, name: &str) -> Result<i32> {
        let text = self.text(&format!("{name}.code"))?;
        let code = text.trim().parse();
        code.with_context(|| format!("{}, {name}: exit code {text}", self.kind))
    }

    fn problems(&self, name: &str) -> String {
        self.text(&format!("{name}.err")).unwrap_or_default()
    }

    /// What was written into the root.
    pub(crate) fn layer(&self) -> Result<Layer> {
        layer::read(&self.out.join("layer"))
    }
}
