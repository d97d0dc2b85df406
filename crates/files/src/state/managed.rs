//! `file.managed`: a file with this content, owner and mode.

use std::path::{Path, PathBuf};

use halite_call::{Call, CallError, CallResult, StateReturn, encoding, paths, python};
use halite_proto::{Map, Value};

use super::check_cmd::{self, Checked};
use super::contents::{self, Contents};
use super::{accumulated, common};
use crate::core::compare::Ignore;
use crate::core::perms::{self, DesiredPerms};
use crate::core::write::Body;
use crate::core::{mode, path};
use crate::manage::{self, Plan};
use crate::sources::managed::{self as source, Prepared, Request};
use crate::sources::{Scheme, fetch, list, scheme};

const KEEP_CONTENTS: &str = "Mode preservation cannot be used in combination with 'contents', \
                             'contents_pillar', or 'contents_grains'";
const SOURCE_CONTENTS: &str = "'source' cannot be used in combination with 'contents', \
                               'contents_pillar', or 'contents_grains'";

pub(super) fn managed(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    match run(call, &name, ret) {
        Ok(ret) => Ok(ret.into()),
        Err(Stop::Failed(ret)) => Ok((*ret).into()),
        Err(Stop::Error(error)) => Err(error),
    }
}

enum Stop {
    Failed(Box<StateReturn>),
    Error(CallError),
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Self {
        Self::Error(error)
    }
}

fn stop(ret: &StateReturn, comment: impl Into<Value>) -> Stop {
    let mut ret = ret.clone().failed(comment);
    ret.changes = Map::new();
    Stop::Failed(Box::new(ret))
}

fn run(call: &Call<'_>, name: &str, mut ret: StateReturn) -> Result<StateReturn, Stop> {
    if name.is_empty() {
        return Err(stop(&ret, "Destination file name is required"));
    }
    let keep_mode = python::str(call.arg("mode")).eq_ignore_ascii_case("keep");
    let given = contents::count(call);
    let has_source = call.flag("source");
    if let Some(wrong) = contradiction(given, has_source, keep_mode) {
        return Err(stop(&ret, wrong));
    }
    if call.kwargs().contains_key("file_mode") {
        let text = "The 'file_mode' argument will be ignored.  Please use 'mode' instead to set \
                    file permissions.";
        ret.more.insert("warnings", vec![Value::from(text)]);
    }
    if let Some(wrong) = common::unchecked_signature(call) {
        return Err(stop(&ret, wrong));
    }
    // A file of which nothing is known but its name may hold what it likes.
    let replace = call.flag("replace") && (has_source || given > 0);
    let saltenv = fetch::state_env(call, call.kwargs());
    let contents = match contents::resolve(call, name, &saltenv)? {
        Contents::Wrong(comment) => return Err(stop(&ret, comment)),
        Contents::None => None,
        Contents::Text(bytes) => Some(bytes),
    };
    let found = std::fs::metadata(name).ok();
    let exists = found.as_ref().is_some_and(|data| data.is_file());
    if !call.flag("create") && !exists {
        let comment = format!("File {name} is not present and is not set for creation");
        return Ok(ret.ok(comment));
    }
    let user = common::user(call);
    let group = call.arg("group").clone();
    if let Some(wrong) = common::check_user(call, &user, &group) {
        return Err(stop(&ret, wrong));
    }
    if !path::is_absolute(name) {
        return Err(stop(&ret, common::not_absolute(name)));
    }
    if found.as_ref().is_some_and(|data| data.is_dir()) {
        return Err(stop(
            &ret,
            format!("Specified target {name} is a directory"),
        ));
    }
    if let Some(wrong) = not_a_dict(call) {
        return Err(stop(&ret, wrong));
    }
    let wanted = DesiredPerms {
        mode: (!keep_mode)
            .then(|| mode::normalize(call.arg("mode")))
            .flatten(),
        attrs: call.text_opt("attrs"),
        follow: call.flag("follow_symlinks"),
        user,
        group,
    };
    if !replace && found.is_some() {
        return permissions_only(call, name, ret, &wanted).map_err(Stop::Error);
    }
    let mut plan = plan(call, name, &saltenv, wanted, keep_mode)?;
    plan.contents = contents;
    finish(call, name, ret, plan)
}

/// What is wrong with the sources of the content, if anything is.
fn contradiction(given: usize, has_source: bool, keep_mode: bool) -> Option<&'static str> {
    match given {
        0 => None,
        1 if keep_mode => Some(KEEP_CONTENTS),
        1 if has_source => Some(SOURCE_CONTENTS),
        1 => None,
        _ => Some("Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted"),
    }
}

/// Complains about `context` and `defaults` that are not maps.
fn not_a_dict(call: &Call<'_>) -> Option<String> {
    let both = [("context", "Context"), ("defaults", "Defaults")];
    let mut wrong = both.iter().filter(|(argument, _)| {
        let value = call.arg(argument);
        value.is_true() && value.as_map().is_none()
    });
    wrong
        .next()
        .map(|(_, what)| format!("{what} must be formed as a dict"))
}

fn permissions_only(
    call: &Call<'_>,
    name: &str,
    mut ret: StateReturn,
    wanted: &DesiredPerms,
) -> Result<StateReturn, CallError> {
    let found = perms::check(&mut ret, Path::new(name), wanted, call.is_test())?;
    let now = found
        .get("lmode")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if call.is_test() {
        ret.comment = match wanted.mode.as_deref().filter(|mode| *mode != now) {
            Some(mode) => format!(
                "File {name} will be updated with permissions {mode} from its current state of {now}"
            ),
            None => format!("File {name} not updated"),
        }
        .into();
    } else if ret.changes.is_empty() && ret.result == Some(true) {
        ret.comment =
            format!("File {name} exists with proper permissions. No changes made.").into();
    }
    Ok(ret)
}

/// What the arguments ask for, but for the contents.
fn plan<'a>(
    call: &Call<'_>,
    name: &'a str,
    saltenv: &'a str,
    wanted: DesiredPerms,
    keep_mode: bool,
) -> Result<Plan<'a>, CallError> {
    let mut context = call.arg("context").clone();
    accumulated::add_to(call, name, &mut context);
    // Arguments that the state does not know are names in its template.
    let mut about = call.clean_kwargs();
    about.extend(Map::from([
        ("user", wanted.user.clone()),
        ("group", wanted.group.clone()),
        ("mode", Value::from(wanted.mode.clone())),
        ("attrs", Value::from(wanted.attrs.clone())),
    ]));
    Ok(Plan {
        name,
        request: Request {
            name,
            template: call.text_opt("template"),
            source: call.arg("source").clone(),
            source_hash: call.arg("source_hash").clone(),
            source_hash_name: call.text_opt("source_hash_name"),
            saltenv,
            about,
            context,
            defaults: call.arg("defaults").clone(),
            skip_verify: call.flag("skip_verify"),
            verify_ssl: call.flag("verify_ssl"),
            use_etag: call.flag("use_etag"),
        },
        prepared: Prepared::default(),
        contents: None,
        wanted,
        backup: call
            .text_opt("backup")
            .unwrap_or_else(|| call.opt_text("backup_mode").unwrap_or_default()),
        makedirs: call.flag("makedirs"),
        dir_mode: mode::normalize(call.arg("dir_mode")),
        show_changes: call.flag("show_changes"),
        keep_mode,
        skip_verify: call.flag("skip_verify"),
        new_file_diff: call.flag("new_file_diff"),
        ignore: Ignore {
            ordering: call.flag("ignore_ordering"),
            whitespace: call.flag("ignore_whitespace"),
            comments: common::list(call.arg("ignore_comment_characters"))
                .iter()
                .map(python::str)
                .collect(),
        },
    })
}

fn finish(
    call: &Call<'_>,
    name: &str,
    mut ret: StateReturn,
    mut plan: Plan<'_>,
) -> Result<StateReturn, Stop> {
    let given = plan.contents.is_some();
    let unable = |ret: &StateReturn, why: &dyn std::fmt::Display| {
        stop(ret, format!("Unable to manage file: {why}"))
    };
    let chosen = list::choose(
        call,
        &plan.request.source,
        &plan.request.source_hash,
        plan.request.saltenv,
    );
    match chosen {
        Ok(chosen) => {
            plan.request.source = chosen.source;
            plan.request.source_hash = chosen.hash;
        }
        Err(error) => return Err(unable(&ret, &plain(&error))),
    }
    match source::prepare(call, &plan.request) {
        Ok(prepared) => plan.prepared = prepared,
        Err(error) if call.is_test() => {
            let why = plain(&error);
            // What nobody serves is a failure; anything else Salt has not foreseen.
            return Err(match why.starts_with("Failed to cache") {
                true => stop(&ret, why),
                false => error.into(),
            });
        }
        Err(error) => return Err(unable(&ret, &plain(&error))),
    }
    if let Some(why) = plan.prepared.complaint.take().filter(|_| !given) {
        return Err(if call.is_test() {
            stop(&ret, why)
        } else {
            unable(&ret, &why)
        });
    }
    if call.is_test() {
        return predicted(call, name, ret, plan).map_err(Stop::Error);
    }
    if let Some(command) = call.text_opt("check_cmd") {
        match checked(call, &command, &mut plan) {
            Ok(Some(failed)) => {
                ret.more.insert("skip_watch", true);
                return Ok(ret.failed(failed));
            }
            Ok(None) => {}
            Err(error) => return Err(unable(&ret, &plain(&error))),
        }
    }
    let source = plan.prepared.source.clone();
    let saltenv = plan.request.saltenv.to_owned();
    let done = manage::manage(call, &mut ret, plan);
    if !call.flag("keep_source")
        && let Some(source) = source.filter(|source| scheme(source) != Scheme::Local)
        && let Some(cached) = fetch::cached_at(call, &source, &saltenv)
    {
        // It may not have been fetched at all.
        let _ = paths::remove_file(cached);
    }
    if let Err(error) = done {
        return Err(unable(&ret, &plain(&error)));
    }
    Ok(ret)
}

/// What a run in test mode returns.
fn predicted(
    call: &Call<'_>,
    name: &str,
    mut ret: StateReturn,
    plan: Plan<'_>,
) -> Result<StateReturn, CallError> {
    let (changes, ignored) = manage::predict(call, plan)?;
    ret.changes = changes;
    if ignored {
        ret.more.insert("skip_req", true);
    }
    if ret.changes.is_empty() {
        return Ok(ret.ok(format!("The file {name} is in the correct state")));
    }
    let comment = format!(
        "The file {name} is set to be changed\nNote: No changes made, actual changes may\nbe \
         different due to other states."
    );
    Ok(ret.pending(comment))
}

/// Shows the new content to `check_cmd` before it is put in place. The comment
/// if the command refuses it.
fn checked(
    call: &Call<'_>,
    command: &str,
    plan: &mut Plan<'_>,
) -> Result<Option<String>, CallError> {
    let body = match &plan.contents {
        Some(contents) => Some(Body::Bytes(contents.clone())),
        None => {
            source::bring(call, &plan.request, &mut plan.prepared)?;
            plan.prepared.body.clone()
        }
    };
    let Some(body) = body else { return Ok(None) };
    let path = PathBuf::from(plan.name);
    if path.is_file() && body.is_in(&path).unwrap_or(false) {
        return Ok(None);
    }
    let tmp_dir = call.text_opt("tmp_dir");
    let place = check_cmd::ShownContent {
        directory: tmp_dir.as_deref(),
        extension: &call.text_opt("tmp_ext").unwrap_or_default(),
        mode: plan.wanted.mode.as_deref(),
        like: path.is_file().then_some(path.as_path()),
    };
    match check_cmd::check_body(call, command, &body, &place)? {
        Checked::Good => Ok(None),
        Checked::Refused(comment) => Ok(Some(comment)),
    }
}

/// The text of an error without the name of its kind.
pub(super) fn plain(error: &CallError) -> String {
    match error {
        CallError::Exception { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// Contents as bytes in the encoding asked for.
pub(super) fn encoded(call: &Call<'_>, text: &str) -> Result<Vec<u8>, String> {
    match call.text_opt("encoding") {
        Some(name) => encoding::encode(text, &name, &call.text("encoding_errors")),
        None => Ok(text.as_bytes().to_vec()),
    }
}
