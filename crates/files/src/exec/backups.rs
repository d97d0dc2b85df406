//! The copies of replaced files: listing, bringing back, removing.

use std::fs;
use std::path::{Path, PathBuf};

use halite_call::{Call, CallResult, paths, python};
use halite_proto::{Map, Value};

use super::paths::arg;
use crate::core::backup;
use halite_call::os_text;

fn limit(call: &Call<'_>) -> usize {
    match python::int(call.arg("limit")) {
        Ok(limit) if !call.arg("limit").is_nil() => usize::try_from(limit).unwrap_or(usize::MAX),
        _ => usize::MAX,
    }
}

pub(super) fn list_backups(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let mut ret = Map::new();
    let kept = backup::list(&call.ctx.cachedir(), Path::new(&path));
    for (number, backup) in kept.iter().take(limit(call)).enumerate() {
        let entry = Map::from([
            ("Backup Time", Value::from(backup::time_text(&backup.made))),
            ("Size", backup.bytes.into()),
            ("Location", backup.path.display().to_string().into()),
        ]);
        ret.insert(number, entry);
    }
    Ok(ret.into())
}

pub(super) fn list_backups_dir(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let cachedir = call.ctx.cachedir();
    let directory = backup::directory_of(&cachedir, Path::new(&path));
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            // Behind the name are the five parts of the time.
            let parts: Vec<&str> = name.rsplitn(7, '_').collect();
            (parts.len() == 7).then(|| parts[6].to_owned())
        })
        .collect();
    names.sort();
    names.dedup();
    let mut ret = Map::new();
    for name in names {
        let kept = backup::list(&cachedir, &Path::new(&path).join(&name));
        let mut entries = Map::new();
        for (number, backup) in kept.iter().take(limit(call)).enumerate() {
            let entry = Map::from([
                ("Backup Time", Value::from(backup::time_text(&backup.made))),
                ("Size", backup.bytes.into()),
                ("Location", backup.path.display().to_string().into()),
            ]);
            entries.insert(number, entry);
        }
        ret.insert(name, entries);
    }
    Ok(ret.into())
}

fn answer(result: bool, comment: String) -> Value {
    Map::from([("result", Value::from(result)), ("comment", comment.into())]).into()
}

fn wanted(call: &Call<'_>, path: &str) -> Result<PathBuf, Value> {
    let id = python::str(call.arg("backup_id"));
    let kept = backup::list(&call.ctx.cachedir(), Path::new(path));
    let found = id
        .parse::<usize>()
        .ok()
        .and_then(|id| kept.into_iter().nth(id));
    match found {
        Some(backup) => Ok(backup.path),
        None => Err(answer(
            false,
            format!("backup_id '{id}' does not exist for {path}"),
        )),
    }
}

pub(super) fn restore_backup(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let kept = match wanted(call, &path) {
        Ok(kept) => kept,
        Err(answer) => return Ok(answer),
    };
    let at = Path::new(&path);
    // What is replaced now may be wanted back as well.
    if at.is_file()
        && let Err(error) = backup::keep(&call.ctx.cachedir(), at)
    {
        let text = format!("Unable to restore {path}: {}", os_text(&error, at));
        return Ok(answer(false, text));
    }
    match super::tree::copy_file(&kept, at) {
        Ok(()) => Ok(answer(
            true,
            format!("Successfully restored {} to {path}", kept.display()),
        )),
        Err(error) => Ok(answer(
            false,
            format!(
                "Unable to restore {} to {path}: {}",
                kept.display(),
                os_text(&error, at)
            ),
        )),
    }
}

pub(super) fn delete_backup(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let kept = match wanted(call, &path) {
        Ok(kept) => kept,
        Err(answer) => return Ok(answer),
    };
    match paths::remove_file(&kept) {
        Ok(()) => Ok(answer(
            true,
            format!("Successfully removed {}", kept.display()),
        )),
        Err(error) => Ok(answer(
            false,
            format!(
                "Unable to remove {}: {}",
                kept.display(),
                os_text(&error, &kept)
            ),
        )),
    }
}
