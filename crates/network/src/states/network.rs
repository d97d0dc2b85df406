//! States of the network's settings.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::diff;

pub(crate) const MODULE: Module = Module {
    name: "network",
    functions: &[
        Function::new(
            "network.managed",
            "(name, enabled=True, **kwargs)",
            managed,
            "An interface is set up as it is asked for, and on or off.",
        ),
        Function::new(
            "network.routes",
            "(name, **kwargs)",
            routes,
            "An interface has routes.",
        ),
        Function::new(
            "network.system",
            "(name, **kwargs)",
            system,
            "The network as a whole is set up as it is asked for.",
        ),
    ],
};

/// What was written, and what is to be.
struct Pair {
    old: Vec<String>,
    new: Vec<String>,
}

/// How the two differ.
enum Change {
    None,
    Added,
    Updated(String),
}

impl Pair {
    fn change(&self) -> Change {
        if self.old.is_empty() && !self.new.is_empty() {
            Change::Added
        } else if self.old == self.new {
            Change::None
        } else {
            Change::Updated(diff::unified(&self.old, &self.new))
        }
    }
}

fn lines(value: &Value) -> Vec<String> {
    value
        .as_list()
        .unwrap_or_default()
        .iter()
        .map(python::str)
        .collect()
}

/// The state's own arguments, with the test mode among them.
fn own(call: &Call<'_>) -> Map {
    let mut kwargs = call.own_kwargs();
    kwargs.insert("test", call.is_test());
    kwargs
}

/// A setting that is wrong is a result, not an exception.
fn outcome(call: &Call<'_>, done: Result<StateReturn, CallError>) -> CallResult {
    match done {
        Ok(state) => Ok(state.into()),
        Err(CallError::Exception {
            kind: "AttributeError" | "KeyError",
            message,
            ..
        }) => Ok(StateReturn::of(call).failed(message).into()),
        Err(other) => Err(other),
    }
}

fn managed(call: &Call<'_>) -> CallResult {
    outcome(call, manage(call))
}

fn manage(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let mut state = StateReturn::of(call).ok(format!("Interface {name} is up to date."));
    let mut kwargs = own(call);
    let kind = kwargs
        .remove("type")
        .map_or_else(|| "eth".to_owned(), |kind| python::str(&kind));
    if let Some(address) = kwargs.remove("addr") {
        let told = if kwargs.contains_key("hwaddr") {
            "it has been ignored in favor of 'hwaddr'."
        } else {
            kwargs.insert("hwaddr", address);
            "its value has been assigned to 'hwaddr' instead."
        };
        let warning = format!(
            "'addr' is not a valid argument name, {told} Update your SLS file to get rid of this warning."
        );
        state.more.insert("warnings", vec![Value::from(warning)]);
    }
    let one = [Value::from(name.as_str())];
    let old = call.salt("ip.get_interface", &one, Map::new())?;
    let enabled = call.flag("enabled");
    let arguments = [name.as_str().into(), kind.as_str().into(), enabled.into()];
    let new = call.salt("ip.build_interface", &arguments, kwargs.clone())?;
    let pair = Pair {
        old: lines(&old),
        new: lines(&new),
    };
    state = changed(call, state, "Interface", pair.change());
    // Elsewhere the options of a bond are in the interface's own file.
    let grains = call.ctx.grains();
    let is_debian = grains.get("os_family").and_then(Value::as_str) == Some("Debian");
    if kind == "bond" && is_debian {
        let pair = Pair {
            old: lines(&call.salt("ip.get_bond", &one, Map::new())?),
            new: lines(&call.salt("ip.build_bond", &one, kwargs.clone())?),
        };
        state = changed(call, state, "Bond interface", pair.change());
    }
    if call.is_test() {
        return Ok(state);
    }
    if kind == "source" {
        return Ok(state);
    }
    let is_up = is_up(call, &name)?;
    if !kwargs.contains_key("noifupdown") {
        state = bring(call, state, &kind, enabled, is_up)?;
    }
    if !(enabled && is_up) {
        call.salt("saltutil.refresh_grains", &[], Map::new())?;
    }
    Ok(state)
}

/// Says how what is written of an interface changes, or would.
fn changed(call: &Call<'_>, state: StateReturn, what: &str, change: Change) -> StateReturn {
    let name = call.text("name");
    let (key, added) = match what {
        "Interface" => ("interface", "Added network interface.".to_owned()),
        _ => ("bond", format!("Added bond {name}.")),
    };
    match (change, call.is_test()) {
        (Change::None, _) => state,
        (Change::Added, true) => state.pending(format!("{what} {name} is set to be added.")),
        (Change::Updated(diff), true) => {
            state.pending(format!("{what} {name} is set to be updated:\n{diff}"))
        }
        (Change::Added, false) => state.ok(format!("{what} {name} added.")).change(key, added),
        (Change::Updated(diff), false) => state
            .ok(format!("{what} {name} updated."))
            .change(key, diff),
    }
}

fn is_up(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    let all = call.salt("network.interfaces", &[], Map::new())?;
    if let Some(known) = all.get(name) {
        return Ok(known.get("up").is_some_and(Value::is_true));
    }
    let has_label = |address: &Value| address.get("label").and_then(Value::as_str) == Some(name);
    let entries = all.as_map().into_iter().flat_map(|all| all.iter());
    Ok(entries
        .filter_map(|(_, interface)| interface.get("secondary")?.as_list())
        .flatten()
        .any(has_label))
}

/// Turns the interface on or off, and on again where it was changed.
fn bring(
    call: &Call<'_>,
    state: StateReturn,
    kind: &str,
    enabled: bool,
    is_up: bool,
) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let both = [name.as_str().into(), kind.into()];
    let said = match (enabled, is_up) {
        (true, true) if state.changes.is_empty() => return Ok(state),
        (true, true) => {
            call.salt("ip.down", &both, Map::new())?;
            call.salt("ip.up", &both, Map::new())?;
            format!("Interface {name} restart to validate")
        }
        (true, false) => {
            call.salt("ip.up", &both, Map::new())?;
            format!("Interface {name} is up")
        }
        (false, true) => {
            call.salt("ip.down", &both, Map::new())?;
            format!("Interface {name} down")
        }
        (false, false) => return Ok(state),
    };
    Ok(state.change("status", said))
}

fn routes(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    outcome(
        call,
        (|| {
            let state =
                StateReturn::of(call).ok(format!("Interface {name} routes are up to date."));
            let (one, kwargs) = ([Value::from(name.as_str())], own(call));
            let pair = Pair {
                old: lines(&call.salt("ip.get_routes", &one, Map::new())?),
                new: lines(&call.salt("ip.build_routes", &one, kwargs.clone())?),
            };
            let change = pair.change();
            if call.is_test() {
                return Ok(match change {
                    Change::None => state,
                    Change::Added => {
                        state.pending(format!("Interface {name} routes are set to be added."))
                    }
                    Change::Updated(diff) => state.pending(format!(
                        "Interface {name} routes are set to be updated:\n{diff}"
                    )),
                });
            }
            let state = match change {
                Change::None => return Ok(state),
                Change::Added => state
                    .ok(format!("Interface {name} routes added."))
                    .change("network_routes", format!("Added interface {name} routes.")),
                Change::Updated(diff) => state
                    .ok(format!("Interface {name} routes updated."))
                    .change("network_routes", diff),
            };
            call.salt("ip.apply_network_settings", &[], kwargs)?;
            Ok(state)
        })(),
    )
}

fn system(call: &Call<'_>) -> CallResult {
    outcome(
        call,
        (|| {
            let state = StateReturn::of(call).ok("Global network settings are up to date.");
            let kwargs = own(call);
            let pair = Pair {
                old: lines(&call.salt("ip.get_network_settings", &[], Map::new())?),
                new: lines(&call.salt("ip.build_network_settings", &[], kwargs.clone())?),
            };
            let change = pair.change();
            if call.is_test() {
                return Ok(match change {
                    Change::None => state,
                    Change::Added => state.pending("Global network settings are set to be added."),
                    Change::Updated(diff) => state.pending(format!(
                        "Global network settings are set to be updated:\n{diff}"
                    )),
                });
            }
            let state = match change {
                Change::None => return Ok(state),
                Change::Added => state.change("network_settings", "Added global network settings."),
                Change::Updated(diff) => state.change("network_settings", diff),
            };
            call.salt("ip.apply_network_settings", &[], kwargs)?;
            Ok(state)
        })(),
    )
}
