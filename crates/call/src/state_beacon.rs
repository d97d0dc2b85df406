//! `mod_beacon` of state modules: a beacon watches what a state has made.
//!
//! The module of the state says which beacon that is, and how `beacon_data`
//! describes it; `beacon.present` says whether it exists already.

use halite_proto::{Map, Value};

use crate::call::Call;
use crate::error::CallResult;
use crate::python;
use crate::run::run_state_function;
use crate::state_return::StateReturn;

/// How often a beacon looks, in seconds, where `beacon_data` does not say it.
pub const INTERVAL: u32 = 60;

/// Adds the beacon that the state of `call` asks for. `supported` are the
/// functions of the state module that can have one, `term` names it in the
/// message about others; `describe` makes its configuration from `beacon_data`.
///
/// # Errors
/// Where no minion runs that could be asked for its beacons.
pub fn add_state_beacon(
    call: &Call<'_>,
    beacon: &str,
    (supported, term): (&[&str], &str),
    describe: impl FnOnce(&str, &Map) -> Map,
) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let function = call.get("sfun").map(python::str).unwrap_or_default();
    if !supported.contains(&function.as_str()) {
        let module = call.function().split('.').next().unwrap_or_default();
        let text = format!("{module}.{function} does not work with the {term} state function");
        return Ok(state.failed(text).into());
    }
    if !call.get("beacon").is_some_and(Value::is_true) {
        return Ok(state.ok("Not adding beacon.").into());
    }
    let empty = Map::new();
    let data = match call.get("beacon_data") {
        Some(Value::Map(data)) => data,
        None | Some(Value::Nil) => &empty,
        Some(_) => return Ok(state.failed("beacon_data must be a map").into()),
    };
    let mut kwargs = Map::from([("name", Value::from(format!("beacon_{beacon}_{name}")))]);
    kwargs.extend(describe(&name, data));
    kwargs.insert("beacon_module", beacon);
    run_state_function(call.ctx, "beacon.present", Vec::new(), kwargs, call.job)
}

/// A value of `beacon_data`, or what it is without one.
pub fn beacon_value(data: &Map, key: &str, otherwise: impl Into<Value>) -> Value {
    data.get(key).cloned().unwrap_or_else(|| otherwise.into())
}
