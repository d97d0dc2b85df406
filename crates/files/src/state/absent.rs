//! `file.absent`, `file.exists`, `file.missing`.

use std::fs;
use std::path::Path;

use halite_call::{Call, CallResult, StateReturn, paths};

use super::common;
use crate::core::path;
use halite_call::os_text;

pub(super) fn absent(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.absent");
    }
    if !path::is_absolute(&name) {
        return common::failed(ret, common::not_absolute(&name));
    }
    if name == "/" {
        return common::failed(ret, "Refusing to make \"/\" absent");
    }
    let at = Path::new(&name);
    let Ok(data) = fs::symlink_metadata(at) else {
        return Ok(ret.ok(format!("File {name} is not present")).into());
    };
    let (kind, what) = if data.is_dir() {
        ("Directory", "directory")
    } else {
        ("File", "file")
    };
    if call.is_test() {
        let ret = ret.change("removed", name.as_str());
        return Ok(ret
            .pending(format!("{kind} {name} is set for removal"))
            .into());
    }
    let removed = if data.is_dir() {
        paths::remove_dir_all(at)
    } else {
        paths::remove_file(at)
    };
    match removed {
        Ok(()) => {
            let comment = format!("Removed {what} {name}");
            Ok(ret.change("removed", name).ok(comment).into())
        }
        Err(error) => common::failed(
            ret,
            format!("Could not remove '{name}': {}", os_text(&error, at)),
        ),
    }
}

pub(super) fn exists(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.exists");
    }
    if Path::new(&name).exists() {
        Ok(ret.ok(format!("Path {name} exists")).into())
    } else {
        common::failed(ret, format!("Specified path {name} does not exist"))
    }
}

pub(super) fn missing(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.missing");
    }
    if Path::new(&name).exists() {
        common::failed(ret, format!("Specified path {name} exists"))
    } else {
        Ok(ret.ok(format!("Path {name} is missing")).into())
    }
}
