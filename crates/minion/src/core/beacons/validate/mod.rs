//! Checks a beacon's configuration. The texts are Salt's.

mod host;

use halite_proto::{Map, Value};

use super::settings::Settings;

/// The kinds of beacons there are.
pub const AVAILABLE: [&str; 19] = [
    "btmp",
    "cert_info",
    "diskusage",
    "inotify",
    "journald",
    "load",
    "log",
    "memusage",
    "network_info",
    "network_settings",
    "pkg",
    "ps",
    "salt_monitor",
    "service",
    "sh",
    "status",
    "swapusage",
    "watchdog",
    "wtmp",
];

/// The message for a valid configuration.
const VALID: &str = "Valid beacon configuration";

/// What `inotify` can look for.
pub(super) const MASKS: [&str; 17] = [
    "access",
    "attrib",
    "close_nowrite",
    "close_write",
    "create",
    "delete",
    "delete_self",
    "excl_unlink",
    "ignored",
    "modify",
    "moved_from",
    "moved_to",
    "move_self",
    "oneshot",
    "onlydir",
    "open",
    "unmount",
];

const AVERAGES: [&str; 3] = ["1m", "5m", "15m"];

const COUNTERS: [&str; 9] = [
    "type",
    "bytes_sent",
    "bytes_recv",
    "packets_sent",
    "packets_recv",
    "errin",
    "errout",
    "dropin",
    "dropout",
];

/// Checks the configuration of a beacon of the kind `module`.
///
/// # Errors
/// The text says what does not.
pub fn validate(module: &str, config: &Value) -> Result<&'static str, String> {
    if !AVAILABLE.contains(&module) {
        return Err(format!("Beacon \"{module}\" is not available."));
    }
    let Value::List(items) = config else {
        return Err(format!("Configuration for {module} beacon must be a list."));
    };
    if items.iter().any(|item| item.as_map().is_none()) {
        return Err(format!(
            "Configuration for {module} beacon must be a list of dictionaries."
        ));
    }
    let settings = Settings::of(config);
    let merged = settings.merged();
    match module {
        "btmp" | "wtmp" => host::logins(module, &merged),
        "cert_info" => host::cert_info(&merged),
        "diskusage" => thresholds(&merged),
        "inotify" => inotify(&merged),
        "journald" => host::journald(&merged),
        "load" => load(&merged),
        "log" => log(&merged),
        "memusage" | "swapusage" => percent(module, &merged),
        "network_info" => network_info(&merged),
        "network_settings" => host::network_settings(&merged),
        "pkg" => host::pkg(&merged),
        "ps" => ps(&merged),
        "salt_monitor" => host::salt_monitor(&merged),
        "service" => service(&merged),
        "watchdog" => host::watchdog(&merged),
        _ => Ok(()),
    }
    .map(|()| VALID)
}

fn refuse<T>(text: impl Into<String>) -> Result<T, String> {
    Err(text.into())
}

/// A threshold: a number, or text like `63%`.
pub fn threshold(value: &Value) -> Option<f64> {
    match value {
        Value::Str(text) => text.replace('%', "").trim().parse().ok(),
        number => number.as_f64(),
    }
}

fn thresholds(merged: &Map) -> Result<(), String> {
    for (mount, value) in merged {
        if threshold(value).is_none() {
            let mount = mount.as_str().unwrap_or_default();
            return refuse(format!(
                "Configuration for diskusage beacon: the threshold of {mount} must be a number."
            ));
        }
    }
    Ok(())
}

fn percent(module: &str, merged: &Map) -> Result<(), String> {
    match merged.get("percent") {
        None => refuse(format!(
            "Configuration for {module} beacon requires percent."
        )),
        Some(value) if threshold(value).is_none() => refuse(format!(
            "Configuration for {module} beacon: percent must be a number."
        )),
        Some(_) => Ok(()),
    }
}

fn inotify(merged: &Map) -> Result<(), String> {
    let Some(files) = merged.get("files") else {
        return refuse("Configuration for inotify beacon must include files.");
    };
    let Value::Map(files) = files else {
        return refuse("Configuration for inotify beacon invalid, files must be a dict.");
    };
    for (_, about) in files {
        let Value::Map(about) = about else {
            return refuse("Configuration for inotify beacon must be a list of dictionaries.");
        };
        if !["mask", "recurse", "auto_add"]
            .iter()
            .any(|key| about.contains_key(key))
        {
            return refuse(
                "Configuration for inotify beacon must contain mask, recurse or auto_add items.",
            );
        }
        for key in ["auto_add", "recurse"] {
            if about
                .get(key)
                .is_some_and(|value| value.as_bool().is_none())
            {
                return refuse(format!(
                    "Configuration for inotify beacon {key} must be boolean."
                ));
            }
        }
        let Some(mask) = about.get("mask") else {
            continue;
        };
        let Value::List(mask) = mask else {
            return refuse("Configuration for inotify beacon mask must be list.");
        };
        for mask in mask {
            let name = mask.as_str().unwrap_or_default();
            if !MASKS.contains(&name) {
                return refuse(format!(
                    "Configuration for inotify beacon invalid mask option {name}."
                ));
            }
        }
    }
    Ok(())
}

fn load(merged: &Map) -> Result<(), String> {
    for key in ["emitatstartup", "onchangeonly"] {
        if merged
            .get(key)
            .is_some_and(|value| value.as_bool().is_none())
        {
            return refuse(format!(
                "Configuration for load beacon option {key} must be a boolean."
            ));
        }
    }
    let Some(averages) = merged.get("averages") else {
        return refuse("Averages configuration is required for load beacon.");
    };
    if !AVERAGES.iter().any(|item| averages.get(item).is_some()) {
        return refuse("Averages configuration for load beacon must contain 1m, 5m or 15m items.");
    }
    for item in AVERAGES {
        match averages.get(item) {
            None => {}
            Some(Value::List(bounds)) if bounds.len() != 2 => {
                return refuse(
                    "Configuration for load beacon: 1m, 5m and 15m items must be a list of two items.",
                );
            }
            Some(Value::List(bounds)) if bounds.iter().all(|bound| threshold(bound).is_some()) => {}
            Some(_) => {
                return refuse(
                    "Averages configuration for load beacon: 1m, 5m and 15m items must be a list of two items.",
                );
            }
        }
    }
    Ok(())
}

fn log(merged: &Map) -> Result<(), String> {
    match merged.get("file") {
        Some(Value::Str(_)) => Ok(()),
        _ => refuse("Configuration for log beacon must contain file option."),
    }
}

fn network_info(merged: &Map) -> Result<(), String> {
    let interfaces = match merged.get("interfaces") {
        None => return Ok(()),
        Some(Value::Map(interfaces)) => interfaces,
        Some(_) => {
            return refuse("Configuration for network_info beacon must be a list of dictionaries.");
        }
    };
    for (_, about) in interfaces {
        let Value::Map(about) = about else {
            return refuse("Configuration for network_info beacon must be a list of dictionaries.");
        };
        if !COUNTERS.iter().any(|item| about.contains_key(item)) {
            return refuse("Invalid configuration item in Beacon configuration.");
        }
    }
    Ok(())
}

fn ps(merged: &Map) -> Result<(), String> {
    match merged.get("processes") {
        None => refuse("Configuration for ps beacon requires processes."),
        Some(Value::Map(_)) => Ok(()),
        Some(_) => refuse("Processes for ps beacon must be a dictionary."),
    }
}

fn service(merged: &Map) -> Result<(), String> {
    let services = match merged.get("services") {
        None => return refuse("Configuration for service beacon requires services."),
        Some(Value::Map(services)) => services,
        Some(_) => {
            return refuse("Services configuration item for service beacon must be a dictionary.");
        }
    };
    if services.values().any(|about| about.as_map().is_none()) {
        return refuse("Configuration for service beacon must be a list of dictionaries.");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(module: &str, text: &str) -> Result<&'static str, String> {
        validate(
            module,
            &halite_yaml::load(text, "test").unwrap().into_value(),
        )
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (module, text, expected) in [
            ("nope", "[]", "Beacon \"nope\" is not available."),
            ("ps", "{}", "Configuration for ps beacon must be a list."),
            (
                "ps",
                "[]",
                "Configuration for ps beacon requires processes.",
            ),
            (
                "ps",
                "[{processes: []}]",
                "Processes for ps beacon must be a dictionary.",
            ),
            (
                "inotify",
                "[]",
                "Configuration for inotify beacon must include files.",
            ),
            (
                "inotify",
                "[{files: {/a: {mask: [x]}}}]",
                "Configuration for inotify beacon invalid mask option x.",
            ),
            (
                "load",
                "[]",
                "Averages configuration is required for load beacon.",
            ),
            (
                "load",
                "[{averages: {1m: [1]}}]",
                "Configuration for load beacon: 1m, 5m and 15m items must be a list of two items.",
            ),
            (
                "memusage",
                "[]",
                "Configuration for memusage beacon requires percent.",
            ),
            (
                "memusage",
                "[{percent: much}]",
                "Configuration for memusage beacon: percent must be a number.",
            ),
        ] {
            assert_eq!(check(module, text).unwrap_err(), expected);
        }
        for (module, text) in [
            ("status", "[]"),
            ("load", "[{averages: {1m: [0.0, 2.0]}}, {interval: 5}]"),
            ("diskusage", "[{interval: 5}, {/: 63%}]"),
            (
                "inotify",
                "[{files: {/a: {mask: [create]}}}, {coalesce: true}]",
            ),
            ("service", "[{services: {cron: {}}}]"),
        ] {
            assert_eq!(check(module, text), Ok(VALID), "{module}");
        }
    }

    #[test]
    fn kinds_are_sorted() {
        assert!(AVAILABLE.is_sorted());
    }
}
