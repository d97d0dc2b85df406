//! A killed git leaves its lock files behind, and no git changes that repository
//! again before they are removed. A record is kept while git runs: if a run was
//! killed together with the program that started it, or by a power cut, the next
//! run removes its lock files.
//!
//! Invariant: a lock file is removed only if it is from the time between the begin
//! of a recorded run that has not ended and the start of this process, no git is at
//! work there, and work tree and repository belong to the user whom git runs as; or
//! if the caller holds the lock of a remote, in the copy of that remote. Links are
//! not followed on the way to it.

mod locks;
mod processes;
mod repository;

use std::io;
use std::path::Path;
use std::time::SystemTime;

use nix::unistd::{User, geteuid};

use self::processes::process_began;
pub(crate) use self::processes::{gits_of_others, processes};
pub use self::processes::{running_gits, wait_until_ended};
use self::repository::Repository;
pub(crate) use self::repository::remove_all_locks;
use crate::record::Record;

/// A run of git that changes a repository, with a record of it.
#[derive(Debug)]
pub struct TrackedRun {
    record: Record,
    repository: Repository,
    begun: SystemTime,
}

impl TrackedRun {
    /// Records, in the directory `records`, that git is about to run with these
    /// words in `cwd` as `user`, and first removes what a killed run has left
    /// there. `None` for a run that only reads, where there is no repository
    /// yet, where another tracked run is at work, and where no record can be
    /// kept: git runs without one then.
    pub fn begin(records: &Path, user: Option<&str>, cwd: &Path, words: &[String]) -> Option<Self> {
        if is_reading(words) {
            return None;
        }
        let repository = Repository::at(cwd, user_id(user)?)?;
        Self::recorded(records, repository, process_began()?)
            .inspect_err(|error| tracing::debug!(%error, "no record is kept of a run of git"))
            .ok()
            .flatten()
    }

    fn recorded(
        records: &Path,
        mut repository: Repository,
        until: SystemTime,
    ) -> io::Result<Option<Self>> {
        let Some(mut record) = Record::hold(records, "run", &repository.git_dir)? else {
            return Ok(None);
        };
        if let Some(begun) = record.begun_before() {
            if !repository.is_left_alone() {
                // It stays for the next run.
                return Ok(None);
            }
            repository.remove_locks(begun, until);
        }
        record.begin("")?;
        Ok(Some(Self {
            record,
            repository,
            begun: SystemTime::now(),
        }))
    }

    /// Git has ended. If it was killed, its lock files are removed at once.
    pub fn end(mut self, was_killed: bool) {
        if was_killed {
            if self.repository.is_at_work() {
                // It stays for the next run.
                return;
            }
            self.repository.remove_locks(self.begun, SystemTime::now());
        }
        self.record.end();
    }
}

/// Waits for a git that has outlived an earlier run in the work tree at
/// `target`; whether there is none.
pub fn is_left_alone(user: Option<&str>, target: &Path) -> bool {
    user_id(user)
        .and_then(|user| Repository::at(target, user))
        .is_some_and(|repository| repository.is_left_alone())
}

/// The id of the user whom git runs as; without a name the user of this process.
pub fn user_id(user: Option<&str>) -> Option<u32> {
    let user = match user {
        Some(name) => User::from_name(name).ok()??.uid,
        None => geteuid(),
    };
    Some(user.as_raw())
}

/// Verbs that only read. Beside `GIT_OPTIONAL_LOCKS=0` they lock nothing.
const READING: [&str; 17] = [
    "archive",
    "cat-file",
    "describe",
    "diff",
    "for-each-ref",
    "hash-object",
    "log",
    "ls-files",
    "ls-remote",
    "merge-base",
    "merge-tree",
    "rev-list",
    "rev-parse",
    "show",
    "show-ref",
    "status",
    "version",
];

/// Verbs that only read if this comes next.
const READING_WITH: [(&str, &str); 5] = [
    ("config", "--get"),
    ("config", "--get-all"),
    ("config", "--get-regexp"),
    ("remote", "--verbose"),
    ("symbolic-ref", "--quiet"),
];

fn is_reading(words: &[String]) -> bool {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    READING.contains(&word(0)) || READING_WITH.contains(&(word(0), word(1)))
}

#[cfg(test)]
mod tests;
