//! Gives one file its wanted content and permissions, or says what would change.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use halite_call::paths::Held;
use halite_call::{Call, CallError, StateReturn};
use halite_proto::{Map, Value};

use crate::core::compare::{self, Difference, Ignore};
use crate::core::perms::{self, DesiredPerms, Found};
use crate::core::write::{self, Body, Dress, Placed};
use crate::core::{attributes, backup, dirs, mode, owner, path};
use crate::sources::fetch::local_sum;
use crate::sources::managed::{self, Prepared, Request};
use crate::sources::{Scheme, scheme};
use halite_call::{os_error, os_text};

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
    pub(crate) wanted: DesiredPerms,
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

/// The file that a plan is about, as it is found.
struct Target {
    path: PathBuf,
    /// Whether it is a link, which is to be replaced.
    is_link: bool,
    /// What it is, or what it leads to; nothing if there is nothing.
    data: Option<fs::Metadata>,
}

impl Target {
    fn file(&self) -> Option<&fs::Metadata> {
        self.data.as_ref().filter(|data| data.is_file())
    }
}

const NOT_SHOWN: &str = "<show_changes=False>";

impl Plan<'_> {
    fn target(&self) -> std::io::Result<Target> {
        let path = PathBuf::from(self.name);
        let data = fs::symlink_metadata(&path).ok();
        if !data.as_ref().is_some_and(fs::Metadata::is_symlink) {
            return Ok(Target {
                path,
                is_link: false,
                data,
            });
        }
        let path = match self.wanted.follow {
            true => path::real_to_change(self.name)?,
            false => path,
        };
        Ok(Target {
            // Following may have come to its end before that of the links.
            is_link: !self.wanted.follow || path::is_link(&path),
            data: fs::metadata(&path).ok(),
            path,
        })
    }

    fn kept_mode(&self) -> Option<String> {
        match (self.keep_mode, self.prepared.mode) {
            (true, Some(bits)) => Some(mode::digits(bits)),
            _ => self.wanted.mode.clone(),
        }
    }

    /// What a file is from its first moment on: what it is to be, so that nobody
    /// reads what is not for him. A new one of which nobody says the mode is
    /// `fresh`.
    fn dress(&self, fresh: u32) -> Dress {
        let number = |name: &Value, look: fn(&Value) -> Option<u32>| {
            name.is_true().then(|| look(name)).flatten()
        };
        Dress {
            fresh,
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
    let target = match plan.target() {
        Ok(target) => target,
        Err(error) => {
            ret.result = Some(false);
            ret.comment = os_text(&error, Path::new(plan.name)).into();
            return Ok(());
        }
    };
    let path = target.path.as_path();
    plan.wanted.mode = plan.kept_mode();
    let exists = target.file().is_some();
    let is_link = target.is_link;
    let body = if let Some(contents) = plan.contents.take() {
        Some(Body::Bytes(contents))
    } else if plan.prepared.source.is_none() || exists && !is_link && plan.is_source_same(path) {
        None
    } else {
        match source_body(call, &mut plan, &target)? {
            Ok(body) => Some(body),
            Err(wrong) => {
                ret.result = Some(false);
                ret.comment = wrong.into();
                return Ok(());
            }
        }
    };
    let mut before = None;
    let done = match target.file().filter(|_| !is_link || body.is_none()) {
        Some(data) => {
            before = Some(Found::from_data(data));
            update(call, ret, &plan, (path, data), body.as_ref())
        }
        None => create(ret, &plan, &target, body.as_ref()).map(Some),
    };
    let placed = match done {
        Ok(placed) => placed,
        Err(wrong) => {
            ret.result = Some(false);
            ret.comment = wrong.into();
            return Ok(());
        }
    };
    let held = match placed {
        Some(Placed { file, fresh }) => {
            let fresh = fresh.as_ref().map(Found::from_data);
            before = before.or(fresh);
            Ok(Held::of(file, path))
        }
        // Followed already: a link that is there now is not the one we saw.
        None => Held::open(path, false),
    };
    let held = held.map_err(|error| perms::not_held(path, &error))?;
    perms::check_held(ret, (path, &held), &plan.wanted, before, false)?;
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
fn source_body(
    call: &Call<'_>,
    plan: &mut Plan<'_>,
    target: &Target,
) -> Result<Result<Body, String>, CallError> {
    managed::bring(call, &plan.request, &mut plan.prepared)?;
    let source = plan.prepared.source.clone().unwrap_or_default();
    let Some(body) = plan.prepared.body.clone() else {
        return Ok(Err(format!("Source file '{source}' not found")));
    };
    let checked = !plan.skip_verify && scheme(&source) != Scheme::Salt;
    let is_new = target.data.is_none();
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
    (path, data): (&Path, &fs::Metadata),
    body: Option<&Body>,
) -> Result<Option<Placed>, String> {
    let Some(body) = body else { return Ok(None) };
    if body.is_in_file_of(path, data.len()).unwrap_or(false) {
        return Ok(None);
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
    let committed =
        keep_backup(call, plan, path).and_then(|()| write::place(path, body, plan.dress(0o600)));
    committed.map(Some).map_err(|error| {
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
    target: &Target,
    body: Option<&Body>,
) -> Result<Placed, String> {
    let path = target.path.as_path();
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
    let led_to = target.file();
    let difference = match body {
        Some(body) if plan.new_file_diff || led_to.is_some() => {
            let old = led_to.map(|_| path);
            Some(
                plan.describe(old, body)
                    .map_err(|error| error.to_string())?,
            )
        }
        _ => None,
    };
    let from_source = body.is_some() && plan.prepared.source.is_some();
    let fresh = match (&plan.wanted.mode, led_to) {
        // What is no mode is no reason for more.
        (Some(_), _) => 0o600,
        // A file in place of a link is as open as what the link led to.
        (None, Some(data)) => data.permissions().mode() & 0o7777,
        (None, None) => mode::default_mode(),
    };
    let empty = Body::Bytes(Vec::new());
    let placed = write::place(path, body.unwrap_or(&empty), plan.dress(fresh))
        .map_err(|error| format!("Failed to commit change: {}", os_text(&error, path)))?;
    let mode = (from_source && led_to.is_none() && plan.wanted.mode.is_none())
        .then(|| mode::digits(fresh));
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
    Ok(placed)
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
    let target = plan
        .target()
        .map_err(|error| os_error(&error, Path::new(plan.name)))?;
    let path = target.path.as_path();
    if target.data.is_none() {
        if plan.new_file_diff {
            let body = match plan.contents.take() {
                Some(contents) => Some(Body::Bytes(contents)),
                None => source_body(call, &mut plan, &target)?.ok(),
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
    } else if plan.prepared.source.is_none() || plan.is_source_same(path) {
        None
    } else {
        managed::bring(call, &plan.request, &mut plan.prepared)?;
        if plan.prepared.body.is_none() {
            changes.insert("sum", "Checksum differs");
        }
        plan.prepared.body.clone()
    };
    if let Some(body) = body.filter(|body| !body.is_in(path).unwrap_or(false)) {
        let difference = plan.describe(Some(path), &body)?;
        ignored = difference.ignored;
        changes.insert("diff", difference.text);
    }
    let found = Found::of(path, true)?;
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
        attributes::check(&mut ret, path, attrs, true, &mut Vec::new())?;
        changes.extend(ret.changes);
    }
    Ok((changes, ignored))
}
