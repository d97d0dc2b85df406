//! Coordinates reads of minion keys with the filing of new ones.
//!
//! Filing waits for the disk. Sign-ins of different minions wait for it together,
//! since a file system writes many files to the disk in the time of one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use halite_proto::MinionId;

/// Minions that share a lock wait for each other; more than sign-ins are ever
/// served at once.
const LOCKS: usize = 64;

/// The locks of a master's keys.
pub(super) struct FilingLocks {
    all: RwLock<()>,
    single: [Mutex<()>; LOCKS],
}

/// Locks the key of one minion against changes.
pub(crate) struct OneMinion<'a> {
    _single: MutexGuard<'a, ()>,
    _all: RwLockReadGuard<'a, ()>,
}

/// Locks the keys of all minions against changes.
pub(crate) struct AllMinions<'a> {
    _all: RwLockWriteGuard<'a, ()>,
}

impl Default for FilingLocks {
    fn default() -> Self {
        Self {
            all: RwLock::default(),
            single: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl FilingLocks {
    pub(super) fn lock(&self, id: &MinionId) -> OneMinion<'_> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let single = &self.single[lock_of(id)];
        OneMinion {
            _single: single.lock().unwrap_or_else(PoisonError::into_inner),
            _all: all,
        }
    }

    pub(super) fn lock_all(&self) -> AllMinions<'_> {
        AllMinions {
            _all: self.all.write().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// Which lock a minion shares with others.
fn lock_of(id: &MinionId) -> usize {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn id(text: &str) -> MinionId {
        text.parse().expect("an id")
    }

    #[test]
    fn one_minion_waits_for_itself_and_for_all_but_for_no_other() {
        let locks = FilingLocks::default();
        let web1 = locks.lock(&id("web1"));
        assert!(locks.all.try_write().is_err(), "all while one is held");
        let others = (0..LOCKS * 32).map(|number| lock_of(&id(&format!("db{number}"))));
        let free = others.filter(|at| locks.single[*at].try_lock().is_ok());
        let free: HashSet<usize> = free.collect();
        assert_eq!(free.len(), LOCKS - 1, "each lock but that of web1");
        drop(web1);
        let all = locks.lock_all();
        assert!(locks.all.try_read().is_err(), "one while all are held");
        drop(all);
        drop(locks.lock(&id("web1")));
    }
}
