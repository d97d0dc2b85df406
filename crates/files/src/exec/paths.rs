//! Paths: their parts, and the kind of file at them.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::Value;
use halite_target::glob::fnmatch;
use nix::unistd::{AccessFlags, access as unix_access};

use crate::core::path;

/// The argument `name` with `~` opened.
pub(super) fn arg(call: &Call<'_>, name: &str) -> String {
    path::expand_user(&call.text(name))
}

/// The complaint about a path that does not start at the root.
pub(super) fn must_be_absolute(text: &str, given: &str) -> Result<(), CallError> {
    if path::is_absolute(given) {
        Ok(())
    } else {
        Err(CallError::invocation(text))
    }
}

pub(super) fn basename(call: &Call<'_>) -> CallResult {
    Ok(path::basename(&call.text("path")).into())
}

pub(super) fn dirname(call: &Call<'_>) -> CallResult {
    Ok(path::dirname(&call.text("path")).into())
}

pub(super) fn join(call: &Call<'_>) -> CallResult {
    let parts: Vec<String> = call.varargs().iter().map(python::str).collect();
    let Some((first, rest)) = parts.split_first() else {
        return Err(CallError::Arguments(
            "join() missing 1 required positional argument: 'a'".to_owned(),
        ));
    };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    Ok(path::join(first, &rest).into())
}

pub(super) fn normpath(call: &Call<'_>) -> CallResult {
    Ok(path::normalize(&call.text("path")).into())
}

pub(super) fn pardir(_: &Call<'_>) -> CallResult {
    Ok("..".into())
}

pub(super) fn file_exists(call: &Call<'_>) -> CallResult {
    Ok(Path::new(&arg(call, "path")).is_file().into())
}

pub(super) fn directory_exists(call: &Call<'_>) -> CallResult {
    Ok(Path::new(&arg(call, "path")).is_dir().into())
}

pub(super) fn is_link(call: &Call<'_>) -> CallResult {
    Ok(path::is_link(arg(call, "path")).into())
}

pub(super) fn is_hardlink(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    must_be_absolute("Path to file must be absolute.", &path)?;
    match fs::symlink_metadata(path) {
        Ok(data) => Ok((data.is_file() && data.nlink() > 1).into()),
        Err(_) => Ok(halite_proto::Map::new().into()),
    }
}

fn is_kind(call: &Call<'_>, kind: fn(&fs::FileType) -> bool) -> CallResult {
    let data = fs::metadata(arg(call, "name"));
    Ok(data.is_ok_and(|data| kind(&data.file_type())).into())
}

pub(super) fn is_blkdev(call: &Call<'_>) -> CallResult {
    is_kind(call, FileTypeExt::is_block_device)
}

pub(super) fn is_chrdev(call: &Call<'_>) -> CallResult {
    is_kind(call, FileTypeExt::is_char_device)
}

pub(super) fn is_fifo(call: &Call<'_>) -> CallResult {
    is_kind(call, FileTypeExt::is_fifo)
}

pub(super) fn access(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    must_be_absolute("Path to link must be absolute.", &path)?;
    let mode = call.arg("mode");
    let flags = match (mode.as_str(), mode.as_i64()) {
        (Some("f"), _) | (_, Some(0)) => AccessFlags::F_OK,
        (Some("r"), _) | (_, Some(4)) => AccessFlags::R_OK,
        (Some("w"), _) | (_, Some(2)) => AccessFlags::W_OK,
        (Some("x"), _) | (_, Some(1)) => AccessFlags::X_OK,
        _ => return Err(CallError::invocation("Invalid mode specified.")),
    };
    Ok(unix_access(path.as_str(), flags).is_ok().into())
}

pub(super) fn path_exists_glob(call: &Call<'_>) -> CallResult {
    Ok((!glob(&arg(call, "path")).is_empty()).into())
}

pub(super) fn readdir(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    must_be_absolute("Dir path must be absolute.", &path)?;
    if !Path::new(&path).is_dir() {
        return Err(CallError::invocation(format!(
            "A valid directory was not specified: {path}"
        )));
    }
    let mut names: Vec<Value> = vec![".".into(), "..".into()];
    let at = Path::new(&path);
    let entries = fs::read_dir(at).map_err(|error| halite_call::os_error(&error, at))?;
    for entry in entries.flatten() {
        names.push(entry.file_name().to_string_lossy().as_ref().into());
    }
    Ok(names.into())
}

/// The paths that a shell pattern names, sorted; as given if it is none and
/// something is there.
pub(crate) fn glob(pattern: &str) -> Vec<String> {
    if !halite_target::glob::is_glob(pattern) {
        return if path::is_there(pattern) {
            vec![pattern.to_owned()]
        } else {
            Vec::new()
        };
    }
    let start = if path::is_absolute(pattern) { "/" } else { "" };
    let mut found = vec![start.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for base in &found {
            if !halite_target::glob::is_glob(part) {
                let path = path::join(base, &[part]);
                if path::is_there(&path) {
                    next.push(path);
                }
                continue;
            }
            let directory = if base.is_empty() { "." } else { base };
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let hidden = name.starts_with('.') && !part.starts_with('.');
                if !hidden && fnmatch(part, &name) {
                    next.push(path::join(base, &[&name]));
                }
            }
        }
        found = next;
    }
    found.sort();
    found
}
