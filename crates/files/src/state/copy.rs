//! `file.copy`, `file.rename`, `file.touch`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use halite_call::paths::HeldName;
use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_crypto::HashType;
use halite_proto::Value;

use super::{common, walk};
use crate::core::perms::{self, DesiredPerms};
use crate::core::{dirs, hash, mode, owner, path};
use crate::exec::{content, tree};
use halite_call::os_error;

pub(super) fn copy(call: &Call<'_>) -> CallResult {
    let mut name = common::name(call);
    let source = path::expand_user(&call.text("source"));
    let mut ret = StateReturn::new(name.as_str());
    ret.comment = format!("Copied \"{source}\" to \"{name}\"").into();
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.copy");
    }
    let from = Path::new(&source);
    if !path::is_absolute(&name) {
        return common::failed(ret, common::not_absolute(&name));
    }
    if !from.exists() {
        return common::failed(ret, format!("Source file \"{source}\" is not present"));
    }
    let wanted = copy_perms(call);
    let data = fs::metadata(from).map_err(|error| os_error(&error, from))?;
    if let Some(wrong) = common::check_user(call, &wanted.user, &wanted.group) {
        return common::failed(ret, wrong);
    }
    if call.flag("subdir") && Path::new(&name).is_dir() {
        name = path::join(&name, &[path::basename(source.trim_end_matches('/'))]);
    }
    let to = Path::new(&name);
    if path::is_there(to) {
        if !call.flag("force") {
            let text = format!("The target file \"{name}\" exists and will not be overwritten");
            return Ok(ret.ok(text).into());
        }
        if is_same_file(from, to) {
            let text = format!(
                "{} - files are identical but force flag is set",
                python::str(&ret.comment)
            );
            ret.comment = text.into();
        }
    }
    if call.is_test() {
        let text = format!("File \"{source}\" is set to be copied to \"{name}\"");
        return Ok(ret.pending(text).into());
    }
    let parent = Path::new(path::dirname(&name));
    if !parent.is_dir() {
        if !call.flag("makedirs") {
            let parent = parent.display();
            return common::failed(ret, format!("The target directory {parent} is not present"));
        }
        make_parent(call, parent, &wanted, data.mode())?;
    }
    if !copy_over(from, to)? {
        return common::failed(ret, format!("Failed to copy \"{source}\" to \"{name}\""));
    }
    ret.changes.insert(name.as_str(), source);
    let is_asked = wanted.user.is_true() || wanted.group.is_true() || wanted.mode.is_some();
    if is_asked {
        perms::check(&mut ret, to, &wanted, false)?;
    }
    if to.is_dir() && !call.flag("preserve") {
        let (uid, gid) = (owner::uid(&wanted.user), owner::gid(&wanted.group));
        give_all(to, uid, gid)?;
    }
    Ok(ret.into())
}

/// The owner and the mode that a copy is to have.
fn copy_perms(call: &Call<'_>) -> DesiredPerms {
    // What is preserved are modes and times: the copy belongs to who makes it.
    if call.flag("preserve") {
        return DesiredPerms {
            user: Value::Nil,
            group: Value::Nil,
            mode: None,
            attrs: None,
            follow: true,
        };
    }
    let (user, group) = (common::user(call), call.arg("group").clone());
    DesiredPerms {
        group: match group {
            Value::Nil if user.is_true() => owner::first_group(&user).unwrap_or_default(),
            group => group,
        },
        user,
        mode: mode::normalize(call.arg("mode")),
        attrs: None,
        follow: true,
    }
}

/// Whether both are files with the same content.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let sum = |path: &Path| hash::of_file(path, HashType::Sha256).ok();
    one.is_file() && other.is_file() && sum(one) == sum(other)
}

/// Makes the directory of a copy, with the mode that is asked for, or one that
/// fits the mode of the copy.
fn make_parent(
    call: &Call<'_>,
    parent: &Path,
    wanted: &DesiredPerms,
    source_mode: u32,
) -> Result<(), CallError> {
    let dir_mode = mode::normalize(call.arg("dir_mode")).or_else(|| {
        let file_mode = wanted.mode.clone();
        dirs::mode_from_file(&file_mode.unwrap_or_else(|| mode::digits(source_mode)))
    });
    dirs::make_all(parent, &wanted.user, &wanted.group, dir_mode.as_deref())
}

/// Copies a file or a directory in the place of what is there; whether the system
/// lets it be copied.
///
/// # Errors
/// When what is there cannot be removed.
fn copy_over(from: &Path, to: &Path) -> Result<bool, CallError> {
    // What is replaced may hold the source.
    if to.starts_with(from) || from.starts_with(to) {
        return Ok(false);
    }
    if from.is_dir() {
        if path::is_there(to) {
            walk::remove(to)?;
        }
        return Ok(tree::copy_tree(from, to, 0).is_ok());
    }
    if to.is_dir() {
        walk::remove(to)?;
    }
    Ok(tree::copy_file_ours(from, to).is_ok())
}

/// Gives everything below a directory to somebody, links themselves too.
fn give_all(root: &Path, uid: Option<u32>, gid: Option<u32>) -> Result<(), CallError> {
    if uid.is_none() && gid.is_none() {
        return Ok(());
    }
    for level in walk::walk(root, None) {
        for path in level.dir_paths().chain(level.file_paths()) {
            HeldName::below(root, &path)
                .and_then(|place| place.hold())
                .and_then(|held| held.chown(uid, gid))
                .map_err(|error| os_error(&error, &path))?;
        }
    }
    Ok(())
}

pub(super) fn rename(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let source = path::expand_user(&call.text("source"));
    let mut ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.rename");
    }
    if !path::is_absolute(&name) {
        return common::failed(ret, common::not_absolute(&name));
    }
    let (from, to) = (Path::new(&source), Path::new(&name));
    if !path::is_there(from) {
        let text = format!("Source file \"{source}\" has already been moved out of place");
        return Ok(ret.ok(text).into());
    }
    if path::is_there(to) {
        if !call.flag("force") {
            let text = format!("The target file \"{name}\" exists and will not be overwritten");
            return Ok(ret.ok(text).into());
        }
        if from.starts_with(to) {
            let text = format!("Failed to move \"{source}\" to \"{name}\"");
            return common::failed(ret, text);
        }
        if !call.is_test()
            && (to.is_dir() || from.is_dir())
            && let Err(error) = walk::remove(to)
        {
            let text =
                format!("Failed to delete \"{name}\" in preparation for forced move: {error}");
            return common::failed(ret, text);
        }
    }
    if call.is_test() {
        let text = format!("File \"{source}\" is set to be moved to \"{name}\"");
        return Ok(ret.pending(text).into());
    }
    let parent = path::dirname(&name);
    if !Path::new(parent).is_dir() {
        if !call.flag("makedirs") {
            return common::failed(ret, format!("The target directory {parent} is not present"));
        }
        dirs::make_all(Path::new(parent), &Value::Nil, &Value::Nil, None)?;
    }
    match tree::move_any(from, to) {
        Ok(()) => {
            let text = format!("Moved \"{source}\" to \"{name}\"");
            ret.changes.insert(name, source);
            Ok(ret.ok(text).into())
        }
        Err(error) => {
            tracing::error!(source, name, %error, "could not move");
            common::failed(ret, format!("Failed to move \"{source}\" to \"{name}\""))
        }
    }
}

pub(super) fn touch(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.touch");
    }
    if !path::is_absolute(&name) {
        return common::failed(ret, common::not_absolute(&name));
    }
    let at = Path::new(&name);
    let data = fs::metadata(at).ok();
    let (atime, mtime) = (call.arg("atime"), call.arg("mtime"));
    if call.is_test() {
        let Some(data) = data else {
            let text = format!("File {name} is set to be created");
            return Ok(ret.change("new", name.as_str()).pending(text).into());
        };
        // A text is never the number that it reads as.
        let differs = |wanted: &Value, now: i64| {
            let is_number = wanted.as_str().is_none();
            let same = is_number && python::int(wanted).is_ok_and(|wanted| wanted == now);
            wanted.is_true() && !same
        };
        if differs(atime, data.atime()) || differs(mtime, data.mtime()) {
            let kind = if data.is_dir() { "directory" } else { "file" };
            let text = format!("Times set to be updated on {kind} {name}");
            return Ok(ret.change("touched", name.as_str()).pending(text).into());
        }
        let text = format!("File {name} exists and has the correct times");
        return Ok(ret.change("new", name.as_str()).ok(text).into());
    }
    if call.flag("makedirs") {
        dirs::make_parents(&name, &Value::Nil, &Value::Nil, None)?;
    }
    if !Path::new(path::dirname(&name)).is_dir() {
        return common::failed(ret, format!("Directory not present to touch file {name}"));
    }
    content::touch_file(&name, atime, mtime)?;
    Ok(match data {
        None => {
            let text = format!("Created empty file {name}");
            ret.change("new", name.as_str()).ok(text)
        }
        Some(data) => {
            let kind = if data.is_dir() { "directory" } else { "file" };
            let text = format!("Updated times on {kind} {name}");
            ret.change("touched", name.as_str()).ok(text)
        }
    }
    .into())
}
