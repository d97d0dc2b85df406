//! Copies of trees: the execution module `rsync`.

pub(crate) mod state;

use std::io::ErrorKind;
use std::path::Path;

use halite_call::host::Program;
use halite_call::paths::{self, Handed};
use halite_call::{Call, CallError, CallResult, Function, Module, errno, os_error, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "rsync",
    functions: &[
        Function::new(
            "rsync.config",
            "(conf_path='/etc/rsyncd.conf')",
            config,
            "The configuration of the server.",
        ),
        Function::new(
            "rsync.rsync",
            "(src, dst, delete=False, force=False, update=False, passwordfile=None, exclude=None, excludefrom=None, dryrun=False, rsh=None, additional_opts=None, saltenv='base')",
            rsync,
            "Copies a tree, from the master too. What is not given comes from options\nlike rsync.delete.",
        ),
        Function::new("rsync.version", "()", version, "The version of rsync."),
    ],
};

fn need(call: &Call<'_>) -> Result<(), CallError> {
    match call.host().has("rsync") {
        true => Ok(()),
        false => Err(CallError::NotFound(
            "The 'rsync' binary was not found in $PATH.".to_owned(),
        )),
    }
}

/// An argument, or else the option of its name.
fn given(call: &Call<'_>, name: &str) -> CallResult {
    let value = call.arg(name);
    if value.is_true() {
        return Ok(value.clone());
    }
    call.salt(
        "config.option",
        &[format!("rsync.{name}").into()],
        Map::new(),
    )
}

/// A file or tree of the master, fetched for the time of the copy.
struct Fetched<'c, 'a> {
    call: &'c Call<'a>,
    path: String,
}

impl Drop for Fetched<'_, '_> {
    fn drop(&mut self) {
        let removed = self
            .call
            .salt("file.remove", &[self.path.as_str().into()], Map::new());
        if let Err(error) = removed {
            tracing::warn!("{} stays: {error}", self.path);
        }
    }
}

fn fetched<'c, 'a>(
    call: &'c Call<'a>,
    source: &str,
) -> Result<(String, Fetched<'c, 'a>), CallError> {
    let saltenv = call.arg("saltenv").clone();
    let in_env = Map::from([("saltenv", saltenv.clone())]);
    let directories = call.salt("cp.list_master_dirs", &[], in_env)?;
    let inner = source.trim_start_matches("salt://");
    let is_dir = directories
        .as_list()
        .unwrap_or_default()
        .iter()
        .any(|known| known.as_str() == Some(inner));
    let (make, get) = match is_dir {
        true => ("temp.dir", "cp.get_dir"),
        false => ("temp.file", "cp.get_file"),
    };
    let path = python::str(&call.salt(make, &[], Map::new())?);
    let kept = Fetched {
        call,
        path: path.clone(),
    };
    let args = [source.into(), path.as_str().into(), saltenv];
    if !call.salt(get, &args, Map::new())?.is_true() {
        return Err(CallError::command(format!("{source} does not exist")));
    }
    let source = if is_dir { format!("{path}/") } else { path };
    Ok((source, kept))
}

fn rsync(call: &Call<'_>) -> CallResult {
    need(call)?;
    let text = |name: &str| -> Result<Option<String>, CallError> {
        let value = given(call, name)?;
        Ok(value.is_true().then(|| python::str(&value)))
    };
    let (Some(source), Some(target)) = (text("src")?, text("dst")?) else {
        return Err(CallError::invocation("src and dst cannot be empty"));
    };
    for place in [&source, &target] {
        if place.starts_with('-') {
            return Err(CallError::invocation(format!("not a place: {place:?}")));
        }
    }
    let mut words = vec!["rsync".to_owned(), "-avz".to_owned()];
    for name in ["delete", "force", "update"] {
        if given(call, name)?.is_true() {
            words.push(format!("--{name}"));
        }
    }
    if let Some(shell) = text("rsh")? {
        words.push(format!("--rsh={shell}"));
    }
    if let Some(file) = text("passwordfile")? {
        words.extend(["--password-file".to_owned(), file]);
    }
    match text("excludefrom")? {
        Some(file) => words.extend(["--exclude-from".to_owned(), file]),
        None => match given(call, "exclude")? {
            Value::List(patterns) => {
                for pattern in &patterns {
                    words.extend(["--exclude".to_owned(), python::str(pattern)]);
                }
            }
            one if one.is_true() => words.extend(["--exclude".to_owned(), python::str(&one)]),
            _ => {}
        },
    }
    if given(call, "dryrun")?.is_true() {
        words.push("--dry-run".to_owned());
    }
    if let Value::List(more) = call.arg("additional_opts") {
        words.extend(more.iter().map(python::str));
    }
    let (source, _kept) = match source.starts_with("salt://") {
        true => {
            let (source, kept) = fetched(call, &source)?;
            (source, Some(kept))
        }
        false => (source, None),
    };
    let places = [handed(call, &source, false)?, handed(call, &target, true)?];
    words.extend(places.iter().map(|(_, word)| word.clone()));
    let ran = Program::new(call, &words).run_all()?;
    Ok(places
        .iter()
        .fold(ran, |ran, (place, _)| place.said_in(ran)))
}

/// A place for rsync and what it is given: a path by the rule of links, or what is on
/// another machine. A link is copied as one, and followed where something is written.
fn handed(call: &Call<'_>, place: &str, is_written: bool) -> Result<(Handed, String), CallError> {
    let (host, path) = (call.host(), Path::new(place));
    let before_slash = place.split('/').next().unwrap_or_default();
    if before_slash.contains(':') || !path.is_absolute() || !host.is_real() {
        return Ok((Handed::unheld(path), place.to_owned()));
    }
    let follows = is_written || place.ends_with('/');
    let handed = match follows {
        // Nobody puts a link in the place of a directory that is held itself.
        true if path.is_dir() => {
            let bare = Path::new(place.trim_end_matches('/'));
            let bare = if bare.as_os_str().is_empty() {
                path
            } else {
                bare
            };
            host.hand_target(bare).map(|handed| (true, handed))
        }
        true => host.hand_name(path).map(|handed| (false, handed)),
        false => host.hand_link(path).map(|handed| (false, handed)),
    };
    let (is_directory, handed) = handed.map_err(|error| os_error(&error, path))?;
    let slash = if is_directory { "/" } else { "" };
    let word = format!("{}{slash}", handed.word());
    Ok((handed, word))
}

fn version(call: &Call<'_>) -> CallResult {
    need(call)?;
    let said = Program::new(call, &["rsync", "--version"]).run()?.stdout;
    let version = said
        .lines()
        .next()
        .and_then(|line| line.split_whitespace().nth(2));
    match version {
        Some(version) => Ok(version.into()),
        None => Err(CallError::command("Unable to determine rsync version")),
    }
}

fn config(call: &Call<'_>) -> CallResult {
    let file = call.text("conf_path");
    let read = paths::read_to_string(call.host().path(&file));
    read.map(Value::from).map_err(|error| {
        CallError::command(match error.kind() {
            ErrorKind::NotFound => format!("{file} does not exist"),
            ErrorKind::PermissionDenied => format!("Unable to read {file}, access denied"),
            ErrorKind::IsADirectory => format!("Unable to read {file}, path is a directory"),
            _ => {
                let (number, text) = errno(&error);
                format!("Error {number}: {text}")
            }
        })
    })
}
