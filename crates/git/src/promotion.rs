//! Environments that are held at a commit, whatever their branches name, until
//! somebody moves them: `fileserver.promote`.
//!
//! Each has a line in the file: its name, the commit or `-` if it follows its
//! branch again, and the earlier commits, each with the second until which the
//! environment was held there, `SECONDS:ID`.
//!
//! Invariant: the file is replaced as a whole, by one process at a time, and is in
//! a place that clearing the cache does not reach.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::Instant;

use halite_crypto::files::{WriteOptions, read_limited, write_atomic};
use halite_process::clock::unix_seconds;

use crate::GitError;
use crate::limits::{
    EARLIER_FOR, LOCK_POLL, LOCK_WAIT_MAX, PROMOTED_BEFORE_MAX, PROMOTED_MAX, PROMOTIONS_BYTES_MAX,
};
use crate::objects::Id;

const MODE: u32 = 0o600;

/// In place of a commit: the environment follows its branch.
const FOLLOWS: &str = "-";

/// The commits that environments are held at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Promotions(BTreeMap<String, Promoted>);

/// Where an environment is held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Promoted {
    now: Option<Id>,
    /// Where it was held within [`EARLIER_FOR`], and until which second since
    /// 1970; the youngest first. Runs that began there go on with it.
    before: Vec<(u64, Id)>,
}

impl Promotions {
    /// Reads the file, if it is there.
    ///
    /// # Errors
    /// When it is there and cannot be read, or a line is not understood: nothing
    /// is served then that somebody holds back.
    pub(crate) fn load(path: &Path) -> Result<Self, GitError> {
        let bytes = match read_limited(path, PROMOTIONS_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == Some(std::io::ErrorKind::NotFound) => {
                return Ok(Self::default());
            }
            Err(error) => return Err(error.into()),
        };
        let text = String::from_utf8_lossy(&bytes);
        Self::parse(&text, unix_seconds()).map_err(|(line, why)| GitError::Promotions {
            file: path.to_owned(),
            line,
            why,
        })
    }

    /// Reads its text; if that cannot be, the line, and what is wrong with it.
    fn parse(text: &str, now_s: u64) -> Result<Self, (usize, &'static str)> {
        let mut this = Self::default();
        for (at, line) in text.lines().enumerate() {
            let bad = (at + 1, "it is no environment with its commits");
            let (env, commits) = line.split_once(' ').ok_or(bad)?;
            let mut promoted = Promoted::parse(commits).ok_or(bad)?;
            promoted.forget(now_s);
            this.0.insert(env.to_owned(), promoted);
            if this.0.len() > PROMOTED_MAX {
                return Err((at + 1, "there are more environments than may be held"));
            }
        }
        this.0.retain(|_, it| !it.is_over());
        Ok(this)
    }

    /// Changes the file, after whoever else does. Whoever reads it meanwhile
    /// sees it as it was.
    ///
    /// # Errors
    /// When it cannot be read or written, the change is refused, or others hold
    /// its lock for longer than [`LOCK_WAIT_MAX`].
    pub(crate) fn change(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<(), GitError>,
    ) -> Result<(), GitError> {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(GitError::disk("making its directory"))?;
        }
        let _lock = lock(&path.with_extension("lock"))?;
        let mut promotions = Self::load(path)?;
        change(&mut promotions)?;
        write_atomic(
            path,
            WriteOptions::new(MODE),
            promotions.to_string().as_bytes(),
        )?;
        Ok(())
    }

    /// Holds an environment at a commit, or no more.
    ///
    /// # Errors
    /// When so many are held that there is no room for one more.
    pub(crate) fn set(&mut self, env: &str, commit: Option<Id>) -> Result<(), GitError> {
        self.set_at(unix_seconds(), env, commit)
    }

    fn set_at(&mut self, now_s: u64, env: &str, commit: Option<Id>) -> Result<(), GitError> {
        if commit.is_some() {
            self.expect_room(env)?;
        }
        let promoted = self.0.entry(env.to_owned()).or_default();
        let replaced = promoted.now.filter(|now| Some(*now) != commit);
        if let Some(replaced) = replaced {
            promoted.before.retain(|(_, id)| *id != replaced);
            promoted.before.insert(0, (now_s, replaced));
        }
        promoted.now = commit;
        promoted.forget(now_s);
        self.0.retain(|_, it| !it.is_over());
        Ok(())
    }

    /// # Errors
    /// When one more environment cannot be held.
    pub(crate) fn expect_room(&self, env: &str) -> Result<(), GitError> {
        match self.0.len() >= PROMOTED_MAX && !self.0.contains_key(env) {
            true => Err(GitError::HeldMany { max: PROMOTED_MAX }),
            false => Ok(()),
        }
    }

    /// Where an environment is held.
    pub(crate) fn now(&self, env: &str) -> Option<Id> {
        self.0.get(env).and_then(|it| it.now)
    }

    /// Whether it is held there, or was before.
    pub(crate) fn was(&self, env: &str, id: Id) -> bool {
        let it = self.0.get(env);
        it.is_some_and(|it| it.ids().any(|known| known == id))
    }

    /// The environments that are held, and where.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Id)> {
        let all = self.0.iter();
        all.filter_map(|(env, it)| Some((env.as_str(), it.now?)))
    }

    /// All commits that are to stay.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        self.0.values().flat_map(Promoted::ids)
    }
}

impl std::fmt::Display for Promotions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (env, it) in &self.0 {
            let now = it.now.map(|now| now.to_string());
            write!(f, "{env} {}", now.as_deref().unwrap_or(FOLLOWS))?;
            for (until_s, id) in &it.before {
                write!(f, " {until_s}:{id}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Promoted {
    fn parse(commits: &str) -> Option<Self> {
        let mut words = commits.split(' ');
        let now = match words.next()? {
            FOLLOWS => None,
            now => Some(Id::parse(now)?),
        };
        let mut before = Vec::new();
        for word in words {
            match word.split_once(':') {
                Some((until_s, id)) => before.push((until_s.parse().ok()?, Id::parse(id)?)),
                // Once there was a single one, without its end.
                None => before.push((0, Id::parse(word)?)),
            }
        }
        Some(Self { now, before })
    }

    /// Forgets what was too long ago.
    fn forget(&mut self, now_s: u64) {
        let is_young = |until_s: u64| now_s.saturating_sub(until_s) <= EARLIER_FOR.as_secs();
        self.before.retain(|(until_s, _)| is_young(*until_s));
        self.before.truncate(PROMOTED_BEFORE_MAX);
    }

    const fn is_over(&self) -> bool {
        self.now.is_none() && self.before.is_empty()
    }

    fn ids(&self) -> impl Iterator<Item = Id> {
        self.now
            .into_iter()
            .chain(self.before.iter().map(|(_, id)| *id))
    }
}

/// Takes a lock that is released when the file is closed, also by a kill.
fn lock(path: &Path) -> Result<File, GitError> {
    let disk = || GitError::disk("taking the lock of its held environments");
    let file = File::create(path).map_err(disk())?;
    let give_up = Instant::now() + LOCK_WAIT_MAX;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::Error(error)) => return Err(disk()(error)),
            Err(fs::TryLockError::WouldBlock) if Instant::now() < give_up => {
                thread::sleep(LOCK_POLL);
            }
            Err(fs::TryLockError::WouldBlock) => {
                return Err(GitError::Locked {
                    holder: format!("another process, see {}", path.display()),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> Id {
        Id::parse(&digit.to_string().repeat(40)).unwrap()
    }

    #[test]
    fn runs_go_on_however_often_an_environment_is_moved() {
        let day_s = EARLIER_FOR.as_secs();
        let mut held = Promotions::default();
        for (at, commit) in [Some('1'), Some('2'), Some('3'), None].iter().enumerate() {
            let at = day_s + at as u64;
            held.set_at(at, "prod", commit.map(id)).unwrap();
        }
        assert_eq!(held.now("prod"), None);
        assert_eq!(held.all().count(), 0);
        let read = |now_s| Promotions::parse(&held.to_string(), now_s).unwrap();
        assert_eq!(read(day_s + 3), held);
        for commit in ['1', '2', '3'] {
            assert!(held.was("prod", id(commit)), "{commit}");
        }
        assert_eq!(held.ids().count(), 3);
        assert!(!read(2 * day_s + 2).was("prod", id('1')), "a day ago");
        assert!(read(2 * day_s + 2).was("prod", id('2')));
        assert_eq!(read(3 * day_s), Promotions::default());
    }

    #[test]
    fn what_an_earlier_version_has_written_counts() {
        let line = format!("prod {} {}\n", id('1'), id('2'));
        let held = Promotions::parse(&line, unix_seconds()).unwrap();
        assert_eq!(held.now("prod"), Some(id('1')));
    }

    #[test]
    fn a_line_that_is_not_understood_is_named_and_nobody_is_pushed_off() {
        for bad in ["prod", "prod x", "prod - x", "", "prod - 1:x", "prod - x:1"] {
            let text = format!("base {}\n{bad}\n", id('1'));
            assert_eq!(Promotions::parse(&text, 0).unwrap_err().0, 2, "{bad}");
        }
        let mut held = Promotions::default();
        held.set("prod", Some(id('1'))).unwrap();
        for number in 1..PROMOTED_MAX {
            held.set(&format!("a{number}"), Some(id('2'))).unwrap();
        }
        let error = held.set("b", Some(id('2'))).unwrap_err();
        assert!(matches!(error, GitError::HeldMany { .. }), "{error}");
        held.set("prod", Some(id('3'))).unwrap();
        let text = held.to_string();
        assert_eq!(Promotions::parse(&text, unix_seconds()).unwrap(), held);
        let more = format!("{text}b {}\n", id('2'));
        assert!(Promotions::parse(&more, unix_seconds()).is_err());
    }

    #[test]
    fn those_who_move_environments_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("promoted");
        thread::scope(|scope| {
            for number in 0..16 {
                let path = &path;
                scope.spawn(move || {
                    let env = format!("e{number}");
                    Promotions::change(path, |held| held.set(&env, Some(id('1')))).unwrap();
                });
            }
        });
        assert_eq!(Promotions::load(&path).unwrap().all().count(), 16);
    }
}
