//! The states that are killed: files of every kind, each made by one state, in
//! versions that differ from one run to the next.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// What the states write is in `target`; all else they need is beside it.
pub(super) struct Tree {
    _guard: tempfile::TempDir,
    base: PathBuf,
}

/// Large enough that a write of it takes a while.
const LARGE_BYTES: usize = 3 << 20;

const FILES: usize = 20;

impl Tree {
    /// For this many versions.
    pub(super) fn new(versions: u64) -> Result<Self> {
        let guard = tempfile::Builder::new().prefix("kills.").tempdir()?;
        let base = guard.path().canonicalize()?;
        let tree = Self {
            _guard: guard,
            base,
        };
        for name in ["target", "roots", "shims", "git"] {
            fs::create_dir(tree.at(name))?;
        }
        tree.sources()?;
        tree.archives()?;
        tree.repository(versions)?;
        tree.shim()?;
        tree.begun()?;
        fs::write(tree.at("roots/tree.sls"), tree.states())?;
        Ok(tree)
    }

    /// The files that are watched.
    pub(super) fn target(&self) -> PathBuf {
        self.at("target")
    }

    /// The file roots.
    pub(super) fn roots(&self) -> PathBuf {
        self.at("roots")
    }

    /// A file whose content is a secret in every other version.
    pub(super) fn secret(&self) -> PathBuf {
        self.at("target/secret")
    }

    /// Where programs are found, `crontab` being our own.
    pub(super) fn search(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{}:{path}", self.at("shims").display())
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    fn sources(&self) -> Result<()> {
        fs::write(
            self.at("roots/small.j2"),
            "version {{ version }}\nof {{ what }}\n",
        )?;
        for parity in 0..2 {
            let text = format!("large {parity}\n");
            let large = text.repeat(LARGE_BYTES / text.len());
            fs::write(self.at(&format!("roots/large{parity}")), &large)?;
            fs::write(self.at(&format!("copied{parity}")), large)?;
            let folder = self.at(&format!("roots/folder{parity}"));
            for number in 0..FILES {
                let below = folder.join(format!("sub{}", number % 3));
                fs::create_dir_all(&below)?;
                // Some are only in one of the two.
                let name = match number % 4 {
                    0 => format!("own{parity}-{number}"),
                    _ => format!("both-{number}"),
                };
                let text = format!("{name} of {parity}\n").repeat(200);
                fs::write(below.join(name), text)?;
            }
        }
        Ok(())
    }

    fn archives(&self) -> Result<()> {
        for parity in 0..2 {
            let archive = self.at(&format!("roots/folder{parity}.tar.gz"));
            let folder = self.at(&format!("roots/folder{parity}"));
            let archive = archive.display().to_string();
            let folder = folder.display().to_string();
            run("tar", &["-czf", &archive, "-C", &folder, "."])?;
        }
        Ok(())
    }

    /// A branch for each parity, and one with a tag for each version.
    fn repository(&self, versions: u64) -> Result<()> {
        let git = self.at("git").display().to_string();
        let git = |args: &[&str]| {
            let own = [
                "-C",
                &git,
                "-c",
                "user.name=kills",
                "-c",
                "user.email=kills@example.com",
            ];
            run("git", &[&own, args].concat())
        };
        git(&["init", "-q", "-b", "even"])?;
        for branch in ["even", "odd"] {
            if branch == "odd" {
                git(&["checkout", "-q", "-b", "odd"])?;
            }
            for number in 0..FILES {
                let text = committed(branch, number);
                fs::write(self.at(&format!("git/file{number}")), text)?;
            }
            git(&["add", "."])?;
            git(&["commit", "-q", "-m", branch])?;
        }
        git(&["checkout", "-q", "-b", "line"])?;
        for version in 1..=versions {
            let tag = format!("v{version}");
            for number in 0..FILES {
                let text = committed(&tag, number);
                fs::write(self.at(&format!("git/file{number}")), text)?;
            }
            git(&["commit", "-q", "-a", "-m", &tag])?;
            git(&["tag", &tag])?;
        }
        Ok(())
    }

    /// A `crontab` that keeps the table in a file.
    fn shim(&self) -> Result<()> {
        let path = self.at("shims/crontab");
        let table = self.at("target/crontab").display().to_string();
        let text = format!(
            "#!/bin/sh\nfor last in \"$@\"; do :; done\ncase \"$last\" in\n-l) [ -f {table} ] || {{ echo no crontab for root >&2; exit 1; }}; cat {table} ;;\n*) cp \"$last\" {table}.new && mv {table}.new {table} ;;\nesac\n"
        );
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// Files that states change, as they are before the first run.
    fn begun(&self) -> Result<()> {
        let filler = "# nothing to see here\n".repeat(1000);
        for (name, text) in [
            ("replaced", "version=none\n"),
            ("line", "version=none\n"),
            ("keyvalue", "version=none\n"),
            ("block", ""),
            ("commented", "#version\nother\n"),
        ] {
            let text = format!("{filler}{text}{filler}");
            fs::write(self.at("target").join(name), text)?;
        }
        Ok(())
    }

    fn states(&self) -> String {
        include_str!("tree.sls")
            .replace("TARGET", &self.target().display().to_string())
            .replace("BASE", &self.base.display().to_string())
    }

    /// A name that may have content of neither version: what git does to its
    /// own files is its own affair.
    pub(super) fn is_foreign(&self, path: &Path) -> bool {
        ["target/worktree", "target/clones", "target/forward"]
            .iter()
            .any(|foreign| path.starts_with(self.at(foreign)))
    }

    /// Where git is to have what is in its repository.
    pub(super) fn check_git(&self, version: u64) -> Result<()> {
        let clone = self.at(&format!("target/clones/{version}"));
        let branch = ["even", "odd"][usize::from(version % 2 == 1)];
        let tag = format!("v{version}");
        for (work_tree, revision) in [
            (self.at("target/worktree"), branch),
            (clone, branch),
            (self.at("target/forward"), &tag),
        ] {
            for number in 0..FILES {
                let file = work_tree.join(format!("file{number}"));
                let text = fs::read_to_string(&file)
                    .with_context(|| format!("cannot read {}", file.display()))?;
                let is_whole = text == committed(revision, number);
                ensure!(is_whole, "{} is not that of {revision}", file.display());
            }
        }
        Ok(())
    }
}

/// What a file of the repository holds at a revision.
fn committed(revision: &str, number: usize) -> String {
    format!("{revision} {number}\n").repeat(500)
}

fn run(program: &str, args: &[&str]) -> Result<()> {
    let output = Command::new(program)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .with_context(|| format!("could not run {program}"))?;
    ensure!(output.status.success(), "{program} {args:?}: {output:?}");
    Ok(())
}
