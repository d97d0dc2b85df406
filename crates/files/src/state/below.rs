//! The changes of `file.directory` in and below a directory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use halite_call::paths::HeldName;
use halite_call::{Call, CallError, StateReturn, python};
use halite_proto::{Map, Value};

use super::directory::Ask;
use super::{common, walk};
use crate::core::perms::{self, DesiredPerms, Found};
use crate::core::{owner, path};
use halite_call::os_error;

/// What would be changed, per file.
pub(super) fn changes(
    ask: &Ask,
    levels: &[walk::Level],
    keep: &HashSet<PathBuf>,
    choice: &walk::Choice,
    is_test: bool,
) -> Result<Map, CallError> {
    let mut all = Map::new();
    let silent = ask.recurses("silent") && !is_test;
    if !ask.recurse.is_empty() {
        let (for_files, for_dirs) = (
            ask.below(ask.file_mode.as_ref()),
            ask.below(ask.dir_mode.as_ref()),
        );
        for level in levels {
            if !ask.recurses("ignore_files") {
                for path in level.file_paths() {
                    add_change(&mut all, &path, &for_files);
                }
            }
            if !ask.recurses("ignore_dirs") {
                for path in level.dir_paths() {
                    add_change(&mut all, &path, &for_dirs);
                }
            }
        }
        if silent && !all.is_empty() {
            all = Map::from([("recursion", "Changes silenced")]);
        }
    }
    let top = Path::new(&ask.name);
    if !ask.children_only && top.is_dir() && !silent {
        // Of a tree whose owners are to change only those are told that change
        // throughout.
        let mut wanted = ask.top();
        if ask.recurses("user") != ask.recurses("group") {
            let below = ask.below(None);
            (wanted.user, wanted.group) = (below.user, below.group);
        }
        add_change(&mut all, top, &wanted);
    }
    if ask.clean && top.is_dir() {
        for path in walk::unwanted(top, keep, choice, false) {
            let mut gone = vec![path.clone()];
            if path.is_dir() && !path::is_link(&path) {
                for level in walk::walk(&path, None) {
                    gone.extend(level.dir_paths().chain(level.file_paths()));
                }
                // What is excluded goes with its directory, but is not told.
                gone.retain(|own| choice.takes(&walk::relative(own, top)));
            }
            for path in gone {
                let change = Map::from([("removed", "Removed due to clean")]);
                all.insert(path.display().to_string(), change);
            }
        }
    }
    if !top.is_dir() {
        all.insert(ask.name.as_str(), Map::from([("directory", "new")]));
    }
    Ok(all)
}

fn add_change(all: &mut Map, path: &Path, wanted: &DesiredPerms) {
    let Ok(found) = Found::of(path, wanted.follow) else {
        return;
    };
    let mut change = Map::new();
    if found.is_other_user(&wanted.user) {
        change.insert("user", wanted.user.clone());
    }
    if found.is_other_group(&wanted.group) {
        change.insert("group", wanted.group.clone());
    }
    if let Some(mode) = found.other_mode(wanted.mode.as_ref()) {
        change.insert("mode", mode.as_str());
    }
    if !change.is_empty() {
        all.insert(path.display().to_string(), change);
    }
}

/// Owners and modes of everything below; the comment if that is senseless.
pub(super) fn recursively(
    ask: &Ask,
    levels: &[walk::Level],
    ret: &mut StateReturn,
) -> Result<Option<String>, CallError> {
    for (what, value) in [("user", &ask.user), ("group", &ask.group)] {
        if !ask.recurses(what) {
            continue;
        }
        let given = value.is_true() || value.as_i64().is_some();
        if !given {
            return Ok(Some(format!(
                "{what} not specified, but configured as a target for recursive ownership management"
            )));
        }
        let known = match what {
            "user" => owner::uid(value).is_some(),
            _ => owner::gid(value).is_some(),
        };
        if !known {
            return Ok(Some(format!(
                "Failed to enforce {what} ownership for {what} {} ({what} does not exist)",
                python::str(value)
            )));
        }
    }
    let (for_files, for_dirs) = (
        ask.below(ask.file_mode.as_ref()),
        ask.below(ask.dir_mode.as_ref()),
    );
    let mut wrong = Vec::new();
    for level in levels {
        if !ask.recurses("ignore_files") {
            for path in level.file_paths() {
                one_below(ret, ask, &path, &for_files, &mut wrong);
            }
        }
        if !ask.recurses("ignore_dirs") {
            for path in level.dir_paths() {
                one_below(ret, ask, &path, &for_dirs, &mut wrong);
            }
        }
    }
    if wrong.is_empty() {
        return Ok(None);
    }
    ret.result = Some(false);
    ret.comment = format!(
        "\n\nThe following errors were encountered:\n\n- {}",
        wrong.join("\n- ")
    )
    .into();
    Ok(None)
}

fn one_below(
    ret: &mut StateReturn,
    ask: &Ask,
    path: &Path,
    wanted: &DesiredPerms,
    wrong: &mut Vec<String>,
) {
    let checked = if wanted.follow {
        perms::check(ret, path, wanted, false)
    } else {
        HeldName::below(Path::new(&ask.name), path)
            .and_then(|place| place.hold())
            .map_err(|error| os_error(&error, path))
            .and_then(|held| perms::check_held(ret, (path, &held), wanted, None, false))
    };
    // What has gone in the meantime needs no owner.
    if let Err(error) = checked
        && path::is_there(path)
    {
        wrong.push(super::managed::plain(&error));
    }
}

pub(super) fn clean(
    ask: &Ask,
    keep: &HashSet<PathBuf>,
    choice: &walk::Choice,
    ret: &mut StateReturn,
) -> Result<(), CallError> {
    let root = Path::new(&ask.name);
    let gone = walk::unwanted(root, keep, choice, false);
    if gone.is_empty() {
        return Ok(());
    }
    let mut removed: Vec<Value> = Vec::new();
    for path in &gone {
        walk::remove_below(root, path)?;
        removed.push(path.display().to_string().into());
    }
    ret.changes.insert("removed", removed);
    ret.comment = format!("Files cleaned from directory {}", ask.name).into();
    Ok(())
}

/// Files below `name` that other states of the run take care of, and that this
/// one requires.
pub(super) fn kept_by_others(
    call: &Call<'_>,
    name: &str,
    levels: &[walk::Level],
) -> HashSet<PathBuf> {
    let mut keep = HashSet::new();
    let root = Path::new(name);
    let lows = common::memo(call, |memo| memo.get("__lowstate__").cloned());
    let lows = lows.as_ref().and_then(Value::as_list).unwrap_or_default();
    for required in common::list(call.arg("require")) {
        let Some(wanted) = required.get("file").map(python::str) else {
            continue;
        };
        let mut paths: Vec<(PathBuf, String)> = lows
            .iter()
            .filter(|low| {
                ["name", "__id__"]
                    .iter()
                    .any(|key| low.get(key).and_then(Value::as_str) == Some(wanted.as_str()))
            })
            .map(|low| {
                let text = |key: &str| low.get(key).map(python::str).unwrap_or_default();
                (PathBuf::from(text("name")), text("fun"))
            })
            .collect();
        if paths.is_empty() && path::is_absolute(&wanted) {
            paths.push((wanted.into(), String::new()));
        }
        for (path, _) in paths.into_iter().filter(|(path, _)| path.starts_with(root)) {
            if path.is_dir() && !path::is_link(&path) {
                for level in levels.iter().filter(|level| level.root.starts_with(&path)) {
                    keep.extend(level.dir_paths());
                    keep.extend(level.file_paths());
                }
            }
            keep.insert(path);
        }
    }
    keep
}
