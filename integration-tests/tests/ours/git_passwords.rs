//! Repositories behind a password: it works, and no command line shows it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Minion};
use halite_test_services::{GitHttp, Wanted};
use serde_json::{Value, json};

/// A shell would make something else of it, and so would a configuration of git.
const PASSWORD: &str = "s3cret$HOME`x`\\\"'#;";

/// A repository behind a server that asks for a password, a minion, and all words that
/// a git was started with, and each program of git.
struct Guarded {
    _fleet: Fleet,
    http: GitHttp,
    minion: Minion,
    base: PathBuf,
}

impl Guarded {
    /// `None`, and reported, without the server.
    fn new(name: &str) -> Result<Option<Self>> {
        let wanted = Wanted::default().password(PASSWORD).tls();
        let Some(http) = GitHttp::for_test(&wanted) else {
            return Ok(None);
        };
        let fleet = Fleet::new(name)?;
        let base = fleet.path().join("git");
        for dir in ["roots", "work", "programs"] {
            fs::create_dir_all(base.join(dir))?;
        }
        let programs = base.join("programs");
        logged_programs(&programs, &base.join("words"))?;
        let path = std::env::var("PATH").unwrap_or_default();
        let ca = &http.tls.as_ref().context("it speaks no TLS")?.ca;
        let minion = fleet
            .minion("web1", Kind::Ours)
            .env("PATH", &format!("{}:{path}", programs.display()))
            .env("GIT_EXEC_PATH", &programs.display().to_string())
            .env("GIT_SSL_CAINFO", &ca.display().to_string())
            .set("master", "127.0.0.1")
            .set("file_client", "local")
            .set("file_roots", json!({ "base": [base.join("roots")] }))
            .lay()?;
        let this = Self {
            _fleet: fleet,
            http,
            minion,
            base,
        };
        this.git(&["init", "-q", "-b", "main"])?;
        this.commit("one")?;
        let bare = this.bare().display().to_string();
        this.git(&["clone", "-q", "--bare", ".", &bare])?;
        this.git(&["--git-dir", &bare, "config", "http.receivepack", "true"])?;
        // The server is another user.
        let mut open = Command::new("chmod");
        ensure!(open.args(["-R", "a+rwX", &bare]).status()?.success());
        Ok(Some(this))
    }

    fn bare(&self) -> PathBuf {
        self.http.repositories().join("states.git")
    }

    /// Where the repository is, without a login.
    fn url(&self) -> String {
        self.http.url("states.git")
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        let own = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
        let output = Command::new("git")
            .args(own)
            .args(args)
            .current_dir(self.base.join("work"))
            .output()?;
        ensure!(output.status.success(), "git {args:?}: {output:?}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    fn commit(&self, text: &str) -> Result<()> {
        fs::write(self.base.join("work/file"), text)?;
        self.git(&["add", "."])?;
        self.git(&["commit", "-q", "-m", text]).map(drop)
    }

    /// What the state comes to with a password.
    fn apply(&self, state: &str, target: &Path, password: &str) -> Result<Value> {
        let arguments = json!([
            { "name": self.url() },
            { "target": target },
            { "https_user": "git" },
            { "https_pass": password },
        ]);
        let text = if state == "cloned" {
            json!({ "it": { "git.cloned": arguments } })
        } else {
            let mut arguments = arguments;
            let list = arguments.as_array_mut().context("no list")?;
            list.push(json!({ "rev": "main" }));
            json!({ "it": { format!("git.{state}"): arguments } })
        };
        // No template: the password is what it is.
        let text = format!("#!yaml\n{text}\n");
        fs::write(self.base.join("roots/it.sls"), text)?;
        let output = self
            .minion
            .call(&["--local", "state.apply", "it", "--out=json"])?;
        ensure!(!output.stdout.contains("s3cret"), "{}", output.stdout);
        let all: Value = serde_json::from_str(&output.stdout)?;
        let states = all["local"].as_object().context("no states")?;
        let state = states.values().next().cloned().context("no state")?;
        Ok(state)
    }

    /// What the server complains of.
    fn complaints(&self) -> Result<String> {
        let log = self.http.server.dir().join("error.log");
        Ok(fs::read_to_string(log)?)
    }

    /// The words of all gits since the last look, which have no password. There are
    /// some, and one of them talks to the server.
    fn words(&self) -> Result<String> {
        let file = self.base.join("words");
        let words = fs::read_to_string(&file)?;
        ensure!(!words.contains("s3cret"), "{words}");
        ensure!(words.contains(&self.url()), "{words}");
        ensure!(words.contains("git-remote-https"), "{words}");
        fs::remove_file(file)?;
        Ok(words)
    }
}

/// Programs of git that note their words before they do their work.
fn logged_programs(dir: &Path, words: &Path) -> Result<()> {
    let output = Command::new("git").arg("--exec-path").output()?;
    let real = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    for entry in fs::read_dir(&real)? {
        let entry = entry?;
        let name = entry.file_name();
        let to = dir.join(&name);
        if !["git", "git-remote-http", "git-remote-https"].contains(&&*name.to_string_lossy()) {
            symlink(entry.path(), to)?;
            continue;
        }
        let text = format!(
            "#!/bin/sh\necho \"$0\" \"$@\" >>{}\nexec {} \"$@\"\n",
            words.display(),
            entry.path().display()
        );
        fs::write(&to, text)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn text(dir: &Path) -> Result<String> {
    Ok(fs::read_to_string(dir.join("file"))?)
}

#[test]
fn states_log_in_and_keep_no_password() -> Result<()> {
    let Some(guarded) = Guarded::new("gitlogin")? else {
        return Ok(());
    };
    for state in ["latest", "cloned", "detached"] {
        let tree = guarded.base.join(state);
        let applied = guarded.apply(state, &tree, PASSWORD)?;
        ensure!(applied["result"] == true, "{applied:#}");
        ensure!(text(&tree)? == "one", "{state}");
        let config = fs::read_to_string(tree.join(".git/config"))?;
        ensure!(config.contains(&guarded.url()), "{config}");
        ensure!(!config.contains("s3cret"), "{config}");
        guarded.words()?;
    }
    guarded.commit("two")?;
    guarded.git(&["push", "-q", &guarded.bare().display().to_string(), "main"])?;
    for state in ["latest", "detached"] {
        let tree = guarded.base.join(state);
        let applied = guarded.apply(state, &tree, PASSWORD)?;
        ensure!(applied["result"] == true, "{applied:#}");
        ensure!(text(&tree)? == "two", "{state}");
        guarded.words()?;
        let again = guarded.apply(state, &tree, PASSWORD)?;
        ensure!(again["changes"] == json!({}), "{again:#}");
    }
    // One that Salt has cloned names the password.
    let tree = guarded.base.join("latest");
    let full = guarded.url().replace("https://", "https://git:s3cret@");
    let of_tree = tree.display().to_string();
    guarded.git(&["-C", &of_tree, "remote", "set-url", "origin", &full])?;
    let applied = guarded.apply("latest", &tree, PASSWORD)?;
    ensure!(applied["result"] == true, "{applied:#}");
    let config = fs::read_to_string(tree.join(".git/config"))?;
    ensure!(!config.contains("s3cret"), "{config}");
    guarded.words()?;
    // Wrong logins are counted: none is tried.
    let complaints = guarded.complaints()?;
    ensure!(!complaints.contains("Password Mismatch"), "{complaints}");
    let wrong = guarded.base.join("wrong");
    let refused = guarded.apply("latest", &wrong, "s3cret-not")?;
    ensure!(refused["result"] == false, "{refused:#}");
    let comment = refused["comment"].as_str().unwrap_or_default();
    ensure!(comment.contains("Authentication failed"), "{comment}");
    let complaints = guarded.complaints()?;
    ensure!(complaints.contains("Password Mismatch"), "{complaints}");
    guarded.words().map(drop)
}

#[test]
fn functions_log_in_without_a_word_of_the_password() -> Result<()> {
    let Some(guarded) = Guarded::new("gitfunctions")? else {
        return Ok(());
    };
    // What has a `#` in it is taken as it is.
    let login = [
        "https_user=git".to_owned(),
        format!("https_pass={PASSWORD}"),
    ];
    let called = |words: &[&str]| {
        let login = login.iter().map(String::as_str);
        let words: Vec<&str> = ["--local"]
            .into_iter()
            .chain(words.iter().copied())
            .chain(login)
            .collect();
        guarded.minion.called(&words)
    };
    let (url, tree) = (guarded.url(), guarded.base.join("tree"));
    let of_tree = tree.display().to_string();
    let cloned = called(&["git.clone", &of_tree, &format!("url={url}")])?;
    ensure!(cloned == json!(true), "{cloned}");
    ensure!(text(&tree)? == "one");
    let head = guarded.git(&["rev-parse", "HEAD"])?;
    let listed = called(&[
        "git.ls_remote",
        &of_tree,
        &format!("remote={url}"),
        "ref=refs/heads/main",
    ])?;
    ensure!(listed == json!({ "refs/heads/main": head }), "{listed}");
    let listed = called(&["git.remote_refs", &url])?;
    ensure!(listed["HEAD"] == json!(head), "{listed}");
    guarded.words()?;
    // A place that names it, too: git decodes it.
    let encoded: String = PASSWORD
        .bytes()
        .map(|byte| format!("%{byte:02x}"))
        .collect();
    let full = url.replace("https://", &format!("https://git:{encoded}@"));
    fs::write(tree.join("file"), "pushed")?;
    let work = |args: &[&str]| guarded.git(&[&["-C", &of_tree], args].concat());
    work(&["commit", "-q", "-a", "-m", "pushed"])?;
    let plain = |words: &[&str]| guarded.minion.called(&[&["--local"], words].concat());
    plain(&["git.push", &of_tree, &format!("remote={full}"), "ref=main"])?;
    let bare = guarded.bare().display().to_string();
    let pushed = guarded.git(&["--git-dir", &bare, "show", "main:file"])?;
    ensure!(pushed == "pushed", "{pushed}");
    plain(&[
        "git.fetch",
        &of_tree,
        &format!("remote={full}"),
        "refspecs=main",
    ])?;
    let words = guarded.words()?;
    ensure!(!words.contains(&encoded), "{words}");
    // Where its place is to be set it is in the configuration, as it is with Salt.
    let set = called(&[
        "git.remote_set",
        &of_tree,
        &format!("url={url}"),
        "remote=other",
    ])?;
    let shown = url.replace("https://", "https://<redacted>@");
    ensure!(set == json!({ "fetch": shown, "push": shown }), "{set}");
    let wanted = url.replace("https://", &format!("https://git:{PASSWORD}@"));
    let written = work(&["config", "--get-all", "remote.other.url"])?;
    ensure!(written == wanted, "{written}");
    let words = fs::read_to_string(guarded.base.join("words"))?;
    ensure!(!words.contains("s3cret"), "{words}");
    Ok(())
}
