//! `git.cloned`: a repository that is cloned, and not updated.

use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn};
use halite_proto::{Map, Value};

use super::{has_files, is_repository, or_failed, target};
use crate::git::Git;
use crate::git::command::place;
use crate::git::half_clone::{HalfClone, cloning};
use crate::git::run::reason;

pub(super) fn cloned(call: &Call<'_>) -> CallResult {
    let target = match target(call) {
        Ok(target) => target,
        Err(comment) => return Ok(StateReturn::of(call).failed(comment).into()),
    };
    or_failed(call, clone_once(call, &target))
}

/// What is to be cloned, and where.
struct Cloned<'c, 'a> {
    call: &'c Call<'a>,
    git: Git,
    name: String,
    branch: Option<String>,
    target: &'c str,
}

fn clone_once(call: &Call<'_>, target: &str) -> Result<StateReturn, CallError> {
    let mut state = StateReturn::of(call);
    let mut job = Cloned {
        call,
        git: Git::of(call),
        name: call.text("name"),
        branch: call.text_opt("branch"),
        target,
    };
    let real = call.host().path(target);
    let mut is_completed = false;
    if let Some(half) = HalfClone::at(call, &job.git, &real, false)? {
        if call.is_test() {
            return Ok(state.pending(job.would_be_cloned()));
        }
        if let Some(pending) = half.settle(call, &job.git)? {
            pending.end(false);
            is_completed = true;
            state.changes.insert("new", job.as_change());
        }
    }
    if is_repository(call, target) {
        job.git.cwd = Some(target.to_owned());
        job.check_branch(state, is_completed)
    } else {
        job.git.cwd = None;
        job.make(state, &real)
    }
}

impl Cloned<'_, '_> {
    fn at_branch(&self) -> String {
        let branch = self.branch.as_ref();
        branch
            .map(|branch| format!(" with branch '{branch}'"))
            .unwrap_or_default()
    }

    fn as_change(&self) -> String {
        format!("{} => {}", self.name, self.target)
    }

    fn would_be_cloned(&self) -> String {
        let (name, target) = (&self.name, self.target);
        format!("{name} would be cloned to {target}{}", self.at_branch())
    }

    fn was_cloned(&self) -> String {
        let (name, target) = (&self.name, self.target);
        format!("{name} cloned to {target}{}", self.at_branch())
    }

    /// Has a repository that is there at the wanted branch. One that `is_new`
    /// was completed just now.
    fn check_branch(&self, mut state: StateReturn, is_new: bool) -> Result<StateReturn, CallError> {
        let (call, git, target) = (self.call, &self.git, self.target);
        let done = |text: String| match is_new {
            true => self.was_cloned(),
            false => text,
        };
        let Some(branch) = &self.branch else {
            let text = format!("Repository already exists at {target}");
            return Ok(state.ok(done(text)));
        };
        let current = git.ask(call, &["rev-parse", "--abbrev-ref", "HEAD"])?;
        if current.as_ref() == Some(branch) {
            let text = format!(
                "Repository already exists at {target} and is checked out to branch '{branch}'"
            );
            return Ok(state.ok(done(text)));
        }
        let change = Map::from([
            ("old", Value::from(current)),
            ("new", branch.as_str().into()),
        ]);
        state.changes.insert("branch", change);
        if call.is_test() {
            return Ok(state.pending(format!("Branch would be changed to '{branch}'")));
        }
        git.go(call, &["checkout", branch])?;
        Ok(state.ok(format!("Branch changed to '{branch}'")))
    }

    /// Clones to `real`, where there is no repository.
    fn make(&self, mut state: StateReturn, real: &Path) -> Result<StateReturn, CallError> {
        let (call, target) = (self.call, self.target);
        if real.exists() && !real.is_dir() {
            return Ok(state.failed(format!(
                "Specified cwd '{target}' either not absolute or does not exist"
            )));
        }
        if has_files(real) {
            return Ok(state.failed(format!(
                "Clone failed: fatal: destination path '{target}' already exists and is not an empty directory."
            )));
        }
        state.changes.insert("new", self.as_change());
        if call.is_test() {
            return Ok(state.pending(self.would_be_cloned()));
        }
        let mut words = vec!["clone"];
        if let Some(branch) = &self.branch {
            words.extend(["--branch", branch]);
        }
        let place = place(call, "name")?;
        let mut git = self.git.clone();
        git.login = place.login;
        let shown = real.display().to_string();
        words.extend(["--", &place.url, &shown]);
        let pending = cloning(call, real);
        let cloned = git.go(call, &words);
        pending.end(git.was_killed());
        if let Err(error) = cloned {
            state.changes = Map::new();
            return Ok(state.failed(format!("Clone failed: {}", reason(&error))));
        }
        Ok(state.ok(self.was_cloned()))
    }
}
