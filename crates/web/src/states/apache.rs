//! States of Apache: its configuration files, and its enabled modules, sites and
//! configurations.

use halite_call::{Call, CallResult, Function, Module, StateReturn};
use halite_proto::Value;

use crate::apache::configuration::{text, write};
use crate::apache::switches::{SwitchKind, is_on, turned};

pub(crate) const CONFIGFILE: Module = Module {
    name: "apache",
    functions: &[Function::new(
        "apache.configfile",
        "(name, config)",
        configfile,
        "A file holds a configuration that is a list of maps.",
    )],
};

macro_rules! switches {
    ($constant:ident, $name:literal, $kind:expr, $what:literal) => {
        pub(crate) const $constant: Module = Module {
            name: $name,
            functions: &[
                Function::new(
                    concat!($name, ".disabled"),
                    "(name)",
                    |call| switched(call, $kind, false),
                    concat!($what, " is off."),
                ),
                Function::new(
                    concat!($name, ".enabled"),
                    "(name)",
                    |call| switched(call, $kind, true),
                    concat!($what, " is on."),
                ),
            ],
        };
    };
}

switches!(CONF, "apache_conf", SwitchKind::Conf, "A configuration");
switches!(MODULE, "apache_module", SwitchKind::Module, "A module");
switches!(SITE, "apache_site", SwitchKind::Site, "A site");

fn switched(call: &Call<'_>, kind: SwitchKind, on: bool) -> CallResult {
    let (name, what) = (call.text("name"), kind.shown());
    let state = StateReturn::of(call);
    let verb = if on { "enable" } else { "disable" };
    if is_on(call, kind, &name)? == on {
        return Ok(state.ok(format!("{name} already {verb}d.")).into());
    }
    let (old, new) = match on {
        true => (Value::Nil, Value::from(name.as_str())),
        false => (Value::from(name.as_str()), Value::Nil),
    };
    if call.is_test() {
        let comment = format!("Apache {what} {name} is set to be {verb}d.");
        let state = state.change("old", old).change("new", new);
        return Ok(state.pending(comment).into());
    }
    let status = turned(call, kind, on, &name)?;
    let is_done = status
        .as_str()
        .is_some_and(|status| status.ends_with("abled"));
    if is_done {
        return Ok(state.change("old", old).change("new", new).into());
    }
    let told = status.as_str().map(|status| format!(" ({status})"));
    let told = told.unwrap_or_default();
    Ok(state
        .failed(format!("Failed to {verb} {name} Apache {what}{told}"))
        .into())
}

fn configfile(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let (old, new) = (call.host().read(&name), text(call.arg("config"))?);
    if old.strip_suffix('\n').unwrap_or(&old) == new || old == new {
        return Ok(state.ok("Configuration is up to date.").into());
    }
    let changed = state.change("old", old).change("new", new.as_str());
    if call.is_test() {
        return Ok(changed.pending("Configuration will update.").into());
    }
    write(call, &name, &format!("{new}\n"))?;
    Ok(changed.ok("Successfully created configuration.").into())
}
