//! Updates a copy.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Instant, SystemTime};

use halite_crypto::files::ensure_private_dir;
use halite_process::child::{Finished, RunOptions, run};
use tracing::{info, warn};

use super::copy::{LockedCopy, remove_dir};
use super::{Repository, Updated};
use crate::limits::{LOCK_POLL, LOCK_WAIT_MAX};
use crate::lock::Taken;
use crate::program::{Surroundings, failed};
use crate::promotion::Promotions;
use crate::snapshot::Refs;
use crate::watch::Watch;
use crate::{GitError, TrackedRun};

/// What a fetch has brought.
struct Fetched {
    refs: Refs,
    /// What is to be said about branches and tags that are not used.
    left_out: Vec<String>,
    /// What git lists, with the commits of earlier snapshots.
    listed: String,
    /// The remote had nothing new: nothing was fetched.
    is_known: bool,
}

impl Repository {
    /// Fetches the remote. Blocks; setting `stop` ends it soon.
    ///
    /// # Errors
    /// When somebody else updates it, or it cannot be fetched. What was there
    /// stays.
    pub fn update(&self, stop: &Arc<AtomicBool>) -> Result<Updated, GitError> {
        let updated = self.try_update(stop);
        match &updated {
            Ok(_) => self.note_failure(None),
            // It is the holder who knows how it went.
            Err(GitError::Locked { .. } | GitError::Stopped) => {}
            Err(error) => self.note_failure(Some(error)),
        }
        updated
    }

    /// The same, and if somebody else updates it, once more behind them: what
    /// was there when this was called is fetched.
    ///
    /// # Errors
    /// When it cannot be fetched, or the other one takes longer than
    /// [`LOCK_WAIT_MAX`].
    pub fn update_behind_others(&self, stop: &Arc<AtomicBool>) -> Result<Updated, GitError> {
        let give_up = Instant::now() + LOCK_WAIT_MAX;
        loop {
            match self.update(stop) {
                Err(GitError::Locked { .. })
                    if Instant::now() < give_up && !stop.load(Ordering::Relaxed) =>
                {
                    thread::sleep(LOCK_POLL);
                }
                other => return other,
            }
        }
    }

    fn try_update(&self, stop: &Arc<AtomicBool>) -> Result<Updated, GitError> {
        ensure_private_dir(&self.places.base, None)?;
        let lock = match self.take_lock()? {
            Taken::Here(lock) => lock,
            Taken::Elsewhere(holder) => {
                return Err(GitError::Locked {
                    holder: holder.to_string(),
                });
            }
        };
        self.remove_leftovers()?;
        let before = Refs::load(&self.places.snapshot);
        let mut limits = self.limits;
        if before.is_some() {
            limits.idle = limits.idle.min(limits.idle_with_copy);
        }
        let watch = Arc::new(Watch::new(lock, limits, Arc::clone(stop)));
        let copy = self.copy_at(&self.places.git_dir, &watch);
        let mut fetched = match self.fetch_into(&copy) {
            Err(error) if copy.is_damaged(&error, before.as_ref()) => {
                warn!(remote = %self.remote, "its copy is damaged and is fetched again: {error}");
                self.fetch_anew(&watch)?
            }
            other => other?,
        };
        // Whoever has taken the lock away writes what it has fetched.
        if !watch.lock.renew() {
            return Err(GitError::LockLost);
        }
        let promotions = Promotions::load(&self.places.promoted)?;
        let said = self.only_signed(&mut fetched.refs, before.as_ref(), &promotions, &watch)?;
        fetched.left_out.extend(said);
        let kept = copy.keep(before.as_ref(), &fetched.refs, &promotions, &fetched.listed);
        if let Some(before) = &before {
            fetched.refs.follow(before);
        }
        fetched.refs.store(&self.places.snapshot)?;
        match kept {
            Ok(false) if fetched.is_known => {}
            Ok(false) => self.remember_listed(&fetched.listed),
            Ok(true) | Err(_) => self.forget_listed()?,
        }
        let is_first = before.is_none();
        let is_same = before.is_some_and(|before| before.is_same(&fetched.refs));
        // Where nothing came, or all in one, there is nothing to put together.
        let tidied = kept.and_then(|_| match is_same || is_first {
            true => Ok(()),
            false => copy.tidy(),
        });
        match tidied {
            Ok(()) | Err(GitError::Stopped) => {}
            // Nothing is lost: it is tried again after the next fetch.
            Err(error) => {
                warn!(remote = %self.remote, "could not combine packs: {error}");
            }
        }
        if is_same {
            return Ok(Updated::Same);
        }
        for left_out in &fetched.left_out {
            warn!(remote = %self.remote, "{left_out}");
        }
        info!(remote = %self.remote, "branches or tags have changed");
        Ok(Updated::Changed)
    }

    fn copy_at<'a>(&'a self, git_dir: &'a Path, watch: &'a Arc<Watch>) -> LockedCopy<'a> {
        LockedCopy {
            git_dir,
            home: &self.places.run,
            watch,
        }
    }

    fn fetch_into(&self, copy: &LockedCopy<'_>) -> Result<Fetched, GitError> {
        copy.make()?;
        let around = Surroundings::of(&self.remote, &self.places.run)?;
        let fetched = SystemTime::now();
        let known = self.listed_if_same(&around, copy)?;
        let is_known = known.is_some();
        if !is_known {
            self.forget_listed()?;
            self.fetch(&around, copy)?;
        }
        drop(around);
        let listed = known.map_or_else(|| copy.list(), Ok)?;
        let mut refs = Refs::parse(listed.lines(), fetched);
        let left_out = refs.leave_out(&copy.unfit(&refs)?);
        Ok(Fetched {
            refs,
            left_out,
            listed,
            is_known,
        })
    }

    /// Fetches all of it beside what is here, which it then replaces.
    fn fetch_anew(&self, watch: &Arc<Watch>) -> Result<Fetched, GitError> {
        let (fresh, old) = (&self.places.fresh, &self.places.old);
        let fetched = self.fetch_into(&self.copy_at(fresh, watch));
        let fetched = fetched.inspect_err(|_| {
            remove_dir(fresh).ok();
        })?;
        let disk = || GitError::disk("putting it in its place");
        fs::rename(&self.places.git_dir, old).map_err(disk())?;
        fs::rename(fresh, &self.places.git_dir).map_err(disk())?;
        remove_dir(old)?;
        Ok(fetched)
    }

    fn fetch(&self, around: &Surroundings, copy: &LockedCopy<'_>) -> Result<(), GitError> {
        let git_dir = copy.git_dir;
        let depth = match self.remote.depth {
            Some(depth) => Some(format!("--depth={depth}")),
            None if git_dir.join("shallow").exists() => Some("--unshallow".to_owned()),
            None => None,
        };
        let mut words = vec![
            "fetch",
            "--prune",
            "--force",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-gc",
            "--progress",
        ];
        let names_tags = |spec: &String| spec.contains(":refs/tags/");
        if self.remote.refspecs.iter().any(names_tags) {
            // Else git adds those of what it fetches, as it does for Salt.
            words.push("--no-tags");
        }
        words.extend(depth.as_deref());
        words.push("origin");
        let owned: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let tracked = TrackedRun::begin(&self.places.records, None, git_dir, &owned);
        copy.remove_unfinished();
        let (ran, was_killed) = self.talk(around.git(git_dir, words), "fetch", copy);
        if let Some(tracked) = tracked {
            tracked.end(was_killed);
        }
        if was_killed || ran.is_err() {
            // A disk that it has filled would stay full.
            copy.remove_unfinished();
        }
        ran.map(drop)
    }

    /// Runs a git that talks to the remote: what it wrote, and whether it was killed.
    pub(super) fn talk(
        &self,
        git: Command,
        doing: &'static str,
        copy: &LockedCopy<'_>,
    ) -> (Result<Finished, GitError>, bool) {
        let options = RunOptions {
            own_session: true,
            ends_with_us: true,
            timeout: Some(self.limits.time),
            ..RunOptions::default()
        };
        let watch = copy.watch;
        let ran = run(git, options, |group| watch.over(group, Some(copy.git_dir)));
        if let Some(verdict) = watch.verdict() {
            return (Err(verdict), true);
        }
        let ran = match ran {
            Ok(ran) => ran,
            Err(error) => return (Err(GitError::Start(error)), false),
        };
        let was_killed = ran.code < 0;
        let ended = match (ran.timed_out, ran.code) {
            (true, _) => Err(GitError::Slow {
                doing,
                limit: self.limits.time,
            }),
            (false, 0) => Ok(ran),
            (false, _) => Err(failed(doing, &ran, &self.remote.auth)),
        };
        (ended, was_killed)
    }
}
