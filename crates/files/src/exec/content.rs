//! Reading and writing files, and finding text in them.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use halite_call::{Call, CallError, CallResult, paths, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::paths::arg;
use crate::core::open;
use crate::core::regex::{self, Pattern};
use crate::core::text;
use crate::core::write;
use halite_call::{errno, os_error};

pub(super) fn read(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let bytes = text::look(Path::new(&path))?;
    if call.flag("binary") {
        return Ok(Value::text_or_bytes(bytes));
    }
    Ok(text::utf8(bytes)?.into())
}

pub(super) fn seek_read(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let at = Path::new(&path);
    let wrong = |error: std::io::Error| os_error(&error, at);
    let size = u64::try_from(call.int("size")?).unwrap_or(0);
    let mut file = open::to_read(at).map_err(wrong)?;
    let offset = u64::try_from(call.int("offset")?).unwrap_or(0);
    file.seek(SeekFrom::Start(offset)).map_err(wrong)?;
    let mut bytes = Vec::new();
    file.take(size.min(crate::limits::TEXT_BYTES_MAX))
        .read_to_end(&mut bytes)
        .map_err(wrong)?;
    Ok(Value::text_or_bytes(bytes))
}

pub(super) fn seek_write(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let at = Path::new(&path);
    let wrong = |error: std::io::Error| os_error(&error, at);
    let file = open::to_write(at).map_err(wrong)?;
    let Value::Bytes(data) = call.arg("data") else {
        return Err(CallError::wrong_type(format!(
            "a bytes-like object is required, not '{}'",
            call.arg("data").type_name()
        )));
    };
    let offset = u64::try_from(call.int("offset")?).unwrap_or(0);
    file.write_all_at(data, offset).map_err(wrong)?;
    Ok(data.len().into())
}

/// The lines given: one by one, or as `args`.
fn given_lines(call: &Call<'_>) -> Vec<String> {
    match call.kwargs().get("args") {
        Some(Value::List(lines)) => lines.iter().map(python::str).collect(),
        Some(line) => vec![python::str(line)],
        None => call.varargs().iter().map(python::str).collect(),
    }
}

fn with_ends(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub(super) fn write(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let lines = given_lines(call);
    let at = Path::new(&path);
    let bytes = with_ends(&lines).into_bytes();
    let done = if at.exists() {
        write::update(at, &bytes)
    } else {
        write::replace(at, &write::Body::Bytes(bytes), new_mode())
    };
    done.map_err(|error| os_error(&error, at))?;
    Ok(format!("Wrote {} lines to \"{path}\"", lines.len()).into())
}

fn new_mode() -> u32 {
    crate::core::mode::default_mode()
}

pub(super) fn append(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let lines = given_lines(call);
    append_lines(Path::new(&path), &lines)?;
    Ok(format!("Wrote {} lines to \"{path}\"", lines.len()).into())
}

/// Adds lines at the end, on lines of their own. The file stays the same one
/// where a killed process cannot leave half of them: within a page. Else it is
/// replaced.
pub(crate) fn append_lines(at: &Path, lines: &[String]) -> Result<(), CallError> {
    const PAGE_BYTES: u64 = 4096;
    let wrong = |error: std::io::Error| os_error(&error, at);
    let mut file = open::to_append(at).map_err(wrong)?;
    let data = file.metadata().map_err(wrong)?;
    let before = data.len();
    let mut more = String::new();
    if before > 0 {
        let mut last = [0];
        file.read_exact_at(&mut last, before - 1).map_err(wrong)?;
        if last != *b"\n" {
            more.push('\n');
        }
    }
    more.push_str(&with_ends(lines));
    let after = before + more.len() as u64;
    if data.is_file() && before / PAGE_BYTES != after / PAGE_BYTES {
        let mut bytes = open::read_to_change(at).map_err(wrong)?;
        bytes.extend_from_slice(more.as_bytes());
        return write::update(at, &bytes).map_err(wrong);
    }
    let done = file.write_all(more.as_bytes());
    if done.is_err() {
        // A full disk leaves the file as it was.
        let _ = file.set_len(before);
    }
    done.map_err(wrong)
}

/// Makes a file of these lines.
pub(crate) fn new_of_lines(at: &Path, lines: &[String]) -> Result<(), CallError> {
    let bytes = with_ends(lines).into_bytes();
    write::replace(at, &write::Body::Bytes(bytes), new_mode()).map_err(|error| os_error(&error, at))
}

pub(super) fn prepend(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let lines = given_lines(call);
    prepend_lines(Path::new(&path), &lines)?;
    Ok(format!("Prepended {} lines to \"{path}\"", lines.len()).into())
}

/// Puts lines before everything else.
pub(crate) fn prepend_lines(at: &Path, lines: &[String]) -> Result<(), CallError> {
    let wrong = |error: std::io::Error| os_error(&error, at);
    let mut bytes = with_ends(lines).into_bytes();
    if at.exists() {
        bytes.extend(text::read(at)?);
        write::update(at, &bytes).map_err(wrong)
    } else {
        write::replace(at, &write::Body::Bytes(bytes), new_mode()).map_err(wrong)
    }
}

pub(super) fn touch(call: &Call<'_>) -> CallResult {
    let name = arg(call, "name");
    touch_file(&name, call.arg("atime"), call.arg("mtime"))?;
    Ok(Path::new(&name).exists().into())
}

/// Makes the file if there is none, and sets its times.
pub(crate) fn touch_file(name: &str, atime: &Value, mtime: &Value) -> Result<(), CallError> {
    let at = Path::new(name);
    let wrong = |error: std::io::Error| CallError::command(errno(&error).1);
    let seconds = |value: &Value| {
        if !value.is_true() {
            return Ok(None);
        }
        python::int(value)
            .map(Some)
            .map_err(|_| CallError::invocation("atime and mtime must be integers"))
    };
    let (atime, mtime) = (seconds(atime)?, seconds(mtime)?);
    if !at.exists() {
        paths::append_or_create(at).map_err(wrong)?;
    }
    let now = std::time::SystemTime::now();
    let data = fs::metadata(at).map_err(wrong)?;
    let time = |seconds: Option<i64>, other: std::io::Result<std::time::SystemTime>| match seconds {
        Some(seconds) => {
            let seconds = u64::try_from(seconds).unwrap_or(0);
            std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)
        }
        // Only one is given: the other stays.
        None if atime.is_some() || mtime.is_some() => other.unwrap_or(now),
        None => now,
    };
    let times = fs::FileTimes::new()
        .set_accessed(time(atime, data.accessed()))
        .set_modified(time(mtime, data.modified()));
    paths::open_to_read(at)
        .and_then(|file| file.set_times(times))
        .map_err(wrong)
}

pub(super) fn truncate(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let at = Path::new(&path);
    let length = u64::try_from(call.int("length")?).unwrap_or(0);
    open::to_write(at)
        .and_then(|file| file.set_len(length))
        .map_err(|error| os_error(&error, at))?;
    Ok(Value::Nil)
}

/// The text of a file for those who look for something in it; nothing if it is
/// not there, or the system does not let us read it.
fn content(path: &str) -> Result<Option<String>, CallError> {
    let at = Path::new(path);
    if paths::open_to_read(at).is_err() {
        return Ok(None);
    }
    Ok(Some(text::decode(&text::look(at)?)))
}

pub(super) fn contains(call: &Call<'_>) -> CallResult {
    let wanted = call.text("text");
    let found = content(&arg(call, "path"))?;
    Ok(found
        .is_some_and(|text| text.contains(wanted.trim()))
        .into())
}

pub(super) fn contains_regex(call: &Call<'_>) -> CallResult {
    let Some(text) = content(&arg(call, "path"))? else {
        return Ok(false.into());
    };
    let pattern = Pattern::new(&call.text("regex"), 0)?;
    let lchar = call.text("lchar");
    for line in text.split_inclusive('\n') {
        let line = if lchar.is_empty() {
            line
        } else {
            line.trim_start_matches(|c| lchar.contains(c))
        };
        if pattern.is_in(line)? {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

pub(super) fn contains_glob(call: &Call<'_>) -> CallResult {
    let Some(text) = content(&arg(call, "path"))? else {
        return Ok(false.into());
    };
    let glob = call.text("glob_expr");
    // A line holds its end, as in Salt: `*` at the end of the pattern takes it.
    let found = text.split_inclusive('\n').any(|line| fnmatch(&glob, line));
    Ok(found.into())
}

pub(super) fn search(call: &Call<'_>) -> CallResult {
    let mut flags = regex::flags(call.arg("flags"))?;
    if call.flag("multiline") {
        flags |= regex::MULTILINE;
    }
    let found = super::replace::Search {
        path: &arg(call, "path"),
        pattern: call.arg("pattern"),
        flags,
        ignore_if_missing: call.flag("ignore_if_missing"),
    }
    .run()?;
    Ok(found.into())
}

pub(super) fn grep(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let mut options = Vec::new();
    for option in call.varargs() {
        let option = python::str(option);
        if option.split_whitespace().count() > 1 {
            return Err(CallError::invocation(format!(
                "Passing multiple command line arguments in a single string is not supported, \
                 please pass the following arguments separately: {option}"
            )));
        }
        options.push(Value::from(option));
    }
    let mut command: Vec<Value> = vec!["grep".into()];
    command.extend(options);
    command.extend([Value::from("--"), call.text("pattern").into()]);
    let paths = super::paths::glob(&path);
    if paths.is_empty() {
        command.push(path.into());
    }
    command.extend(paths.into_iter().map(Value::from));
    call.salt(
        "cmd.run_all",
        &[command.into()],
        Map::from([("python_shell", false)]),
    )
}
