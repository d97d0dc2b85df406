//! Which commits branches and tags reach.
//!
//! Invariant: git is asked once about a commit as long as branches and tags stay as
//! they are, about one commit at a time, and about a limited number.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Instant;

use halite_process::child::{RunOptions, run};

use super::{Repository, Stamp};
use crate::limits::{REACH_AGAIN_AFTER, REACH_POLL, REACH_TIME_MAX, REACH_WAIT_MAX, REACHED_MAX};
use crate::objects::Id;
use crate::program::{bare_git, failed};
use crate::remote::Auth;
use crate::{GitError, Snapshot};

/// What is known, as of a snapshot.
#[derive(Debug, Default)]
pub(super) struct Reached {
    of: Option<Stamp>,
    known: HashMap<Id, Known>,
}

/// What is known of a commit.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// Whether it is reached.
    Reached(bool),
    /// Git could not say, at that time.
    Failed(Instant),
}

impl Reached {
    /// What is known of a commit; `None` where git is to be asked.
    fn known(&self, of: Option<Stamp>, id: Id) -> Option<Known> {
        let known = *self.known.get(&id).filter(|_| self.of == of)?;
        match known {
            Known::Failed(since) if since.elapsed() >= REACH_AGAIN_AFTER => None,
            known => Some(known),
        }
    }

    fn remember(&mut self, of: Option<Stamp>, id: Id, known: Known) {
        if self.of != of || self.known.len() >= REACHED_MAX {
            *self = Self {
                of,
                known: HashMap::new(),
            };
        }
        self.known.insert(id, known);
    }
}

impl Repository {
    /// Whether a branch or tag names a commit or one after it. What is only kept
    /// for those who began with it is not reached.
    ///
    /// # Errors
    /// When git cannot say, could not a moment ago, or looks for others.
    pub fn reaches(&self, snapshot: &Snapshot, id: Id) -> Result<bool, GitError> {
        if snapshot.names(id) {
            return Ok(true);
        }
        let of = super::stamp(&self.places.snapshot);
        let unknown = |why| GitError::Unknown {
            id: id.to_string(),
            why,
        };
        let give_up = Instant::now() + REACH_WAIT_MAX;
        loop {
            // First, since whoever had it before may have asked for the same.
            let asking = match self.asking.try_lock() {
                Ok(asking) => Some(asking),
                Err(TryLockError::Poisoned(asking)) => Some(asking.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            match self.reached().known(of, id) {
                Some(Known::Reached(is_reached)) => return Ok(is_reached),
                Some(Known::Failed(_)) => return Err(unknown("git could not say, a moment ago")),
                None => {}
            }
            if asking.is_some() {
                let asked = contains(&self.places.git_dir, id);
                let known = match &asked {
                    Ok(is_reached) => Known::Reached(*is_reached),
                    Err(_) => Known::Failed(Instant::now()),
                };
                self.reached().remember(of, id, known);
                return asked;
            }
            if Instant::now() >= give_up {
                return Err(unknown("git looks for other commits, ask again"));
            }
            thread::sleep(REACH_POLL);
        }
    }

    fn reached(&self) -> MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn contains(git_dir: &Path, id: Id) -> Result<bool, GitError> {
    let mut git = bare_git(Path::new("/"));
    git.env("GIT_DIR", ".").current_dir(git_dir).args([
        "for-each-ref",
        "--count=1",
        "--format=%(refname)",
        &format!("--contains={id}"),
        "refs/remotes/origin",
        "refs/tags",
    ]);
    let options = RunOptions {
        own_session: true,
        timeout: Some(REACH_TIME_MAX),
        ..RunOptions::default()
    };
    let ran = run(git, options, |_| ()).map_err(GitError::Start)?;
    match (ran.timed_out, ran.code) {
        (true, _) => Err(GitError::Slow {
            doing: "for-each-ref",
            limit: REACH_TIME_MAX,
        }),
        (false, 0) => Ok(!ran.stdout.is_empty()),
        (false, _) => Err(failed("for-each-ref", &ran, &Auth::default())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use halite_proto::{Map, Value};

    use super::*;
    use crate::Remote;
    use crate::objects::Objects;
    use crate::promotion::Promotions;
    use crate::snapshot::Refs;

    #[test]
    fn one_who_asks_for_many_commits_stops_nobody_for_long() {
        let dir = tempfile::tempdir().unwrap();
        let opts = Map::from([("gitfs_remotes", Value::List(vec!["/srv/x".into()]))]);
        let remote = Remote::gitfs(&opts).unwrap().remove(0);
        let repository = Arc::new(Repository::new(dir.path(), remote, true));
        // No repository: git cannot say.
        fs::create_dir_all(repository.places.git_dir.join("objects")).unwrap();
        let objects = Objects::open(&repository.places.git_dir).unwrap();
        let snapshot = Snapshot::new(objects, Refs::default(), Promotions::default());
        let id = |digit: &str| Id::parse(&digit.repeat(40)).unwrap();
        let why = |id| match repository.reaches(&snapshot, id).unwrap_err() {
            GitError::Unknown { why, .. } => Some(why),
            _ => None,
        };
        let known = Known::Reached(true);
        repository.reached().remember(None, id("1"), known);
        let asking = repository.asking.lock().unwrap();
        assert!(repository.reaches(&snapshot, id("1")).unwrap());
        let began = Instant::now();
        assert!(why(id("2")).unwrap().contains("other commits"));
        assert!(began.elapsed() < 5 * REACH_WAIT_MAX);
        drop(asking);
        assert_eq!(why(id("2")), None, "git was asked");
        assert!(why(id("2")).unwrap().contains("a moment ago"));
        assert_eq!(why(id("3")), None, "of another one nothing is known");
        let earlier = Instant::now().checked_sub(REACH_AGAIN_AFTER).unwrap();
        let failed = Known::Failed(earlier);
        repository.reached().remember(None, id("2"), failed);
        assert_eq!(why(id("2")), None, "it is asked again");
    }
}
