//! Which places of repositories a run of git has to do with, and how their
//! passwords stay off its command line.

use std::path::PathBuf;

use halite_call::{Call, CallError};

use super::password::Hidden;
use super::{Git, configured, password};

impl Git {
    /// What git is given in place of passwords, if the run has to do with any.
    pub(super) fn hidden(&self, call: &Call<'_>, words: &[String]) -> Option<Hidden> {
        if self.is_elsewhere() && !password::written(words).is_empty() {
            return None;
        }
        let is_meant = password::goes_elsewhere(words) && !self.is_elsewhere();
        let configured = self.repository(call, words).filter(|_| is_meant);
        let configured = configured.map(|dir| configured::places(&dir));
        password::hidden(words, &configured.unwrap_or_default())
    }

    /// Whether options say where the repository is.
    fn is_elsewhere(&self) -> bool {
        let says = |option: &String| {
            ["-C", "--bare"].contains(&option.as_str()) || option.starts_with("--git-dir")
        };
        self.options.iter().any(says)
    }

    /// The directory of the repository that a run works in, or makes.
    fn repository(&self, call: &Call<'_>, words: &[String]) -> Option<PathBuf> {
        let cwd = self.cwd.as_ref().map(|cwd| call.host().path(cwd));
        if words.first().is_none_or(|verb| verb != "clone") {
            return cwd;
        }
        let target = words.last()?;
        Some(cwd.map_or_else(|| target.into(), |cwd| cwd.join(target)))
    }

    /// Writes places into the configuration as Salt does, with the passwords that
    /// git was not given.
    pub(super) fn keep_places(&self, call: &Call<'_>, words: &[String]) -> Result<(), CallError> {
        let places = password::written(words);
        let Some(dir) = self.repository(call, words) else {
            return Ok(());
        };
        if places.is_empty() || self.is_elsewhere() {
            return Ok(());
        }
        // `remote add NAME PLACE`, `remote set-url NAME PLACE`.
        let remote = match words.first().map(String::as_str) {
            Some("remote") => words.iter().rev().nth(1).map(String::as_str),
            _ => None,
        };
        configured::write(&dir, remote, &places).map_err(|error| {
            CallError::command(format!(
                "the place of the remote was not written with its password: {error}"
            ))
        })
    }
}
