//! The disk space of a minion's pushed files, so that one minion does not fill the
//! disk.
//!
//! Invariant: the disk is checked before more is written than was free at the last
//! check, by one thread at a time for each minion and for a small part of the time,
//! and nobody else waits for it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_proto::MinionId;

use crate::limits::{
    LIST_DEPTH_MAX, LOOK_INTERVAL, LOOK_RESTS, PUSHED_FILE_BYTES_MIN, PUSHED_FILES_MAX,
};

/// The room of each minion.
#[derive(Debug, Default)]
pub(crate) struct Room(Mutex<HashMap<MinionId, Left>>);

#[derive(Debug)]
struct Left {
    bytes: u64,
    /// When to look again; nothing while somebody looks.
    next_look: Option<Instant>,
}

impl Room {
    /// Takes room for `bytes` more below `dirs`, where a minion may have
    /// `bytes_max`; false if there is none.
    pub(crate) fn take(&self, id: &MinionId, dirs: &[&Path], bytes: u64, bytes_max: u64) -> bool {
        let lent = {
            let mut minions = self.minions();
            let lent = match minions.get_mut(id) {
                Some(left) if left.bytes >= bytes => {
                    left.bytes -= bytes;
                    return true;
                }
                Some(left) => match left.next_look {
                    Some(next_look) if next_look <= Instant::now() => 0,
                    _ => return false,
                },
                // Other pushes of a minion that is not known yet need not fail
                // while it is looked: it gets a file's worth on trust, once.
                None => bytes_max / PUSHED_FILES_MAX,
            };
            let left = Left {
                bytes: lent,
                next_look: None,
            };
            minions.insert(id.clone(), left);
            lent
        };
        let began = Instant::now();
        let free = dirs
            .iter()
            .fold(bytes_max, |left, dir| left.saturating_sub(taken(dir, 0)));
        let rest = LOOK_INTERVAL.max(began.elapsed().saturating_mul(LOOK_RESTS));
        let mut minions = self.minions();
        let lent_left = minions.get(id).map_or(lent, |left| left.bytes);
        let free = free.saturating_sub(lent.saturating_sub(lent_left));
        let has_room = free >= bytes;
        let left = Left {
            bytes: free - if has_room { bytes } else { 0 },
            next_look: Some(Instant::now() + rest),
        };
        minions.insert(id.clone(), left);
        has_room
    }

    fn minions(&self) -> MutexGuard<'_, HashMap<MinionId, Left>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What lies below a directory; each name counts as no small file.
fn taken(dir: &Path, depth: usize) -> u64 {
    if depth > LIST_DEPTH_MAX {
        return u64::MAX;
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.fold(0, |sum, entry| {
        let Ok(meta) = entry.metadata() else {
            return sum;
        };
        let bytes = match meta.is_dir() {
            true => taken(&entry.path(), depth + 1).saturating_add(PUSHED_FILE_BYTES_MIN),
            false => meta.len().max(PUSHED_FILE_BYTES_MIN),
        };
        sum.saturating_add(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While one thread looks at the disk, the minion has a file's worth, what
    /// is written meanwhile counts, and others do not wait.
    #[test]
    fn nobody_waits_while_somebody_looks() {
        let dir = tempfile::tempdir().unwrap();
        let room = Room::default();
        let id = |name: &str| MinionId::parse(name).unwrap();
        let max = PUSHED_FILES_MAX * 10;
        let take = |name: &str, bytes| room.take(&id(name), &[dir.path()], bytes, max);
        let looking = |bytes| Left {
            bytes,
            next_look: None,
        };
        room.minions().insert(id("web1"), looking(10));
        assert!(take("web1", 4));
        assert!(take("web1", 6));
        assert!(!take("web1", 1));
        assert!(take("web2", max));
        assert!(!take("web2", 1));
        // Nothing is lent to one that had its room before.
        let due = Left {
            bytes: 0,
            next_look: Some(Instant::now()),
        };
        room.minions().insert(id("web3"), due);
        assert!(take("web3", max - 1));
        assert!(take("web3", 1));
        assert!(!take("web3", 1));
    }
}
