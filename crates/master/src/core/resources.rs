//! Which minion owns which resource of Salt 3008: a thing that a minion manages and
//! that is not a minion itself.
//!
//! Invariant: a resource belongs to one minion, the first accepted one that has
//! registered it, until that minion releases it or is no longer accepted.

use std::collections::{BTreeSet, HashMap};

use halite_proto::{Map, MinionId, NewIds, Value};

/// Resources of one minion. Further ones are left out.
pub const RESOURCES_PER_MINION_MAX: usize = 10_000;

/// The resources, by owner and by name.
#[derive(Debug, Default)]
pub struct Owners {
    by_owner: HashMap<MinionId, BTreeSet<MinionId>>,
    by_resource: HashMap<MinionId, MinionId>,
}

impl Owners {
    /// Records what `owner` has registered, replacing what it had before; true if that
    /// differs. `is_accepted` tells which owners are still accepted.
    pub fn register(
        &mut self,
        owner: &MinionId,
        named: impl IntoIterator<Item = MinionId>,
        is_accepted: impl Fn(&MinionId) -> bool,
    ) -> bool {
        let is_free = |resource: &MinionId| match self.by_resource.get(resource) {
            Some(known) => known == owner || !is_accepted(known),
            None => resource != owner,
        };
        let named = named.into_iter().filter(is_free);
        let now: BTreeSet<MinionId> = named.take(RESOURCES_PER_MINION_MAX).collect();
        let before = self.by_owner.remove(owner).unwrap_or_default();
        for gone in before.difference(&now) {
            self.by_resource.remove(gone);
        }
        let is_new = before != now;
        for resource in &now {
            let known = self.by_resource.insert(resource.clone(), owner.clone());
            if let Some(known) = known.filter(|known| known != owner)
                && let Some(theirs) = self.by_owner.get_mut(&known)
            {
                theirs.remove(resource);
            }
        }
        if !now.is_empty() {
            self.by_owner.insert(owner.clone(), now);
        }
        is_new
    }

    /// Whether a resource is this minion's.
    pub fn is_of(&self, owner: &MinionId, resource: &MinionId) -> bool {
        self.by_resource.get(resource) == Some(owner)
    }

    /// The resources of a minion, in order.
    pub fn owned_by<'a>(&'a self, owner: &MinionId) -> impl Iterator<Item = &'a MinionId> {
        self.by_owner.get(owner).into_iter().flatten()
    }
}

/// The names in what a minion registers: lists of them by type. They end up where
/// ids of minions do, so that the same ones are let through.
pub fn names(resources: &Map, allowed: NewIds) -> impl Iterator<Item = MinionId> {
    let lists = resources.values().filter_map(Value::as_list);
    let names = lists.flatten();
    let names = names.filter_map(|name| MinionId::parse(name.as_str()?).ok());
    names.filter(move |name| allowed.check(name).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> MinionId {
        MinionId::parse(name).unwrap()
    }

    fn ids(names: &[&str]) -> Vec<MinionId> {
        names.iter().map(|name| id(name)).collect()
    }

    #[test]
    fn the_first_one_owns_it_until_it_lets_go() {
        let mut owners = Owners::default();
        assert!(owners.register(&id("a"), ids(&["r1", "r2", "a"]), |_| true));
        assert!(!owners.register(&id("a"), ids(&["r2", "r1"]), |_| true));
        owners.register(&id("b"), ids(&["r1", "r3"]), |_| true);
        assert!(owners.is_of(&id("a"), &id("r1")) && owners.is_of(&id("b"), &id("r3")));
        assert!(!owners.is_of(&id("b"), &id("r1")) && !owners.is_of(&id("a"), &id("a")));
        assert!(owners.register(&id("a"), ids(&["r2"]), |_| true));
        owners.register(&id("b"), ids(&["r1", "r3"]), |_| true);
        assert!(owners.is_of(&id("b"), &id("r1")));
        assert_eq!(owners.owned_by(&id("b")).count(), 2);
    }

    #[test]
    fn who_is_accepted_no_more_owns_nothing() {
        let mut owners = Owners::default();
        owners.register(&id("a"), ids(&["r1"]), |_| true);
        owners.register(&id("b"), ids(&["r1"]), |owner| *owner != id("a"));
        assert!(owners.is_of(&id("b"), &id("r1")));
        assert_eq!(owners.owned_by(&id("a")).count(), 0);
    }

    #[test]
    fn names_are_such_as_new_minions_may_have() {
        let named = ["r1", "*", "a b", "-A", "E@.*", "../x", "r2@site"];
        let named: Vec<Value> = named.iter().map(|name| (*name).into()).collect();
        let named = Map::from([("dummy", named)]);
        let taken = |rule| names(&named, rule).collect::<Vec<_>>();
        assert_eq!(taken(NewIds::HostNames), ids(&["r1"]));
        assert_eq!(taken(NewIds::Wide), ids(&["r1", "r2@site"]));
    }

    #[test]
    fn one_minion_names_so_many() {
        let mut owners = Owners::default();
        let many = (0..RESOURCES_PER_MINION_MAX + 5).map(|n| id(&format!("r{n}")));
        owners.register(&id("a"), many, |_| true);
        assert_eq!(owners.owned_by(&id("a")).count(), RESOURCES_PER_MINION_MAX);
    }
}
