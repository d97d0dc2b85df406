//! dpkg's selections: the wanted status of packages.

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use crate::pkg::apt;
use crate::pkg::error::PkgError;
use crate::pkg::this_machine::provider;

pub(super) fn get_selections(call: &Call<'_>) -> CallResult {
    only_apt(call)?;
    let all = apt::get_selections(call, call.text_opt("pattern").as_deref())?;
    Ok(match call.text_opt("state") {
        Some(state) => {
            let names = all.get(&state).cloned().unwrap_or(Value::List(Vec::new()));
            Map::from([(state.as_str(), names)]).into()
        }
        None => all.into(),
    })
}

pub(super) fn set_selections(call: &Call<'_>) -> CallResult {
    only_apt(call)?;
    let (path, selection) = (call.arg("path"), call.arg("selection"));
    if path.is_true() && selection.is_true() {
        return Err(CallError::invocation(
            "The 'selection' and 'path' arguments to pkg.set_selections are mutually exclusive, \
             and cannot be specified together",
        ));
    }
    let selection = if path.is_true() {
        let args = [path.clone(), call.arg("saltenv").clone()];
        let cached = call.salt("cp.cache_file", &args, Map::new())?;
        apt::parse_selections(&call.host().read(python::str(&cached)))
    } else {
        match selection {
            Value::Map(map) => map.clone(),
            Value::Str(text) => match halite_yaml::load(text, "selection") {
                Ok(node) => match node.into_value() {
                    Value::Map(map) => map,
                    _ => Map::new(),
                },
                Err(error) => {
                    return Err(CallError::invocation(format!(
                        "Improperly-formatted selection: {error}"
                    )));
                }
            },
            _ => Map::new(),
        }
    };
    if selection.is_empty() {
        return Ok(selection.into());
    }
    Ok(apt::set_selections(call, &selection, call.flag("clear"))?.into())
}

/// Selections are dpkg's own.
pub(super) fn only_apt(call: &Call<'_>) -> Result<(), PkgError> {
    let name = provider(call)?.name();
    if name == "apt" {
        Ok(())
    } else {
        Err(PkgError::command(format!("{name} has no such function")))
    }
}
