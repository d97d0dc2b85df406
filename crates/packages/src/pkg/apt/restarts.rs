//! Services that still use files which were replaced under them.

use std::collections::BTreeSet;

use halite_call::host::Program;
use halite_call::{Call, CallError};
use halite_proto::Value;

/// Their names, as debian-goodies' `checkrestart` finds them.
///
/// # Errors
/// When it is not installed.
pub(crate) fn services(call: &Call<'_>) -> Result<Vec<Value>, CallError> {
    if !call.host().has("checkrestart") {
        return Err(CallError::NotFound(
            "'checkrestart' is needed. It is part of the 'debian-goodies' package which can be \
             installed from official repositories."
                .to_owned(),
        ));
    }
    let ran = Program::new(call, &["checkrestart", "--machine", "--package"]).run()?;
    // SERVICE:package,process,program
    let found: BTreeSet<String> = ran
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("SERVICE:")?.split_once(','))
        .map(|(name, _)| name.to_owned())
        .collect();
    Ok(found.into_iter().map(Value::from).collect())
}
