//! `git.latest`.

mod advance;
mod clone;
mod fetch;
mod predict;
mod refusal;
mod remote;
mod request;
mod update;
mod work_tree;

use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn};
use halite_proto::{Map, Value};

use self::remote::Remote;
use super::is_repository;
use crate::git::Git;
use crate::git::half_clone::HalfClone;
use crate::git::run::reason;

/// Comments in one text: sentences, if there are several.
pub(super) fn sentence(comments: &[String]) -> String {
    let mut text = comments.join(". ");
    if comments.len() > 1 {
        text.push('.');
    }
    text
}

/// A hash as messages show it.
fn short(hash: &str) -> &str {
    hash.get(..7).unwrap_or(hash)
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
    match Job::prepare(call).and_then(|job| job.run(&mut state, &mut comments)) {
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
