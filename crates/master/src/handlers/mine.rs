//! The mine.
//!
//! Invariant: the condition that guards a value is evaluated only for the minion
//! that asks, so it costs the same however many minions there are.

use std::collections::BTreeSet;
use std::time::Duration;

use halite_proto::request::{MineDelete, MineGet, MineStore};
use halite_proto::{Map, MinionId, Value};
use halite_store::{Bank, Parts, StoreError};
use halite_target::{Reading, Target};

use super::{Caller, Handled};
use crate::core::targets::{Asked, Minions, Resolved, resolve};
use crate::core::{jobs, mine};
use crate::error::chain;
use crate::fleet::Fleet;
use crate::limits::{
    MINE_FUNCTIONS_ASKED_MAX, MINE_PILLAR_PARTS_MAX, MINION_TARGET_BYTES_MAX, TARGET_TIME_MAX,
};

/// Stores what the minion publishes about itself.
pub(super) fn store(fleet: &Fleet, caller: &Caller, store: MineStore) -> Handled {
    if !fleet.settings.keeps_mine {
        return true.into();
    }
    let stored = fleet.data.update_mine(&caller.id, store.data, store.clear);
    handled(caller, stored.map(|()| true))
}

/// Drops one function's value.
pub(super) fn delete(fleet: &Fleet, caller: &Caller, delete: &MineDelete) -> Handled {
    let deleted = fleet.data.delete_from_mine(&caller.id, &delete.fun);
    handled(caller, deleted.map(|_| true))
}

/// Drops everything the minion published.
pub(super) fn flush(fleet: &Fleet, caller: &Caller) -> Handled {
    handled(
        caller,
        fleet.data.forget(Bank::Mine, &caller.id).map(|_| true),
    )
}

/// Gathers values of the minions that are asked about.
pub(super) fn get(fleet: &Fleet, caller: &Caller, get: &MineGet) -> Handled {
    let mut names = BTreeSet::new();
    let asked: Vec<String> = get
        .funs()
        .into_iter()
        .filter(|fun| names.insert(*fun))
        .take(MINE_FUNCTIONS_ASKED_MAX)
        .map(str::to_owned)
        .collect();
    let peers = &fleet.settings.peers;
    let funs = peers.readable_in_mine(&caller.id, asked);
    if funs.is_empty() {
        return Handled::nothing();
    }
    let tgt_type = mine::exact_type(get.tgt_type.as_deref().unwrap_or("glob"));
    let parts = parts_about_pillar(fleet, &get.tgt, tgt_type);
    if !fleet.may_ask_about_pillar(&caller.id, parts) {
        if caller.may_log("mine by pillar") {
            tracing::error!(
                minion = %caller.id,
                "refused a mine request: the minion targets by pillar more than \
                 {MINE_PILLAR_PARTS_MAX} times an hour"
            );
        }
        // Nothing would look like a fleet without minions.
        return Handled::failed();
    }
    let mut answer = Map::new();
    let asker = Asker {
        fleet,
        id: &caller.id,
    };
    for id in matching(fleet, &get.tgt, tgt_type).minions {
        let values = match fleet.data.get(Bank::Mine, &id) {
            Ok(Some(values)) => values,
            Ok(None) => continue,
            // An answer without it would look like a fleet without that minion.
            Err(error) => return failed(caller, &format!("read the mine of {id}"), &error),
        };
        let mut may_read = |allowed: mine::Allowed<'_>| {
            let found = matching(&asker, allowed.tgt, allowed.tgt_type);
            found.minions.contains(&caller.id)
        };
        mine::gather(
            &mut answer,
            id.as_str(),
            &values,
            &funs,
            get.is_several(),
            &mut may_read,
        );
    }
    answer.into()
}

/// The fleet, as far as it concerns who asks.
struct Asker<'a> {
    fleet: &'a Fleet,
    id: &'a MinionId,
}

impl Minions for Asker<'_> {
    fn accepted(&self) -> Vec<MinionId> {
        vec![self.id.clone()]
    }

    fn grains_of(&self, ids: &[MinionId], names: &BTreeSet<String>) -> Option<Parts> {
        self.fleet.grains_of(ids, names)
    }

    fn pillars_of(&self, ids: &[MinionId], names: &BTreeSet<String>) -> Option<Parts> {
        self.fleet.pillars_of(ids, names)
    }

    fn grains(&self, id: &MinionId) -> Option<Map> {
        self.fleet.grains(id)
    }

    fn pillar(&self, id: &MinionId) -> Option<Map> {
        self.fleet.pillar(id)
    }

    fn keeps_data(&self) -> bool {
        self.fleet.keeps_data()
    }

    fn nodegroups(&self) -> Option<&Map> {
        self.fleet.nodegroups()
    }

    fn processor_time(&self) -> Duration {
        self.fleet.processor_time()
    }

    fn read_time_max(&self) -> Duration {
        TARGET_TIME_MAX
    }
}

/// How much a target of the mine asks about pillar; what cannot be read means
/// nobody and asks nothing.
fn parts_about_pillar(minions: &dyn Minions, tgt: &Value, tgt_type: &str) -> usize {
    if is_long(tgt, tgt_type) {
        return 0;
    }
    let reading = Reading {
        delimiter: jobs::DELIMITER_DEFAULT,
        nodegroups: minions.nodegroups(),
        ranges: None,
    };
    let target = Target::parse_with(tgt, tgt_type, &reading);
    target.map_or(0, |target| target.parts_about_pillar())
}

fn is_long(tgt: &Value, tgt_type: &str) -> bool {
    let is_long = |text: &str| tgt_type != "list" && text.len() > MINION_TARGET_BYTES_MAX;
    tgt.as_str().is_some_and(is_long)
}

/// The minions that a target of the mine matches; none if the target is invalid or
/// nothing is known for it.
fn matching(minions: &dyn Minions, tgt: &Value, tgt_type: &str) -> Resolved {
    if is_long(tgt, tgt_type) {
        tracing::debug!("a target of the mine has more than {MINION_TARGET_BYTES_MAX} bytes");
        return Resolved::default();
    }
    let asked = Asked {
        tgt,
        tgt_type,
        delimiter: jobs::DELIMITER_DEFAULT,
        with_unknown: false,
        ranges: None,
    };
    match resolve(asked, minions) {
        // Everybody might be meant, and it is a right.
        Ok(resolved) if resolved.by_data && !minions.keeps_data() => Resolved::default(),
        Ok(resolved) => resolved,
        Err(error) => {
            tracing::debug!("a target of the mine is invalid: {error}");
            Resolved::default()
        }
    }
}

fn handled(caller: &Caller, result: Result<bool, StoreError>) -> Handled {
    match result {
        Ok(value) => value.into(),
        Err(error) => failed(caller, "change the mine", &error),
    }
}

fn failed(caller: &Caller, what: &str, error: &StoreError) -> Handled {
    if caller.may_log("mine") {
        tracing::error!(minion = %caller.id, "could not {what}: {}", chain(error));
    } else {
        tracing::debug!(minion = %caller.id, "could not {what}: {}", chain(error));
    }
    Handled::failed()
}
