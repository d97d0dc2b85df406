//! Custom beacons in Python (`_beacons`), and those of an installed Salt that
//! Halite lacks.
//!
//! They are called one after the other, in one process that nothing else uses, so
//! they keep what they remember in `__context__` or in names of their modules.

use std::sync::{Mutex, PoisonError};

use halite_call::extensions::{self, ExtensionKind, is_claimed, plugin};
use halite_call::{Call, CallError, python, run_plugin};
use halite_proto::{Map, Value};

use super::{Beacon, BeaconError};
use crate::core::beacons::{AVAILABLE, Settings, module};

/// Held by who asks.
static TURN: Mutex<()> = Mutex::new(());

pub(super) struct Python {
    module: String,
    name: String,
    /// The configuration it last got, with which it is closed.
    config: Option<Value>,
}

/// Whether users may have brought this kind of beacon.
pub(super) fn is_users(call: &Call<'_>, module: &str) -> bool {
    is_claimed(call.ctx, ExtensionKind::Beacons, module)
}

/// The verdict of a beacon in Python on a configuration; an error if the beacon does not
/// exist.
///
/// # Errors
/// The text says what makes no sense.
fn validate(call: &Call<'_>, module: &str, config: Value) -> Result<String, String> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let checked = checked(call, module, config);
    drop(turn);
    checked
}

/// Adds what there is in Python to the answer of a request.
pub(super) fn answer(call: &Call<'_>, request: &Map, answer: &mut Map) {
    match request.get("func").and_then(Value::as_str) {
        Some("list_available") => {
            let Some(Value::List(names)) = answer.get_mut("beacons") else {
                return;
            };
            for function in extensions::functions(call.ctx, ExtensionKind::Beacons) {
                let name = Value::from(function.module());
                if function.name.ends_with(".beacon") && !names.contains(&name) {
                    names.push(name);
                }
            }
            names.sort_by_key(python::str);
        }
        Some("validate_beacon") => {
            let config = request.get("beacon_data").cloned().unwrap_or_default();
            let name = request.get("name").map(python::str).unwrap_or_default();
            let module = module(&name, &config);
            if !is_users(call, &module) && AVAILABLE.contains(&module.as_str()) {
                return;
            }
            let (valid, comment) = match validate(call, &module, config) {
                Ok(comment) => (true, comment),
                Err(comment) => (false, comment),
            };
            answer.insert("valid", valid);
            answer.insert("vcomment", comment);
        }
        _ => {}
    }
}

fn checked(call: &Call<'_>, module: &str, config: Value) -> Result<String, String> {
    const VALID: &str = "Valid beacon configuration";
    let Some(validate) = plugin(
        call.ctx,
        ExtensionKind::Beacons,
        &format!("{module}.validate"),
    ) else {
        if plugin(
            call.ctx,
            ExtensionKind::Beacons,
            &format!("{module}.beacon"),
        )
        .is_none()
        {
            return Err(format!("Beacon \"{module}\" is not available."));
        }
        return match config {
            Value::List(_) => Ok(VALID.to_owned()),
            _ => Err("Configuration for beacon must be a list.".to_owned()),
        };
    };
    let said =
        run_plugin(call, validate, vec![config], Map::new()).map_err(|error| error.to_string())?;
    let text = |at: usize| {
        said.as_list()
            .and_then(|said| said.get(at))
            .map(python::str)
    };
    match said.as_list().and_then(<[Value]>::first) {
        Some(valid) if valid.is_true() => Ok(text(1).unwrap_or_else(|| VALID.to_owned())),
        Some(_) => Err(text(1).unwrap_or_default()),
        None if said.is_true() => Ok(VALID.to_owned()),
        None => Err(python::str(&said)),
    }
}

impl Python {
    pub(super) fn new(module: &str, name: &str) -> Self {
        Self {
            module: module.to_owned(),
            name: name.to_owned(),
            config: None,
        }
    }
}

impl Beacon for Python {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let config = settings.for_python(&self.name);
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        checked(call, &self.module, config.clone()).map_err(BeaconError::Invalid)?;
        let name = format!("{}.beacon", self.module);
        let Some(beacon) = plugin(call.ctx, ExtensionKind::Beacons, &name) else {
            let text = format!("Beacon \"{}\" is not available.", self.module);
            return Err(BeaconError::Invalid(text));
        };
        self.config = Some(config.clone());
        let events = run_plugin(call, beacon, vec![config], Map::new())?;
        match events {
            Value::Nil => Ok(Vec::new()),
            Value::List(events) => events
                .into_iter()
                .map(|event| match event {
                    Value::Map(event) => Ok(event),
                    other => Err(none(&name, &other)),
                })
                .collect(),
            other => Err(none(&name, &other)),
        }
    }

    fn needs_closing(&self) -> bool {
        self.config.is_some()
    }

    fn close(&mut self, call: &Call<'_>) {
        let Some(config) = self.config.take() else {
            return;
        };
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let close = plugin(
            call.ctx,
            ExtensionKind::Beacons,
            &format!("{}.close", self.module),
        );
        let closed = close.map(|close| run_plugin(call, close, vec![config], Map::new()));
        if let Some(Err(error)) = closed {
            tracing::warn!(beacon = self.name, %error, "could not be closed");
        }
    }
}

fn none(name: &str, event: &Value) -> BeaconError {
    let text = format!(
        "{name} did not return a list of events: {}",
        python::repr(event)
    );
    CallError::command(text).into()
}
