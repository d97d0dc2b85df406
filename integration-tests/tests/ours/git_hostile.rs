//! Repositories of an attacker who wants a program to run where they are cloned.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Minion};
use serde_json::{Value, json};

/// A minion, and the file that what must not run would make.
struct Hostile {
    _fleet: Fleet,
    minion: Minion,
    base: PathBuf,
}

impl Hostile {
    fn new(name: &str) -> Result<Self> {
        let fleet = Fleet::new(name)?;
        let base = fleet.path().join("git");
        fs::create_dir_all(base.join("roots"))?;
        let minion = fleet
            .minion("web1", Kind::Ours)
            .set("master", "127.0.0.1")
            .set("file_client", "local")
            .set("file_roots", json!({ "base": [base.join("roots")] }))
            .lay()?;
        Ok(Self {
            _fleet: fleet,
            minion,
            base,
        })
    }

    fn marker(&self) -> PathBuf {
        self.base.join("it-has-run")
    }

    /// A repository with these files, and a submodule in each of these directories.
    fn repository(
        &self,
        name: &str,
        files: &[(&str, &str)],
        submodules: &[&str],
    ) -> Result<PathBuf> {
        let dir = self.base.join(name);
        fs::create_dir_all(&dir)?;
        git(&dir, &["init", "-q", "-b", "main"])?;
        for (path, text) in files {
            let path = dir.join(path);
            fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
            fs::write(&path, text)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        git(&dir, &["add", "-A"])?;
        git(&dir, &["commit", "-q", "-m", "x"])?;
        let head = git(&dir, &["rev-parse", "HEAD"])?;
        for path in submodules {
            let entry = format!("160000,{head},{path}");
            git(&dir, &["update-index", "--add", "--cacheinfo", &entry])?;
        }
        git(&dir, &["commit", "-q", "--allow-empty", "-m", "y"])?;
        Ok(dir)
    }

    /// What `git.latest` of a place comes to, submodules and all.
    fn latest(&self, name: &str, target: &str) -> Result<Value> {
        let state = json!({ "it": { "git.latest": [
            { "name": name },
            { "target": self.base.join(target) },
            { "rev": "main" },
            { "submodules": true },
        ]}});
        fs::write(self.base.join("roots/it.sls"), format!("#!yaml\n{state}\n"))?;
        let words = ["--local", "state.apply", "it", "--out=json"];
        let output = self.minion.call(&words)?;
        let all: Value = serde_json::from_str(&output.stdout)?;
        let states = all["local"].as_object().context("no states")?;
        states.values().next().cloned().context("no state")
    }
}

fn git(dir: &Path, args: &[&str]) -> Result<String> {
    let own = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    let mut git = Command::new("git");
    let output = git.current_dir(dir).args(own).args(args).output()?;
    ensure!(output.status.success(), "git {args:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[test]
fn no_submodule_runs_a_program_or_reads_this_machine() -> Result<()> {
    let hostile = Hostile::new("submodules")?;
    let marker = hostile.marker().display().to_string();
    let secret = hostile.repository("secret", &[("private", "of this machine")], &[])?;
    let places = [
        format!("ext::touch {marker}"),
        "-u./payload".to_owned(),
        format!("--upload-pack=touch {marker}"),
        format!("ssh://-oProxyCommand=touch%20{marker}/x"),
        format!("file://{}", secret.display()),
        secret.display().to_string(),
        "../secret".to_owned(),
    ];
    let payload = format!("#!/bin/sh\ntouch {marker}\n");
    for (number, place) in places.iter().enumerate() {
        let modules = format!("[submodule \"sub\"]\n\tpath = sub\n\turl = \"{place}\"\n");
        let files = [
            (".gitmodules", modules.as_str()),
            ("payload", payload.as_str()),
        ];
        let name = format!("hostile{number}");
        let source = hostile.repository(&name, &files, &["sub"])?;
        let target = format!("tree{number}");
        let applied = hostile.latest(&format!("file://{}", source.display()), &target)?;
        ensure!(applied["result"] == false, "{place}: {applied:#}");
        ensure!(!hostile.marker().exists(), "{place}: it has run");
        let tree = hostile.base.join(target);
        ensure!(tree.join("payload").exists(), "{place}: nothing was cloned");
        ensure!(!tree.join("sub/private").exists(), "{place}: it was read");
    }
    // Nor does such a place by itself.
    for place in &places[..4] {
        let applied = hostile.latest(place, "alone")?;
        ensure!(applied["result"] == false, "{place}: {applied:#}");
        ensure!(!hostile.marker().exists(), "{place}: it has run");
    }
    Ok(())
}

#[test]
fn what_a_repository_brings_is_no_configuration() -> Result<()> {
    let hostile = Hostile::new("brought")?;
    let run = format!("touch {}", hostile.marker().display());
    let script = format!("#!/bin/sh\n{run}\n");
    let config = format!(
        "[core]\n\tfsmonitor = {run}\n\tsshCommand = {run}\n\thooksPath = hooks\n\tpager = {run}\n\
         [filter \"evil\"]\n\tsmudge = {run}\n\tprocess = {run}\n\trequired = true\n\
         [diff \"evil\"]\n\ttextconv = {run}\n[merge \"evil\"]\n\tdriver = {run}\n"
    );
    let hooks = ["post-checkout", "post-merge", "reference-transaction"];
    let hooks = hooks.map(|hook| format!("hooks/{hook}"));
    let mut files = vec![
        (".gitattributes", "* filter=evil diff=evil merge=evil\n"),
        (".gitconfig", config.as_str()),
        ("config", config.as_str()),
        ("file", "one"),
    ];
    files.extend(hooks.iter().map(|hook| (hook.as_str(), script.as_str())));
    let source = hostile.repository("source", &files, &[])?;
    // What it has for itself is not for who clones it.
    fs::write(
        source.join(".git/config"),
        format!("[core]\n\tbare = false\n{config}"),
    )?;
    let place = format!("file://{}", source.display());
    let applied = hostile.latest(&place, "tree")?;
    ensure!(applied["result"] == true, "{applied:#}");
    let tree = hostile.base.join("tree");
    ensure!(fs::read_to_string(tree.join("file"))? == "one");
    fs::write(source.join(".git/config"), "[core]\n\tbare = false\n")?;
    fs::write(source.join("file"), "two")?;
    git(&source, &["commit", "-q", "-a", "-m", "z"])?;
    let applied = hostile.latest(&place, "tree")?;
    ensure!(applied["result"] == true, "{applied:#}");
    ensure!(fs::read_to_string(tree.join("file"))? == "two");
    let of_tree = tree.display().to_string();
    for words in [["git.status", &of_tree], ["git.diff", &of_tree]] {
        hostile
            .minion
            .called(&[&["--local"], &words[..]].concat())?;
    }
    ensure!(!hostile.marker().exists(), "it has run");
    Ok(())
}
