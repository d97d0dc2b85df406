//! `file.symlink`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn, paths, python};

use super::link::Link;
use super::{common, walk};
use crate::core::link::link_in_place;
use crate::core::{owner, path};
use halite_call::{os_text, os_text_two};

pub(super) fn symlink(call: &Call<'_>) -> CallResult {
    let link = Link::of(call);
    let Link { name, target, .. } = &link;
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.symlink");
    }
    let mut wrong = link.unknown_owners();
    if !path::is_absolute(name) {
        wrong.push(common::not_absolute(name));
    }
    if !wrong.is_empty() {
        let dot = if wrong.len() > 1 { "." } else { "" };
        return common::failed(ret, format!("{}{dot}", wrong.join(". ")));
    }
    if call.is_test() {
        return Ok(predict(call, &link, ret).into());
    }
    if let Some(missing) = link.make_parent(call, "symlink", "mode")? {
        return common::failed(ret, missing);
    }
    let replace = match clear_way(call, &link)? {
        Way::IsThere => return Ok(ownership(call, &link, ret).into()),
        Way::Blocked(why) => return common::failed(ret, why),
        Way::Clear { replace } => replace,
    };
    if let Err(why) = make(&link, replace) {
        let text = format!("Unable to create new symlink {name} -> {target}: {why}");
        return common::failed(ret, text);
    }
    Ok(give(&link, ret).into())
}

/// What stands where the link should be.
enum Way {
    /// The link, with its target.
    IsThere,
    /// Something that must stay.
    Blocked(String),
    /// Nothing, or something that may be replaced.
    Clear { replace: bool },
}

/// Looks for what is in the way of a link, and puts it aside if a backup is
/// asked for.
fn clear_way(call: &Call<'_>, link: &Link) -> Result<Way, CallError> {
    let at = link.at();
    let force = call.flag("force");
    if path::is_link(at) {
        let now = fs::read_link(at).unwrap_or_default();
        return Ok(if now.display().to_string() == link.target {
            Way::IsThere
        } else {
            // Another target is a change, not something in the way.
            Way::Clear { replace: true }
        });
    }
    if path::is_there(at) {
        if let Some(backup) = call.text_opt("backupname") {
            if let Err(why) = back_up(link, backup, force)? {
                return Ok(Way::Blocked(why));
            }
        } else if !force {
            let kind = if at.is_dir() { "Directory" } else { "File" };
            return Ok(Way::Blocked(format!(
                "{kind} exists where the symlink {} should be",
                link.name
            )));
        }
    }
    Ok(Way::Clear { replace: force })
}

/// Moves what is in the way of a link to `backup`, or says why not.
fn back_up(link: &Link, backup: String, force: bool) -> Result<Result<(), String>, CallError> {
    let Link { name, target, .. } = link;
    let backup = if path::is_absolute(&backup) {
        backup
    } else if path::basename(&backup) == backup {
        path::join(link.parent(), &[&backup])
    } else {
        return Ok(Err(format!(
            "Backupname must be an absolute path or a file name: {backup}"
        )));
    };
    if path::is_there(&backup) {
        if !force {
            return Ok(Err(format!(
                "Symlink & backup dest exists and Force not set. {name} -> {target} - backup: \
                 {backup}"
            )));
        }
        walk::remove(Path::new(&backup))?;
    }
    if let Err(error) = paths::rename(link.at(), &backup) {
        let why = os_text_two(&error, link.at(), Path::new(&backup));
        return Ok(Err(format!(
            "Unable to rename {name} to backup {backup} -> : {why}"
        )));
    }
    Ok(Ok(()))
}

/// Makes the link, or says why it cannot be made.
fn make(link: &Link, replace: bool) -> Result<(), String> {
    let unable = || format!("Could not create '{}'", link.name);
    if link.target.is_empty() {
        return Err(unable());
    }
    link_in_place(link.at(), &link.target, replace).map_err(|error| match error.kind() {
        std::io::ErrorKind::IsADirectory => os_text(&error, link.at()),
        _ => unable(),
    })
}

/// Gives a new link to whom it is to belong to, and says that it was made.
fn give(link: &Link, ret: StateReturn) -> StateReturn {
    let Link {
        name,
        target,
        user,
        group,
    } = link;
    let ret = ret.change("new", name.as_str());
    let text = format!("Created new symlink {name} -> {target}");
    let (uid, gid) = (owner::uid(user), owner::gid(group));
    if is_owned(link.at(), uid, gid) || paths::lchown(link.at(), uid, gid).is_ok() {
        return ret.ok(text);
    }
    ret.failed(format!(
        "{text}, but was unable to set ownership to {}:{}",
        python::str(user),
        python::str(group)
    ))
}

fn is_owned(at: &Path, uid: Option<u32>, gid: Option<u32>) -> bool {
    fs::symlink_metadata(at).is_ok_and(|data| Some(data.uid()) == uid && Some(data.gid()) == gid)
}

/// Gives a link that is right to whom it is to belong to.
fn ownership(call: &Call<'_>, link: &Link, ret: StateReturn) -> StateReturn {
    let Link {
        name, user, group, ..
    } = link;
    let at = link.at();
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

/// What test mode says.
fn predict(call: &Call<'_>, link: &Link, ret: StateReturn) -> StateReturn {
    let Link {
        name,
        target,
        user,
        group,
    } = link;
    let (at, parent) = (link.at(), link.parent());
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
        return ret.change("new", name.as_str()).pending(text);
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
    if fs::read_link(at).unwrap_or_default().display().to_string() != *target {
        return ret.change("change", name.as_str()).pending(format!(
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
