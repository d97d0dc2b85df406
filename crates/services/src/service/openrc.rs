//! Services of OpenRC.

use halite_call::host::Program;
use halite_call::{Call, CallError};
use halite_proto::{Map, Value};

use super::Action;

pub(super) fn act(call: &Call<'_>, name: &str, action: Action) -> Result<bool, CallError> {
    let word = match action {
        Action::ForceReload => "reload",
        other => other.word(),
    };
    Ok(Program::new(call, &["rc-service", name, word]).run()?.ok())
}

pub(super) fn runs(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    let ran = Program::new(call, &["rc-service", name, "status"])
        .may_fail()
        .run()?;
    Ok(ran.ok())
}

/// Has OpenRC forget the state of a service.
pub(super) fn zap(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    Ok(Program::new(call, &["rc-service", name, "zap"]).run()?.ok())
}

/// All services with the runlevels that start them.
fn listed(call: &Call<'_>) -> Result<Vec<(String, Vec<String>)>, CallError> {
    let ran = Program::new(call, &["rc-update", "-v", "show"]).run()?;
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let lines = ran.stdout.lines().filter_map(|line| line.split_once('|'));
    let mut all: Vec<(String, Vec<String>)> = lines
        .map(|(service, levels)| (service.trim().to_owned(), words(levels)))
        .collect();
    all.sort();
    Ok(all)
}

/// The names of all services.
pub(super) fn all(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    Ok(listed(call)?.into_iter().map(|(name, _)| name).collect())
}

/// Services that no runlevel starts.
pub(super) fn all_disabled(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let all = listed(call)?.into_iter();
    Ok(all
        .filter(|(_, levels)| levels.is_empty())
        .map(|(name, _)| name)
        .collect())
}

/// Services that a runlevel starts, each with its runlevels.
pub(super) fn enabled_with_levels(call: &Call<'_>) -> Result<Map, CallError> {
    let all = listed(call)?.into_iter();
    Ok(all
        .filter(|(_, levels)| !levels.is_empty())
        .map(|(name, levels)| {
            let levels = levels.into_iter().map(Value::from).collect();
            (name, Value::List(levels))
        })
        .collect())
}

/// The runlevels that start a service.
fn levels(call: &Call<'_>, name: &str) -> Result<Vec<String>, CallError> {
    let found = listed(call)?.into_iter().find(|(known, _)| known == name);
    Ok(found.map(|(_, levels)| levels).unwrap_or_default())
}

/// The runlevels that a call names.
fn wanted_levels(call: &Call<'_>) -> Vec<String> {
    call.get("runlevels")
        .filter(|levels| levels.is_true())
        .map(halite_call::python::texts)
        .unwrap_or_default()
}

/// Whether a runlevel starts a service: all that are named, or any.
pub(super) fn enabled(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    let (current, wanted) = (levels(call, name)?, wanted_levels(call));
    Ok(!current.is_empty() && wanted.iter().all(|level| current.contains(level)))
}

pub(super) fn enable(call: &Call<'_>, name: &str, on: bool) -> Result<bool, CallError> {
    let wanted = wanted_levels(call);
    let current = levels(call, name)?;
    let change: Vec<String> = if on {
        if wanted.is_empty() && current.is_empty() {
            // OpenRC takes the runlevel of now.
            let words = ["rc-update", "add", name];
            return Ok(Program::new(call, &words).run()?.ok());
        }
        wanted
            .into_iter()
            .filter(|level| !current.contains(level))
            .collect()
    } else if wanted.is_empty() {
        current.clone()
    } else {
        wanted
            .into_iter()
            .filter(|level| current.contains(level))
            .collect()
    };
    if change.is_empty() && (on || !current.is_empty()) {
        return Ok(true);
    }
    let verb = if on { "add" } else { "delete" };
    let mut words = vec!["rc-update".to_owned(), verb.to_owned(), name.to_owned()];
    words.extend(change);
    Ok(Program::new(call, &words).run()?.ok())
}
