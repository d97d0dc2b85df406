//! `file.line`: makes sure that a line exists, is absent, or is replaced.

use std::path::Path;

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::Value;

use crate::core::regex::Pattern;
use crate::core::{diff, path, text, write};
use halite_call::os_error;

/// What is to happen with the line.
struct Edit<'a> {
    content: &'a str,
    location: Option<String>,
    before: Found,
    after: Found,
    indent: bool,
}

/// The lines that an expression matches.
enum Found {
    /// None was asked for, or the file is empty.
    NotAsked,
    /// These.
    Lines(Vec<String>),
}

impl Found {
    fn look(all: &[String], expression: &Value) -> Result<Self, CallError> {
        if !expression.is_true() || all.is_empty() {
            return Ok(Self::NotAsked);
        }
        let Some(expression) = expression.as_str() else {
            return Err(CallError::command(format!(
                "first argument must be string or compiled pattern: '{}'",
                python::str(expression)
            )));
        };
        let pattern = Pattern::new(expression, 0).map_err(|error| {
            let text = error.to_string();
            let text = text.trim_start_matches("re.error: ");
            CallError::command(format!("{text}: '{expression}'"))
        })?;
        let mut found = Vec::new();
        for line in all {
            if pattern.is_in(line.trim_end_matches('\r'))? || line == expression {
                found.push(line.clone());
            }
        }
        Ok(Self::Lines(found))
    }

    fn first(&self) -> Option<&String> {
        match self {
            Self::NotAsked => None,
            Self::Lines(lines) => lines.first(),
        }
    }

    fn is_asked(&self) -> bool {
        matches!(self, Self::Lines(_))
    }

    /// The place of the only line; an error if there are several.
    fn only(&self, all: &[String], what: &str) -> Result<Option<usize>, CallError> {
        let Self::Lines(found) = self else {
            return Ok(None);
        };
        if found.len() > 1 {
            return Err(CallError::command(format!(
                "Found more than expected occurrences in \"{what}\" expression"
            )));
        }
        Ok(found
            .first()
            .and_then(|line| all.iter().position(|own| own == line)))
    }
}

/// The lines of a file, without their ends.
struct Body {
    lines: Vec<String>,
    /// Whether the last line ends.
    ends: bool,
}

impl Body {
    fn new(text: &str) -> Self {
        let ends = text.ends_with('\n');
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        if ends || text.is_empty() {
            lines.pop();
        }
        Self { lines, ends }
    }

    /// The lines with their ends, as they are compared: what was put in as one
    /// is one, even if it has several lines.
    fn with_ends(&self) -> Vec<String> {
        let last = self.lines.len();
        let ended = |(at, line): (usize, &String)| {
            if at + 1 < last || self.ends {
                format!("{line}\n")
            } else {
                line.clone()
            }
        };
        self.lines.iter().enumerate().map(ended).collect()
    }

    fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        if self.ends && !self.lines.is_empty() {
            text.push('\n');
        }
        text
    }
}

pub(super) fn line(call: &Call<'_>) -> CallResult {
    let name = path::expand_user(&call.text("path"));
    let real = path::real_to_change(&name).map_err(|error| os_error(&error, Path::new(&name)))?;
    let shown = real.display().to_string();
    if !real.is_file() {
        if call.flag("quiet") {
            return Ok(false.into());
        }
        return Err(CallError::command(format!(
            "File \"{shown}\" does not exists or is not a file."
        )));
    }
    let mode = mode(call)?;
    let content = call.arg("content");
    let old = text::decode(&text::read(&real)?);
    let mut body = Body::new(&old);
    let old_lines = body.with_ends();
    if body.lines.is_empty() && matches!(mode.as_str(), "delete" | "replace") {
        tracing::warn!("Cannot find text to {mode}. File '{shown}' is empty.");
        return Ok(false.into());
    }
    let given_match = call.arg("match");
    let (before, after) = (call.arg("before"), call.arg("after"));
    let wanted = if before.is_nil() && after.is_nil() && !given_match.is_true() {
        content
    } else {
        given_match
    };
    let found = Found::look(&body.lines, wanted)?;
    let content = python::str(content);
    let edit = Edit {
        content: content.trim_end(),
        location: call.text_opt("location"),
        before: Found::look(&body.lines, before)?,
        after: Found::look(&body.lines, after)?,
        indent: call.flag("indent"),
    };
    match mode.as_str() {
        "delete" => {
            if let Some(line) = found.first().cloned() {
                body.lines.retain(|own| *own != line);
            }
        }
        "replace" => replace(&mut body, &found, &edit),
        "insert" => insert(&mut body, &edit)?,
        _ => ensure(&mut body, &edit)?,
    }
    let new = body.text();
    if old == new {
        return Ok(false.into());
    }
    commit(call, &real, &new)?;
    if !call.flag("show_changes") {
        return Ok(true.into());
    }
    let new_lines = body.with_ends();
    let old_lines: Vec<&str> = old_lines.iter().map(String::as_str).collect();
    let new_lines: Vec<&str> = new_lines.iter().map(String::as_str).collect();
    Ok(diff::unified(&old_lines, &new_lines, "", "").into())
}

/// The mode of the call: `insert`, `ensure`, `delete` or `replace`. Only `delete` may
/// have no content.
fn mode(call: &Call<'_>) -> Result<String, CallError> {
    let Some(mode) = call.text_opt("mode") else {
        return Err(CallError::command(
            "Mode was not defined. How to process the file?",
        ));
    };
    let mode = mode.to_lowercase();
    if !matches!(mode.as_str(), "insert" | "ensure" | "delete" | "replace") {
        return Err(CallError::command(format!("Unknown mode: \"{mode}\"")));
    }
    if call.arg("content").is_nil() && mode != "delete" {
        return Err(CallError::command(
            "Content can only be empty if mode is \"delete\"",
        ));
    }
    Ok(mode)
}

fn replace(body: &mut Body, found: &Found, edit: &Edit<'_>) {
    let Some(line) = found.first() else { return };
    let Some(place) = body.lines.iter_mut().find(|own| *own == line) else {
        return;
    };
    let end = if place.ends_with('\r') { "\r" } else { "" };
    let new = format!("{}{end}", edit.indented(place));
    *place = new;
}

impl Edit<'_> {
    /// The content with the indentation of another line.
    fn indented(&self, like: &str) -> String {
        if !self.indent || self.content.is_empty() {
            return self.content.to_owned();
        }
        let bare = like.trim_start();
        let indentation = &like[..like.len() - bare.len()];
        format!("{indentation}{}", self.content.trim_start())
    }

    fn is(&self, line: Option<&String>) -> bool {
        line.is_some_and(|line| line.trim_end() == self.content)
    }
}

fn put(body: &mut Body, at: usize, line: String) {
    body.lines.insert(at, line);
}

fn insert(body: &mut Body, edit: &Edit<'_>) -> Result<(), CallError> {
    if edit.location.is_none() && !edit.before.is_asked() && !edit.after.is_asked() {
        return Err(CallError::command(
            "On insert either \"location\" or \"before/after\" conditions are required.",
        ));
    }
    if let Some(location) = &edit.location {
        match location.as_str() {
            "end" => {
                let last = body.lines.last().cloned().unwrap_or_default();
                if body.ends {
                    body.lines.push(String::new());
                }
                let line = edit.indented(&last);
                body.lines.push(line);
                body.ends = false;
            }
            "start" => {
                body.ends |= body.lines.is_empty();
                let first = body.lines.first().cloned().unwrap_or_default();
                put(body, 0, edit.indented(&first));
            }
            _ => {}
        }
        return Ok(());
    }
    let before = edit.before.only(&body.lines, "before")?;
    let after = edit.after.only(&body.lines, "after")?;
    match (before, after) {
        (None, None) => Err(CallError::command(
            "Neither before or after was found in file",
        )),
        (Some(at), Some(_)) => {
            let line = edit.indented(&body.lines[at]);
            put(body, at, line);
            Ok(())
        }
        (Some(at), None) => {
            if !edit.is(at.checked_sub(1).and_then(|at| body.lines.get(at))) {
                let line = edit.indented(&body.lines[at]);
                put(body, at, line);
            }
            Ok(())
        }
        (None, Some(at)) => {
            if !edit.is(body.lines.get(at + 1)) {
                let line = edit.indented(&body.lines[at]);
                put(body, at + 1, line);
            }
            Ok(())
        }
    }
}

fn ensure(body: &mut Body, edit: &Edit<'_>) -> Result<(), CallError> {
    let before = edit.before.only(&body.lines, "before")?;
    let after = edit.after.only(&body.lines, "after")?;
    match (before, after) {
        (Some(before), Some(after)) => {
            let between = before.checked_sub(after + 1);
            match between {
                Some(0) => {
                    let line = edit.indented(&body.lines[after]);
                    put(body, after + 1, line);
                }
                Some(1) => {
                    if !edit.is(body.lines.get(after + 1)) {
                        let line = edit.indented(&body.lines[after + 1]);
                        body.lines[after + 1] = line;
                    }
                }
                _ => {
                    return Err(CallError::command(
                        "Found more than one line between boundaries \"before\" and \"after\".",
                    ));
                }
            }
        }
        (Some(at), None) => {
            if !edit.is(at.checked_sub(1).and_then(|at| body.lines.get(at))) {
                let line = edit.indented(&body.lines[at]);
                put(body, at, line);
            }
        }
        (None, Some(at)) => {
            if !edit.is(body.lines.get(at + 1)) {
                let line = edit.indented(&body.lines[at]);
                put(body, at + 1, line);
            }
        }
        (None, None) => {
            return Err(CallError::command(
                "Wrong conditions? Unable to ensure line without knowing where to put it before \
                 and/or after.",
            ));
        }
    }
    Ok(())
}

/// Writes the file, unless nothing is to be changed.
fn commit(call: &Call<'_>, real: &Path, new: &str) -> Result<(), CallError> {
    if call.is_test() {
        return Ok(());
    }
    if call.flag("backup") {
        let now = jiff::Zoned::now();
        let stamp = now.strftime("%Y-%m-%d-%H-%M-%S");
        let copy = format!("{}.{stamp}", real.display());
        super::tree::copy_file(real, Path::new(&copy))
            .map_err(|error| os_error(&error, Path::new(&copy)))?;
    }
    write::update(real, new.as_bytes()).map_err(|error| os_error(&error, real))
}
