//! Services of systemd, through `systemctl`.

mod listing;
mod mask;

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError};
use halite_proto::{Map, Value};

use super::{Action, How, sysv};
use listing::sysv_services;
pub(super) use listing::{all, by_enabled, running, unit_files};
pub(crate) use mask::{mask, masked, unmask};

const UNIT_TYPES: &[&str] = &[
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
];

/// The name with its type.
fn unit(name: &str) -> String {
    if UNIT_TYPES.iter().any(|kind| name.ends_with(kind)) {
        name.to_owned()
    } else {
        format!("{name}.service")
    }
}

/// The name as users know it, without `.service`; nothing for other files.
fn short(file: &str) -> Option<String> {
    let (name, kind) = file.rsplit_once('.')?;
    if !UNIT_TYPES.contains(&kind) {
        return None;
    }
    Some(if kind == "service" { name } else { file }.to_owned())
}

/// `systemctl`, in a scope of its own when what it does may end the minion.
fn systemctl<'c, 'a>(
    call: &'c Call<'a>,
    scoped: bool,
    no_block: bool,
    root: Option<&str>,
    words: &[&str],
) -> Program<'c, 'a> {
    let host = call.host();
    let mut line: Vec<String> = Vec::new();
    let wanted = call.opt("systemd.scope") != &Value::Bool(false);
    if scoped && wanted && host.has("systemd-run") {
        line.extend(["systemd-run".to_owned(), "--scope".to_owned()]);
    }
    line.push("systemctl".to_owned());
    if no_block {
        line.push("--no-block".to_owned());
    }
    if let Some(root) = root {
        line.extend(["--root".to_owned(), root.to_owned()]);
    }
    line.extend(words.iter().map(|word| (*word).to_owned()));
    Program::new(call, &line)
}

fn state_of(call: &Call<'_>, name: &str) -> Result<Ran, CallError> {
    systemctl(
        call,
        false,
        false,
        None,
        &["status", &unit(name), "-n", "0"],
    )
    .option("redirect_stderr", true)
    .may_fail()
    .run()
}

fn is_known(state: &Ran) -> bool {
    (0..4).contains(&state.code)
}

/// Has systemd read its units again if this one is new or has changed.
fn notice_changes(call: &Call<'_>, name: &str) -> Result<Ran, CallError> {
    let state = state_of(call, name)?;
    let own = call
        .host()
        .path(format!("/etc/systemd/system/{}", unit(name)));
    let is_new = own.exists() && !is_known(&state);
    if is_new
        || state
            .stdout
            .to_lowercase()
            .contains("'systemctl daemon-reload'")
    {
        daemon_reload(call)?;
        return state_of(call, name);
    }
    Ok(state)
}

pub(super) fn daemon_reload(call: &Call<'_>) -> Result<(), CallError> {
    let ran = systemctl(call, false, false, None, &["--system", "daemon-reload"])
        .option("redirect_stderr", true)
        .run()?;
    if ran.ok() {
        Ok(())
    } else {
        Err(CallError::command(format!(
            "Problem performing systemctl daemon-reload: {}",
            ran.stdout
        )))
    }
}

pub(super) fn available(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    if super::is_offline(call) {
        return Err(CallError::command(format!(
            "Cannot run in offline mode. Failed to get information on unit '{name}'"
        )));
    }
    Ok(is_known(&notice_changes(call, name)?))
}

pub(super) fn act(
    call: &Call<'_>,
    name: &str,
    action: Action,
    how: &How,
) -> Result<bool, CallError> {
    notice_changes(call, name)?;
    if action != Action::Stop {
        if how.unmask {
            unmask(call, name, false, how)?;
        }
        if how.unmask_runtime {
            unmask(call, name, true, how)?;
        }
    }
    // Whoever waited for the minion's own end would wait for itself.
    let own = unit(name) == "salt-minion.service";
    let no_block = how.no_block.unwrap_or(match action {
        Action::Stop | Action::Restart => own,
        Action::ForceReload => true,
        Action::Start | Action::Reload => false,
    });
    let unit = unit(name);
    let ran = systemctl(call, true, no_block, None, &[action.word(), &unit]).run()?;
    if action == Action::Stop {
        return Ok(ran.ok());
    }
    if ran.ok() {
        Ok(true)
    } else {
        Err(CallError::command(without_scope(&ran.stderr)))
    }
}

/// The complaint without the line that names the scope.
fn without_scope(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.ends_with(".scope"))
        .collect();
    lines.join("\n").trim().to_owned()
}

pub(super) fn runs(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    notice_changes(call, name)?;
    let ran = systemctl(call, false, false, None, &["is-active", &unit(name)])
        .may_fail()
        .run()?;
    Ok(ran.ok())
}

pub(super) fn enabled(call: &Call<'_>, name: &str, how: &How) -> Result<bool, CallError> {
    let root = how.root.as_deref();
    let ask = |name: &str| {
        systemctl(call, false, false, root, &["is-enabled", name])
            .may_fail()
            .run()
    };
    let ran = ask(&unit(name))?;
    if ran.stdout == "alias" {
        let real = systemctl(call, false, false, root, &["show", &unit(name), "-P", "Id"]).run()?;
        return Ok(ask(&unit(&real.stdout))?.ok());
    }
    if ran.ok() {
        return Ok(true);
    }
    if name.contains('@') {
        let found = call.host().path("/etc/systemd/system");
        return Ok(has_link(&found, name));
    }
    Ok(sysv_services(call, root).iter().any(|known| known == name)
        && sysv::enabled_debian(call, name))
}

/// Whether a link of this name is somewhere below `directory`.
fn has_link(directory: &std::path::Path, name: &str) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let Ok(kind) = entry.file_type() else {
            return false;
        };
        (kind.is_symlink() && entry.file_name() == name)
            || (kind.is_dir() && has_link(&entry.path(), name))
    })
}

pub(super) fn enable(call: &Call<'_>, name: &str, on: bool, how: &How) -> Result<bool, CallError> {
    notice_changes(call, name)?;
    if on && how.unmask {
        unmask(call, name, false, how)?;
    }
    if on && how.unmask_runtime {
        unmask(call, name, true, how)?;
    }
    let root = how.root.as_deref();
    if sysv_services(call, root).iter().any(|known| known == name) {
        return sysv::enable_under_systemd(call, name, on);
    }
    let verb = if on { "enable" } else { "disable" };
    let no_block = how.no_block == Some(true);
    let ran = systemctl(call, true, no_block, root, &[verb, &unit(name)])
        .may_fail()
        .run()?;
    if on && !ran.ok() {
        return Err(CallError::command(without_scope(&ran.stderr)));
    }
    Ok(ran.ok())
}

pub(super) fn show(call: &Call<'_>, name: &str, how: &How) -> Result<Map, CallError> {
    let root = how.root.as_deref();
    let ran = systemctl(call, false, false, root, &["show", &unit(name)]).run()?;
    let mut properties = Map::new();
    for line in ran.stdout.lines() {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if value.starts_with('{') {
            let inside = value.replace(['{', '}'], "");
            let fields: Map = inside
                .split(" ; ")
                .filter_map(|item| {
                    let (key, value) = item.split_once('=')?;
                    Some((key.trim(), value.trim()))
                })
                .collect();
            properties.insert(key, fields);
        } else if ["Before", "After", "Wants"].contains(&key) {
            let words = value.split_whitespace().map(Value::from).collect();
            properties.insert(key, Value::List(words));
        } else {
            properties.insert(key, value);
        }
    }
    Ok(properties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_and_shortened() {
        assert_eq!(unit("ssh"), "ssh.service");
        assert_eq!(unit("apt.timer"), "apt.timer");
        assert_eq!(short("ssh.service").as_deref(), Some("ssh"));
        assert_eq!(short("apt.timer").as_deref(), Some("apt.timer"));
        assert_eq!(short("README"), None);
    }

    #[test]
    fn complaints_lose_the_scope() {
        assert_eq!(
            without_scope("Running scope as unit: run-1.scope\nno such unit\n"),
            "no such unit"
        );
    }
}
