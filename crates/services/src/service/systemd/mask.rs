//! Units that cannot be started: masked for now, or for good.

use halite_call::host::Ran;
use halite_call::{Call, CallError};

use super::{notice_changes, systemctl, unit};
use crate::service::How;

/// Runs `mask` or `unmask`, for now (`runtime`) or for good.
fn turn(
    call: &Call<'_>,
    verb: &str,
    name: &str,
    runtime: bool,
    how: &How,
) -> Result<Ran, CallError> {
    let unit = unit(name);
    let mut words = vec![verb];
    if runtime {
        words.push("--runtime");
    }
    words.push(&unit);
    systemctl(call, true, false, how.root.as_deref(), &words)
        .option("redirect_stderr", true)
        .run()
}

pub(crate) fn mask(
    call: &Call<'_>,
    name: &str,
    runtime: bool,
    how: &How,
) -> Result<bool, CallError> {
    notice_changes(call, name)?;
    let ran = turn(call, "mask", name, runtime, how)?;
    if ran.ok() {
        return Ok(true);
    }
    Err(CallError::command(format!(
        "Failed to mask service '{name}'. Additional info follows:\n\n{}",
        ran.stdout
    )))
}

pub(crate) fn unmask(
    call: &Call<'_>,
    name: &str,
    runtime: bool,
    how: &How,
) -> Result<bool, CallError> {
    notice_changes(call, name)?;
    let is_free =
        !masked(call, name, runtime, how)? || turn(call, "unmask", name, runtime, how)?.ok();
    match is_free {
        true => Ok(true),
        false => Err(CallError::command(format!(
            "Failed to unmask service '{name}'"
        ))),
    }
}

pub(crate) fn masked(
    call: &Call<'_>,
    name: &str,
    runtime: bool,
    how: &How,
) -> Result<bool, CallError> {
    notice_changes(call, name)?;
    let top = if runtime { "/run" } else { "/etc" };
    let root = how.root.as_deref().unwrap_or_default();
    let link = call
        .host()
        .path(format!("{root}{top}/systemd/system/{}", unit(name)));
    Ok(std::fs::read_link(link).is_ok_and(|target| target.as_os_str() == "/dev/null"))
}
