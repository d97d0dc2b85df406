//! `file.retention_schedule`: which backups of a directory are kept, by their times.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::{Map, Value};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::common;
use crate::core::path;
use crate::exec::tree;

/// A backup with its time.
struct Aged {
    name: String,
    path: PathBuf,
    time: DateTime,
}

pub(super) fn retention_schedule(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let mut ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.retention_schedule");
    }
    let root = Path::new(&name);
    if !root.is_dir() || !path::is_absolute(&name) {
        return common::failed(ret, "Name provided to file.retention must be a directory");
    }
    let retain = call.arg("retain").as_map().cloned().unwrap_or_default();
    let (all, ignored) = backups(call, root)?;
    let keep = match kept(&all, &retain) {
        Ok(keep) => keep,
        Err(wrong) => return common::failed(ret, wrong),
    };
    let (retained, deleted): (Vec<_>, Vec<_>) = all
        .iter()
        .enumerate()
        .partition(|(at, _)| keep.contains(at));
    let names = |files: &[(usize, &Aged)]| -> Vec<Value> {
        files
            .iter()
            .map(|(_, aged)| aged.name.as_str().into())
            .collect()
    };
    if !deleted.is_empty() {
        let ignored: Vec<Value> = ignored.into_iter().rev().map(Value::from).collect();
        ret.changes = Map::from([
            ("retained", Value::from(names(&retained))),
            ("deleted", names(&deleted).into()),
            ("ignored", ignored.into()),
        ]);
    }
    let count = deleted.len();
    if call.is_test() {
        let text = format!("{count} backups would have been removed from {name}.\n");
        return Ok(if count == 0 {
            ret.ok(text)
        } else {
            ret.pending(text)
        }
        .into());
    }
    for (_, aged) in &deleted {
        tree::remove_any(&aged.path).map_err(|error| halite_call::os_error(&error, &aged.path))?;
    }
    Ok(ret
        .ok(format!("{count} backups were removed from {name}.\n"))
        .into())
}

/// The backups of a directory, the youngest first, and the names of its other files.
fn backups(call: &Call<'_>, root: &Path) -> Result<(Vec<Aged>, BTreeSet<String>), CallError> {
    let zone = match call.text_opt("timezone") {
        Some(zone) if zone.eq_ignore_ascii_case("utc") => TimeZone::UTC,
        Some(zone) => TimeZone::get(&zone)
            .map_err(|error| CallError::command(format!("no time zone {zone}: {error}")))?,
        None => TimeZone::system(),
    };
    let format = call.text_opt("strptime_format");
    let mut ignored: BTreeSet<String> = [".".to_owned(), "..".to_owned()].into();
    let mut all = Vec::new();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        match time_of(&file, &entry.path(), format.as_deref(), &zone) {
            Some(time) => all.push(Aged {
                name: file,
                path: entry.path(),
                time,
            }),
            None => {
                ignored.insert(file);
            }
        }
    }
    all.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| b.name.cmp(&a.name)));
    Ok((all, ignored))
}

/// The time of a backup: in its name, in the given format, or that of its last change.
fn time_of(name: &str, path: &Path, format: Option<&str>, zone: &TimeZone) -> Option<DateTime> {
    if let Some(format) = format {
        let parsed = jiff::fmt::strtime::parse(format, name).ok()?;
        return parsed
            .to_datetime()
            .ok()
            .or_else(|| Some(parsed.to_date().ok()?.at(0, 0, 0, 0)));
    }
    let data = fs::symlink_metadata(path).ok()?;
    let stamp = Timestamp::from_second(data.mtime()).ok()?;
    Some(Zoned::new(stamp, zone.clone()).datetime())
}

/// Which of the files, newest first, the schedule keeps.
fn kept(all: &[Aged], retain: &Map) -> Result<BTreeSet<usize>, String> {
    let mut keep = BTreeSet::new();
    for (rule, count) in retain {
        let rule = python::str(rule);
        let count = match count {
            Value::Str(text) if text == "all" => usize::MAX,
            count => usize::try_from(python::int(count).unwrap_or(0)).unwrap_or(0),
        };
        let span: fn(&DateTime) -> String = match rule.as_str() {
            "most_recent" => {
                keep.extend((0..all.len()).take(count));
                continue;
            }
            "first_of_hour" => |time| time.strftime("%Y-%m-%d %H").to_string(),
            "first_of_day" => |time| time.strftime("%Y-%m-%d").to_string(),
            // The week of the year that the day is in, and one week more than asked.
            "first_of_week" => |time| time.strftime("%Y-%V").to_string(),
            "first_of_month" => |time| time.strftime("%Y-%m").to_string(),
            "first_of_year" => |time| time.strftime("%Y").to_string(),
            _ => return Err(format!("unknown retention rule: {rule}")),
        };
        // The first of each span is the oldest in it.
        let mut firsts: BTreeMap<String, usize> = BTreeMap::new();
        for (at, aged) in all.iter().enumerate() {
            firsts.insert(span(&aged.time), at);
        }
        let count = match rule.as_str() {
            "first_of_week" => count.saturating_add(usize::from(count > 0)),
            _ => count,
        };
        let newest_first: BTreeSet<usize> = firsts.into_values().collect();
        keep.extend(newest_first.into_iter().take(count));
    }
    Ok(keep)
}
