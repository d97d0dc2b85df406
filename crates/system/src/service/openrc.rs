//! Services of OpenRC.

use halite_modules::host::Program;
use halite_modules::{Call, CallError};

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

/// The runlevels that start a service.
fn levels(call: &Call<'_>, name: &str) -> Result<Vec<String>, CallError> {
    let ran = Program::new(call, &["rc-update", "-v", "show"]).run()?;
    let line = ran.stdout.lines().find_map(|line| {
        let (service, levels) = line.split_once('|')?;
        (service.trim() == name).then_some(levels)
    });
    Ok(line
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect())
}

pub(super) fn enabled(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    Ok(!levels(call, name)?.is_empty())
}

pub(super) fn enable(call: &Call<'_>, name: &str, on: bool) -> Result<bool, CallError> {
    let wanted = call
        .get("runlevels")
        .map(halite_modules::python::texts)
        .unwrap_or_default();
    let current = levels(call, name)?;
    let change: Vec<String> = if on {
        let wanted = if wanted.is_empty() && current.is_empty() {
            vec!["default".to_owned()]
        } else {
            wanted
        };
        wanted
            .into_iter()
            .filter(|level| !current.contains(level))
            .collect()
    } else if wanted.is_empty() {
        current
    } else {
        wanted
            .into_iter()
            .filter(|level| current.contains(level))
            .collect()
    };
    if change.is_empty() {
        return Ok(true);
    }
    let verb = if on { "add" } else { "delete" };
    let mut words = vec!["rc-update".to_owned(), verb.to_owned(), name.to_owned()];
    words.extend(change);
    Ok(Program::new(call, &words).run()?.ok())
}
