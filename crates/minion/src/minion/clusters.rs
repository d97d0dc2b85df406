//! Which masters of the list are one cluster: a message for every master goes to a
//! cluster once, since its masters tell each other.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::Minion;
use crate::core::cluster_mark::ClusterMark;

/// The masters whose clusters know that the minion has started.
#[derive(Debug, Default)]
pub(crate) struct Greeted(Mutex<BTreeSet<usize>>);

impl Greeted {
    /// Whether a master is to get the minion's start event: no other connected master of
    /// its cluster has had it. It counts as having had it then.
    pub(crate) fn is_news(&self, minion: &Minion, master: usize) -> bool {
        let mut greeted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = 0..minion.masters.len();
        let groups = minion.by_cluster(all);
        let group = groups.into_iter().find(|group| group.contains(&master));
        let others = group.into_iter().flatten().filter(|other| *other != master);
        let is_ready = |other: &usize| minion.masters.get(*other).is_some_and(|of| of.is_ready());
        for other in others {
            if !greeted.contains(&other) {
                continue;
            }
            if is_ready(&other) {
                return false;
            }
            greeted.remove(&other);
        }
        greeted.insert(master);
        true
    }

    /// The master has not heard it after all.
    pub(crate) fn forget(&self, master: usize) {
        let mut greeted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        greeted.remove(&master);
    }
}

impl Minion {
    /// Groups masters by cluster, as far as they have signed in and said so; each other
    /// one is alone. The order stays.
    pub(crate) fn by_cluster(&self, masters: impl IntoIterator<Item = usize>) -> Vec<Vec<usize>> {
        let mut groups: Vec<(Option<ClusterMark>, Vec<usize>)> = Vec::new();
        for at in masters {
            let master = self.masters.get(at);
            let mark = master.and_then(|master| master.channel.cluster());
            let same =
                |group: &&mut (Option<ClusterMark>, Vec<usize>)| mark.is_some() && group.0 == mark;
            match groups.iter_mut().find(same) {
                Some((_, group)) => group.push(at),
                None => groups.push((mark, vec![at])),
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// From masters, the first of each cluster and those that are in none.
    pub(crate) fn one_of_each_cluster(
        &self,
        masters: impl IntoIterator<Item = usize>,
    ) -> impl Iterator<Item = usize> {
        let groups = self.by_cluster(masters).into_iter();
        groups.filter_map(|group| group.into_iter().next())
    }
}
