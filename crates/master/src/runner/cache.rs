//! `cache.*`: the data that the master keeps of its minions.

use halite_proto::{Map, MinionId, Value};
use halite_store::Bank;

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;

const TGT: &str = "(tgt=None, tgt_type='glob', **kwargs)";
const CLEAR: &str = "(tgt=None, tgt_type='glob')";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "cache.clear_all",
        CLEAR,
        clear_all,
        "Clears the cached grains, pillar and mine of minions.",
    ),
    Function::new(
        "cache.clear_grains",
        CLEAR,
        clear_grains,
        "Clears the cached grains of minions.",
    ),
    Function::new(
        "cache.clear_mine",
        CLEAR,
        clear_mine,
        "Clears the cached mine of minions.",
    ),
    Function::new(
        "cache.clear_mine_func",
        "(tgt=None, tgt_type='glob', clear_mine_func_flag=None)",
        clear_mine_func,
        "Clears one function in the cached mine of minions.",
    ),
    Function::new(
        "cache.clear_pillar",
        CLEAR,
        clear_pillar,
        "Clears the cached pillar of minions.",
    ),
    Function::new(
        "cache.grains",
        "(tgt, tgt_type='glob', **kwargs)",
        grains,
        "The cached grains of minions.",
    ),
    Function::new("cache.mine", TGT, mine, "The cached mine of minions."),
    Function::new("cache.pillar", TGT, pillar, "The cached pillar of minions."),
];

fn shown(call: &Call<'_>, bank: Bank) -> Ran {
    let mut found = Map::new();
    for id in call.targets()? {
        let kept = call.runners.fleet.data.get(bank, &id)?.unwrap_or_default();
        found.insert(&id, kept);
    }
    Ok(found.into())
}

fn grains(call: &Call<'_>) -> Ran {
    shown(call, Bank::Grains)
}

fn pillar(call: &Call<'_>) -> Ran {
    shown(call, Bank::Pillar)
}

fn mine(call: &Call<'_>) -> Ran {
    shown(call, Bank::Mine)
}

/// Clears something for each matching minion; returns whether there was anything. Without
/// a target nothing is cleared, so that a forgotten argument does not clear everything.
fn cleared(call: &Call<'_>, forget: impl Fn(&MinionId) -> Result<bool, RunnerError>) -> Ran {
    if call.arg("tgt").is_nil() {
        return Ok(false.into());
    }
    for id in call.targets()? {
        forget(&id)?;
    }
    Ok(true.into())
}

fn clear_grains(call: &Call<'_>) -> Ran {
    cleared(call, |id| {
        Ok(call.runners.fleet.data.forget(Bank::Grains, id)?)
    })
}

fn clear_pillar(call: &Call<'_>) -> Ran {
    cleared(call, |id| {
        Ok(call.runners.fleet.data.forget(Bank::Pillar, id)?)
    })
}

fn clear_mine(call: &Call<'_>) -> Ran {
    cleared(call, |id| {
        Ok(call.runners.fleet.data.forget(Bank::Mine, id)?)
    })
}

fn clear_mine_func(call: &Call<'_>) -> Ran {
    let fun = match call.arg("clear_mine_func_flag") {
        Value::Str(fun) if !fun.is_empty() => fun.clone(),
        _ => return Ok(false.into()),
    };
    cleared(call, |id| {
        Ok(call.runners.fleet.data.delete_from_mine(id, &fun)?)
    })
}

fn clear_all(call: &Call<'_>) -> Ran {
    cleared(call, |id| {
        let data = &call.runners.fleet.data;
        let grains = data.forget(Bank::Grains, id)?;
        let pillar = data.forget(Bank::Pillar, id)?;
        let mine = data.forget(Bank::Mine, id)?;
        Ok(grains || pillar || mine)
    })
}
