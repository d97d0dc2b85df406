//! Attributes of the kernel below `/sys`: the execution module `sysfs`.
//!
//! Invariant: nothing outside `/sys` is read or written.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use halite_call::{Call, CallResult, Function, Module, paths, python};
use halite_proto::{Map, Value};

/// Bytes of an attribute; the kernel's have a page at most.
const ATTRIBUTE_BYTES_MAX: u64 = 64 << 10;

/// Attributes below a directory; more are left out.
const ATTRIBUTES_MAX: usize = 100_000;

pub(crate) const MODULE: Module = Module {
    name: "sysfs",
    functions: &[
        Function::new(
            "sysfs.attr",
            "(key, value=None)",
            attr,
            "An attribute of the kernel; with a value it is set.",
        ),
        Function::new(
            "sysfs.interfaces",
            "(root)",
            |call| {
                let found = target(call, &call.text("root")).filter(|path| path.is_dir());
                Ok(found.map_or(Value::Bool(false), |path| interfaces(&path).into_value()))
            },
            "The attributes below a directory: those that can be read (r), written (w)\nor both (rw).",
        ),
        Function::new(
            "sysfs.read",
            "(key, root='')",
            |call| Ok(read(call, call.arg("key"), &call.text("root"))),
            "An attribute, several of a list, or all below a directory.",
        ),
        Function::new(
            "sysfs.target",
            "(key, full=True)",
            |call| {
                let Some(path) = target(call, &call.text("key")) else {
                    return Ok(false.into());
                };
                Ok(match call.flag("full") {
                    true => shown(call, &path).into(),
                    false => path
                        .file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned()
                        .into(),
                })
            },
            "The place that a key leads to.",
        ),
        Function::new(
            "sysfs.write",
            "(key, value)",
            |call| Ok(write(call, &call.text("key"), call.arg("value")).into()),
            "Sets an attribute; False if that fails.",
        ),
    ],
};

/// The file of a key, if there is one below `/sys`.
fn target(call: &Call<'_>, key: &str) -> Option<PathBuf> {
    let host = call.host();
    let path = match key.starts_with("/sys") {
        true => PathBuf::from(key),
        false => Path::new("/sys").join(key),
    };
    let path = fs::canonicalize(host.path(path)).ok()?;
    let root = fs::canonicalize(host.path("/sys")).ok()?;
    path.starts_with(root).then_some(path)
}

/// The path as it is called on the machine.
fn shown(call: &Call<'_>, path: &Path) -> String {
    let root = fs::canonicalize(call.host().path("/sys")).unwrap_or_default();
    let rest = path.strip_prefix(root).unwrap_or(path);
    Path::new("/sys").join(rest).display().to_string()
}

fn attr(call: &Call<'_>) -> CallResult {
    let key = call.text("key");
    let Some(path) = target(call, &key) else {
        return Ok(false.into());
    };
    if path.is_dir() {
        return Ok(shown(call, &path).into());
    }
    Ok(match call.arg("value") {
        Value::Nil => value_of(&path),
        value => write(call, &key, value).into(),
    })
}

fn write(call: &Call<'_>, key: &str, value: &Value) -> bool {
    let Some(path) = target(call, key) else {
        return false;
    };
    let opened = paths::open_to_write(&path);
    let text = format!("{}\n", python::str(value));
    let written = opened.and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(text.as_bytes())
    });
    match written {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!(%error, "{} is not written", path.display());
            false
        }
    }
}

/// What an attribute holds; false if nothing.
fn value_of(path: &Path) -> Value {
    let read = || -> std::io::Result<String> {
        let mut bytes = Vec::new();
        paths::open_to_read(path)?
            .take(ATTRIBUTE_BYTES_MAX)
            .read_to_end(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| std::io::ErrorKind::InvalidData.into())
    };
    let text = read().unwrap_or_default();
    let text = text.trim();
    if text.is_empty() {
        return false.into();
    }
    python::int(&text.into())
        .map(Value::from)
        .or_else(|_| python::float(&text.into()).map(Value::from))
        .unwrap_or_else(|_| text.into())
}

fn read(call: &Call<'_>, key: &Value, root: &str) -> Value {
    let join = |key: &str| Path::new(root).join(key).display().to_string();
    let Value::List(keys) = key else {
        let Some(path) = target(call, &join(&python::str(key))) else {
            return false.into();
        };
        return match path.is_dir() {
            true => below(&path).into(),
            false => value_of(&path),
        };
    };
    let mut found = Map::new();
    for key in keys {
        let value = read(call, &join(&python::str(key)).into(), "");
        if value != Value::Bool(false) {
            found.insert(key.clone(), value);
        }
    }
    found.into()
}

/// Puts a value where its path leads to in maps.
fn put(all: &mut Map, path: &str, value: Value) {
    let Some((directory, rest)) = path.split_once('/') else {
        all.insert(path, value);
        return;
    };
    let entry = all.get_or_insert_with(directory, || Value::Map(Map::new()));
    if entry.as_map().is_none() {
        *entry = Map::new().into();
    }
    if let Value::Map(inner) = entry {
        put(inner, rest, value);
    }
}

/// All attributes below a directory, in maps like its directories.
fn below(root: &Path) -> Map {
    let interfaces = interfaces(root);
    let mut all = Map::new();
    for name in interfaces.read.iter().chain(&interfaces.both) {
        let value = value_of(&root.join(name));
        if value == Value::Bool(false) {
            continue;
        }
        put(&mut all, name, value);
    }
    all
}

#[derive(Default)]
struct Interfaces {
    read: Vec<String>,
    write: Vec<String>,
    both: Vec<String>,
}

impl Interfaces {
    fn into_value(self) -> Value {
        let list = |names: Vec<String>| names.into_iter().map(Value::from).collect::<Vec<_>>();
        Map::from([
            ("r", list(self.read)),
            ("w", list(self.write)),
            ("rw", list(self.both)),
        ])
        .into()
    }
}

fn interfaces(root: &Path) -> Interfaces {
    let mut found = Interfaces::default();
    let mut todo = vec![root.to_owned()];
    let mut count = 0;
    while let Some(directory) = todo.pop() {
        let mut entries: Vec<_> = fs::read_dir(directory)
            .into_iter()
            .flatten()
            .flatten()
            .collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let Ok(about) = fs::metadata(&path) else {
                continue;
            };
            // Links to directories lead in circles.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                todo.push(path);
                continue;
            }
            if !about.is_file() || count >= ATTRIBUTES_MAX {
                continue;
            }
            count += 1;
            let name = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .display()
                .to_string();
            let mode = about.permissions().mode();
            match (mode & 0o400 != 0, mode & 0o200 != 0) {
                (true, true) => found.both.push(name),
                (false, true) => found.write.push(name),
                (true, false) => found.read.push(name),
                (false, false) => tracing::warn!("Unable to find any interfaces in {name}"),
            }
        }
    }
    found
}
