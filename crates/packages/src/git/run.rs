//! Runs git for a user in a directory, and reads its output.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use halite_call::addresses::redacted;
use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, paths, python, shlex};
use halite_git::TrackedRun;
use halite_proto::{Map, Value};

use super::password::{self, Login};

/// Where and as whom git runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Git {
    pub(crate) cwd: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) identity: Vec<String>,
    /// What stands before the verb.
    pub(crate) options: Vec<String>,
    /// What a repository on another machine asks for.
    pub(crate) login: Option<Login>,
    killed: Arc<AtomicBool>,
}

/// Where the records of running gits are kept.
pub(super) fn records_of(call: &Call<'_>) -> PathBuf {
    call.ctx.cachedir().join("git")
}

/// Words of a list, or of a text as a shell reads it.
pub(crate) fn words_of(value: &Value) -> Vec<String> {
    match value {
        Value::Nil => Vec::new(),
        Value::List(items) => items.iter().map(python::str).collect(),
        other => {
            let text = python::str(other);
            // Quotes without an end are no quotes.
            let plain = || text.split_whitespace().map(str::to_owned).collect();
            shlex::split(&text).unwrap_or_else(|_| plain())
        }
    }
}

/// References by name.
pub(crate) fn parse_refs(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(hash, name)| (name.to_owned(), hash.to_owned()))
        .collect()
}

/// Parameters that name something.
const NAMES: [&str; 16] = [
    "base",
    "branch",
    "filter",
    "item1",
    "item2",
    "key",
    "name",
    "ref",
    "ref1",
    "ref2",
    "refs",
    "refspecs",
    "remote",
    "rev",
    "value_regex",
    "worktree_path",
];

/// Checks that no name is an option: `--upload-pack` runs a program, `--output`
/// writes a file. Options have a parameter of their own.
fn names_are_no_options(call: &Call<'_>) -> Result<(), CallError> {
    let given = NAMES
        .iter()
        .filter_map(|name| Some((name, call.get(name)?)));
    for (name, value) in given {
        let is_option = |word: &String| word.starts_with('-') && word != "-";
        let options = match value {
            Value::Str(_) | Value::List(_) => words_of(value),
            _ => Vec::new(),
        };
        if let Some(option) = options.iter().find(|word| is_option(word)) {
            return Err(CallError::invocation(format!(
                "{option:?} is an option, where {name} is a name"
            )));
        }
    }
    Ok(())
}

impl Git {
    /// That of a call's arguments.
    pub(crate) fn of(call: &Call<'_>) -> Self {
        let text = |name: &str| call.text_given(name);
        Self {
            cwd: text("cwd"),
            user: text("user"),
            identity: call.get("identity").map(python::texts).unwrap_or_default(),
            options: call.get("git_opts").map(words_of).unwrap_or_default(),
            login: None,
            killed: Arc::default(),
        }
    }

    /// Whether a run of it, or of a copy of it, was killed, and had no time to
    /// clear up.
    pub(crate) fn was_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    pub(super) fn program<'c, 'a>(
        &self,
        call: &'c Call<'a>,
        words: &[String],
    ) -> Result<Program<'c, 'a>, CallError> {
        let mut line = vec!["git".to_owned()];
        let (words, login) = password::hidden(words, self.login.as_ref())?;
        line.extend(login.iter().flat_map(Login::options));
        line.extend(self.options.iter().cloned().chain(words));
        let cwd = self
            .cwd
            .as_ref()
            .map(|cwd| call.host().path(cwd).display().to_string());
        let mut program = Program::new(call, &line)
            .user(self.user.as_deref())
            .cwd(cwd.as_deref())
            .env("GIT_TERMINAL_PROMPT", "0")
            // Who only looks locks nothing.
            .env("GIT_OPTIONAL_LOCKS", "0");
        for (name, value) in login.iter().flat_map(Login::variables) {
            program = program.env(name, value);
        }
        if !self.identity.is_empty() {
            let keys: String = self
                .identity
                .iter()
                .map(|key| format!(" -i {}", shlex::quote(key)))
                .collect();
            program = program.env(
                "GIT_SSH_COMMAND",
                format!(
                    "ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o IdentitiesOnly=yes{keys}"
                ),
            );
        }
        Ok(program)
    }

    /// Runs git; a failure is a result like any other.
    pub(crate) fn may_fail(&self, call: &Call<'_>, words: &[String]) -> Result<Ran, CallError> {
        names_are_no_options(call)?;
        self.keys_are_there(call)?;
        self.tracked(call, words, |program| program.may_fail().run())
    }

    /// Runs it, with a record of that on disk if it changes anything.
    fn tracked(
        &self,
        call: &Call<'_>,
        words: &[String],
        run: impl FnOnce(Program<'_, '_>) -> Result<Ran, CallError>,
    ) -> Result<Ran, CallError> {
        let cwd = self.cwd.as_ref().map(|cwd| call.host().path(cwd));
        let tracked = cwd.filter(|_| !call.is_test()).and_then(|cwd| {
            TrackedRun::begin(&records_of(call), self.user.as_deref(), &cwd, words)
        });
        let ran = self.program(call, words).and_then(run);
        let is_killed = match &ran {
            // The number of a signal.
            Ok(ran) => ran.code < 0,
            Err(error) => matches!(error, CallError::Ended(_)),
        };
        self.killed.fetch_or(is_killed, Ordering::Relaxed);
        if let Some(tracked) = tracked {
            tracked.end(is_killed);
        }
        ran
    }

    /// Without its keys git would ask for a password, or go without.
    fn keys_are_there(&self, call: &Call<'_>) -> Result<(), CallError> {
        let missing: Vec<&str> = self
            .identity
            .iter()
            .filter(|key| key.starts_with('/') && !call.host().path(key).exists())
            .map(String::as_str)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(CallError::command(format!(
            "Unable to authenticate using identity file:\n\nThe following identity file(s) were \
             not found: {}",
            missing.join(", ")
        )))
    }

    /// Runs git.
    ///
    /// # Errors
    /// What git says when it fails.
    pub(crate) fn ran(&self, call: &Call<'_>, words: &[String]) -> Result<Ran, CallError> {
        names_are_no_options(call)?;
        self.keys_are_there(call)?;
        let ran = self.tracked(call, words, |program| program.run())?;
        if ran.ok() {
            return Ok(ran);
        }
        Err(self.failed(words, &ran))
    }

    /// That a run has failed, in Salt's words.
    pub(crate) fn failed(&self, words: &[String], ran: &Ran) -> CallError {
        let mut line = vec!["git".to_owned()];
        line.extend(self.options.iter().chain(words).cloned());
        let line = redacted(&line.join(" "));
        let why = redacted(&ran.stderr);
        CallError::command(if why.is_empty() {
            format!("Command '{line}' failed")
        } else {
            format!("Command '{line}' failed: {why}")
        })
    }

    /// Runs git; what it writes.
    pub(crate) fn run(&self, call: &Call<'_>, words: &[String]) -> Result<String, CallError> {
        Ok(self.ran(call, words)?.stdout)
    }

    /// Runs git with words of literals.
    pub(crate) fn go(&self, call: &Call<'_>, words: &[&str]) -> Result<String, CallError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        self.run(call, &words)
    }

    /// What git writes, nothing if it fails.
    pub(crate) fn ask(&self, call: &Call<'_>, words: &[&str]) -> Result<Option<String>, CallError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let ran = self.may_fail(call, &words)?;
        Ok(ran.ok().then_some(ran.stdout))
    }

    /// What git writes when it reads `input`, nothing if it fails.
    pub(crate) fn fed(
        &self,
        call: &Call<'_>,
        words: &[&str],
        input: &str,
    ) -> Result<Option<String>, CallError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let program = self.program(call, &words)?;
        let ran = program.stdin(input).may_fail().run()?;
        Ok(ran.ok().then_some(ran.stdout))
    }

    /// The hash of a commit.
    pub(crate) fn commit_of(
        &self,
        call: &Call<'_>,
        rev: &str,
    ) -> Result<Option<String>, CallError> {
        self.ask(
            call,
            &[
                "rev-parse",
                "--verify",
                "--quiet",
                &format!("{rev}^{{commit}}"),
            ],
        )
    }

    /// Whether the directory is a further work tree.
    pub(crate) fn is_worktree(&self, call: &Call<'_>) -> bool {
        let Some(cwd) = &self.cwd else {
            return false;
        };
        let file = call.host().path(cwd).join(".git");
        paths::read_to_string(file)
            .is_ok_and(|text| text.starts_with("gitdir:") && text.contains("/worktrees/"))
    }

    /// The names below a prefix of references.
    pub(crate) fn refs(&self, call: &Call<'_>, prefix: &str) -> Result<Vec<String>, CallError> {
        let format = "--format=%(refname)";
        let out = self.go(call, &["for-each-ref", format, prefix])?;
        Ok(out
            .lines()
            .filter_map(|line| line.strip_prefix(prefix))
            .map(str::to_owned)
            .collect())
    }

    /// All remotes: name, place to fetch from, place to push to.
    pub(crate) fn remotes(
        &self,
        call: &Call<'_>,
    ) -> Result<Vec<(String, String, String)>, CallError> {
        let out = self.go(call, &["remote", "--verbose"])?;
        let mut all: Vec<(String, String, String)> = Vec::new();
        for line in out.lines() {
            let Some((name, rest)) = line.split_once('\t') else {
                continue;
            };
            let (url, action) = rest.rsplit_once(' ').unwrap_or((rest, "(fetch)"));
            if !all.iter().any(|(known, ..)| known == name) {
                all.push((name.to_owned(), String::new(), String::new()));
            }
            if let Some(entry) = all.iter_mut().find(|(known, ..)| known == name) {
                let field = if action == "(push)" {
                    &mut entry.2
                } else {
                    &mut entry.1
                };
                url.clone_into(field);
            }
        }
        Ok(all)
    }

    /// Sets the place of a remote, which is made if it is not there.
    pub(crate) fn set_remote(
        &self,
        call: &Call<'_>,
        name: &str,
        url: &str,
    ) -> Result<(), CallError> {
        let known = self.remotes(call)?.iter().any(|(known, ..)| known == name);
        let verb: &[&str] = if known {
            &["remote", "set-url"]
        } else {
            &["remote", "add"]
        };
        let mut words = verb.to_vec();
        words.extend([name, url]);
        self.go(call, &words).map(drop)
    }

    /// Fetches; the references that changed, as Salt tells them.
    pub(crate) fn fetch(
        &self,
        call: &Call<'_>,
        remote: Option<&str>,
        force: bool,
        refspecs: &[String],
        opts: &[String],
    ) -> Result<Map, CallError> {
        let mut words = vec!["fetch".to_owned()];
        if force {
            words.push("--force".to_owned());
        }
        words.extend(opts.iter().cloned());
        words.extend(remote.map(str::to_owned));
        words.extend(refspecs.iter().cloned());
        let ran = self.ran(call, &words)?;
        let mut changes = Map::new();
        for line in ran.stderr.lines() {
            // " * [new branch]  main -> origin/main", "   aa..bb  main -> origin/main"
            let Some((left, right)) = line.split_once(" -> ") else {
                continue;
            };
            let name = right.split_whitespace().next().unwrap_or_default();
            let left = left.trim();
            // Forced updates are not told, as in Salt.
            if left.starts_with('+') {
                continue;
            }
            if left.starts_with("* [new") {
                let kind = left
                    .trim_start_matches("* [")
                    .split(']')
                    .next()
                    .unwrap_or_default();
                add(
                    &mut changes,
                    &kind.replace("branch", "branches").replace("tag", "tags"),
                    name.into(),
                );
            } else if let Some((old, new)) = left
                .split_whitespace()
                .next()
                .and_then(|range| range.split_once("...").or_else(|| range.split_once("..")))
            {
                let change = Map::from([("old", old), ("new", new)]);
                let map = changes
                    .get_or_insert_with(Value::from("updated branches"), || Value::Map(Map::new()));
                if let Value::Map(map) = map {
                    map.insert(name, change);
                }
            }
        }
        Ok(changes)
    }
}

fn add(changes: &mut Map, key: &str, value: Value) {
    let list = changes.get_or_insert_with(Value::from(key), || Value::List(Vec::new()));
    if let Value::List(list) = list {
        list.push(value);
    }
}

/// What git said, without the command that failed.
pub(crate) fn reason(error: &CallError) -> String {
    let text = error.to_string();
    match text.split_once("' failed: ") {
        Some((command, rest)) if command.starts_with("Command '") => rest.to_owned(),
        _ => text,
    }
}
