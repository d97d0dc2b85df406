//! `match.compound_matches`: whether a target matches a minion.

use halite_proto::{Map, MinionId, Value};

use super::Call;
use super::error::Ran;
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[Function::new(
    "match.compound_matches",
    "(expr, minion_id)",
    compound_matches,
    "Whether a compound target matches a minion, by what the master knows of it.",
)];

fn compound_matches(call: &Call<'_>) -> Ran {
    let id = call
        .text("minion_id")
        .and_then(|id| MinionId::parse(id).ok());
    let is_meant = match &id {
        // Without data everybody would be meant.
        Some(id) if call.runners.fleet.settings.keeps_data => call
            .targeted(call.arg("expr"), "compound_pillar_exact")
            .is_ok_and(|meant| meant.contains(id)),
        _ => false,
    };
    let res = match id.filter(|_| is_meant) {
        Some(id) => Value::from(&id),
        None => false.into(),
    };
    Ok(Map::from([("res", res)]).into())
}
