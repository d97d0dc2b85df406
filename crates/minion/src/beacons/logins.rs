//! The beacons `btmp` and `wtmp`: failed logins, and logins and logouts.
//!
//! Invariant: a record is reported once; older records are not reported.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, Ipv6Addr};

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::{Beacon, BeaconError};
use crate::core::beacons::{Settings, minute_of_day};
use crate::limits::BEACON_LOGINS_MAX;

/// Bytes of a record, on every Linux of 64 bits.
const RECORD: usize = 384;
const LOGIN: i64 = 7;
const LOGOUT: i64 = 8;

/// Which of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Failed,
    All,
}

pub(super) struct Logins {
    which: Which,
    /// How far the file has been read.
    offset: Option<u64>,
    /// The users by their terminals.
    users: HashMap<String, String>,
}

impl Beacon for Logins {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let path = match self.which {
            Which::Failed => "/var/log/btmp",
            Which::All => "/var/log/wtmp",
        };
        let failed = |source| BeaconError::File {
            path: path.to_owned(),
            source,
        };
        let file = File::open(call.host().path(path)).map_err(failed)?;
        let records = self.read_new(file).map_err(failed)?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let merged = settings.merged();
        let users = users(&merged, call);
        let now = jiff::Zoned::now();
        let minute = i64::from(now.hour()) * 60 + i64::from(now.minute());
        let mut seen = Vec::new();
        for record in records {
            let event = self.event(&record, &merged);
            if is_wanted(&event, users.as_ref(), merged.get("defaults"), minute) {
                seen.push(event);
            }
        }
        Ok(seen)
    }
}

impl Logins {
    pub(super) fn new(which: Which) -> Self {
        Self {
            which,
            offset: None,
            users: HashMap::new(),
        }
    }

    /// The records that are new; of a file that was cut, all.
    fn read_new(&mut self, mut file: impl Read + Seek) -> io::Result<Vec<Vec<u8>>> {
        let end = file.seek(SeekFrom::End(0))?;
        let Some(offset) = self.offset else {
            self.offset = Some(end);
            return Ok(Vec::new());
        };
        let mut at = if end < offset { 0 } else { offset };
        file.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::new();
        let most = u64::try_from(BEACON_LOGINS_MAX * RECORD).unwrap_or(u64::MAX);
        file.take(most).read_to_end(&mut bytes)?;
        let records: Vec<Vec<u8>> = bytes.chunks_exact(RECORD).map(<[u8]>::to_vec).collect();
        at += u64::try_from(records.len() * RECORD).unwrap_or_default();
        self.offset = Some(at);
        Ok(records)
    }

    fn event(&mut self, record: &[u8], merged: &Map) -> Map {
        let number = |at: usize| {
            let bytes = record
                .get(at..at + 4)
                .and_then(|bytes| bytes.try_into().ok());
            i64::from(bytes.map_or(0, i32::from_ne_bytes))
        };
        let short = |at: usize| {
            let bytes = record
                .get(at..at + 2)
                .and_then(|bytes| bytes.try_into().ok());
            i64::from(bytes.map_or(0, i16::from_ne_bytes))
        };
        let text = |at: usize, length: usize| {
            let bytes = record.get(at..at + length).unwrap_or_default();
            let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        let (kind, line) = (short(0), text(8, 32));
        let mut event = Map::from([
            ("type", Value::from(kind)),
            ("PID", number(4).into()),
            ("line", line.as_str().into()),
            ("inittab", text(40, 4).into()),
            ("user", text(44, 32).into()),
            ("hostname", text(76, 256).into()),
            ("exit_status", short(334).into()),
            ("session", number(336).into()),
            ("time", number(340).into()),
            (
                "addr",
                address(record.get(348..364).unwrap_or_default()).into(),
            ),
        ]);
        if self.which == Which::Failed {
            return event;
        }
        let of = |name: &str, usual: i64| {
            let kinds = merged.get("ut_type");
            let kind = kinds.and_then(|kinds| kinds.get(name));
            kind.and_then(Value::as_i64).unwrap_or(usual)
        };
        if kind == of("login", LOGIN) {
            event.insert("action", "login");
            if self.users.len() < BEACON_LOGINS_MAX {
                self.users.insert(line, text(44, 32));
            }
        } else if kind == of("logout", LOGOUT) {
            event.insert("action", "logout");
            if let Some(user) = self.users.remove(&line) {
                event.insert("user", user);
            }
        }
        event
    }
}

/// An address as text; empty if there is no address.
fn address(bytes: &[u8]) -> String {
    let Ok(bytes) = <[u8; 16]>::try_from(bytes) else {
        return String::new();
    };
    match bytes {
        [a, b, c, d, rest @ ..] if rest.iter().all(|byte| *byte == 0) => match [a, b, c, d] {
            [0, 0, 0, 0] => String::new(),
            four => Ipv4Addr::from(four).to_string(),
        },
        all => Ipv6Addr::from(all).to_string(),
    }
}

/// The users that are wanted, with the members of groups; none if all are.
fn users(merged: &Map, call: &Call<'_>) -> Option<Map> {
    let map = |name: &str| merged.get(name).and_then(Value::as_map);
    let mut users = map("users").cloned().unwrap_or_default();
    for (group, about) in map("groups").into_iter().flatten() {
        let info = call.salt("group.info", std::slice::from_ref(group), Map::new());
        let members = info.ok().and_then(|info| info.get("members").cloned());
        for member in python::texts(&members.unwrap_or_default()) {
            if !users.contains_key(&member) {
                users.insert(member, about.clone());
            }
        }
    }
    let any = merged.contains_key("users") || merged.contains_key("groups");
    (any && !users.is_empty()).then_some(users)
}

fn is_wanted(event: &Map, users: Option<&Map>, defaults: Option<&Value>, minute: i64) -> bool {
    let range = |about: Option<&Value>| about.and_then(|about| about.get("time_range").cloned());
    let own = match users {
        None => None,
        Some(users) => {
            let name = event
                .get("user")
                .and_then(Value::as_str)
                .unwrap_or_default();
            match users.get(name) {
                Some(about) => range(Some(about)),
                None => return false,
            }
        }
    };
    let Some(range) = own.or_else(|| range(defaults)) else {
        return true;
    };
    let at = |name: &str| {
        range
            .get(name)
            .map(python::str)
            .and_then(|text| minute_of_day(&text))
    };
    match (at("start"), at("end")) {
        (Some(start), Some(end)) => start <= minute && minute <= end,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn record(kind: u8, line: &str, user: &str, host: &str, time: i32) -> Vec<u8> {
        let mut record = vec![0; RECORD];
        record[..2].copy_from_slice(&i16::from(kind).to_ne_bytes());
        record[4..8].copy_from_slice(&4242_i32.to_ne_bytes());
        record[8..8 + line.len()].copy_from_slice(line.as_bytes());
        record[44..44 + user.len()].copy_from_slice(user.as_bytes());
        record[76..76 + host.len()].copy_from_slice(host.as_bytes());
        record[340..344].copy_from_slice(&time.to_ne_bytes());
        record[348..352].copy_from_slice(&[10, 0, 0, 5]);
        record
    }

    #[test]
    fn who_comes_and_goes_is_told_once() {
        let mut wtmp = Logins::new(Which::All);
        let mut file = record(7, "pts/0", "old", "", 1);
        assert!(wtmp.read_new(Cursor::new(&file)).unwrap().is_empty());
        file.extend(record(7, "pts/1", "ann", "10.0.0.5", 1_700_000_000));
        file.extend(record(8, "pts/1", "", "", 1_700_000_100));
        file.extend(&record(7, "pts/2", "half", "", 1)[..100]);
        let new = wtmp.read_new(Cursor::new(&file)).unwrap();
        let events: Vec<Map> = new.iter().map(|new| wtmp.event(new, &Map::new())).collect();
        assert_eq!(
            python::repr(&events[0].clone().into()),
            "{'type': 7, 'PID': 4242, 'line': 'pts/1', 'inittab': '', 'user': 'ann', \
             'hostname': '10.0.0.5', 'exit_status': 0, 'session': 0, 'time': 1700000000, \
             'addr': '10.0.0.5', 'action': 'login'}"
        );
        assert_eq!(events[1].get("action"), Some(&"logout".into()));
        assert_eq!(events[1].get("user"), Some(&"ann".into()));
        assert!(wtmp.read_new(Cursor::new(&file)).unwrap().is_empty());
        let cut = record(7, "pts/3", "bob", "", 2);
        assert_eq!(wtmp.read_new(Cursor::new(&cut)).unwrap().len(), 1);
    }

    #[test]
    fn users_and_hours_that_are_wanted() {
        let value = |text: &str| halite_yaml::load(text, "test").unwrap().into_value();
        let event = Map::from([("user", "ann")]);
        let users = value("{ann: {time_range: {start: 8am, end: '16:00'}}, bob: {}}");
        let users = users.as_map();
        assert!(is_wanted(&event, None, None, 0));
        assert!(is_wanted(&event, users, None, 8 * 60));
        assert!(!is_wanted(&event, users, None, 16 * 60 + 1));
        let bob = Map::from([("user", "bob")]);
        let night = value("{time_range: {start: '22:00', end: '23:59'}}");
        assert!(is_wanted(&bob, users, None, 0));
        assert!(!is_wanted(&bob, users, Some(&night), 0));
        assert!(!is_wanted(&Map::from([("user", "eve")]), users, None, 0));
    }
}
