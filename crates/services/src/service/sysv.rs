//! Init scripts, with Debian's and Red Hat's tools around them.

use std::os::unix::fs::PermissionsExt;

use halite_call::host::Program;
use halite_call::{Call, CallError};

use super::Action;

/// The names of the init scripts.
pub(super) fn all(call: &Call<'_>) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(call.host().path("/etc/init.d"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let meta = std::fs::metadata(entry.path());
            meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Runs the script through `service` where that is installed.
fn script<'c, 'a>(call: &'c Call<'a>, name: &str, word: &str) -> Program<'c, 'a> {
    if call.host().has("service") {
        return Program::new(call, &["service", name, word]);
    }
    let path = call.host().path(format!("/etc/init.d/{name}"));
    Program::new(call, &[&path.display().to_string(), word])
}

pub(super) fn act(call: &Call<'_>, name: &str, action: Action) -> Result<bool, CallError> {
    Ok(script(call, name, action.word()).run()?.ok())
}

pub(super) fn runs(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    Ok(script(call, name, "status").may_fail().run()?.ok())
}

fn runlevel(call: &Call<'_>) -> String {
    let ran = Program::new(call, &["runlevel"]).may_fail().run();
    ran.ok()
        .and_then(|ran| ran.stdout.split_whitespace().nth(1).map(str::to_owned))
        .unwrap_or_else(|| "2".to_owned())
}

/// Whether a link starts the script in the runlevel of now.
pub(super) fn enabled_debian(call: &Call<'_>, name: &str) -> bool {
    let directory = call.host().path(format!("/etc/rc{}.d", runlevel(call)));
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let file = entry.file_name().to_string_lossy().into_owned();
        file.strip_prefix('S')
            .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()))
            == Some(name)
    })
}

pub(super) fn enabled_redhat(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    let ran = Program::new(call, &["chkconfig", name]).may_fail().run()?;
    Ok(ran.ok())
}

pub(super) fn enable(
    call: &Call<'_>,
    name: &str,
    on: bool,
    debian: bool,
) -> Result<bool, CallError> {
    if !debian {
        if on {
            Program::new(call, &["chkconfig", "--add", name])
                .may_fail()
                .run()?;
        }
        let word = if on { "on" } else { "off" };
        return Ok(Program::new(call, &["chkconfig", name, word]).run()?.ok());
    }
    if on && call.host().has("insserv") && !Program::new(call, &["insserv", name]).run()?.ok() {
        return Ok(false);
    }
    let word = if on { "enable" } else { "disable" };
    let ran = Program::new(call, &["update-rc.d", name, word]).run()?;
    Ok(ran.ok())
}

/// Takes a service out of all runlevels.
pub(super) fn delete(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    Ok(Program::new(call, &["chkconfig", "--del", name])
        .run()?
        .ok())
}

/// An init script on a system that systemd runs.
pub(super) fn enable_under_systemd(
    call: &Call<'_>,
    name: &str,
    on: bool,
) -> Result<bool, CallError> {
    let host = call.host();
    let words: &[&str] = if host.has("update-rc.d") {
        if on {
            &["update-rc.d", "-f", name, "defaults", "99"]
        } else {
            &["update-rc.d", "-f", name, "remove"]
        }
    } else if host.has("chkconfig") {
        &["chkconfig", name, if on { "on" } else { "off" }]
    } else {
        return Err(CallError::command(
            "Unable to find sysv service manager (tried update-rc.d, chkconfig)",
        ));
    };
    Ok(Program::new(call, words).may_fail().run()?.ok())
}
