//! `git.detached`: a tree at a revision, on no branch.

use std::ops::ControlFlow;
use std::path::PathBuf;

use halite_call::{Call, CallError, CallResult, StateReturn};
use halite_git::Pending;
use halite_proto::{Map, Value};

use super::clone_plan::{ClonePlan, would_be_cloned};
use super::latest::sentence;
use super::{empty_directory, has_files, is_repository, or_failed, target};
use crate::git::Git;
use crate::git::command::place;
use crate::git::half_clone::{HalfClone, cloning};
use crate::git::half_update::{HalfUpdate, updating};
use crate::git::run::reason;

pub(super) fn detached(call: &Call<'_>) -> CallResult {
    let target = match target(call) {
        Ok(target) => target,
        Err(comment) => return Ok(StateReturn::of(call).failed(comment).into()),
    };
    or_failed(call, Detach::new(call, target).and_then(Detach::run))
}

/// A step that may be the last one, with its answer.
type Step<T> = Result<ControlFlow<StateReturn, T>, CallError>;

/// A tree that is to be at a revision.
struct Detach<'c, 'a> {
    call: &'c Call<'a>,
    git: Git,
    name: String,
    url: String,
    rev: String,
    remote: String,
    target: String,
    /// The target on this machine.
    path: PathBuf,
    state: StateReturn,
    comments: Vec<String>,
}

/// The repository that is checked out.
#[derive(Default)]
struct Repository {
    /// Whether this run has cloned it.
    is_new: bool,
    /// Whether this run has completed what an earlier one had begun.
    is_completed: bool,
    /// The record of a clone, which ends with the files.
    clone: Option<Pending>,
    /// The commit that is checked out.
    old: Option<String>,
}

/// The commit of a revision, and how it is told.
struct Found {
    commit: String,
    shown: String,
}

impl<'c, 'a> Detach<'c, 'a> {
    fn new(call: &'c Call<'a>, target: String) -> Result<Self, CallError> {
        let place = place(call, "name")?;
        let mut git = Git::of(call);
        git.login = place.login;
        Ok(Self {
            call,
            git,
            url: place.url,
            name: call.text("name"),
            rev: call.text("rev"),
            remote: call.text("remote"),
            path: call.host().path(&target),
            target,
            state: StateReturn::of(call),
            comments: Vec::new(),
        })
    }

    fn run(mut self) -> Result<StateReturn, CallError> {
        let mut repository = match self.repository()? {
            ControlFlow::Break(answer) => return Ok(answer),
            ControlFlow::Continue(repository) => repository,
        };
        let Some(found) = self.find()? else {
            if let Some(clone) = repository.clone {
                clone.end(false);
            }
            let comment = format!("Revision '{}' does not exist", self.rev);
            return Ok(self.state.failed(comment));
        };
        let (call, git) = (self.call, &self.git);
        let branch = git.ask(call, &["symbolic-ref", "--quiet", "HEAD"])?;
        let is_there = repository.old.as_ref() == Some(&found.commit);
        if !repository.is_new && branch.is_none() && is_there {
            let correct = "Already checked out at correct revision";
            self.comments.push(correct.to_owned());
            return Ok(self.state.ok(sentence(&self.comments)));
        }
        self.check_out(&mut repository, &found.commit)?;
        self.finish(repository.old, found)
    }

    /// The repository with what the remote side has, made if it is not there.
    fn repository(&mut self) -> Step<Repository> {
        let mut repository = Repository::default();
        if let Some(half) = HalfClone::at(self.call, &self.git, &self.path, false)? {
            if self.call.is_test() {
                let comment = would_be_cloned(&self.name, &self.target);
                return Ok(self.pending(comment));
            }
            repository.clone = half.settle(self.call, &self.git)?;
            if repository.clone.is_some() {
                repository.is_completed = true;
                self.comments
                    .push(format!("Clone of {} was completed", self.name));
            }
        }
        repository.is_new = !is_repository(self.call, &self.target);
        if repository.is_new {
            return self.clone_it(repository);
        }
        self.git.cwd = Some(self.target.clone());
        self.settle_update()?;
        if !repository.is_completed {
            repository.old = self.git.commit_of(self.call, "HEAD")?;
        }
        self.refresh(repository)
    }

    /// Clones the repository, without its files.
    fn clone_it(&mut self, mut repository: Repository) -> Step<Repository> {
        let call = self.call;
        let path = self.path.display().to_string();
        match ClonePlan::decide(call, &self.name, &self.target, has_files(&self.path)) {
            ClonePlan::Refuse(comment) => {
                return Ok(ControlFlow::Break(self.state.clone().failed(comment)));
            }
            ClonePlan::Predict { comment, .. } => return Ok(self.pending(comment)),
            ClonePlan::Clone { empties: true } => {
                empty_directory(&path)?;
                self.state.changes.insert("forced clone", true);
            }
            ClonePlan::Clone { empties: false } => {}
        }
        self.git.cwd = None;
        let clone = cloning(call, &self.path);
        let origin = ["--origin", &self.remote, "--", &self.url, &path];
        let words = [&["clone", "--no-checkout"], &origin[..]].concat();
        if let Err(error) = self.git.go(call, &words) {
            clone.end(self.git.was_killed());
            let comment = format!("Clone failed: {}", reason(&error));
            return Ok(ControlFlow::Break(self.state.clone().failed(comment)));
        }
        repository.clone = Some(clone);
        self.comments
            .push(format!("{} cloned to {}", self.name, self.target));
        self.git.cwd = Some(self.target.clone());
        Ok(ControlFlow::Continue(repository))
    }

    /// Sets back the files that a killed update has left.
    fn settle_update(&self) -> Result<(), CallError> {
        let half = HalfUpdate::at(self.call, &self.git, &self.path)?;
        if let Some(half) = half.filter(|_| !self.call.is_test()) {
            half.settle(self.call, &self.git)?;
        }
        Ok(())
    }

    /// Brings what the remote side has to a repository that is there.
    fn refresh(&mut self, repository: Repository) -> Step<Repository> {
        let call = self.call;
        let old = repository.old.as_ref();
        let branch = self
            .git
            .ask(call, &["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        // What a name means may have moved; a commit stays what it is.
        if is_commit(&self.rev) && old == Some(&self.rev) && branch.is_none() {
            let comment = "Already checked out at correct revision";
            return Ok(ControlFlow::Break(self.state.clone().ok(comment)));
        }
        let fetches = call.flag("fetch_remote");
        if call.is_test() && fetches {
            let comment = format!("Repository remote {} would be fetched", self.remote);
            return Ok(self.pending(comment));
        }
        if call.is_test() {
            let change = head_change(old, &self.rev);
            self.state.changes.insert("HEAD", change);
            let (target, rev) = (&self.target, &self.rev);
            let comment = format!("Repository {target} would be checked out at {rev}");
            return Ok(self.pending(comment));
        }
        self.git.set_remote(call, &self.remote, &self.url)?;
        if fetches {
            let tags = ["--tags".to_owned()];
            let changes = self
                .git
                .fetch(call, Some(&self.remote), false, &[], &tags)?;
            if !changes.is_empty() {
                self.comments.push(format!(
                    "{} was fetched, resulting in updated refs",
                    self.name
                ));
            }
        }
        Ok(ControlFlow::Continue(repository))
    }

    /// The commit of the revision: a branch of the remote side, or any name.
    fn find(&self) -> Result<Option<Found>, CallError> {
        let (call, git, rev) = (self.call, &self.git, &self.rev);
        if let Some(commit) = git.commit_of(call, &format!("{}/{rev}", self.remote))? {
            let shown = commit.clone();
            return Ok(Some(Found { commit, shown }));
        }
        // A tag is told of by its own id.
        let name = format!("refs/tags/{rev}");
        let tag = git.ask(call, &["rev-parse", "--quiet", "--verify", &name])?;
        let commit = git.commit_of(call, rev)?;
        Ok(commit.map(|commit| Found {
            shown: tag.unwrap_or_else(|| commit.clone()),
            commit,
        }))
    }

    /// Writes the files of a commit.
    fn check_out(&self, repository: &mut Repository, commit: &str) -> Result<(), CallError> {
        let (call, git) = (self.call, &self.git);
        let mut words = vec!["checkout", "--detach"];
        if call.flag("force_checkout") || repository.is_new {
            words.push("--force");
        }
        words.push(commit);
        // A new one has no files that could be half written: no index.
        let is_clean = repository.is_completed
            || !repository.is_new && git.ask(call, &["diff", "--quiet", "HEAD"])?.is_some();
        let mut update = updating(call, &self.path, is_clean);
        update.towards(commit);
        let mut clone = repository.clone.take();
        if let Some(clone) = &mut clone {
            clone.towards(commit);
        }
        let done = git.go(call, &words);
        update.end(git.was_killed());
        if let Some(clone) = clone {
            clone.end(git.was_killed());
        }
        done.map(drop)
    }

    /// What follows when the files are there, and the answer.
    fn finish(mut self, old: Option<String>, found: Found) -> Result<StateReturn, CallError> {
        let (call, git) = (self.call, &self.git);
        if call.flag("hard_reset") {
            git.go(call, &["reset", "--hard", &found.commit])?;
            self.comments
                .push("Repository was reset to HEAD".to_owned());
        }
        if call.flag("submodules") {
            git.go(call, &["submodule", "update", "--init", "--recursive"])?;
        }
        if old.as_ref() != Some(&found.commit) {
            let change = head_change(old.as_ref(), &found.commit);
            self.state.changes.insert("HEAD", change);
        }
        let (shown, target) = (found.shown, self.target);
        self.comments
            .push(format!("Commit ID {shown} was checked out at {target}"));
        Ok(self.state.ok(sentence(&self.comments)))
    }

    /// The last step in test mode.
    fn pending<T>(&self, comment: String) -> ControlFlow<StateReturn, T> {
        ControlFlow::Break(self.state.clone().pending(comment))
    }
}

fn head_change(old: Option<&String>, new: &str) -> Map {
    Map::from([("old", Value::from(old.cloned())), ("new", new.into())])
}

/// Whether a revision is the whole id of a commit.
fn is_commit(rev: &str) -> bool {
    const DIGITS: usize = 40;
    rev.len() == DIGITS && rev.bytes().all(|byte| byte.is_ascii_hexdigit())
}
