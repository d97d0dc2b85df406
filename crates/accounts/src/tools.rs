//! The programs that change users and groups, of the shadow suite or of busybox.

use halite_call::host::Program;
use halite_call::{Call, CallError, python};
use halite_proto::Value;

/// The first of these programs that is installed.
pub(crate) fn tool(call: &Call<'_>, name: &'static str) -> Result<&'static str, CallError> {
    if call.host().has(name) {
        Ok(name)
    } else {
        Err(CallError::command(format!(
            "Command '{name}' cannot be found"
        )))
    }
}

/// Busybox's own programs stand where the shadow suite is not installed.
pub(crate) fn is_busybox(call: &Call<'_>) -> bool {
    let host = call.host();
    !host.has("useradd") && host.has("adduser")
}

/// Runs a program; whether that went well.
pub(crate) fn runs_well(call: &Call<'_>, words: &[String]) -> Result<bool, CallError> {
    Ok(Program::new(call, words).run()?.ok())
}

/// Refuses the name of a user or a group that programs would take for an option,
/// of which some name a directory to work in.
pub(crate) fn check_name(name: &str) -> Result<(), CallError> {
    match name.starts_with('-') {
        true => Err(CallError::invocation(format!(
            "invalid name {name:?}: names of users and groups must not begin with `-`"
        ))),
        false => Ok(()),
    }
}

/// Words of texts.
pub(crate) fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// Adds `-R root`.
pub(crate) fn with_root(words: &mut Vec<String>, root: &Value) {
    if root.is_true() {
        words.push("-R".to_owned());
        words.push(python::str(root));
    }
}
