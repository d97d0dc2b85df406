//! `file.hardlink`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use halite_call::{Call, CallResult, StateReturn, paths};

use super::common;
use super::link::Link;
use crate::core::path;
use halite_call::{os_error, os_text_two};

pub(super) fn hardlink(call: &Call<'_>) -> CallResult {
    let link = Link::of(call);
    let Link { name, target, .. } = &link;
    let ret = StateReturn::new(name.as_str());
    if let Some(complaint) = complaint(&link) {
        return common::failed(ret, complaint);
    }
    let (at, to) = (link.at(), Path::new(target));
    let is_same = is_same_file(at, to);
    let is_there = path::is_there(at);
    if call.is_test() {
        return Ok(predict(call, &link, is_same, ret).into());
    }
    if let Some(missing) = link.make_parent(call, "hard link", "dir_mode")? {
        return common::failed(ret, missing);
    }
    if is_same {
        let text = format!("Target of hard link {name} is already pointing to {target}");
        return Ok(ret.ok(text).into());
    }
    let mut ret = ret;
    if is_there {
        if !call.flag("force") {
            let text = format!("File exists where the hard link {name} should be");
            return common::failed(ret, text);
        }
        paths::remove_file(at).map_err(|error| os_error(&error, at))?;
        ret.changes
            .insert("forced", "File for hard link was forcibly replaced");
    }
    if let Err(error) = paths::hard_link(to, at) {
        let why = os_text_two(&error, to, at);
        return common::failed(
            ret,
            format!(
                "Unable to create new hard link {name} -> {target}: Could not create '{name}': {why}"
            ),
        );
    }
    let text = format!("Created new hard link {name} -> {target}");
    Ok(ret.change("new", name.as_str()).ok(text).into())
}

/// What is wrong with what is asked for.
fn complaint(link: &Link) -> Option<String> {
    let Link { name, target, .. } = link;
    if name.is_empty() {
        return Some("Must provide name to file.hardlink".to_owned());
    }
    if let Some(unknown) = link.unknown_owners().into_iter().next() {
        return Some(unknown);
    }
    if !path::is_absolute(name) {
        return Some(common::not_absolute(name));
    }
    let to = Path::new(target);
    if !path::is_absolute(target) {
        Some(format!("Specified target {target} is not an absolute path"))
    } else if link.at().is_dir() {
        Some(format!("Unable to hard link to directory {name}"))
    } else if to.is_dir() {
        Some(format!("Unable to hard link from directory {target}"))
    } else if !to.exists() {
        Some(format!("Target {target} for hard link does not exist"))
    } else {
        None
    }
}

fn is_same_file(at: &Path, to: &Path) -> bool {
    fs::symlink_metadata(at)
        .ok()
        .zip(fs::metadata(to).ok())
        .is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// What test mode says.
fn predict(call: &Call<'_>, link: &Link, is_same: bool, ret: StateReturn) -> StateReturn {
    let Link { name, target, .. } = link;
    if is_same {
        return ret.ok(format!(
            "The hard link {name} is presently targetting {target}"
        ));
    }
    if !path::is_there(name) {
        let text = format!("Hard link {name} to {target} is set for creation");
        return ret.change("new", name.as_str()).pending(text);
    }
    if call.flag("force") {
        return ret.pending(format!(
            "The file or directory {name} is set for removal to make way for a new hard link \
             targeting {target}"
        ));
    }
    ret.failed(format!(
        "File or directory exists where the hard link {name} should be. Did you mean to use force?"
    ))
}
