//! Bringing a copy up to date.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Instant, SystemTime};

use halite_crypto::files::ensure_private_dir;
use halite_process::child::{RunOptions, run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tracing::{info, warn};

use super::{Repository, Updated};
use crate::limits::{LOCK_POLL, LOCK_WAIT_MAX};
use crate::lock::Taken;
use crate::objects::Objects;
use crate::program::{Surroundings, bare_git, failed, local, remove_secrets};
use crate::snapshot::Refs;
use crate::watch::Watch;
use crate::{GitError, TrackedRun, running_gits};

/// What git says when its own files are damaged.
const DAMAGE: [&str; 3] = ["bad config", "corrupt", "not a git repository"];

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
        self.end_survivors();
        remove_secrets(&self.places.run);
        let objects = self.places.git_dir.join("objects");
        let watch = Arc::new(Watch::new(lock, objects, self.limits, Arc::clone(stop)));
        let refs = match self.fetch_and_list(&watch) {
            Err(error) if self.is_damaged(&error) => {
                warn!(remote = %self.remote, "its copy is damaged and fetched anew: {error}");
                remove_dir(&self.places.git_dir)?;
                self.fetch_and_list(&watch)?
            }
            other => other?,
        };
        let before = Refs::load(&self.places.snapshot);
        refs.store(&self.places.snapshot)?;
        if before.is_some_and(|before| before.is_same(&refs)) {
            return Ok(Updated::Same);
        }
        info!(remote = %self.remote, "branches or tags have changed");
        Ok(Updated::Changed)
    }

    fn fetch_and_list(&self, watch: &Arc<Watch>) -> Result<Refs, GitError> {
        self.make_copy()?;
        let git_dir = &self.places.git_dir;
        let around = Surroundings::of(&self.remote, &self.places.run)?;
        let fetched = SystemTime::now();
        self.fetch(&around, watch)?;
        drop(around);
        let git = |words: &[&str]| {
            let mut git = bare_git(&self.places.run);
            git.current_dir(git_dir).args(words);
            git
        };
        let list = git(&["for-each-ref", "--format=%(objectname) %(refname)"]);
        let listed = local(list, "for-each-ref")?;
        let refs = Refs::parse(String::from_utf8_lossy(&listed).lines(), fetched);
        self.check(&refs)?;
        // Packs are put together now and then; what is not needed any more stays
        // for two weeks.
        let tidy = git(&["-c", "gc.autoDetach=false", "gc", "--auto", "--quiet"]);
        if let Err(error) = local(tidy, "gc") {
            warn!(remote = %self.remote, "could not put packs together: {error}");
        }
        Ok(refs)
    }

    fn fetch(&self, around: &Surroundings, watch: &Arc<Watch>) -> Result<(), GitError> {
        let git_dir = &self.places.git_dir;
        let depth = match self.remote.depth {
            Some(depth) => Some(format!("--depth={depth}")),
            None if git_dir.join("shallow").exists() => Some("--unshallow".to_owned()),
            None => None,
        };
        let mut words = vec![
            "fetch",
            "--prune",
            "--force",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-gc",
            "--progress",
        ];
        words.extend(depth.as_deref());
        words.push("origin");
        let owned: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let tracked = TrackedRun::begin(&self.places.records, None, git_dir, &owned);
        remove_unfinished(git_dir);
        let options = RunOptions {
            own_session: true,
            timeout: Some(self.limits.time),
            ..RunOptions::default()
        };
        let git = around.git(git_dir, words);
        let ran = run(git, options, |group| watch.over(group));
        let verdict = watch.verdict();
        let was_killed = verdict.is_some() || ran.as_ref().is_ok_and(|ran| ran.code < 0);
        if let Some(tracked) = tracked {
            tracked.end(was_killed);
        }
        if was_killed {
            remove_unfinished(git_dir);
        }
        if let Some(verdict) = verdict {
            return Err(verdict);
        }
        let ran = ran.map_err(GitError::Start)?;
        match (ran.timed_out, ran.code) {
            (true, _) => Err(GitError::Slow {
                doing: "fetch",
                limit: self.limits.time,
            }),
            (false, 0) => Ok(()),
            (false, _) => Err(failed("fetch", &ran, &self.remote.auth)),
        }
    }

    /// Makes the repository if it is not there. It is put in its place when it
    /// is whole.
    fn make_copy(&self) -> Result<(), GitError> {
        let git_dir = &self.places.git_dir;
        if git_dir.join("HEAD").is_file() && git_dir.join("objects").is_dir() {
            return Ok(());
        }
        remove_dir(git_dir)?;
        let fresh = self.places.base.join("objects.new");
        remove_dir(&fresh)?;
        let mut git = bare_git(&self.places.run);
        let words = ["init", "--bare", "--quiet", "--template=", "objects.new"];
        git.current_dir(&self.places.base).args(words);
        local(git, "init")?;
        fs::rename(&fresh, git_dir).map_err(GitError::disk("putting it in its place"))
    }

    /// Reads each commit and its tree: a copy that lacks one is damaged.
    fn check(&self, refs: &Refs) -> Result<(), GitError> {
        let objects = Objects::open(&self.places.git_dir)?;
        for id in refs.ids() {
            match objects.commit(id)? {
                Some((_, tree)) => drop(objects.tree(tree)?),
                // A tag may be of anything, as long as it is there.
                None => objects.expect(id)?,
            }
        }
        Ok(())
    }

    /// Whether an update failed because of the copy, and a new one helps.
    fn is_damaged(&self, error: &GitError) -> bool {
        match error {
            GitError::Object { .. } => true,
            GitError::Failed { complaint, .. } => {
                let has_all = Refs::load(&self.places.snapshot)
                    .is_none_or(|before| self.check(&before).is_ok());
                // What the other side complains about is not healed here.
                let is_ours = !complaint.contains("remote repository");
                !has_all || is_ours && DAMAGE.iter().any(|words| complaint.contains(words))
            }
            _ => false,
        }
    }

    /// Kills the gits that a killed process of ours has left at work: whoever
    /// holds the lock is the only one.
    fn end_survivors(&self) {
        let Ok(git_dir) = self.places.git_dir.canonicalize() else {
            return;
        };
        for process in running_gits() {
            let is_here = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == git_dir);
            let pid = process
                .file_name()
                .and_then(|pid| pid.to_str()?.parse().ok());
            if let (true, Some(pid)) = (is_here, pid) {
                warn!(remote = %self.remote, pid, "a git of a killed update is still at work");
                kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
            }
        }
    }
}

/// Removes what a killed fetch has begun to write.
fn remove_unfinished(git_dir: &Path) {
    let files = fs::read_dir(git_dir.join("objects/pack"));
    for file in files.into_iter().flatten().flatten() {
        if file.file_name().to_string_lossy().starts_with("tmp_") {
            fs::remove_file(file.path()).ok();
        }
    }
}

fn remove_dir(path: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(GitError::disk("removing what is damaged")(error))
        }
        _ => Ok(()),
    }
}
