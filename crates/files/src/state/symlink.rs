//! `file.symlink` and `file.hardlink`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use halite_call::{Call, CallResult, StateReturn, paths, python};
use halite_proto::Value;

use super::{common, walk};
use crate::core::errors::{os_text, os_text_two};
use crate::core::{dirs, mode, owner, path};

pub(super) fn symlink(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let target = path::expand_user(&call.text("target"));
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.symlink");
    }
    let (user, group) = owner_of(call);
    let mut wrong = Vec::new();
    if owner::uid(&user).is_none() {
        wrong.push(format!("User {} does not exist", python::str(&user)));
    }
    if owner::gid(&group).is_none() {
        wrong.push(format!("Group {} does not exist", python::str(&group)));
    }
    if !path::is_absolute(&name) {
        wrong.push(common::not_absolute(&name));
    }
    if !wrong.is_empty() {
        let dot = if wrong.len() > 1 { "." } else { "" };
        return common::failed(ret, format!("{}{dot}", wrong.join(". ")));
    }
    if call.is_test() {
        return Ok(predict(call, &name, &target, &user, &group, ret).into());
    }
    let parent = path::dirname(&name);
    if !Path::new(parent).is_dir() {
        if !call.flag("makedirs") {
            return common::failed(
                ret,
                format!("Directory {parent} for symlink is not present"),
            );
        }
        let mode = mode::normalize(call.arg("mode"));
        dirs::make_all(Path::new(parent), &user, &group, mode.as_deref())?;
    }
    let at = Path::new(&name);
    let force = call.flag("force");
    let mut replace = force;
    if path::is_link(at) {
        let now = fs::read_link(at).unwrap_or_default();
        if now.display().to_string() == target {
            return Ok(ownership(call, ret, at, &name, &user, &group).into());
        }
        // Another target is a change, not something in the way.
        replace = true;
    } else if path::is_there(at) {
        if let Some(backup) = call.text_opt("backupname") {
            let backup = if path::is_absolute(&backup) {
                backup
            } else if path::basename(&backup) == backup {
                path::join(parent, &[&backup])
            } else {
                return common::failed(
                    ret,
                    format!("Backupname must be an absolute path or a file name: {backup}"),
                );
            };
            if path::is_there(&backup) {
                if !force {
                    let text = format!(
                        "Symlink & backup dest exists and Force not set. {name} -> {target} - \
                         backup: {backup}"
                    );
                    return common::failed(ret, text);
                }
                walk::remove(Path::new(&backup))?;
            }
            if let Err(error) = paths::rename(at, &backup) {
                let why = os_text_two(&error, at, Path::new(&backup));
                let text = format!("Unable to rename {name} to backup {backup} -> : {why}");
                return common::failed(ret, text);
            }
        } else if !force {
            let kind = if at.is_dir() { "Directory" } else { "File" };
            return common::failed(
                ret,
                format!("{kind} exists where the symlink {name} should be"),
            );
        }
    }
    let unable = |why: String| format!("Unable to create new symlink {name} -> {target}: {why}");
    if target.is_empty() {
        return common::failed(ret, unable(format!("Could not create '{name}'")));
    }
    if let Err(error) = link_in_place(at, &target, replace) {
        let why = match error.kind() {
            std::io::ErrorKind::IsADirectory => os_text(&error, at),
            _ => format!("Could not create '{name}'"),
        };
        return common::failed(ret, unable(why));
    }
    let mut ret = ret
        .change("new", name.as_str())
        .ok(format!("Created new symlink {name} -> {target}"));
    let (uid, gid) = (owner::uid(&user), owner::gid(&group));
    if !is_owned(at, uid, gid) && paths::lchown(at, uid, gid).is_err() {
        ret.result = Some(false);
        let text = format!(
            "{}, but was unable to set ownership to {}:{}",
            python::str(&ret.comment),
            python::str(&user),
            python::str(&group)
        );
        ret.comment = text.into();
    }
    Ok(ret.into())
}

/// Makes the link; with `replace` in the place of a file or link, in one step.
pub(crate) fn link_in_place(at: &Path, target: &str, replace: bool) -> std::io::Result<()> {
    match paths::symlink(target, at) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && replace => {}
        done => return done,
    }
    let data = fs::symlink_metadata(at)?;
    if data.is_dir() {
        return Err(std::io::Error::from_raw_os_error(nix::libc::EISDIR));
    }
    let random: String = halite_crypto::random_bytes::<6>()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let beside = at.with_file_name(format!(".halite-{random}"));
    paths::symlink(target, &beside)?;
    paths::rename(&beside, at).inspect_err(|_| {
        let _ = paths::remove_file(&beside);
    })
}

fn owner_of(call: &Call<'_>) -> (Value, Value) {
    let user = common::user(call);
    let group = call.arg("group").clone();
    let mut user = if user.is_true() || user.as_i64().is_some() {
        user
    } else {
        owner::user_name(nix::unistd::Uid::effective().as_raw())
    };
    let mut group = if group.is_true() || group.as_i64().is_some() {
        group
    } else {
        // Whoever gets the link, gets it for their own group.
        let own = || owner::group_name(nix::unistd::Gid::effective().as_raw());
        owner::first_group(&user).unwrap_or_else(own)
    };
    if call
        .get("inherit_user_and_group")
        .is_some_and(Value::is_true)
        && let Ok(data) = fs::symlink_metadata(path::expand_user(&call.text("name")))
    {
        if !call.arg("user").is_true() {
            user = owner::user_name(data.uid());
        }
        if !call.arg("group").is_true() {
            group = owner::group_name(data.gid());
        }
    }
    (user, group)
}

fn is_owned(at: &Path, uid: Option<u32>, gid: Option<u32>) -> bool {
    fs::symlink_metadata(at).is_ok_and(|data| Some(data.uid()) == uid && Some(data.gid()) == gid)
}

fn ownership(
    call: &Call<'_>,
    ret: StateReturn,
    at: &Path,
    name: &str,
    user: &Value,
    group: &Value,
) -> StateReturn {
    let owners = format!("{}:{}", python::str(user), python::str(group));
    let (uid, gid) = (owner::uid(user), owner::gid(group));
    if is_owned(at, uid, gid) {
        return ret.ok(format!("Symlink {name} is present and owned by {owners}"));
    }
    match paths::lchown(at, uid, gid) {
        Ok(()) => ret
            .change("ownership", owners.as_str())
            .ok(format!("Set ownership of symlink {name} to {owners}")),
        Err(error) => {
            tracing::debug!(%error, id = call.ctx.id(), "could not change the owner of a link");
            ret.failed(format!(
                "Failed to set ownership of symlink {name} to {owners}"
            ))
        }
    }
}

fn predict(
    call: &Call<'_>,
    name: &str,
    target: &str,
    user: &Value,
    group: &Value,
    ret: StateReturn,
) -> StateReturn {
    let at = Path::new(name);
    let parent = path::dirname(name);
    if !path::is_there(at) {
        let mut text = format!("Symlink {name} to {target} is set for creation");
        if !Path::new(parent).is_dir() {
            text.push('\n');
            text.push_str(&if call.flag("makedirs") {
                format!("{parent} will be created")
            } else {
                format!("Directory {parent} for symlink is not present")
            });
        }
        return ret.change("new", name).pending(text);
    }
    if !path::is_link(at) {
        if call.flag("force") {
            return ret.pending(format!(
                "The file or directory {name} is set for removal to make way for a new symlink \
                 targeting {target}"
            ));
        }
        return ret.failed(format!(
            "File or directory exists where the symlink {name} should be. Did you mean to use force?"
        ));
    }
    if fs::read_link(at).unwrap_or_default().display().to_string() != target {
        return ret.change("change", name).pending(format!(
            "Link {name} target is set to be changed to {target}"
        ));
    }
    let (uid, gid) = (owner::uid(user), owner::gid(group));
    if is_owned(at, uid, gid) {
        return ret.ok(format!("The symlink {name} is present"));
    }
    let now = fs::symlink_metadata(at).map_or_else(
        |_| String::new(),
        |data| {
            format!(
                "{}:{}",
                python::str(&owner::user_name(data.uid())),
                python::str(&owner::group_name(data.gid()))
            )
        },
    );
    let text = format!(
        "The symlink {name} is present, but the ownership of the symlink would be changed from \
         {now} to {}:{}",
        python::str(user),
        python::str(group)
    );
    ret.change("ownership", now).pending(text)
}

pub(super) fn hardlink(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let target = path::expand_user(&call.text("target"));
    let ret = StateReturn::new(name.as_str());
    let (at, to) = (Path::new(&name), Path::new(&target));
    let (user, group) = owner_of(call);
    let complaint = if name.is_empty() {
        Some("Must provide name to file.hardlink".to_owned())
    } else if owner::uid(&user).is_none() {
        Some(format!("User {} does not exist", python::str(&user)))
    } else if owner::gid(&group).is_none() {
        Some(format!("Group {} does not exist", python::str(&group)))
    } else if !path::is_absolute(&name) {
        Some(common::not_absolute(&name))
    } else if !path::is_absolute(&target) {
        Some(format!("Specified target {target} is not an absolute path"))
    } else if at.is_dir() {
        Some(format!("Unable to hard link to directory {name}"))
    } else if to.is_dir() {
        Some(format!("Unable to hard link from directory {target}"))
    } else if !to.exists() {
        Some(format!("Target {target} for hard link does not exist"))
    } else {
        None
    };
    if let Some(complaint) = complaint {
        return common::failed(ret, complaint);
    }
    let same = fs::symlink_metadata(at)
        .ok()
        .zip(fs::metadata(to).ok())
        .is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()));
    let there = path::is_there(at);
    if call.is_test() {
        return Ok(if same {
            ret.ok(format!(
                "The hard link {name} is presently targetting {target}"
            ))
        } else if !there {
            let text = format!("Hard link {name} to {target} is set for creation");
            ret.change("new", name.as_str()).pending(text)
        } else if call.flag("force") {
            ret.pending(format!(
                "The file or directory {name} is set for removal to make way for a new hard link \
                 targeting {target}"
            ))
        } else {
            ret.failed(format!(
                "File or directory exists where the hard link {name} should be. Did you mean to \
                 use force?"
            ))
        }
        .into());
    }
    let parent = path::dirname(&name);
    if !Path::new(parent).is_dir() {
        if !call.flag("makedirs") {
            return common::failed(
                ret,
                format!("Directory {parent} for hard link is not present"),
            );
        }
        let mode = mode::normalize(call.arg("dir_mode"));
        dirs::make_all(Path::new(parent), &user, &group, mode.as_deref())?;
    }
    if same {
        let text = format!("Target of hard link {name} is already pointing to {target}");
        return Ok(ret.ok(text).into());
    }
    let mut ret = ret;
    if there {
        if !call.flag("force") {
            let text = format!("File exists where the hard link {name} should be");
            return common::failed(ret, text);
        }
        paths::remove_file(at).map_err(|error| crate::core::errors::os_error(&error, at))?;
        ret.changes
            .insert("forced", "File for hard link was forcibly replaced");
    }
    if let Err(error) = paths::hard_link(to, at) {
        let why = os_text_two(&error, to, at);
        return common::failed(
            ret,
            format!("Unable to create new hard link {name} -> {target}: {why}"),
        );
    }
    let text = format!("Created new hard link {name} -> {target}");
    Ok(ret.change("new", name).ok(text).into())
}
