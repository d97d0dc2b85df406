//! Git is killed with the minion in the middle of a clone or of an update. The next
//! run of the state succeeds, and loses no other person's work.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Minion};
use serde_json::{Value, json};

const FILES: [&str; 4] = ["a", "b", "c", "same"];

/// A repository, a state that follows it, and a git that can be cut off.
struct Cut {
    _fleet: Fleet,
    minion: Minion,
    base: PathBuf,
}

impl Cut {
    fn new(name: &str) -> Result<Self> {
        let fleet = Fleet::new(name)?;
        let base = fleet.path().join("git");
        for dir in ["roots", "shims", "repository"] {
            fs::create_dir_all(base.join(dir))?;
        }
        let real = command("sh", &base, &["-c", "command -v git"])?;
        let shim = base.join("shims/git");
        // The state gives the verb as the first word.
        fs::write(
            &shim,
            format!(
                "#!/bin/sh\ncut={base}/cut\nif [ -e $cut ] && [ \"$1\" = \"$(head -n 1 $cut)\" ]; then\n\
                 mv $cut $cut.done\nexport REAL={real}\nsed 1d $cut.done >$cut.script\nsh $cut.script \"$@\"\nkill -9 $PPID\nexit 1\nfi\n\
                 exec {real} \"$@\"\n",
                base = base.display(),
                real = real.trim(),
            ),
        )?;
        fs::set_permissions(&shim, fs::Permissions::from_mode(0o755))?;
        fs::write(
            base.join("roots/tree.sls"),
            format!(
                "tree:\n  git.latest:\n    - name: file://{0}/repository\n    - target: {0}/tree\n    - rev: main\n    - branch: main\n",
                base.display()
            ),
        )?;
        let path = std::env::var("PATH").unwrap_or_default();
        let minion = fleet
            .minion("web1", Kind::Ours)
            .env("PATH", &format!("{}:{path}", base.join("shims").display()))
            .set("master", "127.0.0.1")
            .set("file_client", "local")
            .set("file_roots", json!({ "base": [base.join("roots")] }))
            .lay()?;
        let cut = Self {
            _fleet: fleet,
            minion,
            base,
        };
        cut.git(&["init", "-q", "-b", "main"])?;
        cut.commit("old", &FILES)?;
        Ok(cut)
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        let own = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
        command("git", &self.base.join("repository"), &[&own, args].concat())
    }

    fn commit(&self, text: &str, files: &[&str]) -> Result<()> {
        for file in files {
            fs::write(self.base.join("repository").join(file), line(text, file))?;
        }
        self.git(&["add", "."])?;
        self.git(&["commit", "-q", "-m", text]).map(drop)
    }

    fn tree(&self, file: &str) -> PathBuf {
        self.base.join("tree").join(file)
    }

    /// Runs the state, and kills it when it comes to the verb; `script` does
    /// what git has done by then.
    fn cut(&self, verb: &str, script: &str) -> Result<()> {
        fs::write(self.base.join("cut"), format!("{verb}\n{script}\n"))?;
        let output = self.minion.call(&["--local", "state.apply", "tree"])?;
        ensure!(!self.base.join("cut").exists(), "git was not asked: {verb}");
        ensure!(output.ok().is_err(), "it was not killed");
        Ok(())
    }

    /// What the state comes to.
    fn apply(&self, more: &[&str]) -> Result<Value> {
        let args = [&["--local", "state.apply", "tree", "--out=json"], more].concat();
        let output = self.minion.call(&args)?;
        let all: Value = serde_json::from_str(&output.stdout)?;
        let states = all["local"].as_object().context("no states")?;
        states.values().next().cloned().context("no state")
    }

    /// That the state ends well, with these texts in the files, and has no more
    /// to do.
    fn converges(&self, texts: &[(&str, &str)]) -> Result<()> {
        let test = self.apply(&["test=True"])?;
        ensure!(test["result"].is_null(), "{test:#}");
        let state = self.apply(&[])?;
        ensure!(state["result"] == true, "{state:#}");
        ensure!(state["changes"] != json!({}), "{state:#}");
        for (file, text) in texts {
            let found = fs::read_to_string(self.tree(file))?;
            ensure!(found == line(text, file), "{file}: {found}");
        }
        let status = command("git", &self.base.join("tree"), &["status", "--porcelain"])?;
        ensure!(status.is_empty(), "{status}");
        let again = self.apply(&[])?;
        ensure!(again["changes"] == json!({}), "{again:#}");
        Ok(())
    }
}

fn line(text: &str, file: &str) -> String {
    format!("{text} text of {file}\n")
}

fn command(program: &str, dir: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .with_context(|| format!("could not run {program}"))?;
    ensure!(output.status.success(), "{program} {args:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn a_clone_that_has_no_files_yet_is_made_anew() -> Result<()> {
    let cut = Cut::new("cut-clone")?;
    let target = cut.base.join("tree").display().to_string();
    cut.cut("clone", &format!("$REAL init -q {target}"))?;
    cut.converges(&FILES.map(|file| (file, "old")))
}

#[test]
fn a_clone_with_some_of_its_files_is_completed() -> Result<()> {
    let cut = Cut::new("cut-files")?;
    let target = cut.base.join("tree").display().to_string();
    let script = format!("$REAL \"$@\"\ncd {target}\nrm .git/index a b\n: >.git/index.lock\n: >c");
    cut.cut("clone", &script)?;
    cut.converges(&FILES.map(|file| (file, "old")))
}

#[test]
fn a_clone_that_is_not_at_the_wanted_revision_is_brought_there() -> Result<()> {
    let cut = Cut::new("cut-reset")?;
    cut.git(&["checkout", "-q", "-b", "other"])?;
    cut.commit("other", &["a", "e"])?;
    cut.cut("checkout", "")?;
    ensure!(cut.tree("e").exists());
    cut.converges(&FILES.map(|file| (file, "old")))
}

#[test]
fn what_somebody_has_committed_in_a_half_clone_stays() -> Result<()> {
    let cut = Cut::new("cut-mine-too")?;
    let states = cut.base.join("roots/tree.sls");
    let text = fs::read_to_string(&states)?.replace("    - branch: main\n", "");
    fs::write(&states, text)?;
    cut.git(&["checkout", "-q", "-b", "other"])?;
    cut.commit("other", &["a", "e"])?;
    cut.cut("reset", "")?;
    fs::write(cut.tree("e"), line("mine", "e"))?;
    let commit = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    let commit = [&commit[..], &["commit", "-q", "-a", "-m", "mine"]].concat();
    command("git", &cut.base.join("tree"), &commit)?;
    let state = cut.apply(&[])?;
    ensure!(state["result"] == false, "{state:#}");
    let log = ["log", "--format=%s"];
    let log = command("git", &cut.base.join("tree"), &log)?;
    ensure!(log.lines().any(|line| line == "mine"), "{log}");
    Ok(())
}

#[test]
fn what_somebody_has_written_in_a_half_clone_stays() -> Result<()> {
    for (file, script) in [
        ("c", "printf mine >c"),
        // A directory where a file is to be.
        ("c/mine", "rm c; mkdir c; printf mine >c/mine"),
    ] {
        let cut = Cut::new("cut-written")?;
        let target = cut.base.join("tree").display().to_string();
        let clone = format!("$REAL \"$@\"\ncd {target}\nrm .git/index a b");
        cut.cut("clone", &format!("{clone}\n{script}"))?;
        cut.apply(&[])?;
        ensure!(fs::read_to_string(cut.tree(file))? == "mine");
    }
    Ok(())
}

#[test]
fn what_somebody_has_added_to_a_clone_stays() -> Result<()> {
    let cut = Cut::new("cut-added")?;
    let states = cut.base.join("roots/tree.sls");
    let text = fs::read_to_string(&states)?.replace("    - branch: main\n", "");
    fs::write(&states, text)?;
    // The remote side has another branch checked out, which has no `a`.
    cut.git(&["checkout", "-q", "-b", "other"])?;
    cut.git(&["rm", "-q", "a"])?;
    cut.git(&["commit", "-q", "-m", "other"])?;
    cut.cut("reset", "printf mine >a")?;
    cut.apply(&[])?;
    ensure!(fs::read_to_string(cut.tree("a"))? == "mine");
    Ok(())
}

/// Git alone is killed, and the minion goes on.
#[test]
fn a_git_that_is_killed_alone_is_as_one_that_was_killed_with_the_minion() -> Result<()> {
    let cut = Cut::new("cut-alone")?;
    let target = cut.base.join("tree").display().to_string();
    let itself = "kill -9 $(ps -o ppid= -p $$)";
    fs::write(
        cut.base.join("cut"),
        format!("clone\n$REAL init -q {target}\n{itself}\n"),
    )?;
    ensure!(cut.apply(&[])?["result"] == false);
    cut.converges(&FILES.map(|file| (file, "old")))?;
    cut.commit("new", &["a", "b", "d"])?;
    fs::write(cut.base.join("cut"), format!("merge\n{HALF}\n{itself}\n"))?;
    ensure!(cut.apply(&[])?["result"] == false);
    cut.converges(&[("a", "new"), ("b", "new"), ("c", "old"), ("d", "new")])
}

/// What fails by itself is no run that was cut off.
#[test]
fn what_comes_after_a_failure_is_not_touched() -> Result<()> {
    let cut = Cut::new("cut-failed")?;
    ensure!(cut.apply(&[])?["result"] == true);
    cut.commit("new", &["a", "d"])?;
    for text in ["first", "second"] {
        // Git does not write over a file that it does not know.
        fs::write(cut.tree("d"), text)?;
        let state = cut.apply(&[])?;
        ensure!(state["result"] == false, "{state:#}");
        ensure!(fs::read_to_string(cut.tree("d"))? == text);
    }
    fs::remove_dir_all(cut.base.join("tree"))?;
    fs::rename(cut.base.join("repository"), cut.base.join("away"))?;
    ensure!(cut.apply(&[])?["result"] == false);
    for name in ["objects/model", "config/x", "HEAD"] {
        let path = cut.tree(name);
        fs::create_dir_all(path.parent().context("a parent")?)?;
        fs::write(path, "mine")?;
    }
    fs::rename(cut.base.join("away"), cut.base.join("repository"))?;
    ensure!(cut.apply(&[])?["result"] == false);
    ensure!(cut.tree("objects/model").exists());
    Ok(())
}

/// What is there after an update to other `a` and `b` and a new `d`, when git
/// was at `b`.
const HALF: &str = ": >.git/index.lock\n$REAL show $3:a >a\n$REAL show $3:d >d\nprintf '' >b";

#[test]
fn an_update_is_made_that_was_cut_off() -> Result<()> {
    let cut = Cut::new("cut-update")?;
    ensure!(cut.apply(&[])?["result"] == true);
    cut.commit("new", &["a", "b", "d"])?;
    cut.cut("merge", HALF)?;
    ensure!(fs::read_to_string(cut.tree("b"))?.is_empty());
    cut.converges(&[
        ("a", "new"),
        ("b", "new"),
        ("c", "old"),
        ("d", "new"),
        ("same", "old"),
    ])
}

#[test]
fn what_somebody_has_changed_meanwhile_stays() -> Result<()> {
    for (file, script) in [
        // No file that git was to change.
        ("c", "printf mine >c"),
        // One that it was to change, beside the one that it was at.
        ("a", "printf mine >a"),
        // The one that it was at.
        ("b", "printf mine >b"),
        // A directory, or a repository, where a new one is to be.
        ("d/mine", "rm d; mkdir d; printf mine >d/mine"),
        ("d/mine", "rm d; $REAL init -q d; printf mine >d/mine"),
        // One of nobody's that is where a new one is to be.
        ("d", "printf mine >d"),
        // One that is to be committed.
        ("c", "printf mine >c; rm .git/index.lock; $REAL add c"),
    ] {
        let cut = Cut::new("cut-mine")?;
        ensure!(cut.apply(&[])?["result"] == true);
        cut.commit("new", &["a", "b", "d"])?;
        cut.cut("merge", &format!("{HALF}\n{script}"))?;
        for _ in 0..2 {
            let state = cut.apply(&[])?;
            ensure!(state["result"] == false, "{state:#}");
            let comment = state["comment"].as_str().unwrap_or_default();
            ensure!(comment.contains("uncommitted changes"), "{comment}");
        }
        ensure!(fs::read_to_string(cut.tree(file))? == "mine", "{file}");
    }
    Ok(())
}
