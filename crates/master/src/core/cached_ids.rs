//! The minions of which data is cached, without a look at the disk for each.
//!
//! Invariant: within `CACHED_IDS_LIFE` the list is read once, for all callers.

use std::collections::HashSet;
use std::time::Instant;

use halite_proto::MinionId;

use crate::limits::CACHED_IDS_LIFE;

/// The ids, as they were read last.
#[derive(Debug, Default)]
pub struct CachedIds {
    ids: HashSet<MinionId>,
    read: Option<Instant>,
}

impl CachedIds {
    /// Whether the id is among those that `read` gives, or gave a moment ago.
    pub fn contains(
        &mut self,
        id: &MinionId,
        now: Instant,
        read: impl FnOnce() -> Vec<MinionId>,
    ) -> bool {
        let is_fresh = |read: Instant| now.duration_since(read) < CACHED_IDS_LIFE;
        if !self.read.is_some_and(is_fresh) {
            self.ids = read().into_iter().collect();
            self.read = Some(now);
        }
        self.ids.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_disk_is_looked_at_once_for_all_who_are_waited_for() {
        let ids = ["a", "b", "c"].map(|id| MinionId::parse(id).unwrap());
        let mut known = CachedIds::default();
        let start = Instant::now();
        let mut reads = 0;
        // A thousand minions that are asked about four times a second.
        for n in 0..16 {
            for id in ids.iter().cycle().take(1000) {
                let read = || {
                    reads += 1;
                    ids[..2].to_vec()
                };
                let is_known = known.contains(id, start + n * Duration::from_millis(250), read);
                assert_eq!(is_known, *id != ids[2]);
            }
        }
        assert_eq!(reads, 1);
        let later = start + CACHED_IDS_LIFE;
        assert!(known.contains(&ids[2], later, || ids.to_vec()));
    }
}
