//! The beacon `journald`: entries of systemd's journal that have certain
//! fields.

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::follow::{Follow, Output};
use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;

/// Fields that are numbers for whoever reads the journal with Python.
const NUMBERS: [&str; 20] = [
    "CODE_LINE",
    "COREDUMP_GID",
    "COREDUMP_PID",
    "COREDUMP_SESSION",
    "COREDUMP_SIGNAL",
    "COREDUMP_UID",
    "ERRNO",
    "EXIT_STATUS",
    "INITRD_USEC",
    "KERNEL_USEC",
    "LEADER",
    "PRIORITY",
    "SYSLOG_FACILITY",
    "SYSLOG_PID",
    "USERSPACE_USEC",
    "_AUDIT_LOGINUID",
    "_GID",
    "_PID",
    "_SYSTEMD_OWNER_UID",
    "_UID",
];

#[derive(Default)]
pub(super) struct Journal {
    follow: Option<Follow>,
}

impl Beacon for Journal {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let program = call.host().which("journalctl");
        let program = program.ok_or(BeaconError::NoProgram("journalctl"))?;
        let lines = match &mut self.follow {
            Some(follow) => {
                let lines = follow.new_lines();
                if lines.is_empty() && !follow.runs() {
                    self.follow = None;
                    return Err(BeaconError::Ended("journalctl"));
                }
                lines
            }
            first => {
                // What is in it already is not told.
                let args = ["--follow", "--lines=0", "--output=json", "--all"];
                let program = program.to_string_lossy();
                let follow = Follow::start(&program, &args, Output::Standard);
                *first = Some(follow.map_err(|source| BeaconError::Start {
                    program: "journalctl",
                    source,
                })?);
                return Ok(Vec::new());
            }
        };
        let merged = settings.merged();
        let services = merged.get("services").and_then(Value::as_map);
        let entries = lines.iter().filter_map(|line| entry(line));
        Ok(entries
            .flat_map(|entry| per_service(&entry, services))
            .collect())
    }
}

/// An entry, from its JSON.
fn entry(line: &str) -> Option<Map> {
    let Value::Map(fields) = halite_proto::json::read(line).ok()? else {
        return None;
    };
    let read = |(name, value): (Value, Value)| {
        let number = name.as_str().is_some_and(|name| NUMBERS.contains(&name));
        let as_number = || value.as_str()?.parse::<i64>().ok();
        let value = match number.then(as_number).flatten() {
            Some(number) => number.into(),
            None => value,
        };
        (name, value)
    };
    Some(fields.into_iter().map(read).collect())
}

/// The entry once for each service whose fields it has.
fn per_service(entry: &Map, services: Option<&Map>) -> Vec<Map> {
    let mut seen = Vec::new();
    for (name, fields) in services.into_iter().flatten() {
        let mut fields = fields.as_map().into_iter().flatten();
        if fields.all(|(field, wanted)| entry.get_value(field) == Some(wanted)) {
            let mut event = entry.clone();
            event.insert("tag", python::str(name));
            seen.push(event);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_the_fields_are_told() {
        let line = r#"{"SYSLOG_IDENTIFIER":"sshd","PRIORITY":"6","MESSAGE":"hi","_PID":"12"}"#;
        let entry = entry(line).unwrap();
        assert_eq!(entry.get("_PID"), Some(&Value::from(12)));
        let services = |text: &str| halite_yaml::load(text, "test").unwrap().into_value();
        let told = |text: &str| per_service(&entry, services(text).as_map());
        let seen = told("{a: {SYSLOG_IDENTIFIER: sshd, PRIORITY: 6}, b: {PRIORITY: 5}}");
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].get("tag"), Some(&Value::from("a")));
        assert_eq!(seen[0].get("MESSAGE"), Some(&Value::from("hi")));
        assert_eq!(told("{all: {}}").len(), 1);
        assert!(told("{c: {OTHER: 1}}").is_empty());
        assert!(super::entry("no json").is_none());
    }
}
