//! Carries out an extraction: disk space, the archive's files, their owners.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::paths::{self, Held};
use halite_call::{Call, CallError, StateReturn, python};
use halite_proto::{Map, Value};

use super::format::Format;
use super::read::Contents;
use super::staged::{Old, Stage};
use super::unpack::{Unzip, untar};
use crate::core::{dirs, owner, path};
use crate::exec::tree::remove_any;
use halite_call::os_error;

/// An archive that is to be extracted.
pub(super) struct Plan {
    /// Where to, with a slash behind it.
    pub(super) name: String,
    /// Where it comes from.
    pub(super) source: String,
    /// Where it lies here.
    pub(super) archive: PathBuf,
    /// What it is.
    pub(super) format: Format,
    /// What is in it.
    pub(super) contents: Contents,
    /// Whose the files are to be.
    pub(super) user: Value,
    /// Their group.
    pub(super) group: Value,
    /// Extract although everything is there.
    pub(super) overwrite: bool,
}

/// Removes what is in the way.
pub(super) fn make_room(
    call: &Call<'_>,
    ret: &mut StateReturn,
    plan: &Plan,
    wrong: &[String],
) -> Result<(), CallError> {
    let root = Path::new(&plan.name);
    if call.flag("clean_parent") && root.is_dir() {
        remove_any(Path::new(plan.name.trim_end_matches('/')))
            .map_err(|error| os_error(&error, root))?;
        let text = format!(
            "Directory {} was removed prior to the extraction",
            plan.name
        );
        ret.changes.insert("removed", text);
        return Ok(());
    }
    let mut gone: Vec<String> = wrong.to_vec();
    if call.flag("clean") {
        gone.extend(plan.contents.top_names());
    }
    let mut removed: Vec<Value> = Vec::new();
    for name in gone {
        let full = path::join(&plan.name, &[&name]);
        let at = Path::new(full.trim_end_matches('/'));
        if path::is_there(at) {
            remove_any(at).map_err(|error| os_error(&error, at))?;
            removed.push(full.into());
        }
    }
    if !removed.is_empty() {
        ret.changes.insert("removed", removed);
    }
    Ok(())
}

/// Extracts the archive.
pub(super) fn extract(
    call: &Call<'_>,
    mut ret: StateReturn,
    plan: &Plan,
    missing: bool,
) -> Result<StateReturn, CallError> {
    let root = Path::new(plan.name.trim_end_matches('/'));
    let created = !root.is_dir();
    if created {
        dirs::make_all(root, &plan.user, &Value::Nil, None)?;
    }
    let names = match files_of(call, plan) {
        Ok(Ok(names)) => names,
        Ok(Err(failure)) => {
            ret.changes = failure;
            return Ok(ret.failed(""));
        }
        Err(error) => {
            undo(root, created);
            return Ok(ret.failed(error.to_string()));
        }
    };
    if created {
        let list = vec![Value::from(plan.name.as_str())];
        ret.changes.insert("directories_created", list);
    }
    let mut comment = format!("{} extracted to {}", plan.source, plan.name);
    if missing {
        comment.push_str(", due to absence of one or more files/dirs");
    }
    let wanted = match call.arg("trim_output") {
        Value::Bool(false) | Value::Nil => usize::MAX,
        Value::Bool(true) => 100,
        other => usize::try_from(python::int(other)?).unwrap_or(usize::MAX),
    };
    let trimmed = names.len() > wanted;
    let shown: Vec<Value> = names.into_iter().take(wanted).map(Value::from).collect();
    if trimmed || call.arg("trim_output") == &Value::Bool(true) {
        comment.push_str(&format!(". Output was trimmed to {wanted} number of lines"));
    }
    if !shown.is_empty() {
        ret.changes.insert("extracted_files", shown);
    }
    ret.comment = comment.into();
    own(call, &mut ret, plan)?;
    Ok(ret)
}

/// A directory made for nothing goes again.
fn undo(root: &Path, created: bool) {
    if created {
        let _ = paths::remove_dir(root);
    }
}

/// The names extracted, or what the program that failed said.
fn files_of(call: &Call<'_>, plan: &Plan) -> Result<Result<Vec<String>, Map>, CallError> {
    let root = Path::new(plan.name.trim_end_matches('/'));
    let options = call.text_opt("options");
    match (plan.format, options) {
        (Format::Tar, None) => untar(&plan.archive, root).map(Ok),
        (Format::Tar, Some(options)) => with_tar(call, plan, &options),
        (Format::Zip, None) if !call.flag("use_cmd_unzip") => Unzip {
            archive: &plan.archive,
            dest: root,
            excludes: &[],
            password: call.text_opt("password").as_deref(),
            permissions: call.flag("extract_perms"),
        }
        .run()
        .map(Ok),
        (Format::Zip, options) => {
            let mut kwargs = Map::from([("password", call.arg("password").clone())]);
            if let Some(options) = options {
                kwargs.insert("options", options);
            }
            by_function(call, plan, "archive.cmd_unzip", kwargs)
        }
        (Format::Rar, _) => by_function(call, plan, "archive.unrar", Map::new()),
    }
}

fn by_function(
    call: &Call<'_>,
    plan: &Plan,
    fun: &str,
    kwargs: Map,
) -> Result<Result<Vec<String>, Map>, CallError> {
    let archive = plan.archive.display().to_string();
    let out = call.salt(fun, &[archive.into(), plan.name.as_str().into()], kwargs)?;
    let names = out.as_list().unwrap_or_default();
    Ok(Ok(names.iter().map(python::str).collect()))
}

/// Options mean the tar program: `z`, `-v`, `--strip-components=1`.
fn with_tar(
    call: &Call<'_>,
    plan: &Plan,
    options: &str,
) -> Result<Result<Vec<String>, Map>, CallError> {
    let mut letters = String::from("x");
    let mut long = Vec::new();
    for (at, word) in options.split_whitespace().enumerate() {
        if word.starts_with("--") {
            long.push(word.to_owned());
        } else if let Some(short) = word.strip_prefix('-').or_else(|| (at == 0).then_some(word)) {
            letters.extend(short.chars().filter(|c| !matches!(c, 'x' | 'f')));
        } else {
            long.push(word.to_owned());
        }
    }
    if !letters.contains('v') {
        letters.push('v');
    }
    letters.push('f');
    let stage = Stage::new(call, Path::new(&plan.name), None)?;
    let mut command: Vec<Value> = vec!["tar".into(), letters.into()];
    command.push(plan.archive.display().to_string().into());
    command.extend(long.into_iter().map(Value::from));
    let out = call.salt(
        "cmd.run_all",
        &[command.into()],
        Map::from([
            ("python_shell", Value::from(false)),
            ("cwd", stage.path().display().to_string().into()),
        ]),
    )?;
    call.set_retcode(0);
    if out.get("retcode").and_then(Value::as_i64) != Some(0) {
        return Ok(Err(out.as_map().cloned().unwrap_or_default()));
    }
    stage.deliver(Old::of_tar(options))?;
    let said = out.get("stdout").map(python::str).unwrap_or_default();
    Ok(Ok(said.lines().map(str::to_owned).collect()))
}

/// Gives what was extracted to its owner.
pub(super) fn own(call: &Call<'_>, ret: &mut StateReturn, plan: &Plan) -> Result<(), CallError> {
    let uid = plan
        .user
        .is_true()
        .then(|| owner::uid(&plan.user))
        .flatten();
    let gid = plan
        .group
        .is_true()
        .then(|| owner::gid(&plan.group))
        .flatten();
    if uid.is_none() && gid.is_none() {
        return Ok(());
    }
    let mut changed = false;
    let mut wrong = Vec::new();
    for full in owned_paths(call, plan) {
        let at = Path::new(full.trim_end_matches('/'));
        let data = match Held::open(at, false).and_then(|held| Ok((held.data()?, held))) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                wrong.push(halite_call::os_text(&error, at));
                continue;
            }
            Err(_) => continue,
        };
        let (data, held) = data;
        let other =
            uid.is_some_and(|uid| uid != data.uid()) || gid.is_some_and(|gid| gid != data.gid());
        if !other {
            continue;
        }
        changed = true;
        if call.is_test() {
            continue;
        }
        if let Err(error) = held.chown(uid, gid) {
            wrong.push(halite_call::os_text(&error, at));
        }
    }
    if changed {
        ret.changes.insert("updated ownership", true);
        if call.is_test() {
            ret.result = None;
        }
    }
    if !wrong.is_empty() {
        let text = format!(
            "{}. Additionally, ownership could not be set:\n- {}",
            python::str(&ret.comment),
            wrong.join("\n- ")
        );
        ret.result = Some(false);
        ret.comment = text.into();
    }
    Ok(())
}

/// The paths that are given to the owner: all that was extracted, or what is at and
/// below `enforce_ownership_on`.
fn owned_paths(call: &Call<'_>, plan: &Plan) -> Vec<String> {
    let names = plan.contents.names().into_iter();
    let all = names.map(|name| path::join(&plan.name, &[name]));
    match call.text_opt("enforce_ownership_on") {
        Some(only) if Path::new(&only).starts_with(&plan.name) => {
            let below = all.filter(|path| Path::new(path).starts_with(&only));
            std::iter::once(only.clone()).chain(below).collect()
        }
        _ => all.collect(),
    }
}
