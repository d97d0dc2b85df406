//! Finds declarations by their content.
//!
//! Invariant: the tables hold references into the high data, so they cannot outlive
//! a change of it.

use std::collections::{HashMap, HashSet};

use halite_proto::{Map, Value};

use super::{first, is_private};

/// An id and a state module under it.
pub(super) type StateKey = (Value, String);

/// The declarations whose id is `name`, or else that have an argument of the
/// value `name`, for the state module `state`. With `strict` the id must have
/// that module.
pub(super) fn find_name(
    high: &Map,
    values: &Values,
    name: &Value,
    state: &str,
    strict: bool,
) -> Vec<StateKey> {
    let body = high.get_value(name);
    let has_state = || body.is_some_and(|body| body.get(state).is_some());
    if body.is_some() && (!strict || has_state()) {
        return vec![(name.clone(), state.to_owned())];
    }
    if state == "sls" {
        let of_sls = |body: &Value| body.get("__sls__") == Some(name);
        let module = |body: &Value| Some(body.as_map()?.keys().next()?.as_str()?.to_owned());
        let matching = high.iter().filter(|(_, body)| of_sls(body));
        return matching
            .filter_map(|(id, body)| Some((id.clone(), module(body)?)))
            .collect();
    }
    let Some(name) = name.as_str() else {
        return Vec::new();
    };
    let ids = values.0.get(state).and_then(|values| values.get(name));
    ids.into_iter()
        .flatten()
        .map(|id| (id.clone(), state.to_owned()))
        .collect()
}

/// By state module and argument value, the ids that have it.
#[derive(Default)]
pub(super) struct Values(HashMap<String, HashMap<String, Vec<Value>>>);

impl Values {
    pub(super) fn new(high: &Map) -> Self {
        let mut table = Self::default();
        for (id, state, args) in states(high) {
            for arg in args.iter().filter_map(Value::as_map) {
                if arg.len() != 1 {
                    continue;
                }
                if let Some((_, Value::Str(value))) = first(arg) {
                    let values = table.0.entry(state.to_owned()).or_default();
                    values.entry(value.clone()).or_default().push(id.clone());
                }
            }
        }
        table
    }
}

/// By the argument `name`, the first state that has it.
pub(super) fn by_name(high: &Map) -> HashMap<&Value, StateKey> {
    let mut names = HashMap::new();
    for (id, state, args) in states(high) {
        for name in args.iter().filter_map(|arg| arg.get("name")) {
            names
                .entry(name)
                .or_insert_with(|| (id.clone(), state.to_owned()));
        }
    }
    names
}

/// All states of each SLS.
pub(super) fn by_sls(high: &Map) -> HashMap<&Value, Vec<StateKey>> {
    let mut all: HashMap<&Value, Vec<StateKey>> = HashMap::new();
    for (id, body) in high {
        let (Some(sls), Some(body)) = (body.get("__sls__"), body.as_map()) else {
            continue;
        };
        let states = body.keys().filter(|key| !is_private(key));
        let places = states.filter_map(|state| Some((id.clone(), state.as_str()?.to_owned())));
        all.entry(sls).or_default().extend(places);
    }
    all
}

/// The names of the arguments of a state.
pub(super) fn argument_names<'h>(high: &'h Map, id: &Value, state: &str) -> HashSet<&'h Value> {
    let args = high.get_value(id).and_then(|body| body.get(state));
    let args = args.and_then(Value::as_list).into_iter().flatten();
    args.filter_map(Value::as_map)
        .filter(|arg| arg.len() == 1)
        .filter_map(|arg| Some(first(arg)?.0))
        .collect()
}

/// Every state with its arguments.
fn states(high: &Map) -> impl Iterator<Item = (&Value, &str, &[Value])> {
    high.iter().flat_map(|(id, body)| {
        let body = body.as_map().into_iter().flatten();
        body.filter(|(state, _)| !is_private(state))
            .filter_map(move |(state, args)| Some((id, state.as_str()?, args.as_list()?)))
    })
}
