//! Bringing one file to the content and permissions it is to have, or saying
//! what would be changed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use halite_modules::replace::umask;
use halite_modules::{Call, CallError, StateReturn};
use halite_proto::{Map, Value};

use super::compare::{self, Difference, Ignore};
use super::errors::os_text;
use super::perms::{self, Found, Wanted};
use super::write::{self, Body, Dress};
use super::{backup, dirs, mode, owner, path};
use crate::sources::fetch::local_sum;
use crate::sources::managed::{self, Prepared, Request};
use crate::sources::{Scheme, scheme};

/// What is to be done with a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan<'a> {
    /// The file.
    pub(crate) name: &'a str,
    /// Where its content comes from.
    pub(crate) request: Request<'a>,
    /// Its content, found or rendered.
    pub(crate) prepared: Prepared,
    /// Its content, given.
    pub(crate) contents: Option<Vec<u8>>,
    /// Owner and mode.
    pub(crate) wanted: Wanted,
    /// `minion` keeps a copy of what is replaced.
    pub(crate) backup: String,
    /// Make missing directories.
    pub(crate) makedirs: bool,
    /// Their mode.
    pub(crate) dir_mode: Option<String>,
    /// Say what is different.
    pub(crate) show_changes: bool,
    /// The mode is that of the source.
    pub(crate) keep_mode: bool,
    /// Do not check what was fetched.
    pub(crate) skip_verify: bool,
    /// Show the content of new files.
    pub(crate) new_file_diff: bool,
    /// Differences that nobody needs to react to.
    pub(crate) ignore: Ignore,
}

const NOT_SHOWN: &str = "<show_changes=False>";

impl Plan<'_> {
    fn path(&self) -> PathBuf {
        if self.wanted.follow && path::is_link(self.name) {
            path::real(self.name)
        } else {
            PathBuf::from(self.name)
        }
    }

    fn kept_mode(&self) -> Option<String> {
        match (self.keep_mode, self.prepared.mode) {
            (true, Some(bits)) => Some(mode::digits(bits)),
            _ => self.wanted.mode.clone(),
        }
    }

    /// What a file that is replaced is from its first moment on: what it is to
    /// be, so that nobody reads what is not for him.
    fn dress(&self) -> Dress {
        let number = |name: &Value, look: fn(&Value) -> Option<u32>| {
            name.is_true().then(|| look(name)).flatten()
        };
        Dress {
            fresh: 0o600,
            mode: self.wanted.mode.as_deref().and_then(mode::parse),
            uid: number(&self.wanted.user, owner::uid),
            gid: number(&self.wanted.group, owner::gid),
        }
    }

    fn is_source_same(&self, path: &Path) -> bool {
        match (&self.prepared.body, &self.prepared.sum) {
            (Some(body @ Body::Bytes(_)), _) => body.is_in(path).unwrap_or(false),
            (_, Some(sum)) => local_sum(path, &sum.hash_type).as_deref() == Some(sum.hsum.as_str()),
            (Some(body), None) => body.is_in(path).unwrap_or(false),
            (None, None) => false,
        }
    }

    fn describe(&self, old: Option<&Path>, new: &Body) -> Result<Difference, CallError> {
        if !self.show_changes {
            return Ok(Difference {
                text: NOT_SHOWN.to_owned(),
                ignored: false,
            });
        }
        compare::difference(old, new, ("", ""), &self.ignore)
    }
}

/// Brings the file to what it is to be; what was done is in `ret`.
///
/// # Errors
/// When the source cannot be fetched.
pub(crate) fn manage(
    call: &Call<'_>,
    ret: &mut StateReturn,
    mut plan: Plan<'_>,
) -> Result<(), CallError> {
    let path = plan.path();
    plan.wanted.mode = plan.kept_mode();
    let exists = fs::metadata(&path).is_ok_and(|data| data.is_file());
    let is_link = path::is_link(&path);
    let body = if let Some(contents) = plan.contents.take() {
        Some(Body::Bytes(contents))
    } else if plan.prepared.source.is_none() || exists && !is_link && plan.is_source_same(&path) {
        None
    } else {
        match source_body(call, &mut plan)? {
            Ok(body) => Some(body),
            Err(wrong) => {
                ret.result = Some(false);
                ret.comment = wrong.into();
                return Ok(());
            }
        }
    };
    let mut before = None;
    let done = if exists && (!is_link || body.is_none()) {
        before = Some(Found::of(&path, true)?);
        update(call, ret, &plan, &path, body.as_ref())
    } else {
        create(ret, &plan, &path, body.as_ref(), exists)
    };
    if let Err(wrong) = done {
        ret.result = Some(false);
        ret.comment = wrong.into();
        return Ok(());
    }
    // Followed already: a link that is there now is not the one we saw.
    plan.wanted.follow = false;
    perms::check_since(ret, &path, &plan.wanted, before, false)?;
    if ret.result == Some(true) && !ret.comment.is_true() {
        let comment = if !ret.changes.is_empty() {
            format!("File {} updated", plan.name)
        } else {
            format!("File {} is in the correct state", plan.name)
        };
        ret.comment = comment.into();
    }
    Ok(())
}

/// The content of the source, fetched and checked.
fn source_body(call: &Call<'_>, plan: &mut Plan<'_>) -> Result<Result<Body, String>, CallError> {
    managed::bring(call, &plan.request, &mut plan.prepared)?;
    let source = plan.prepared.source.clone().unwrap_or_default();
    let Some(body) = plan.prepared.body.clone() else {
        return Ok(Err(format!("Source file '{source}' not found")));
    };
    let checked = !plan.skip_verify && scheme(&source) != Scheme::Salt;
    let is_new = fs::metadata(plan.path()).is_err();
    let subject = if is_new { plan.name } else { &source };
    if checked
        && let Some(wrong) = managed::mismatch(subject, plan.prepared.sum.as_ref(), &body, &source)
    {
        return Ok(Err(wrong));
    }
    Ok(Ok(body))
}

fn update(
    call: &Call<'_>,
    ret: &mut StateReturn,
    plan: &Plan<'_>,
    path: &Path,
    body: Option<&Body>,
) -> Result<(), String> {
    let Some(body) = body else { return Ok(()) };
    if body.is_in(path).unwrap_or(false) {
        return Ok(());
    }
    match plan.describe(Some(path), body) {
        Ok(difference) => {
            if difference.ignored {
                ret.more.insert("skip_req", true);
            }
            ret.changes.insert("diff", difference.text);
        }
        Err(error) => {
            let text = format!("Failed to detect changes to file: {error}");
            ret.more.insert("warnings", vec![Value::from(text)]);
        }
    }
    let committed = keep_backup(call, plan, path)
        .and_then(|()| write::replace_dressed(path, body, plan.dress()));
    committed.map_err(|error| {
        ret.changes = Map::new();
        format!("Failed to commit change: {}", os_text(&error, path))
    })
}

fn keep_backup(call: &Call<'_>, plan: &Plan<'_>, path: &Path) -> std::io::Result<()> {
    if matches!(plan.backup.as_str(), "minion" | "both") {
        backup::keep(&call.ctx.cachedir(), path)?;
    }
    Ok(())
}

fn create(
    ret: &mut StateReturn,
    plan: &Plan<'_>,
    path: &Path,
    body: Option<&Body>,
    replaces: bool,
) -> Result<(), String> {
    let parent = path.parent().unwrap_or_else(|| Path::new("/"));
    let wants_directory = plan.name.ends_with('/');
    if !parent.is_dir() || wants_directory {
        if !plan.makedirs || wants_directory {
            return Err("Parent directory not present".to_owned());
        }
        let mode = match (&plan.dir_mode, &plan.wanted.mode) {
            (Some(mode), _) => Some(mode.clone()),
            (None, Some(mode)) => dirs::mode_from_file(mode),
            (None, None) => None,
        };
        dirs::make_all(
            parent,
            &plan.wanted.user,
            &plan.wanted.group,
            mode.as_deref(),
        )
        .map_err(|error| strip_kind(&error))?;
    }
    let difference = match body {
        Some(body) if plan.new_file_diff || replaces => {
            let old = replaces.then_some(path);
            Some(
                plan.describe(old, body)
                    .map_err(|error| error.to_string())?,
            )
        }
        _ => None,
    };
    let default = default_mode();
    let from_source = body.is_some() && plan.prepared.source.is_some();
    // Nobody else reads a file whose mode is still to be set.
    let first = if from_source || replaces || plan.wanted.mode.is_some() {
        0o600
    } else {
        default
    };
    // A file in place of a link is as open as what the link led to.
    let led_to = fs::metadata(path).ok().filter(|_| replaces);
    let empty = Body::Bytes(Vec::new());
    write::replace(path, body.unwrap_or(&empty), first)
        .map_err(|error| format!("Failed to commit change: {}", os_text(&error, path)))?;
    if from_source && !replaces && plan.wanted.mode.is_none() {
        let mode = mode::digits(default);
        if perms::set_mode(path, &mode).is_ok() {
            ret.changes.insert("mode", mode);
        }
    } else if let Some(data) = led_to.filter(|_| plan.wanted.mode.is_none()) {
        let mode = mode::digits(data.permissions().mode());
        perms::set_mode(path, &mode)
            .map_err(|error| format!("Failed to commit change: {}", os_text(&error, path)))?;
    }
    let mode = ret.changes.remove("mode");
    match (body, difference) {
        (None, _) => {
            ret.changes
                .insert("new", format!("file {} created", plan.name));
            ret.comment = "Empty file".into();
        }
        (Some(_), Some(difference)) => {
            if difference.ignored {
                ret.more.insert("skip_req", true);
            }
            ret.changes.insert("diff", difference.text);
        }
        (Some(_), None) => {
            ret.changes.insert("diff", "New file");
        }
    }
    if let Some(mode) = mode {
        ret.changes.insert("mode", mode);
    }
    Ok(())
}

/// What a new file has where nobody says: all may read and write, but for the
/// mask of the process.
pub(crate) fn default_mode() -> u32 {
    0o666 & !umask()
}

fn strip_kind(error: &CallError) -> String {
    match error {
        CallError::Exception { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// What [`manage`] would change.
///
/// # Errors
/// When the source cannot be fetched.
pub(crate) fn predict(call: &Call<'_>, mut plan: Plan<'_>) -> Result<(Map, bool), CallError> {
    let mut changes = Map::new();
    plan.wanted.mode = plan.kept_mode();
    let path = plan.path();
    if fs::metadata(&path).is_err() {
        if plan.new_file_diff {
            let body = match plan.contents.take() {
                Some(contents) => Some(Body::Bytes(contents)),
                None => source_body(call, &mut plan)?.ok(),
            };
            if let Some(body) = body {
                changes.insert("diff", plan.describe(None, &body)?.text);
                return Ok((changes, false));
            }
        }
        changes.insert("newfile", plan.name);
        return Ok((changes, false));
    }
    let mut ignored = false;
    let body = if let Some(contents) = plan.contents.take() {
        Some(Body::Bytes(contents))
    } else if plan.prepared.source.is_none() || plan.is_source_same(&path) {
        None
    } else {
        managed::bring(call, &plan.request, &mut plan.prepared)?;
        if plan.prepared.body.is_none() {
            changes.insert("sum", "Checksum differs");
        }
        plan.prepared.body.clone()
    };
    if let Some(body) = body.filter(|body| !body.is_in(&path).unwrap_or(false)) {
        let difference = plan.describe(Some(&path), &body)?;
        ignored = difference.ignored;
        changes.insert("diff", difference.text);
    }
    let found = Found::of(&path, true)?;
    if found.other_user(&plan.wanted.user) {
        changes.insert("user", plan.wanted.user.clone());
    }
    if found.other_group(&plan.wanted.group) {
        changes.insert("group", plan.wanted.group.clone());
    }
    if let Some(mode) = plan
        .wanted
        .mode
        .as_ref()
        .filter(|mode| **mode != found.mode)
    {
        changes.insert("mode", mode.as_str());
    }
    if let Some(attrs) = &plan.wanted.attrs {
        let mut ret = StateReturn::new("");
        super::attributes::check(&mut ret, &path, attrs, true, &mut Vec::new())?;
        changes.extend(ret.changes);
    }
    Ok((changes, ignored))
}
