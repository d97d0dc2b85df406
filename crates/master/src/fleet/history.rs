//! Records the history of minions' connections.
//!
//! Invariant: claims that anybody can make in a minion's name take no room from
//! proven ones, neither where the history is kept nor where it is shown; nor do
//! reports of other masters.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_proto::MinionId;

use crate::clock::now_micros;
use crate::core::history::{Change, Entry, History};
use crate::limits::{
    HISTORY_BYTES_MAX, HISTORY_CHANGES_MAX, HISTORY_CLAIMED_BYTES_MAX, HISTORY_TOLD_BYTES_MAX,
};

/// The histories: changes that are proven, changes reported by other masters, and claims.
pub(crate) struct Histories {
    proven: Mutex<History>,
    told: Mutex<History>,
    claimed: Mutex<History>,
}

impl Default for Histories {
    fn default() -> Self {
        let history = |bytes_max| Mutex::new(History::new(bytes_max, HISTORY_CHANGES_MAX));
        Self {
            proven: history(HISTORY_BYTES_MAX),
            told: history(HISTORY_TOLD_BYTES_MAX),
            claimed: history(HISTORY_CLAIMED_BYTES_MAX),
        }
    }
}

impl Histories {
    /// Something has become of a minion here.
    pub(crate) fn record(&self, id: &MinionId, change: Change) {
        let history = match change {
            Change::Connected | Change::Disconnected | Change::Silent | Change::Unreachable => {
                &self.proven
            }
            Change::SignedIn
            | Change::TrustsAnother
            | Change::SeveralMachines
            | Change::Refused(_) => &self.claimed,
        };
        lock(history).record(id, change, None, now_micros());
    }

    /// Another master of the cluster reports changes of minions there.
    pub(super) fn record_at(&self, master: &Arc<str>, changes: &[(MinionId, Change)]) {
        let now = now_micros();
        let mut told = lock(&self.told);
        for (id, change) in changes {
            told.record(id, *change, Some(master), now);
        }
    }

    /// The history of a minion, oldest first: up to a number of the newest proven
    /// changes, as many reported by other masters, and as many claims.
    pub(crate) fn newest(&self, id: &MinionId, count: usize) -> Vec<Entry> {
        let mut all = Vec::new();
        for history in [&self.proven, &self.told, &self.claimed] {
            all.extend(lock(history).newest(id, count).cloned());
        }
        all.sort_by_key(|entry| entry.first_micros);
        all
    }
}

fn lock(history: &Mutex<History>) -> MutexGuard<'_, History> {
    history.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_take_no_room_from_what_is_proven() {
        let histories = Histories::default();
        let web1 = MinionId::parse("web1").unwrap();
        histories.record(&web1, Change::Connected);
        for _ in 0..HISTORY_CHANGES_MAX {
            histories.record(&web1, Change::SignedIn);
            histories.record(&web1, Change::Refused("why"));
        }
        histories.record_at(&"m2".into(), &[(web1.clone(), Change::Connected)]);
        let all = histories.newest(&web1, HISTORY_CHANGES_MAX);
        assert_eq!(all.len(), HISTORY_CHANGES_MAX + 2);
        let connected: Vec<_> = all
            .iter()
            .filter(|entry| entry.change == Change::Connected)
            .map(|entry| entry.master.as_deref())
            .collect();
        assert_eq!(connected, [None, Some("m2")]);
        // Neither where it is shown.
        let newest = histories.newest(&web1, 2);
        let is_proven = |entry: &&Entry| entry.change == Change::Connected;
        assert_eq!(newest.len(), 4);
        assert_eq!(newest.iter().filter(is_proven).count(), 2);
    }
}
