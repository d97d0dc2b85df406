//! `git.latest`.

mod clone;
mod fetch;
mod predict;
mod update;

use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn, paths, python};
use halite_proto::{Map, Value};

use super::{auth, is_repository};
use crate::git::Git;
use crate::git::half_clone::HalfClone;
use crate::git::run::{parse_refs, reason};

/// Comments in one text: sentences, if there are several.
pub(super) fn sentence(comments: &[String]) -> String {
    let mut text = comments.join(". ");
    if comments.len() > 1 {
        text.push('.');
    }
    text
}

/// Removes everything in a directory.
pub(super) fn empty_directory(path: &str) -> Result<(), CallError> {
    let failed = |error: std::io::Error| {
        CallError::command(format!("Unable to remove\n  {path}\n    {error}"))
    };
    for entry in std::fs::read_dir(path).map_err(failed)?.flatten() {
        let entry = entry.path();
        let removed = if entry.is_dir() && !entry.is_symlink() {
            paths::remove_dir_all(&entry)
        } else {
            paths::remove_file(&entry)
        };
        removed.map_err(failed)?;
    }
    Ok(())
}

/// What the wanted revision is on the remote side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Remote {
    hash: Option<String>,
    is_branch: bool,
    is_tag: bool,
    /// `origin/main`, for branches.
    upstream: Option<String>,
    /// How messages name it.
    place: String,
    tags: Vec<String>,
    has_head: bool,
    default_branch: Option<String>,
}

fn short(hash: &str) -> &str {
    hash.get(..7).unwrap_or(hash)
}

fn find(refs: &[(String, String)], rev: &str, remote: &str) -> Remote {
    let get = |name: &str| {
        refs.iter()
            .find(|(known, _)| known == name)
            .map(|(_, hash)| hash.clone())
    };
    let tags = refs
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("refs/tags/"))
        .filter(|name| !name.ends_with("^{}"))
        .map(str::to_owned)
        .collect();
    let mut found = Remote {
        tags,
        has_head: get("HEAD").is_some(),
        default_branch: get("HEAD").and_then(|head| {
            let mut heads = refs.iter().filter(|(_, hash)| *hash == head);
            heads.find_map(|(name, _)| name.strip_prefix("refs/heads/").map(str::to_owned))
        }),
        ..Remote::default()
    };
    if rev == "HEAD" {
        found.hash = get("HEAD");
        let hash = found.hash.clone().unwrap_or_default();
        found.place = format!("remote HEAD ({})", short(&hash));
    } else if let Some(hash) = get(&format!("refs/heads/{rev}")) {
        let upstream = format!("{remote}/{rev}");
        found.place = format!("{upstream} ({})", short(&hash));
        found.is_branch = true;
        found.upstream = Some(upstream);
        found.hash = Some(hash);
    } else if let Some(hash) =
        get(&format!("refs/tags/{rev}^{{}}")).or_else(|| get(&format!("refs/tags/{rev}")))
    {
        found.place = format!("{rev} ({})", short(&hash));
        found.is_tag = true;
        found.hash = Some(hash);
    } else if rev.len() <= 40 && rev.chars().all(|c| c.is_ascii_hexdigit()) {
        let hash = rev.to_lowercase();
        short(&hash).clone_into(&mut found.place);
        found.hash = Some(hash);
    }
    found
}

/// The request with what was found out about it.
struct Job<'c, 'a> {
    call: &'c Call<'a>,
    git: Git,
    name: String,
    url: String,
    target: String,
    rev: String,
    remote_name: String,
    branch: Option<String>,
    bare: bool,
    mirror: bool,
    remote: Remote,
}

/// Why nothing more is done, with the comments so far.
enum Stop {
    Said(String),
    Error(CallError),
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Command(_) => Self::Said(reason(&error)),
            other => Self::Error(other),
        }
    }
}

pub(super) fn latest(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::of(call);
    let mut comments = Vec::new();
    match prepare(call).and_then(|job| job.run(&mut state, &mut comments)) {
        Ok(done) => Ok(done.into()),
        Err(Stop::Said(mut text)) => {
            if !comments.is_empty() {
                text.push_str(&format!(
                    "\n\nChanges already made: {}",
                    sentence(&comments)
                ));
            }
            Ok(state.failed(text).into())
        }
        Err(Stop::Error(error)) => Err(error),
    }
}

fn prepare<'c, 'a>(call: &'c Call<'a>) -> Result<Job<'c, 'a>, Stop> {
    let said = |text: &str| Stop::Said(text.to_owned());
    let name = call.text("name");
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
    let target = call.text("target");
    if target.is_empty() {
        return Err(said("'target' argument is required"));
    }
    if !target.starts_with('/') {
        return Err(Stop::Said(format!(
            "target '{target}' is not an absolute path"
        )));
    }
    let real = call.host().path(&target);
    if real.is_file() {
        return Err(Stop::Said(format!(
            "Target '{target}' exists and is a regular file, cannot proceed"
        )));
    }
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
    let mirror = call.flag("mirror");
    let bare = mirror || call.flag("bare");
    if rev != "HEAD" && bare {
        return Err(said(
            "'rev' is not compatible with the 'mirror' and 'bare' arguments",
        ));
    }
    let url = auth(call, &name).map_err(|error| Stop::Said(reason(&error)))?;
    let out = git
        .go(call, &["ls-remote", &url])
        .map_err(|error| Stop::Said(format!("Failed to check remote refs: {}", reason(&error))))?;
    let remote_name = call.text("remote");
    let remote = if bare {
        Remote::default()
    } else {
        find(&parse_refs(&out), &rev, &remote_name)
    };
    if !call.arg("depth").is_nil() && !remote.is_branch && !remote.is_tag {
        return Err(said(
            "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository",
        ));
    }
    if remote.hash.is_none() && !bare && rev != "HEAD" {
        return Err(Stop::Said(format!(
            "No revision matching '{rev}' exists in the remote repository"
        )));
    }
    Ok(Job {
        call,
        git,
        name,
        url,
        target,
        rev,
        remote_name,
        branch: call.text_opt("branch"),
        bare,
        mirror,
        remote,
    })
}

impl Job<'_, '_> {
    fn path(&self) -> String {
        self.call.host().path(&self.target).display().to_string()
    }

    fn run(
        mut self,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<StateReturn, Stop> {
        let half = HalfClone::at(self.call, &self.git, Path::new(&self.path()), self.bare)?;
        if let Some(half) = half {
            if self.call.is_test() {
                return Ok(self.would_be_cloned(state));
            }
            if let Some(pending) = half.settle(self.call, &self.git)? {
                let new = format!("{} => {}", self.name, self.target);
                state.changes.insert("new", new);
                comments.push(format!("Clone of {} was completed", self.name));
                return self.finish_clone(pending, state, comments);
            }
        }
        let there = if self.bare {
            self.call.host().path(&self.target).join("refs").is_dir()
        } else {
            is_repository(self.call, &self.target)
        };
        if there {
            self.git.cwd = Some(self.target.clone());
            self.update(state, comments)
        } else {
            self.clone_it(state, comments)
        }
    }

    /// Whether two revisions are one; a hash may be short.
    fn equal(&self, local: Option<&str>) -> bool {
        match (local, self.remote.hash.as_deref()) {
            (Some(local), Some(remote)) => local.starts_with(remote),
            (None, None) => true,
            _ => false,
        }
    }

    fn up_to_date(&self, state: &StateReturn, comments: &[String], dirty: bool) -> StateReturn {
        let mut text = format!("Repository {} is up-to-date", self.target);
        if dirty {
            text.push_str(
                ", but with uncommitted changes. Set 'force_reset' to True to purge uncommitted changes.",
            );
        }
        if !comments.is_empty() {
            let would = if self.call.is_test() {
                "that would be "
            } else {
                ""
            };
            text.push_str(&format!("\n\nChanges {would}made: {}", sentence(comments)));
        }
        state.clone().ok(text)
    }

    fn set_revision(&self, state: &mut StateReturn, old: Option<&str>, new: &str) {
        let old = old.map(str::to_owned);
        let change = Map::from([("old", Value::from(old)), ("new", new.into())]);
        state.changes.insert("revision", change);
    }

    fn submodules(&self) -> Result<(), Stop> {
        if self.call.flag("submodules") {
            let words = ["submodule", "update", "--init", "--recursive"];
            self.git.go(self.call, &words).map_err(|error| {
                Stop::Said(format!("Failed to update submodules: {}", reason(&error)))
            })?;
        }
        Ok(())
    }
}
