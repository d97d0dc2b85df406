//! Routes of an interface: a script for its start, and one for its end.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;

use halite_call::host::replace_file;
use halite_call::{Call, CallError, os_error, paths, python};
use halite_proto::{Map, Value};

use super::wrong;

/// Where the scripts are, and what they do.
const SCRIPTS: [(&str, &str); 2] = [
    ("/etc/network/if-up.d", "add"),
    ("/etc/network/if-down.d", "del"),
];

fn text(interface: &str, verb: &str, routes: &[Value]) -> String {
    let mut out = format!("#!/bin/sh\n# {verb}\ntest \"${{IFACE}}\" = \"{interface}\" || exit 0\n");
    for route in routes {
        let of = |key: &str| {
            route
                .get(key)
                .filter(|value| value.is_true())
                .map(python::str)
        };
        if let Some(name) = of("name") {
            let _ = writeln!(out, "# {name}");
        }
        let address = of("ipaddr").unwrap_or_default();
        let mask = of("netmask")
            .map(|mask| format!("/{mask}"))
            .unwrap_or_default();
        let via = of("gateway")
            .map(|via| format!("via {via}"))
            .unwrap_or_default();
        let metric = of("metric").map(|metric| format!(" metric {metric}"));
        let metric = metric.unwrap_or_default();
        let _ = writeln!(
            out,
            "ip route {verb} {address}{mask} {via} dev {interface}{metric}"
        );
    }
    out
}

fn lines(text: &str) -> Vec<Value> {
    text.split_inclusive('\n').map(Value::from).collect()
}

pub(super) fn build(call: &Call<'_>, interface: &str, arguments: &Map) -> Result<Value, CallError> {
    let arguments: Map = arguments
        .iter()
        .map(|(key, value)| (python::str(key).to_lowercase(), value.clone()))
        .collect();
    let routes = arguments.get("routes").ok_or_else(|| {
        wrong(format!(
            "Invalid option -- Route interface: {interface}, Option: routes, Expected: [List of routes]"
        ))
    })?;
    let routes = routes.as_list().unwrap_or_default();
    let test = arguments.get("test").is_some_and(Value::is_true);
    let mut all = Vec::new();
    for (directory, verb) in SCRIPTS {
        let text = text(interface, verb, routes);
        all.extend(lines(&text));
        if test {
            continue;
        }
        let name = format!("route-{}", interface.replace('.', "_"));
        let place = call.host().path(directory);
        if !place.is_dir() {
            return Err(wrong(format!(
                "{directory}/{name} cannot be written. {directory}/ does not exist"
            )));
        }
        let path = place.join(name);
        let mode = std::fs::Permissions::from_mode(0o755);
        replace_file(&path, text.as_bytes())
            .and_then(|()| paths::set_permissions(&path, &mode))
            .map_err(|error| os_error(&error, &path))?;
    }
    Ok(Value::List(all))
}

pub(super) fn get(call: &Call<'_>, interface: &str) -> Value {
    let mut all = Vec::new();
    for (directory, _) in SCRIPTS {
        let text = call
            .host()
            .read(format!("{directory}/route-{}", interface.replace('.', "_")));
        all.extend(lines(&text));
    }
    Value::List(all)
}
