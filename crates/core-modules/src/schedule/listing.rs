//! What is in the schedule.

use std::path::PathBuf;

use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump};

use super::{SETTINGS, ask};
use halite_call::{Call, CallResult};

/// The largest saved schedule that is read.
const SAVED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What a definition may have; the rest is not shown.
const SHOWN: [&str; 29] = [
    "name",
    "maxrunning",
    "function",
    "splay",
    "range",
    "when",
    "once",
    "once_fmt",
    "returner",
    "jid_include",
    "args",
    "kwargs",
    "_seconds",
    "seconds",
    "minutes",
    "hours",
    "days",
    "enabled",
    "return_job",
    "metadata",
    "cron",
    "until",
    "after",
    "return_config",
    "return_kwargs",
    "run_on_start",
    "skip_during_range",
    "run_after_skip_range",
    "skip_function",
];

/// Which part of the schedule is wanted.
#[derive(Clone, Copy)]
pub(super) struct ListedPart<'a> {
    pub(super) show_all: bool,
    pub(super) show_disabled: bool,
    pub(super) part: Option<&'a str>,
    pub(super) offline: bool,
}

impl ListedPart<'_> {
    pub(super) const ALL: Self = Self {
        show_all: true,
        show_disabled: true,
        part: None,
        offline: false,
    };
}

pub(super) fn list(call: &Call<'_>) -> CallResult {
    let part = call.text_opt("where");
    let mut jobs = listed(
        call,
        ListedPart {
            show_all: call.flag("show_all"),
            show_disabled: call.flag("show_disabled"),
            part: part.as_deref(),
            offline: call.flag("offline"),
        },
    );
    if !call.flag("return_yaml") {
        return Ok(jobs.into());
    }
    let saved = saved(call);
    let names: Vec<Value> = jobs.keys().cloned().collect();
    for name in names {
        let is_saved = saved.get_value(&name).is_some();
        if let Some(Value::Map(job)) = name.as_str().and_then(|name| jobs.get_mut(name)) {
            job.insert("saved", is_saved);
        }
    }
    let document = Map::from([("schedule", jobs)]);
    Ok(dump(&document.into(), DumpOptions::block()).into())
}

/// The jobs, as people may see them.
pub(super) fn listed(call: &Call<'_>, wanted: ListedPart<'_>) -> Map {
    let schedule = if wanted.offline {
        saved(call)
    } else {
        let part = wanted.part.map_or(Value::Nil, Value::from);
        let answer = ask(call, "list", [("where", part)]);
        answer
            .as_ref()
            .and_then(|answer| answer.get("schedule")?.as_map())
            .cloned()
            .unwrap_or_default()
    };
    let mut shown = Map::new();
    for (name, data) in schedule.iter() {
        let text = name.as_str().unwrap_or_default();
        let Value::Map(data) = data else {
            shown.insert(name.clone(), data.clone());
            continue;
        };
        if SETTINGS.contains(&text) {
            shown.insert(name.clone(), data.clone());
            continue;
        }
        if text.starts_with("__") && !wanted.show_all {
            continue;
        }
        let job = shown_job(data);
        if wanted.show_disabled || job.get("enabled").is_some_and(Value::is_true) {
            shown.insert(name.clone(), job);
        }
    }
    shown
}

fn shown_job(data: &Map) -> Map {
    let mut job = Map::new();
    for (key, value) in data.iter() {
        let is_shown = key
            .as_str()
            .is_some_and(|key| SHOWN.contains(&key) && key != "_seconds");
        if !is_shown || value.is_nil() {
            continue;
        }
        let value = match value.as_str() {
            Some("true") => true.into(),
            Some("false") => false.into(),
            _ => value.clone(),
        };
        job.insert(key.clone(), value);
    }
    job.get_or_insert_with("enabled", || true.into());
    job
}

/// The saved schedule.
pub(super) fn saved(call: &Call<'_>) -> Map {
    let path = saved_file(call);
    let read = halite_crypto::files::read_limited(&path, SAVED_BYTES_MAX);
    let text = read.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let loaded = text.and_then(|text| halite_yaml::load(&text, "_schedule.conf").ok());
    let schedule = loaded.and_then(|node| node.to_value().get("schedule").cloned());
    match schedule {
        Some(Value::Map(schedule)) => schedule,
        _ => Map::new(),
    }
}

/// Where it is saved.
pub(super) fn saved_file(call: &Call<'_>) -> PathBuf {
    in_includes(call, "_schedule.conf")
}

/// A file in the directory of included configuration.
pub(crate) fn in_includes(call: &Call<'_>, name: &str) -> PathBuf {
    let include = call.opt_text("default_include");
    let include = PathBuf::from(include.unwrap_or_else(|| "minion.d/*.conf".to_owned()));
    let folder = include.parent().map(PathBuf::from).unwrap_or_default();
    call.ctx.config_dir().join(folder).join(name)
}

pub(super) fn is_enabled(call: &Call<'_>) -> CallResult {
    let jobs = listed(
        call,
        ListedPart {
            show_all: false,
            ..ListedPart::ALL
        },
    );
    Ok(match call.text_opt("name") {
        None => jobs.get("enabled").cloned().unwrap_or_else(|| true.into()),
        Some(name) => jobs
            .get(&name)
            .cloned()
            .unwrap_or_else(|| Map::new().into()),
    })
}

pub(super) fn job_status(call: &Call<'_>) -> CallResult {
    let answer = ask(call, "job_status", [("name", call.arg("name").clone())]);
    let data = answer.as_ref().and_then(|answer| answer.get("data"));
    Ok(data.cloned().unwrap_or_else(|| Map::new().into()))
}
