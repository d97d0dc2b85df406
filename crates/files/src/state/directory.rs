//! `file.directory`: a directory with its owner and mode, and, if asked, those
//! of everything in it.

use std::collections::HashSet;
use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn, paths, python};
use halite_proto::{Map, Value};

use super::below::{changes, clean, kept_by_others, recursively};
use super::{common, walk};
use crate::core::perms::{self, DesiredPerms};
use crate::core::{dirs, mode, path};
use halite_call::os_error;

/// What is asked for.
pub(super) struct Ask {
    pub(super) name: String,
    pub(super) user: Value,
    pub(super) group: Value,
    pub(super) dir_mode: Option<String>,
    pub(super) file_mode: Option<String>,
    pub(super) recurse: Vec<String>,
    pub(super) clean: bool,
    pub(super) max_depth: Option<usize>,
    pub(super) follow: bool,
    pub(super) children_only: bool,
}

impl Ask {
    pub(super) fn recurses(&self, what: &str) -> bool {
        self.recurse.iter().any(|own| own == what)
    }

    /// What those below are to have.
    pub(super) fn below(&self, mode: Option<&String>) -> DesiredPerms {
        let keep = |value: &Value, what| {
            if self.recurses(what) {
                value.clone()
            } else {
                Value::Nil
            }
        };
        DesiredPerms {
            user: keep(&self.user, "user"),
            group: keep(&self.group, "group"),
            mode: mode.filter(|_| self.recurses("mode")).cloned(),
            attrs: None,
            follow: self.follow,
        }
    }

    pub(super) fn top(&self) -> DesiredPerms {
        DesiredPerms {
            user: self.user.clone(),
            group: self.group.clone(),
            mode: self.dir_mode.clone(),
            attrs: None,
            follow: self.follow,
        }
    }

    fn levels(&self) -> Vec<walk::Level> {
        if self.recurse.is_empty() && !self.clean {
            return Vec::new();
        }
        walk::walk(Path::new(&self.name), self.max_depth)
    }
}

pub(super) fn directory(call: &Call<'_>) -> CallResult {
    let mut name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.directory");
    }
    if name.len() > 1 && name.ends_with('/') {
        name.pop();
    }
    let max_depth = call.arg("max_depth");
    if !max_depth.is_nil() && call.flag("clean") {
        return common::failed(ret, "Cannot specify both max_depth and clean");
    }
    let either = |one: &str, other: Option<&Value>| {
        let own = call.arg(one);
        mode::normalize(if own.is_true() {
            own
        } else {
            other.unwrap_or(own)
        })
    };
    let dir_mode = either("dir_mode", call.kwargs().get("mode"));
    let file_mode = mode::normalize(call.arg("file_mode")).or_else(|| dir_mode.clone());
    let recurse = match recurse_set(call.arg("recurse")) {
        Ok(recurse) => recurse,
        Err(wrong) => return common::failed(ret, wrong),
    };
    let ask = Ask {
        user: common::user(call),
        group: call.arg("group").clone(),
        dir_mode,
        file_mode,
        recurse,
        clean: call.flag("clean"),
        max_depth: match max_depth {
            Value::Nil => None,
            depth => Some(usize::try_from(python::int(depth)?).unwrap_or(0)),
        },
        follow: call.flag("follow_symlinks"),
        children_only: call.flag("children_only"),
        name,
    };
    if let Some(wrong) = common::check_user(call, &ask.user, &ask.group) {
        return common::failed(ret, wrong);
    }
    if !path::is_absolute(&ask.name) {
        return common::failed(ret, common::not_absolute(&ask.name));
    }
    match make_way(call, &ask, ret)? {
        Ok(ret) => converge(call, &ask, ret),
        Err(ret) => Ok(ret.into()),
    }
}

/// What `recurse` names.
pub(super) fn recurse_set(recurse: &Value) -> Result<Vec<String>, String> {
    if !recurse.is_true() {
        return Ok(Vec::new());
    }
    let Value::List(items) = recurse else {
        return Err("\"recurse\" must be formed as a list of strings".to_owned());
    };
    const KNOWN: &[&str] = &[
        "user",
        "group",
        "mode",
        "ignore_files",
        "ignore_dirs",
        "silent",
    ];
    let mut set = Vec::new();
    for item in items {
        match item.as_str().filter(|item| KNOWN.contains(item)) {
            Some(item) => set.push(item.to_owned()),
            None => {
                return Err(format!(
                    "Types for \"recurse\" limited to \"{}\".",
                    KNOWN.join("\", \"")
                ));
            }
        }
    }
    if set.iter().any(|item| item == "ignore_files") && set.iter().any(|item| item == "ignore_dirs")
    {
        return Err(
            "Must not specify \"recurse\" options \"ignore_files\" and \"ignore_dirs\" at the same \
             time."
                .to_owned(),
        );
    }
    Ok(set)
}

/// Moves or removes what stands where the directory should be.
fn make_way(
    call: &Call<'_>,
    ask: &Ask,
    mut ret: StateReturn,
) -> Result<Result<StateReturn, StateReturn>, CallError> {
    let at = Path::new(&ask.name);
    let is_link = path::is_link(at);
    let force = call.flag("force");
    let in_the_way = at.is_file() || is_link && (!call.flag("allow_symlink") || force);
    if !in_the_way {
        return Ok(Ok(ret));
    }
    if let Some(backup) = call.text_opt("backupname") {
        if path::is_there(&backup) {
            if !force {
                let text = format!("File exists where the backup target {backup} should go");
                return Ok(Err(ret.failed(text)));
            }
            if call.is_test() {
                let text = format!("Existing file at backup path {backup} would be removed");
                ret.changes.insert("forced", text);
            } else {
                walk::remove(Path::new(&backup))?;
            }
        }
        if call.is_test() {
            let text = format!("{} would be renamed to {backup}", ask.name);
            ret.changes.insert("backup", text);
            ret.comment = format!(
                "{} would be backed up and replaced with a new directory",
                ask.name
            )
            .into();
        } else {
            paths::rename(at, &backup).map_err(|error| os_error(&error, at))?;
        }
        return Ok(Ok(ret));
    }
    let what = if is_link {
        "Symlink"
    } else if at.is_dir() {
        "Directory"
    } else {
        "File"
    };
    if force {
        if call.is_test() {
            ret.changes
                .insert("forced", format!("{what} would be forcibly replaced"));
        } else {
            walk::remove(at)?;
            ret.changes
                .insert("forced", format!("{what} was forcibly replaced"));
        }
        return Ok(Ok(ret));
    }
    let kind = if at.is_file() { "file" } else { "symlink" };
    Ok(Err(ret.failed(format!(
        "Specified location {} exists and is a {kind}",
        ask.name
    ))))
}

fn converge(call: &Call<'_>, ask: &Ask, mut ret: StateReturn) -> CallResult {
    let levels = ask.levels();
    let keep = if ask.clean {
        kept_by_others(call, &ask.name, &levels)
    } else {
        HashSet::new()
    };
    let choice = walk::Choice::new(&Value::Nil, call.arg("exclude_pat"))?;
    let predicted = changes(ask, &levels, &keep, &choice, call.is_test())?;
    let forced = !ret.changes.is_empty();
    if predicted.is_empty() && !forced {
        let comment = format!("The directory {} is in the correct state", ask.name);
        return Ok(ret.ok(comment).into());
    }
    let text = describe(&predicted);
    ret.changes.extend(predicted);
    if call.is_test() {
        // The way that is made is said already.
        let text = if ret.comment.is_true() {
            python::str(&ret.comment)
        } else {
            text
        };
        return Ok(ret.pending(text).into());
    }
    let at = Path::new(&ask.name);
    let created = forced || !at.is_dir();
    if !at.is_dir() {
        let parent = path::dirname(&ask.name);
        if !Path::new(parent).is_dir() && !call.flag("makedirs") {
            return common::failed(ret, format!("No directory to create {} in", ask.name));
        }
        let made = dirs::make_all(at, &ask.user, &ask.group, ask.dir_mode.as_deref());
        if let Err(error) = made {
            let Some(why) = common::refused(&error) else {
                return Err(error);
            };
            ret.changes = Map::new();
            return common::failed(
                ret,
                format!("Failed to create directory {}: {why}", ask.name),
            );
        }
    }
    if !ask.children_only {
        perms::check(&mut ret, at, &ask.top(), false)?;
    }
    if !ask.recurse.is_empty()
        && let Some(wrong) = recursively(ask, &levels, &mut ret)?
    {
        return common::failed(ret, wrong);
    }
    if ask.clean {
        clean(ask, &keep, &choice, &mut ret)?;
    }
    if !ret.comment.is_true() && !created && !ret.changes.is_empty() {
        let all = if ask.children_only { "/*" } else { "" };
        ret.comment = format!("Directory {}{all} updated", ask.name).into();
    }
    Ok(ret.into())
}

fn describe(changes: &Map) -> String {
    let mut text = String::from("The following files will be changed:\n");
    for (file, change) in changes {
        let Some(change) = change.as_map() else {
            continue;
        };
        for (key, value) in change {
            text.push_str(&format!(
                "{}: {} - {}\n",
                python::str(file),
                python::str(key),
                python::str(value)
            ));
        }
    }
    text
}
