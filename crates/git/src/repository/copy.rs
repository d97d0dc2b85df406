//! The repository into which a remote is fetched: making it, whether it is
//! complete, and what stays in it.
//!
//! Invariant: whether it is damaged is decided by its content, never by reports of
//! git or the other side; and nothing that a snapshot has named within [`KEPT_FOR`]
//! is removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tracing::warn;

use super::Repository;
use crate::GitError;
use crate::interrupted::{gits_of_others, remove_all_locks};
use crate::limits::{KEPT_FOR, KEPT_MAX};
use crate::objects::{Id, Objects};
use crate::program::{bare_git, local, remove_secrets};
use crate::promotion::Promotions;
use crate::snapshot::Refs;
use crate::watch::Watch;

/// Where the commits of earlier snapshots are kept: below this there is the time
/// in seconds since 1970, and the id.
pub(super) const KEPT: &str = "refs/halite/kept/";

/// A repository without a work tree, below the held lock of its remote.
pub(super) struct LockedCopy<'a> {
    pub(super) git_dir: &'a Path,
    /// What git takes for the home of its user.
    pub(super) home: &'a Path,
    pub(super) watch: &'a Arc<Watch>,
}

impl LockedCopy<'_> {
    /// Makes it if it is not there. It is put in its place when it is whole.
    pub(super) fn make(&self) -> Result<(), GitError> {
        if self.git_dir.exists() {
            return Ok(());
        }
        let fresh = self.git_dir.with_extension("init");
        remove_dir(&fresh)?;
        let mut git = bare_git(self.home);
        git.current_dir(self.git_dir.parent().unwrap_or(self.git_dir))
            .args(["init", "--bare", "--quiet", "--template="])
            .arg(&fresh);
        local(git, None, "init", self.watch)?;
        fs::rename(&fresh, self.git_dir).map_err(GitError::disk("putting it in its place"))
    }

    /// Its branches and tags with their ids, and the commits of earlier
    /// snapshots.
    pub(super) fn list(&self) -> Result<String, GitError> {
        let format = "--format=%(objectname) %(refname)";
        let wanted = ["refs/remotes/origin", "refs/tags", KEPT];
        let mut git = self.git(&["for-each-ref", format]);
        git.args(wanted.map(|name| name.trim_end_matches('/')));
        let listed = local(git, None, "for-each-ref", self.watch)?;
        Ok(String::from_utf8_lossy(&listed).into_owned())
    }

    /// Reads the commits of references and their trees; those that are whole and
    /// not used.
    ///
    /// # Errors
    /// When one is missing or damaged.
    pub(super) fn unfit(&self, refs: &Refs) -> Result<BTreeMap<Id, String>, GitError> {
        let objects = Objects::open_locked(self.git_dir)?;
        let read = |id| match objects.commit(id)? {
            Some((_, tree)) => objects.tree(tree).map(drop),
            // A tag may be of anything, as long as it is there.
            None => objects.expect(id),
        };
        let mut unfit = BTreeMap::new();
        for id in refs.ids() {
            match read(id) {
                Err(error @ GitError::Unfit { .. }) => {
                    unfit.insert(id, error.to_string());
                }
                other => other?,
            }
        }
        Ok(unfit)
    }

    /// Whether a fetch failed because of the copy, and a new one helps.
    pub(super) fn is_damaged(&self, error: &GitError, before: Option<&Refs>) -> bool {
        match error {
            GitError::Object { .. } => true,
            GitError::Failed { .. } => !self.is_whole(before),
            _ => false,
        }
    }

    fn is_whole(&self, before: Option<&Refs>) -> bool {
        let refs = match self.list() {
            Ok(listed) => Refs::parse(listed.lines(), UNIX_EPOCH),
            // Git does not take it for a repository.
            Err(GitError::Failed { .. }) => return false,
            Err(_) => return true,
        };
        let is_there = |refs| !matches!(self.unfit(refs), Err(GitError::Object { .. }));
        [before, Some(&refs)].into_iter().flatten().all(is_there)
    }

    /// Keeps what `before` names and `now` does not, for [`KEPT_FOR`]: who began
    /// with a commit can go on with it after a forced push. Whether that has changed
    /// the references.
    pub(super) fn keep(
        &self,
        before: Option<&Refs>,
        now: &Refs,
        promotions: &Promotions,
        listed: &str,
    ) -> Result<bool, GitError> {
        let named: BTreeSet<Id> = Refs::parse(listed.lines(), UNIX_EPOCH).ids().collect();
        // A branch may stay at what git names no more, see `verify_signatures`,
        // and an environment be held there.
        let served = now.ids().chain(promotions.ids());
        let served: BTreeSet<Id> = served.filter(|id| !named.contains(id)).collect();
        let kept: BTreeSet<Id> = kept(listed).filter_map(|(_, id, _)| id).collect();
        let replaced = before
            .into_iter()
            .flat_map(Refs::ids)
            .chain(served.iter().copied());
        let is_kept = |id: &Id| named.contains(id) || served.contains(id) && kept.contains(id);
        let mut replaced: BTreeSet<Id> = replaced.filter(|id| !is_kept(id)).collect();
        if !replaced.is_empty() {
            let objects = Objects::open_locked(self.git_dir)?;
            let there = replaced
                .into_iter()
                .filter(|id| objects.expect(*id).is_ok());
            replaced = there.take(KEPT_MAX).collect();
        }
        let mut text = String::new();
        for id in &replaced {
            let _ = writeln!(text, "update {KEPT}{}/{id} {id}", now.fetched_s());
        }
        for name in forgotten(listed, &served, now.fetched_s(), KEPT_MAX - replaced.len()) {
            let _ = writeln!(text, "delete {name}");
        }
        if text.is_empty() {
            return Ok(false);
        }
        let git = self.git(&["update-ref", "--stdin"]);
        local(git, Some(text), "update-ref", self.watch).map(|_| true)
    }

    /// Puts packs together now and then. What nobody names any more goes after
    /// two weeks.
    pub(super) fn tidy(&self) -> Result<(), GitError> {
        let git = self.git(&["-c", "gc.autoDetach=false", "gc", "--auto", "--quiet"]);
        let tidied = local(git, None, "gc", self.watch);
        if tidied.is_err() {
            self.remove_unfinished();
        }
        tidied.map(drop)
    }

    /// Removes what a killed git has begun to write.
    pub(super) fn remove_unfinished(&self) {
        remove_unfinished(self.git_dir);
    }

    fn git(&self, words: &[&str]) -> Command {
        let mut git = bare_git(self.home);
        git.current_dir(self.git_dir)
            .env("GIT_DIR", ".")
            .args(words);
        git
    }
}

/// The kept commits: since when, the id, and the name of the reference.
fn kept(listed: &str) -> impl Iterator<Item = (u64, Option<Id>, &str)> {
    let names = listed.lines().filter_map(|line| line.split_once(' '));
    names.filter_map(|(id, name)| {
        let (seconds, _) = name.strip_prefix(KEPT)?.split_once('/')?;
        Some((
            seconds.parse::<u64>().unwrap_or_default(),
            Id::parse(id),
            name,
        ))
    })
}

/// The names of kept commits that are older than [`KEPT_FOR`], and the oldest of
/// those that are more than `max`; none that are still served.
fn forgotten<'l>(listed: &'l str, served: &BTreeSet<Id>, now_s: u64, max: usize) -> Vec<&'l str> {
    let kept = kept(listed).filter(|(_, id, _)| id.is_none_or(|id| !served.contains(&id)));
    let mut kept: Vec<(u64, &str)> = kept.map(|(since_s, _, name)| (since_s, name)).collect();
    kept.sort_unstable();
    kept.reverse();
    let is_old = |then_s: u64| now_s.saturating_sub(then_s) > KEPT_FOR.as_secs();
    let kept = kept.into_iter().enumerate();
    kept.filter(|(at, (then_s, _))| *at >= max || is_old(*then_s))
        .map(|(_, (_, name))| name)
        .collect()
}

impl Repository {
    /// Ends and removes what an update that was cut off has left. Whoever holds
    /// the lock is the only one here.
    pub(super) fn remove_leftovers(&self) -> Result<(), GitError> {
        self.end_survivors();
        remove_secrets(&self.places.run);
        if !self.places.git_dir.exists() {
            // Cut off between two renames: what is damaged is better than nothing.
            fs::rename(&self.places.old, &self.places.git_dir).ok();
        }
        remove_dir(&self.places.fresh)?;
        remove_dir(&self.places.old)?;
        remove_unfinished(&self.places.git_dir);
        remove_all_locks(&self.places.git_dir);
        Ok(())
    }

    /// Kills the gits that a killed process of ours has left at work: those whose
    /// home is ours. A master of Salt on the same cache reads it with gits too.
    fn end_survivors(&self) {
        let mut home = b"HOME=".to_vec();
        home.extend(self.places.run.as_os_str().as_bytes());
        // This process has none at work here.
        for process in gits_of_others() {
            let is_here = fs::read(process.dir().join("environ"))
                .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == home));
            if is_here {
                let pid = process.pid;
                warn!(
                    remote = %self.remote, pid,
                    "a git process of a killed update is still working"
                );
                kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
            }
        }
    }
}

/// Removes what a killed git has begun to write in a repository.
fn remove_unfinished(git_dir: &Path) {
    let files = fs::read_dir(git_dir.join("objects/pack"));
    for file in files.into_iter().flatten().flatten() {
        let name = file.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("tmp_") || name.starts_with(".tmp-") {
            fs::remove_file(file.path()).ok();
        }
    }
}

pub(super) fn remove_dir(path: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(GitError::disk(
            "removing what an earlier update has left",
        )(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_commits_are_forgotten_when_they_are_old_or_too_many() {
        let day = 24 * 3600;
        let now = 100 * day;
        let line = |days: u64| format!("id {KEPT}{}/x{days}\n", now - days * day);
        let listed: String = [1, 20, 3, 2].map(line).concat() + "id refs/tags/v1\n";
        let days = |max| {
            let names = forgotten(&listed, &BTreeSet::new(), now, max);
            let days = names.iter().map(|name| name.rsplit_once('x').unwrap().1);
            days.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(days(9), "20");
        assert_eq!(days(2), "3 20");
        assert_eq!(days(0), "1 2 3 20");
    }
}
