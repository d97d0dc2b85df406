//! `git.detached`: a tree at a revision, on no branch.

use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn};
use halite_proto::{Map, Value};

use super::{auth, is_repository, latest, or_failed, target};
use crate::git::Git;
use crate::git::half_clone::{HalfClone, cloning};
use crate::git::half_update::{HalfUpdate, updating};
use crate::git::run::reason;

pub(super) fn detached(call: &Call<'_>) -> CallResult {
    let target = match target(call) {
        Ok(target) => target,
        Err(comment) => return Ok(StateReturn::of(call).failed(comment).into()),
    };
    or_failed(call, detach(call, &target))
}

fn detach(call: &Call<'_>, target: &str) -> Result<StateReturn, CallError> {
    let mut state = StateReturn::of(call);
    let (name, rev, remote) = (call.text("name"), call.text("rev"), call.text("remote"));
    let mut git = Git::of(call);
    let real = call.host().path(target).display().to_string();
    let mut comments = Vec::new();
    let url = auth(call, &name)?;
    // The files come after the clone.
    let mut pending = None;
    if let Some(half) = HalfClone::at(call, &git, Path::new(&real), false)? {
        if call.is_test() {
            return Ok(state.pending(format!("Repository {name} would be cloned to {target}")));
        }
        pending = half.settle(call, &git)?;
        if pending.is_some() {
            comments.push(format!("Clone of {name} was completed"));
        }
    }
    let is_completed = pending.is_some();
    let is_new = !is_repository(call, target);
    let mut old = None;
    if is_new {
        let non_empty = std::fs::read_dir(&real).is_ok_and(|mut entries| entries.next().is_some());
        if non_empty && !call.flag("force_clone") {
            return Ok(state.failed(format!(
                "Target '{target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove this directory's contents and proceed with cloning the remote repository"
            )));
        }
        if call.is_test() && non_empty {
            return Ok(state.pending(format!(
                "Target directory {target} exists. Since force_clone=True, the contents of {target} would be deleted, and {name} would be cloned into this directory."
            )));
        }
        if call.is_test() {
            return Ok(state.pending(format!("Repository {name} would be cloned to {target}")));
        }
        if non_empty {
            latest::empty_directory(&real)?;
            state.changes.insert("forced clone", true);
        }
        git.cwd = None;
        let clone = cloning(call, Path::new(&real));
        if let Err(error) = git.go(
            call,
            &[
                "clone",
                "--no-checkout",
                "--origin",
                &remote,
                "--",
                &url,
                &real,
            ],
        ) {
            clone.end(git.was_killed());
            return Ok(state.failed(format!("Clone failed: {}", reason(&error))));
        }
        pending = Some(clone);
        comments.push(format!("{name} cloned to {target}"));
        git.cwd = Some(target.to_owned());
    } else {
        git.cwd = Some(target.to_owned());
        let half = HalfUpdate::at(call, &git, Path::new(&real))?;
        if let Some(half) = half.filter(|_| !call.is_test()) {
            half.settle(call, &git)?;
        }
        if !is_completed {
            old = git.commit_of(call, "HEAD")?;
        }
        let branch = git.ask(call, &["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        // What a name means may have moved; a commit stays what it is.
        if is_commit(&rev) && old.as_ref() == Some(&rev) && branch.is_none() {
            return Ok(state.ok("Already checked out at correct revision"));
        }
        if call.is_test() && call.flag("fetch_remote") {
            return Ok(state.pending(format!("Repository remote {remote} would be fetched")));
        }
        if call.is_test() {
            let change = Map::from([("old", Value::from(old)), ("new", rev.as_str().into())]);
            state.changes.insert("HEAD", change);
            return Ok(state.pending(format!("Repository {target} would be checked out at {rev}")));
        }
        git.set_remote(call, &remote, &url)?;
        if call.flag("fetch_remote") {
            let tags = ["--tags".to_owned()];
            let changes = git.fetch(call, Some(&remote), false, &[], &tags)?;
            if !changes.is_empty() {
                comments.push(format!("{name} was fetched, resulting in updated refs"));
            }
        }
    }
    let of_branch = git.commit_of(call, &format!("{remote}/{rev}"))?;
    // A tag is told of by its own id.
    let tag = match &of_branch {
        Some(_) => None,
        None => {
            let name = format!("refs/tags/{rev}");
            git.ask(call, &["rev-parse", "--quiet", "--verify", &name])?
        }
    };
    let commit = match of_branch {
        Some(commit) => Some(commit),
        None => git.commit_of(call, &rev)?,
    };
    let Some(commit) = commit else {
        if let Some(pending) = pending {
            pending.end(false);
        }
        return Ok(state.failed(format!("Revision '{rev}' does not exist")));
    };
    let on_branch = git
        .ask(call, &["symbolic-ref", "--quiet", "HEAD"])?
        .is_some();
    if !is_new && !on_branch && old.as_ref() == Some(&commit) {
        comments.push("Already checked out at correct revision".to_owned());
        return Ok(state.ok(latest::sentence(&comments)));
    }
    let mut words = vec!["checkout", "--detach"];
    if call.flag("force_checkout") || is_new {
        words.push("--force");
    }
    words.push(&commit);
    // A new one has no files that could be half written: no index.
    let is_clean =
        is_completed || !is_new && git.ask(call, &["diff", "--quiet", "HEAD"])?.is_some();
    let mut update = updating(call, Path::new(&real), is_clean);
    update.towards(&commit);
    if let Some(pending) = &mut pending {
        pending.towards(&commit);
    }
    let done = git.go(call, &words);
    update.end(git.was_killed());
    if let Some(pending) = pending {
        pending.end(git.was_killed());
    }
    done?;
    if call.flag("hard_reset") {
        git.go(call, &["reset", "--hard", &commit])?;
        comments.push("Repository was reset to HEAD".to_owned());
    }
    if call.flag("submodules") {
        git.go(call, &["submodule", "update", "--init", "--recursive"])?;
    }
    if old.as_ref() != Some(&commit) {
        let change = Map::from([("old", Value::from(old)), ("new", commit.as_str().into())]);
        state.changes.insert("HEAD", change);
    }
    let told = tag.unwrap_or(commit);
    comments.push(format!("Commit ID {told} was checked out at {target}"));
    Ok(state.ok(latest::sentence(&comments)))
}

/// Whether a revision is the whole id of a commit.
fn is_commit(rev: &str) -> bool {
    const DIGITS: usize = 40;
    rev.len() == DIGITS && rev.bytes().all(|byte| byte.is_ascii_hexdigit())
}
