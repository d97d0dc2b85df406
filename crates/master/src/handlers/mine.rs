//! The mine.

use halite_proto::request::{MineDelete, MineGet, MineStore};
use halite_proto::{Map, Value};
use halite_store::{Bank, StoreError};

use super::{Caller, Handled};
use crate::core::targets::{Asked, Minions, Resolved, resolve};
use crate::core::{jobs, mine, peer};
use crate::error::chain;
use crate::master::Master;

/// Keeps what the minion publishes about itself.
pub(super) fn store(master: &Master, caller: &Caller, store: MineStore) -> Handled {
    if !master.settings.keeps_mine {
        return true.into();
    }
    let stored = master.data.update_mine(&caller.id, store.data, store.clear);
    handled(caller, stored.map(|()| true))
}

/// Drops one function's value.
pub(super) fn delete(master: &Master, caller: &Caller, delete: &MineDelete) -> Handled {
    let deleted = master.data.delete_from_mine(&caller.id, &delete.fun);
    handled(caller, deleted.map(|_| true))
}

/// Drops everything the minion published.
pub(super) fn flush(master: &Master, caller: &Caller) -> Handled {
    handled(caller, master.data.flush_mine(&caller.id).map(|_| true))
}

/// Gathers values of the minions that are asked about.
pub(super) fn get(master: &Master, caller: &Caller, get: &MineGet) -> Handled {
    let asked: Vec<String> = get.funs().into_iter().map(str::to_owned).collect();
    let option = master.opts.get("mine_get");
    let funs = peer::readable_in_mine(option, &caller.id, asked);
    if funs.is_empty() {
        return Handled::nothing();
    }
    let tgt_type = mine::exact_type(get.tgt_type.as_deref().unwrap_or("glob"));
    let mut answer = Map::new();
    for id in matching(master, &get.tgt, tgt_type).minions {
        let Ok(Some(values)) = master.data.get(Bank::Mine, &id) else {
            continue;
        };
        let mut may_read = |allowed: mine::Allowed<'_>| {
            matching(master, allowed.tgt, allowed.tgt_type)
                .minions
                .contains(&caller.id)
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

/// Whom a target of the mine means; one that cannot be understood, nobody.
fn matching(master: &Master, tgt: &Value, tgt_type: &str) -> Resolved {
    let asked = Asked {
        tgt,
        tgt_type,
        delimiter: jobs::DELIMITER_DEFAULT,
        with_unknown: false,
        ranges: None,
    };
    let minions: &dyn Minions = master;
    resolve(asked, minions).unwrap_or_else(|error| {
        tracing::debug!("a target of the mine is not understood: {error}");
        Resolved::default()
    })
}

fn handled(caller: &Caller, result: Result<bool, StoreError>) -> Handled {
    match result {
        Ok(value) => value.into(),
        Err(error) => {
            tracing::error!(minion = %caller.id, "could not change the mine: {}", chain(&error));
            Handled::failed()
        }
    }
}
