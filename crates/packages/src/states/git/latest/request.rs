//! Checking what is asked for, and looking at the remote side.

use halite_call::{Call, python};
use halite_proto::Map;

use super::remote::Remote;
use super::{Job, Stop};
use crate::git::Git;
use crate::git::command::place;
use crate::git::run::{parse_refs, reason};

impl<'c, 'a> Job<'c, 'a> {
    /// The request of `call` with what the remote side has for it.
    ///
    /// # Errors
    /// When an argument is not valid, or the remote side has no such revision.
    pub(super) fn prepare(call: &'c Call<'a>) -> Result<Self, Stop> {
        let rev = revision(call)?;
        let target = target(call)?;
        let mut git = git_with_access(call)?;
        let name = call.text("name");
        let mirror = call.flag("mirror");
        let bare = mirror || call.flag("bare");
        if rev != "HEAD" && bare {
            return Err(said(
                "'rev' is not compatible with the 'mirror' and 'bare' arguments",
            ));
        }
        let place = place(call, "name").map_err(|error| Stop::Said(reason(&error)))?;
        git.login = place.login;
        let mut job = Self {
            call,
            git,
            name,
            url: place.url,
            target,
            rev,
            remote_name: call.text("remote"),
            branch: call.text_opt("branch"),
            bare,
            mirror,
            remote: Remote::default(),
        };
        job.remote = job.ask_remote()?;
        Ok(job)
    }

    /// What the remote side has for the wanted revision.
    fn ask_remote(&self) -> Result<Remote, Stop> {
        let refs = self
            .git
            .go(self.call, &["ls-remote", &self.url])
            .map_err(|error| {
                Stop::Said(format!("Failed to check remote refs: {}", reason(&error)))
            })?;
        let remote = if self.bare {
            Remote::default()
        } else {
            Remote::find(&parse_refs(&refs), &self.rev, &self.remote_name)
        };
        if !self.call.arg("depth").is_nil() && !remote.is_branch && !remote.is_tag {
            return Err(said(
                "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository",
            ));
        }
        if remote.hash.is_none() && !self.bare && self.rev != "HEAD" {
            return Err(Stop::Said(format!(
                "No revision matching '{}' exists in the remote repository",
                self.rev
            )));
        }
        Ok(remote)
    }
}

fn said(text: &str) -> Stop {
    Stop::Said(text.to_owned())
}

/// The revision that is asked for, if all arguments are known.
fn revision(call: &Call<'_>) -> Result<String, Stop> {
    let rev = call.text("rev");
    if !call.arg("rev").is_true() {
        return Err(Stop::Said(format!(
            "'{rev}' is not a valid value for the 'rev' argument"
        )));
    }
    let unknown: Vec<String> = call
        .own_kwargs()
        .iter()
        .map(|(key, value)| format!("{}={}", python::str(key), python::str(value)))
        .collect();
    if !unknown.is_empty() {
        return Err(Stop::Said(format!(
            "The following keyword arguments are not valid: {}",
            unknown.join(", ")
        )));
    }
    Ok(rev)
}

/// The directory of the repository, which is no file.
fn target(call: &Call<'_>) -> Result<String, Stop> {
    let target = call.text("target");
    if target.is_empty() {
        return Err(said("'target' argument is required"));
    }
    if !target.starts_with('/') {
        return Err(Stop::Said(format!(
            "target '{target}' is not an absolute path"
        )));
    }
    if call.host().path(&target).is_file() {
        return Err(Stop::Said(format!(
            "Target '{target}' exists and is a regular file, cannot proceed"
        )));
    }
    Ok(target)
}

/// Git as the user that is asked for, with keys that are on this machine.
fn git_with_access(call: &Call<'_>) -> Result<Git, Stop> {
    let mut git = Git::of(call);
    git.cwd = None;
    if let Some(user) = &git.user {
        let known = call.salt("user.info", &[user.as_str().into()], Map::new())?;
        if !known.is_true() {
            return Err(Stop::Said(format!(
                "Failed to check remote refs: User '{user}' is not available"
            )));
        }
    }
    for identity in &mut git.identity {
        if identity.starts_with("salt://") {
            let cached = call.salt("cp.cache_file", &[identity.as_str().into()], Map::new())?;
            if !cached.is_true() {
                return Err(Stop::Said(format!("identity '{identity}' does not exist.")));
            }
            *identity = python::str(&cached);
        }
        if !identity.starts_with('/') && !identity.starts_with('~') {
            return Err(Stop::Said(format!(
                "identity '{identity}' is not an absolute path"
            )));
        }
    }
    Ok(git)
}
