//! Copying, moving, making and removing files and directories.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use halite_call::paths::{self, Held};
use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

use super::paths::{arg, must_be_absolute};
use crate::core::write::{Dress, replace_with};
use crate::core::{dirs, mode, path, perms};
use crate::limits::DEPTH_MAX;
use halite_call::{errno, os_error, os_text};

const ABSOLUTE: &str = "File path must be absolute.";

pub(super) fn copy(call: &Call<'_>) -> CallResult {
    let (src, dst) = (arg(call, "src"), arg(call, "dst"));
    must_be_absolute(ABSOLUTE, &src)?;
    let (from, to) = (Path::new(&src), Path::new(&dst));
    if !from.exists() {
        return Err(CallError::command(format!(
            "No such file or directory '{src}'"
        )));
    }
    let recurse = call.flag("recurse");
    if !recurse && (from.is_dir() || to.is_dir()) {
        return Err(CallError::invocation(
            "Cannot copy overwriting a directory without recurse flag set to true!",
        ));
    }
    if call.flag("remove_existing") && path::is_there(to) {
        remove_any(to).map_err(|error| os_error(&error, to))?;
    }
    let copied = if from.is_dir() {
        copy_tree(from, to, 0)
    } else {
        copy_file(from, to)
    };
    copied.map_err(|error| {
        let (_, text) = errno(&error);
        CallError::command(format!("Could not copy '{src}' to '{dst}': {text}"))
    })?;
    Ok(true.into())
}

/// A copy with owner and mode.
pub(crate) fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    copy_dressed(from, to, |data| Dress {
        uid: Some(data.uid()),
        gid: Some(data.gid()),
        ..Dress::with_mode(data.mode())
    })
}

/// A copy that is ours, with the mode. Nobody runs as us what he owned.
pub(crate) fn copy_file_ours(from: &Path, to: &Path) -> std::io::Result<()> {
    const SET_ID: u32 = 0o6000;
    copy_dressed(from, to, |data| {
        let ours = Dress::ours(data.mode());
        match (Some(data.uid()), Some(data.gid())) == (ours.uid, ours.gid) {
            true => ours,
            false => Dress::ours(data.mode() & !SET_ID),
        }
    })
}

fn copy_dressed(
    from: &Path,
    to: &Path,
    dress: impl Fn(&fs::Metadata) -> Dress,
) -> std::io::Result<()> {
    let mut file = paths::open_to_read(from)?;
    let dress = dress(&file.metadata()?);
    replace_with(to, dress, |copy| std::io::copy(&mut file, copy).map(drop))
}

/// A copy of a directory with all that is in it; links stay links.
pub(crate) fn copy_tree(from: &Path, to: &Path, depth: usize) -> std::io::Result<()> {
    if depth > DEPTH_MAX || to.starts_with(from) && depth == 0 {
        return Err(std::io::Error::from_raw_os_error(nix::libc::EINVAL));
    }
    let data = fs::metadata(from)?;
    if !to.is_dir() {
        paths::create_dir_all(to)?;
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (own, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&own, &target, depth + 1)?;
        } else if kind.is_symlink() {
            if path::is_there(&target) {
                paths::remove_file(&target)?;
            }
            paths::symlink(fs::read_link(&own)?, &target)?;
        } else if kind.is_file() {
            copy_file(&own, &target)?;
        }
    }
    let made = Held::open(to, true)?;
    made.set_mode(data.mode())?;
    let _ = made.chown(Some(data.uid()), Some(data.gid()));
    Ok(())
}

/// Removes whatever it is.
pub(crate) fn remove_any(at: &Path) -> std::io::Result<()> {
    if fs::symlink_metadata(at)?.is_dir() {
        paths::remove_dir_all(at)
    } else {
        paths::remove_file(at)
    }
}

pub(super) fn rename(call: &Call<'_>) -> CallResult {
    let (src, dst) = (arg(call, "src"), arg(call, "dst"));
    must_be_absolute(ABSOLUTE, &src)?;
    match paths::rename(&src, &dst) {
        Ok(()) => Ok(true.into()),
        Err(_) => Err(CallError::command(format!(
            "Could not rename '{src}' to '{dst}'"
        ))),
    }
}

pub(super) fn move_(call: &Call<'_>) -> CallResult {
    let (src, dst) = (arg(call, "src"), arg(call, "dst"));
    must_be_absolute("Source path must be absolute.", &src)?;
    must_be_absolute("Destination path must be absolute.", &dst)?;
    let from = Path::new(&src);
    let mut to = PathBuf::from(&dst);
    if to.is_dir()
        && let Some(name) = from.file_name()
    {
        to.push(name);
    }
    move_any(from, &to).map_err(|error| {
        CallError::command(format!(
            "Unable to move '{src}' to '{dst}': {}",
            os_text(&error, if from.exists() { &to } else { from })
        ))
    })?;
    Ok(Map::from([
        ("result", Value::from(true)),
        ("comment", format!("'{src}' moved to '{dst}'").into()),
    ])
    .into())
}

/// Renames; between file systems copies and removes.
pub(crate) fn move_any(from: &Path, to: &Path) -> std::io::Result<()> {
    match paths::rename(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {}
        done => return done,
    }
    let data = fs::symlink_metadata(from)?;
    if data.is_dir() {
        copy_tree(from, to, 0)?;
    } else if data.is_symlink() {
        paths::symlink(fs::read_link(from)?, to)?;
    } else {
        copy_file(from, to)?;
    }
    remove_any(from)
}

pub(super) fn remove(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    must_be_absolute(&format!("File path must be absolute: {path}"), &path)?;
    let at = Path::new(&path);
    if !path::is_there(at) {
        return Ok(false.into());
    }
    match remove_any(at) {
        Ok(()) => Ok(true.into()),
        Err(error) => Err(CallError::command(format!(
            "Could not remove '{path}': {}",
            os_text(&error, at)
        ))),
    }
}

pub(super) fn mkdir(call: &Call<'_>) -> CallResult {
    let path = arg(call, "dir_path");
    let at = Path::new(&path);
    let mode = mode::normalize(call.arg("mode"));
    dirs::make_all(at, call.arg("user"), call.arg("group"), mode.as_deref())?;
    Ok(at.is_dir().into())
}

pub(super) fn makedirs(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let parent = path::normalize(path::dirname(&path));
    if Path::new(&parent).is_dir() {
        return Ok(format!("Directory '{parent}' already exists").into());
    }
    if Path::new(&parent).exists() {
        let told = format!("The path '{parent}' already exists and is not a directory");
        return Ok(told.into());
    }
    // The first that is to be made may be there and be something else.
    let missing = Path::new(&parent).ancestors();
    if let Some(first) = missing.take_while(|of| !of.is_dir()).last()
        && path::is_there(first)
    {
        let error = std::io::Error::from_raw_os_error(nix::libc::EEXIST);
        return Err(os_error(&error, first));
    }
    let mode = mode::normalize(call.arg("mode"));
    let (user, group) = (call.arg("user"), call.arg("group"));
    dirs::make_all(Path::new(&parent), user, group, mode.as_deref())?;
    Ok(Value::Nil)
}

pub(super) fn makedirs_perms(call: &Call<'_>) -> CallResult {
    let path = arg(call, "name");
    let at = Path::new(&path);
    if path::is_there(at) {
        let error = std::io::Error::from_raw_os_error(nix::libc::EEXIST);
        return Err(os_error(&error, at));
    }
    let mode = mode::normalize(call.arg("mode"));
    dirs::make_all(at, call.arg("user"), call.arg("group"), mode.as_deref())?;
    if let Some(mode) = mode {
        perms::set_mode(at, &mode).map_err(|error| os_error(&error, at))?;
    }
    Ok(Value::Nil)
}

/// Removing directories that are empty.
pub(crate) struct Prune {
    /// What is gone.
    pub(crate) deleted: Vec<Value>,
    /// What could not be removed, and why.
    pub(crate) errors: Vec<Value>,
}

/// Removes a directory; with `recurse` the empty ones below it first.
pub(crate) fn prune(at: &Path, recurse: bool, older_than: Option<f64>) -> Prune {
    let mut done = Prune {
        deleted: Vec::new(),
        errors: Vec::new(),
    };
    let limit = older_than
        .filter(|days| days.is_finite() && *days >= 0.0)
        .and_then(|days| SystemTime::now().checked_sub(Duration::from_secs_f64(days * 86400.0)));
    prune_below(at, recurse, limit, &mut done, 0);
    done
}

fn prune_below(
    at: &Path,
    recurse: bool,
    limit: Option<SystemTime>,
    done: &mut Prune,
    depth: usize,
) {
    let data = fs::symlink_metadata(at);
    if recurse && depth < DEPTH_MAX {
        let mut below: Vec<PathBuf> = fs::read_dir(at)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect();
        below.sort();
        for path in below {
            prune_below(&path, recurse, limit, done, depth + 1);
        }
    }
    let young = limit.is_some_and(|limit| {
        data.is_ok_and(|data| data.modified().is_ok_and(|modified| modified > limit))
    });
    if young {
        return;
    }
    let shown = at.display().to_string();
    match paths::remove_dir(at) {
        Ok(()) => done.deleted.push(shown.into()),
        Err(error) => {
            let why = os_text(&error, at);
            done.errors
                .push(vec![Value::from(shown), why.into()].into());
        }
    }
}

pub(super) fn rmdir(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    must_be_absolute(ABSOLUTE, &path)?;
    let at = Path::new(&path);
    if !at.is_dir() {
        return Err(CallError::invocation(format!(
            "A valid directory was not specified: {path}"
        )));
    }
    let older_than = match call.arg("older_than") {
        Value::Nil => None,
        days => Some(halite_call::python::float(days)?),
    };
    let done = prune(at, call.flag("recurse"), older_than);
    let good = done.errors.is_empty();
    if call.flag("verbose") {
        return Ok(Map::from([
            ("deleted", Value::from(done.deleted)),
            ("errors", done.errors.into()),
            ("result", good.into()),
        ])
        .into());
    }
    Ok(good.into())
}
