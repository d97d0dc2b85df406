//! The firewall through `firewall-cmd`: the execution module `firewalld`.

mod functions;
mod icmp;
mod zones;

pub(crate) use functions::MODULE;

use halite_call::host::Program;
use halite_call::{Call, CallError};

/// Runs `firewall-cmd` with words, each of which is one that starts with `--`.
///
/// # Errors
/// When it is not installed or fails.
pub(crate) fn run(call: &Call<'_>, words: &[String]) -> Result<String, CallError> {
    if !call.host().has("firewall-cmd") {
        return Err(CallError::NotFound(
            "The 'firewall-cmd' binary was not found in $PATH.".to_owned(),
        ));
    }
    let mut program = Program::new(call, &["firewall-cmd"]);
    for word in words {
        program = program.arg(word.as_str());
    }
    let ran = program.run()?;
    match ran.ok() {
        true => Ok(ran.stdout),
        false => Err(CallError::command(format!(
            "firewall-cmd failed: {}",
            ran.complaint()
        ))),
    }
}

/// The words of what is asked of a zone (the default one if none is named),
/// for good or only until the next reload.
pub(crate) fn of_zone(zone: Option<&str>, what: String, permanent: bool) -> Vec<String> {
    let zone = zone.map(|zone| format!("--zone={zone}"));
    let permanent = permanent.then(|| "--permanent".to_owned());
    zone.into_iter().chain([what]).chain(permanent).collect()
}
