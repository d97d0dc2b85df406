//! `cargo xtask formulas`: public formulas with the pillar of their own tests,
//! compiled and run in test mode by ours and by real Salt on this machine, and
//! compared. The formulas are fetched into the user's cache; nothing of them is in
//! the repository.
//!
//! Invariant: the changes of a formula stay in a temporary root, see
//! `formulas/sandbox.sh`. That needs root.

mod compare;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, Program, Programs, cache_dir};
use serde_json::{Value, json};

use crate::build::{bin_dir, build_programs, root};
use compare::differences;

/// What is compared, in the words of `sandbox.sh`.
const KEYS: [&str; 5] = ["pillar", "top", "high", "low", "test"];

/// Repositories, commits, SLS and pillars.
const CASES: &str = include_str!("formulas/cases.json");

const SANDBOX: &str = include_str!("formulas/sandbox.sh");

/// What differs for a reason: the formula, the beginning of the state's tag,
/// and why.
const EXPLAINED: &[(&str, &str, &str)] = &[
    (
        "packages",
        "file_|-packages-archive-wanted-download",
        "Salt downloads files of the web in test mode",
    ),
    (
        "packages",
        "pip_|-",
        "Salt means the packages of its own Python",
    ),
    (
        "packages",
        "npm_|-",
        "Salt 3008.5 has moved npm.installed to an extension",
    ),
    (
        "timezone",
        "timezone_|-",
        "Salt asks timedatectl, which does not work without systemd",
    ),
    (
        "users",
        "file_|-users_userfiles_",
        "Salt lists files in the order of a set",
    ),
];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the formulas are, or are fetched to: `<owner>+<name>` each
    #[arg(long, value_name = "DIR")]
    checkouts: Option<PathBuf>,
    /// Only these formulas
    names: Vec<String>,
}

#[derive(Debug)]
struct Case {
    name: String,
    value: Value,
}

impl Case {
    fn text(&self, key: &str) -> &str {
        self.value[key].as_str().unwrap_or_default()
    }

    fn texts(&self, key: &str) -> Vec<&str> {
        let items = self.value[key].as_array();
        items
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        nix::unistd::geteuid().is_root(),
        "a throw-away root needs root"
    );
    crate::peers::provide(&[Kind::Salt3008])?;
    let ours = match std::env::var_os("HALITE_BIN_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => bin_dir(&build_programs(&[], &[])?)?,
    };
    let programs = Programs::new(&ours)?;
    let checkouts = match &args.checkouts {
        Some(dir) => std::path::absolute(dir)?,
        None => cache_dir()?.join("formulas"),
    };
    let work = tempfile::tempdir().context("no directory for the formulas")?;
    let cases = cases(&args.names)?;
    for case in &cases {
        lay_out(case, &checkouts, work.path())
            .with_context(|| format!("could not lay out {}", case.name))?;
    }
    let mut sides = BTreeMap::new();
    for (side, kind) in [("real", Kind::Salt3008), ("ours", Kind::Ours)] {
        println!("{side}: {} formulas ...", cases.len());
        let out = tempfile::tempdir().context("no directory for the results")?;
        let program = programs.path(kind, Program::Call)?;
        sandbox(work.path(), out.path(), &program)?;
        sides.insert(side, out);
    }
    let mut all_good = true;
    for case in &cases {
        all_good &= report(case, sides["real"].path(), sides["ours"].path())?;
    }
    Ok(if all_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn cases(names: &[String]) -> Result<Vec<Case>> {
    let all: Vec<Value> = serde_json::from_str(CASES).context("the table of formulas")?;
    let cases = all.into_iter().map(|value| Case {
        name: value["name"].as_str().unwrap_or_default().to_owned(),
        value,
    });
    let cases: Vec<Case> = cases
        .filter(|case| names.is_empty() || names.contains(&case.name))
        .collect();
    ensure!(!cases.is_empty(), "there are no such formulas");
    Ok(cases)
}

/// The checkout of a repository, at a commit if one is named.
fn checkout(checkouts: &Path, repo: &str, commit: &str) -> Result<PathBuf> {
    let dir = checkouts.join(repo.replace('/', "+"));
    if dir.is_dir() {
        return Ok(dir);
    }
    fs::create_dir_all(checkouts)?;
    println!("fetching {repo} ...");
    let git = |args: &[&str]| -> Result<()> {
        let status = Command::new("git").args(args).status().context("git")?;
        ensure!(status.success(), "git could not fetch {repo}");
        Ok(())
    };
    let url = format!("https://github.com/{repo}");
    let path = dir.to_string_lossy();
    git(&["clone", "--quiet", &url, &path])?;
    if !commit.is_empty() {
        git(&["-C", &path, "checkout", "--quiet", commit])?;
    }
    Ok(dir)
}

/// Top file, pillar and configuration of a case.
fn lay_out(case: &Case, checkouts: &Path, work: &Path) -> Result<()> {
    let formula = checkout(checkouts, case.text("repo"), case.text("commit"))?;
    let dir = work.join(&case.name);
    let (top, pillar, conf) = (dir.join("top"), dir.join("pillar"), dir.join("conf"));
    for dir in [&top, &pillar, &conf] {
        fs::create_dir_all(dir)?;
    }
    let write = |path: PathBuf, value: Value| fs::write(path, value.to_string());
    write(
        top.join("top.sls"),
        json!({"base": {"*": case.texts("sls")}}),
    )?;
    let mut roots = vec![top.clone(), copied(&formula, &dir.join("formula"))?];
    for repo in case.texts("with") {
        let name = repo.replace('/', "+");
        roots.push(copied(&checkout(checkouts, repo, "")?, &dir.join(name))?);
    }
    for from in case.texts("pillar_dirs") {
        let from = formula.join(from);
        if from.is_dir() {
            copied(&from, &pillar)?;
        }
    }
    for (to, from) in case.value["pillar_files"].as_object().into_iter().flatten() {
        let from = formula.join(from.as_str().unwrap_or_default());
        fs::copy(&from, pillar.join(to)).with_context(|| from.display().to_string())?;
    }
    let tops = case.texts("pillar_top");
    if !tops.is_empty() {
        write(pillar.join("top.sls"), json!({"base": {"*": tops}}))?;
    }
    let grains = root().join("crates/state-run/tests/conformance/grains-debian12.json");
    let grains: Value = serde_json::from_slice(&fs::read(grains)?)?;
    let config = json!({
        "id": "oracle-minion",
        "root_dir": dir.join("root"),
        "pki_dir": dir.join("pki"),
        "file_client": "local",
        "file_roots": {"base": roots},
        "pillar_roots": {"base": [pillar]},
        "log_level_logfile": "quiet",
        "grains": grains,
        "enable_fqdns_grains": false,
        "enable_gpu_grains": false,
    });
    write(conf.join("minion"), config)?;
    Ok(())
}

/// Copies what is in a directory, but for its history.
fn copied(from: &Path, to: &Path) -> Result<PathBuf> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() == ".git" {
            continue;
        }
        let mut copy = Command::new("cp");
        let status = copy.arg("-a").arg(entry.path()).arg(to).status();
        ensure!(
            status.context("cp")?.success(),
            "could not copy {}",
            entry.path().display()
        );
    }
    Ok(to.to_owned())
}

fn sandbox(work: &Path, out: &Path, program: &Path) -> Result<()> {
    // The interpreter of a virtual environment may be a link to elsewhere.
    let dir = program.parent().context("a program lies in a directory")?;
    let home = dir.parent().unwrap_or(dir);
    let status = Command::new("unshare")
        .args(["--mount", "--net", "--pid", "--fork", "--kill-child"])
        .args(["sh", "-c", SANDBOX, "sandbox"])
        .args([work, out, program, home])
        .status()
        .context("unshare")?;
    ensure!(status.success(), "the throw-away root failed");
    Ok(())
}

/// One line per formula, and what differs; whether nothing does that is not
/// explained.
fn report(case: &Case, real: &Path, ours: &Path) -> Result<bool> {
    let mut line = format!("{:12}", case.name);
    let mut details = Vec::new();
    let mut all_good = true;
    for key in KEYS {
        let read = |side: &Path, end: &str| {
            let path = side.join(format!("{}.{key}.{end}", case.name));
            fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        let value = |side| -> Result<Value> {
            let text = read(side, "json")?;
            let said = serde_json::from_str(&text).unwrap_or(Value::Null);
            Ok(json!({"returned": said, "code": read(side, "code")?.trim()}))
        };
        let (explained, open): (Vec<_>, Vec<_>) = differences(&value(real)?, &value(ours)?)
            .into_iter()
            .partition(|(path, _)| why(case, path).is_some());
        // The exit code is that of what is explained.
        let open: Vec<_> = open
            .into_iter()
            .filter(|(path, _)| explained.is_empty() || path != "/code")
            .collect();
        let verdict = match (open.is_empty(), explained.is_empty()) {
            (true, true) => "equal",
            (true, false) => "explained",
            (false, _) => "DIFFERENT",
        };
        line.push_str(&format!("  {key}: {verdict}"));
        all_good &= open.is_empty();
        details.extend(open);
    }
    println!("{line}");
    for (path, (real, ours)) in details {
        println!("    {path}\n        real {real}\n        ours {ours}");
    }
    Ok(all_good)
}

fn why(case: &Case, path: &str) -> Option<&'static str> {
    let tag = path.strip_prefix("/returned/local/")?;
    let known = EXPLAINED
        .iter()
        .find(|(name, start, _)| case.name == *name && tag.starts_with(start));
    known.map(|(_, _, why)| *why)
}
