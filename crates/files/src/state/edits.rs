//! States that change a part of a file: `replace`, `line`, `blockreplace`,
//! `comment`, `uncomment`. The work is done by the functions of these names.

use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::texts::{self, Texts};
use super::{accumulated, common};
use crate::core::regex::{self, Pattern};
use crate::core::{diff, lines, mode, path, perms, text};

/// What is wrong with the path of a file that is to be changed.
pub(super) fn check_file(name: &str) -> Option<String> {
    if !path::is_absolute(name) {
        Some(common::not_absolute(name))
    } else if !Path::new(name).exists() {
        Some(format!("{name}: file not found"))
    } else {
        None
    }
}

/// Calls the function with these of the state's arguments.
fn function(call: &Call<'_>, fun: &str, name: &str, names: &[&str], more: Map) -> CallResult {
    let mut kwargs = more;
    for argument in names {
        kwargs.insert(*argument, call.arg(argument).clone());
    }
    call.salt(fun, &[name.into()], kwargs)
}

pub(super) fn replace(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.replace");
    }
    if let Some(wrong) = check_file(&name) {
        if call.flag("ignore_if_missing") && wrong.ends_with("not found") {
            return Ok(ret.ok("No changes needed to be made").into());
        }
        return common::failed(ret, wrong);
    }
    let changes = function(
        call,
        "file.replace",
        &name,
        &[
            "pattern",
            "repl",
            "count",
            "flags",
            "bufsize",
            "append_if_not_found",
            "prepend_if_not_found",
            "not_found_content",
            "backup",
            "show_changes",
            "ignore_if_missing",
            "backslash_literal",
            "encoding",
        ],
        Map::from([("dry_run", call.is_test())]),
    );
    let changes = match changes {
        Ok(changes) => changes,
        Err(error) => {
            return match common::refused(&error) {
                Some(why) => common::failed(ret, why),
                None => Err(error),
            };
        }
    };
    Ok(if !changes.is_true() {
        ret.ok("No changes needed to be made")
    } else if call.is_test() {
        ret.change("diff", changes)
            .pending("Changes would have been made")
    } else {
        ret.change("diff", changes).ok("Changes were made")
    }
    .into())
}

pub(super) fn line(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let mut ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.line");
    }
    if call.flag("create") && path::is_absolute(&name) && !Path::new(&name).exists() {
        if call.is_test() {
            return common::failed(ret, format!("{name}: file not found"));
        }
        let (user, group) = (common::user(call), call.arg("group").clone());
        if let Some(wrong) = common::check_user(call, &user, &group) {
            return common::failed(ret, wrong);
        }
        crate::exec::content::touch_file(&name, &Value::Nil, &Value::Nil)?;
        dress(call, &name)?;
    }
    if let Some(wrong) = check_file(&name) {
        return common::failed(ret, wrong);
    }
    if !call.arg("mode").is_true() {
        return common::failed(ret, "Mode was not defined. How to process the file?");
    }
    let deletes = call.text("mode").to_lowercase() == "delete";
    if call.arg("content").is_nil() && !deletes {
        return common::failed(ret, "Content can only be empty if mode is ['delete']");
    }
    let changes = function(
        call,
        "file.line",
        &name,
        &[
            "content",
            "match",
            "mode",
            "location",
            "before",
            "after",
            "show_changes",
            "backup",
            "quiet",
            "indent",
        ],
        Map::new(),
    )?;
    if !call.is_test() {
        dress(call, &name)?;
    }
    if !changes.is_true() {
        return Ok(ret.ok("No changes needed to be made").into());
    }
    ret.changes.insert("diff", changes);
    Ok(if call.is_test() {
        ret.pending("Changes would be made")
    } else {
        ret.ok("Changes were made")
    }
    .into())
}

/// Gives a file the owner and the mode of the call; nobody is told.
fn dress(call: &Call<'_>, name: &str) -> Result<(), CallError> {
    let wanted = perms::DesiredPerms {
        user: common::user(call),
        group: call.arg("group").clone(),
        mode: mode::normalize(call.arg("file_mode")),
        attrs: None,
        follow: true,
    };
    perms::check(&mut StateReturn::new(""), Path::new(name), &wanted, false).map(drop)
}

pub(super) fn blockreplace(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.blockreplace");
    }
    if let Some(wrong) = check_file(&name) {
        return common::failed(ret, wrong);
    }
    let mut content = match texts::of_sources(call)? {
        Texts::Failed(ret) => return Ok(ret.into()),
        Texts::None => call.text("content"),
        Texts::Found(texts) => {
            let mut all = call.text("content");
            for text in texts {
                all.push_str(&text);
            }
            all
        }
    };
    for text in accumulated::lines(call, &name) {
        if !content.is_empty() && !content.ends_with('\n') {
            content.push('\n');
        }
        content.push_str(&text);
    }
    let done = function(
        call,
        "file.blockreplace",
        &name,
        &[
            "marker_start",
            "marker_end",
            "append_if_not_found",
            "prepend_if_not_found",
            "backup",
            "show_changes",
            "append_newline",
            "insert_before_match",
            "insert_after_match",
        ],
        Map::from([
            ("dry_run", Value::from(call.is_test())),
            ("content", content.into()),
        ]),
    );
    let changes = match done {
        Ok(changes) => changes,
        Err(error @ CallError::Ended(_)) => return Err(error),
        Err(error) => {
            let why = super::managed::plain(&error);
            let text = format!("Encountered error managing block: {why}. See the log for details.");
            tracing::error!(name, %error, "could not manage a block");
            return common::failed(ret, text);
        }
    };
    if !changes.is_true() {
        return Ok(ret.ok("No changes needed to be made").into());
    }
    let ret = ret.change("diff", changes);
    Ok(if call.is_test() {
        ret.pending("Changes would be made")
    } else {
        ret.ok("Changes were made")
    }
    .into())
}

/// Whether a pattern matches in the file.
fn found(name: &str, pattern: &str) -> Result<bool, CallError> {
    let content = text::decode(&text::read(Path::new(name))?);
    Pattern::new(pattern, regex::MULTILINE)?.is_in(&content)
}

pub(super) fn comment(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.comment");
    }
    if let Some(wrong) = check_file(&name) {
        return common::failed(ret, wrong);
    }
    let (given, mark) = (call.text("regex"), call.text("char"));
    let bare = given.trim_start_matches('^').trim_end_matches('$');
    let mark = mark_pattern(&mark);
    let commented = format!("{mark}{bare}");
    if !found(&name, &format!("^(?!\\s*{mark})\\s*{bare}"))? {
        if found(&name, &commented)? {
            return Ok(ret.ok("Pattern already commented").into());
        }
        if call.flag("ignore_missing") {
            let text = "Pattern not found and ignore_missing set to True";
            return Ok(ret.ok(text).into());
        }
        return common::failed(ret, format!("{bare}: Pattern not found"));
    }
    let expected = commented.as_str();
    finish(
        call,
        &name,
        ret,
        ("file.comment", "Commented"),
        &given,
        expected,
    )
}

pub(super) fn uncomment(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.uncomment");
    }
    if let Some(wrong) = check_file(&name) {
        return common::failed(ret, wrong);
    }
    let (given, mark) = (call.text("regex"), call.text("char"));
    let bare = given.trim_start_matches('^');
    let commented = format!("{}[ \t]*{bare}", mark_pattern(&mark));
    let plain = format!("^[ \t]*{bare}");
    if !found(&name, &commented)? {
        if found(&name, &plain)? {
            return Ok(ret.ok("Pattern already uncommented").into());
        }
        return common::failed(ret, format!("{given}: Pattern not found"));
    }
    finish(
        call,
        &name,
        ret,
        ("file.uncomment", "Uncommented"),
        &given,
        &plain,
    )
}

/// The sign of a comment in an expression.
fn mark_pattern(mark: &str) -> String {
    let mut pattern = String::with_capacity(mark.len());
    for c in mark.chars() {
        if r"\.^$*+?{}[]|()".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Has the lines changed and looks whether they are now as they should be.
fn finish(
    call: &Call<'_>,
    name: &str,
    ret: StateReturn,
    (fun, what): (&str, &str),
    given: &str,
    expected: &str,
) -> CallResult {
    if call.is_test() {
        let text = format!("File {name} is set to be updated");
        return Ok(ret.change(name, "updated").pending(text).into());
    }
    let at = Path::new(name);
    let old = text::decode(&text::read(at)?);
    let kwargs = Map::from([
        ("char", call.arg("char").clone()),
        ("backup", call.arg("backup").clone()),
    ]);
    call.salt(fun, &[name.into(), given.into()], kwargs)?;
    let new = text::decode(&text::read(at)?);
    let expected = found(name, expected)?;
    let mut ret = ret;
    if old != new {
        let differences = if text::is_text(old.as_bytes()) && text::is_text(new.as_bytes()) {
            diff::unified(&lines::kept(&old), &lines::kept(&new), "", "")
        } else {
            "Replace binary file".to_owned()
        };
        ret.changes.insert("diff", differences);
    }
    if expected {
        Ok(ret.ok(format!("{what} lines successfully")).into())
    } else {
        common::failed(
            ret,
            format!("Expected {} lines not found", what.to_lowercase()),
        )
    }
}

/// A value as the text of a line.
pub(super) fn line_text(value: &Value) -> String {
    python::str(value)
}
