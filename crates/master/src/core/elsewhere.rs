//! Which minion is connected to which other master of the cluster, as those report.
//!
//! Invariant: a cut link ends no connection. What its master has reported is
//! ignored meanwhile, and compared with its new report when it is back.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use halite_proto::MinionId;

use super::history::Change;

/// The connections of minions to other masters.
#[derive(Debug)]
pub struct OtherConnections {
    masters: BTreeMap<Arc<str>, Master>,
    minions_max: usize,
}

/// The report of another master.
#[derive(Debug, Default)]
struct Master {
    /// The minions connected to it, and since when.
    minions: HashMap<MinionId, u64>,
    /// Since when it cannot be reached.
    away_since: Option<u64>,
}

impl OtherConnections {
    /// Nothing reported yet; of each master at most this many minions are remembered.
    pub fn new(minions_max: usize) -> Self {
        Self {
            masters: BTreeMap::new(),
            minions_max,
        }
    }

    /// A master reports the minions connected to it: all of them, or changes. Returns
    /// what is new.
    pub fn tells(
        &mut self,
        master: &Arc<str>,
        is_complete: bool,
        minions: Vec<(MinionId, bool)>,
        now_micros: u64,
    ) -> Vec<(MinionId, Change)> {
        let of = self.masters.entry(Arc::clone(master)).or_default();
        let mut changes = Vec::new();
        if is_complete {
            of.away_since = None;
            let here = minions.iter().filter(|(_, is_here)| *is_here);
            let here: HashSet<&MinionId> = here.map(|(id, _)| id).collect();
            of.minions.retain(|id, _| {
                let stays = here.contains(id);
                if !stays {
                    changes.push((id.clone(), Change::Disconnected));
                }
                stays
            });
        }
        for (id, is_here) in minions {
            if is_here == of.minions.contains_key(&id) {
                continue;
            }
            if !is_here {
                of.minions.remove(&id);
                changes.push((id, Change::Disconnected));
            } else if of.minions.len() < self.minions_max {
                of.minions.insert(id.clone(), now_micros);
                changes.push((id, Change::Connected));
            }
        }
        changes
    }

    /// Nothing is heard of a master any more.
    pub fn is_away(&mut self, master: &str, now_micros: u64) {
        if let Some(of) = self.masters.get_mut(master) {
            of.away_since.get_or_insert(now_micros);
        }
    }

    /// Forgets masters that are no longer members.
    pub fn retain(&mut self, mut is_member: impl FnMut(&str) -> bool) {
        self.masters.retain(|master, _| is_member(master));
    }

    /// The master that a minion is connected to, and since when: of several the one that it
    /// came to last.
    pub fn master_of(&self, id: &MinionId) -> Option<(&Arc<str>, u64)> {
        self.masters_of(id).max_by_key(|(_, since)| *since)
    }

    /// The masters that a minion is connected to, by name, and since when.
    pub fn masters_of(&self, id: &MinionId) -> impl Iterator<Item = (&Arc<str>, u64)> {
        let heard = self
            .masters
            .iter()
            .filter(|(_, of)| of.away_since.is_none());
        heard.filter_map(|(master, of)| Some((master, *of.minions.get(id)?)))
    }

    /// The masters that a minion was connected to when they were last heard, and since when
    /// they are not.
    pub fn unheard_masters_of(&self, id: &MinionId) -> impl Iterator<Item = (&Arc<str>, u64)> {
        self.masters.iter().filter_map(|(master, of)| {
            let since = of.away_since?;
            of.minions.contains_key(id).then_some((master, since))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> MinionId {
        MinionId::parse(text).unwrap()
    }

    /// What a list of minions that are here comes to.
    fn tells(
        elsewhere: &mut OtherConnections,
        master: &str,
        here: &[&str],
        now: u64,
    ) -> Vec<String> {
        let minions = here.iter().map(|name| (id(name), true)).collect();
        let changes = elsewhere.tells(&master.into(), true, minions, now);
        let text = |(id, change): (MinionId, Change)| format!("{id} {}", change.name());
        let mut texts: Vec<_> = changes.into_iter().map(text).collect();
        texts.sort();
        texts
    }

    fn master_of(elsewhere: &OtherConnections, name: &str) -> Option<(String, u64)> {
        let of = elsewhere.master_of(&id(name));
        of.map(|(master, since)| (master.to_string(), since))
    }

    fn unheard(elsewhere: &OtherConnections, name: &str) -> Vec<(String, u64)> {
        let id = id(name);
        let masters = elsewhere.unheard_masters_of(&id);
        masters.map(|(of, since)| (of.to_string(), since)).collect()
    }

    #[test]
    fn a_minion_of_several_masters_leaves_each_of_them_once() {
        let mut elsewhere = OtherConnections::new(10);
        assert_eq!(tells(&mut elsewhere, "m2", &["a"], 1), ["a connected"]);
        assert_eq!(tells(&mut elsewhere, "m3", &["a"], 2), ["a connected"]);
        for _ in 0..3 {
            assert!(tells(&mut elsewhere, "m2", &["a"], 3).is_empty());
            assert!(tells(&mut elsewhere, "m3", &["a"], 3).is_empty());
        }
        assert_eq!(master_of(&elsewhere, "a"), Some(("m3".into(), 2)));
        let known = id("a");
        let masters = elsewhere.masters_of(&known).map(|(master, _)| &**master);
        assert_eq!(masters.collect::<Vec<_>>(), ["m2", "m3"]);
        let gone = elsewhere.tells(&"m3".into(), false, vec![(id("a"), false)], 4);
        assert_eq!(gone, [(id("a"), Change::Disconnected)]);
        assert_eq!(master_of(&elsewhere, "a"), Some(("m2".into(), 1)));
        assert_eq!(tells(&mut elsewhere, "m2", &[], 5), ["a disconnected"]);
        assert_eq!(master_of(&elsewhere, "a"), None);
    }

    #[test]
    fn a_cut_link_changes_nothing_but_what_is_known() {
        let mut elsewhere = OtherConnections::new(10);
        tells(&mut elsewhere, "m2", &["stays", "goes"], 1);
        elsewhere.is_away("m2", 5);
        elsewhere.is_away("m2", 6);
        assert_eq!(master_of(&elsewhere, "stays"), None);
        assert_eq!(unheard(&elsewhere, "stays"), [("m2".into(), 5)]);
        let back = tells(&mut elsewhere, "m2", &["stays", "comes"], 9);
        assert_eq!(back, ["comes connected", "goes disconnected"]);
        assert_eq!(master_of(&elsewhere, "stays"), Some(("m2".into(), 1)));
        assert!(unheard(&elsewhere, "stays").is_empty());
    }

    #[test]
    fn a_master_that_is_removed_is_forgotten() {
        let mut elsewhere = OtherConnections::new(10);
        tells(&mut elsewhere, "m2", &["a"], 1);
        elsewhere.is_away("m2", 5);
        elsewhere.retain(|master| master != "m2");
        assert!(unheard(&elsewhere, "a").is_empty());
    }

    #[test]
    fn no_more_minions_are_kept_than_there_is_room_for() {
        let mut elsewhere = OtherConnections::new(2);
        let told = tells(&mut elsewhere, "m2", &["a", "b", "c"], 1);
        assert_eq!(told, ["a connected", "b connected"]);
    }
}
