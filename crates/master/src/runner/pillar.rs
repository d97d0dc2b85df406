//! `pillar.*`: the current or hypothetical pillar of a minion.

use std::sync::Arc;

use halite_pillar::Request;
use halite_proto::{Map, MinionId, Value};
use halite_store::Bank;

use super::Call;
use super::error::Ran;
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "pillar.clear_pillar_cache",
        "(minion='*', **kwargs)",
        clear_pillar_cache,
        "Clears the pillars in pillar_cache.",
    ),
    Function::new(
        "pillar.show_pillar",
        "(minion='*', **kwargs)",
        show_pillar,
        "The pillar of a minion, with `pillarenv` and `saltenv` and other arguments as\ngrains; without a minion what all of them have.",
    ),
    Function::new(
        "pillar.show_pillar_cache",
        "(minion='*', **kwargs)",
        show_pillar_cache,
        "The pillars of minions in pillar_cache.",
    ),
    Function::new(
        "pillar.show_top",
        "(minion=None, saltenv='base')",
        show_top,
        "The pillar's top files rendered for a minion, or for the first one.",
    ),
];

/// The minion `name` with its cached grains; without a name, the first known one.
fn known(call: &Call<'_>, name: Option<&str>) -> Result<(String, Option<Map>), super::RunnerError> {
    let id = match name {
        Some(name) => match MinionId::parse(name) {
            Ok(id) => Some(id),
            // `*` names no minion: it gets the pillar that every minion has.
            Err(_) => return Ok((name.to_owned(), None)),
        },
        None => call
            .runners
            .fleet
            .data
            .ids(Bank::Grains)?
            .into_iter()
            .next(),
    };
    match id {
        Some(id) => {
            let grains = call.runners.fleet.data.get(Bank::Grains, &id)?;
            Ok((id.to_string(), grains))
        }
        None => Ok((String::new(), None)),
    }
}

fn show_top(call: &Call<'_>) -> Ran {
    let (id, grains) = known(call, call.text("minion"))?;
    let request = Request {
        id,
        grains: Arc::new(grains.unwrap_or_default()),
        saltenv: call.text("saltenv").map(str::to_owned),
        ..Request::default()
    };
    Ok(match call.runners.pillars.top(&request) {
        Ok(top) => top.into(),
        Err(errors) => {
            let errors: Vec<Value> = errors.into_iter().map(Value::Str).collect();
            let data: Value = errors.into();
            call.progress(Map::from([
                ("data", data.clone()),
                ("outputter", "nested".into()),
            ]));
            data
        }
    })
}

fn show_pillar(call: &Call<'_>) -> Ran {
    let name = call.text("minion").unwrap_or("*");
    let (id, grains) = known(call, Some(name))?;
    let mut grains = grains.unwrap_or_else(|| Map::from([("fqdn", name)]));
    let mut request = Request {
        id,
        saltenv: Some("base".to_owned()),
        ..Request::default()
    };
    for (key, value) in &call.bound.kwargs {
        let text = || value.as_str().map(str::to_owned);
        match key.as_str() {
            Some("saltenv") => request.saltenv = text(),
            Some("pillarenv") => request.pillarenv = text(),
            _ => {
                grains.insert(key.clone(), value.clone());
            }
        }
    }
    request.grains = Arc::new(grains);
    Ok(call.runners.pillars.compile(&request).into())
}

/// Whom the argument `minion` means, if pillars are kept at all.
fn meant(call: &Call<'_>) -> Result<Option<Vec<MinionId>>, super::RunnerError> {
    if !call.runners.pillars.caches() && !call.runners.fleet.settings.keeps_data {
        tracing::info!("neither pillar_cache nor minion_data_cache is on");
        return Ok(None);
    }
    call.targeted(call.arg("minion"), "glob").map(Some)
}

fn clear_pillar_cache(call: &Call<'_>) -> Ran {
    let Some(ids) = meant(call)? else {
        return Ok(false.into());
    };
    for id in ids {
        call.runners.pillars.forget(id.as_str());
        call.runners.fleet.data.forget(Bank::Pillar, &id)?;
    }
    Ok(true.into())
}

fn show_pillar_cache(call: &Call<'_>) -> Ran {
    let Some(ids) = meant(call)? else {
        return Ok(false.into());
    };
    let pillarenv = call.bound.kwargs.get("pillarenv").and_then(Value::as_str);
    let mut shown = Map::new();
    for id in ids {
        let pillar = match call.runners.pillars.cached(id.as_str(), pillarenv) {
            Some(pillar) => Some(pillar),
            None => call.runners.fleet.data.get(Bank::Pillar, &id)?,
        };
        if let Some(pillar) = pillar.filter(|pillar| !pillar.is_empty()) {
            shown.insert(&id, pillar);
        }
    }
    Ok(shown.into())
}
