//! Static grains: the file `grains` beside the configuration.
//!
//! Invariant: the file is replaced whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use halite_proto::{Map, Value};
use halite_yaml::DumpOptions;

use crate::call::Call;
use crate::context::Refresh;
use crate::error::{CallError, CallResult};
use crate::limits::REFRESH_SECONDS_MAX;
use crate::python;
use crate::replace::{Dress, replace_with};

pub(super) fn setval(call: &Call<'_>) -> CallResult {
    let new = Map::from([(call.arg("key").clone(), call.arg("val").clone())]);
    store(
        call,
        new,
        call.flag("destructive"),
        call.flag("refresh_pillar"),
    )
}

pub(super) fn setvals(call: &Call<'_>) -> CallResult {
    let new = match call.arg("grains") {
        Value::Map(map) => map.clone(),
        _ => {
            return Err(CallError::exception(
                "salt.exceptions.SaltException",
                "setvals grains must be a dictionary.",
            ));
        }
    };
    store(
        call,
        new,
        call.flag("destructive"),
        call.flag("refresh_pillar"),
    )
}

/// Writes the grains and has them, and the pillar that may depend on them,
/// made new. Returns what was set.
fn store(call: &Call<'_>, new: Map, destructive: bool, refresh_pillar: bool) -> CallResult {
    let path = file(call);
    let failed = |error: &dyn std::fmt::Display| {
        CallError::command(format!(
            "Unable to write to grains file {}: {error}",
            path.display()
        ))
    };
    let mut grains = read(&path).map_err(|error| failed(&error))?;
    for (key, value) in &new {
        if value.is_nil() && destructive {
            grains.retain(|known, _| known != key);
        } else {
            grains.insert(key.clone(), value.clone());
        }
    }
    write(&path, &grains).map_err(|error| failed(&error))?;
    let refreshed = call.ctx.refresh(Refresh::Grains, Some(REFRESH_SECONDS_MAX));
    if let Err(error) = refreshed {
        tracing::debug!(%error, "the grains were not refreshed");
    }
    if refresh_pillar
        && let Err(error) = call
            .ctx
            .refresh(Refresh::Pillar { clean_cache: true }, None)
    {
        tracing::debug!(%error, "the pillar was not refreshed");
    }
    Ok(new.into())
}

fn file(call: &Call<'_>) -> PathBuf {
    let conf = call.opt_text("conf_file").map(PathBuf::from);
    match conf {
        Some(conf) if conf.is_dir() => conf.join("grains"),
        _ => call.ctx.config_dir().join("grains"),
    }
}

fn read(path: &Path) -> Result<Map, String> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(error.to_string()),
    };
    match halite_yaml::load_bytes(&bytes, &path.to_string_lossy()) {
        Ok(node) => match node.into_value() {
            Value::Map(map) => Ok(map),
            Value::Nil => Ok(Map::new()),
            _ => Err("the file does not hold a map".to_owned()),
        },
        Err(error) => Err(format!(
            "the file cannot be read as YAML\n{}",
            error.render()
        )),
    }
}

fn write(path: &Path, grains: &Map) -> io::Result<()> {
    const NEW_FILE_MODE: u32 = 0o644;
    let text = halite_yaml::dump(&grains.clone().into(), DumpOptions::block());
    replace_with(path, Dress::kept(NEW_FILE_MODE), |file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    })
}

pub(super) fn append(call: &Call<'_>) -> CallResult {
    let (key, delimiter) = (call.text("key"), call.text("delimiter"));
    let val = call.arg("val");
    let grains = call.ctx.grains();
    let found = python::traverse_map(&grains, &key, &delimiter);
    let mut list = match found {
        None | Some(Value::Nil) => Vec::new(),
        Some(Value::List(list)) => list.clone(),
        Some(other) if call.flag("convert") => vec![other.clone()],
        Some(_) => return Ok(format!("The key {key} is not a valid list").into()),
    };
    if list.contains(val) {
        return Ok(format!("The val {} was already in the list {key}", python::str(val)).into());
    }
    match val {
        Value::List(items) => list.extend(items.iter().cloned()),
        one => list.push(one.clone()),
    }
    replace_list(call, &key, &delimiter, list)
}

pub(super) fn remove(call: &Call<'_>) -> CallResult {
    let (key, delimiter) = (call.text("key"), call.text("delimiter"));
    let val = call.arg("val");
    let grains = call.ctx.grains();
    let mut list = match python::traverse_map(&grains, &key, &delimiter) {
        None => Vec::new(),
        Some(Value::List(list)) => list.clone(),
        Some(_) => return Ok(format!("The key {key} is not a valid list").into()),
    };
    let Some(at) = list.iter().position(|item| python::equal(item, val)) else {
        return Ok(format!("The val {} was not in the list {key}", python::str(val)).into());
    };
    list.remove(at);
    replace_list(call, &key, &delimiter, list)
}

fn replace_list(call: &Call<'_>, key: &str, delimiter: &str, list: Vec<Value>) -> CallResult {
    let new = placed(&call.ctx.grains(), key, delimiter, list.into());
    store(call, new, false, true)
}

/// The top-level grain that holds `value` at the place `key`, with everything
/// that lies beside it on the way.
fn placed(grains: &Map, key: &str, delimiter: &str, value: Value) -> Map {
    let Some((first, rest)) = key.split_once(delimiter).filter(|_| !delimiter.is_empty()) else {
        return Map::from([(key, value)]);
    };
    let mut inner = grains
        .get(first)
        .and_then(Value::as_map)
        .cloned()
        .unwrap_or_default();
    inner.extend(placed(&inner, rest, delimiter, value));
    Map::from([(first, inner)])
}

pub(super) fn delkey(call: &Call<'_>) -> CallResult {
    let change = Change {
        key: &call.text("key"),
        value: &Value::Nil,
        delimiter: ":",
        force: call.flag("force"),
        destructive: true,
    };
    change.make(call)
}

pub(super) fn delval(call: &Call<'_>) -> CallResult {
    let change = Change {
        key: &call.text("key"),
        value: &Value::Nil,
        delimiter: ":",
        force: call.flag("force"),
        destructive: call.flag("destructive"),
    };
    change.make(call)
}

pub(super) fn set(call: &Call<'_>) -> CallResult {
    let change = Change {
        key: &call.text("key"),
        value: call.arg("val"),
        delimiter: &call.text("delimiter"),
        force: call.flag("force"),
        destructive: call.flag("destructive"),
    };
    change.make(call)
}

/// A value for a place within the grains.
struct Change<'a> {
    key: &'a str,
    value: &'a Value,
    delimiter: &'a str,
    force: bool,
    destructive: bool,
}

impl Change<'_> {
    fn make(&self, call: &Call<'_>) -> CallResult {
        let answer = |result: bool, comment: String, changes: Map| {
            let result = Value::from(result);
            Ok(Map::from([
                ("comment", comment.into()),
                ("changes", changes.into()),
                ("result", result),
            ])
            .into())
        };
        let key = self.key;
        let grains = call.ctx.grains();
        let existing = python::traverse_map(&grains, key, self.delimiter);
        let is_nested = |value: &Value| matches!(value, Value::Map(_) | Value::List(_));
        if existing == Some(self.value) && !(self.destructive && self.value.is_nil()) {
            return answer(true, "Grain is already set".to_owned(), Map::new());
        }
        if existing.is_some_and(is_nested) && !self.force {
            let comment = format!(
                "The key '{key}' exists but is a dict or a list. Use 'force=True' to overwrite."
            );
            return answer(false, comment, Map::new());
        }
        if existing.is_some() && is_nested(self.value) && !self.force {
            let comment = format!(
                "The key '{key}' exists and the given value is a dict or a list. Use 'force=True' to overwrite."
            );
            return answer(false, comment, Map::new());
        }
        let parts: Vec<&str> = if self.delimiter.is_empty() {
            vec![key]
        } else {
            key.split(self.delimiter).collect()
        };
        let (first, rest) = match parts.split_first() {
            Some((first, rest)) => (*first, rest),
            None => (key, &[][..]),
        };
        let new = match self.value_below(grains.get(first), first, rest) {
            Ok(new) => new,
            Err(comment) => return answer(false, comment, Map::new()),
        };
        let changes = Map::from([(first, new)]);
        store(call, changes.clone(), self.destructive, true)?;
        answer(true, String::new(), changes)
    }

    /// What is at `at` after the change of the place `rest` below it.
    fn value_below(&self, at: Option<&Value>, name: &str, rest: &[&str]) -> Result<Value, String> {
        let Some((next, rest)) = rest.split_first() else {
            return Ok(self.value.clone());
        };
        let mut map = match at {
            None => Map::new(),
            Some(Value::Map(map)) => map.clone(),
            Some(_) if self.force => Map::new(),
            Some(other) => {
                let path = self.key;
                let prefix = path.find(name).map_or(name, |at| &path[..at + name.len()]);
                return Err(match other {
                    Value::List(_) => format!(
                        "The key '{prefix}' contains a list from level '{next}' down; use 'force=True' to overwrite."
                    ),
                    other => format!(
                        "The key '{prefix}' value is '{}', which is different from the provided key '{next}'. Use 'force=True' to overwrite.",
                        python::str(other)
                    ),
                });
            }
        };
        let below = self.value_below(map.get(next), next, rest)?;
        if below.is_nil() && self.destructive && rest.is_empty() {
            map.remove(next);
        } else {
            map.insert(*next, below);
        }
        Ok(map.into())
    }
}
