//! `file.replace`: replaces the matches of a regular expression.

use std::fs;
use std::path::{Path, PathBuf};

use halite_call::{Call, CallError, CallResult, paths, python};
use halite_proto::Value;

use super::paths::arg;
use crate::core::regex::{self, Pattern, Template};
use crate::core::text::{self, Text};
use crate::core::{diff, path, write};
use halite_call::os_error;

/// Looking for a pattern only.
pub(super) struct Search<'a> {
    pub(super) path: &'a str,
    pub(super) pattern: &'a Value,
    pub(super) flags: i64,
    pub(super) ignore_if_missing: bool,
}

impl Search<'_> {
    /// Whether the pattern is in the file.
    pub(super) fn run(&self) -> Result<bool, CallError> {
        let Some(file) = open(self.path, self.ignore_if_missing)? else {
            return Ok(false);
        };
        let content = Text::new(text::look(&file)?);
        let pattern = Pattern::new(&content.fit(&pattern_text(self.pattern)?), self.flags)?;
        pattern.is_in(&content.text)
    }
}

fn pattern_text(pattern: &Value) -> Result<String, CallError> {
    match pattern {
        Value::Str(text) => Ok(text.clone()),
        other => Err(CallError::wrong_type(format!(
            "expected str, bytes, or bytearray not <class '{}'>",
            other.type_name()
        ))),
    }
}

/// The file itself, if its text can be worked on; nothing if it may be
/// missing and is.
pub(super) fn open(name: &str, ignore_if_missing: bool) -> Result<Option<PathBuf>, CallError> {
    open_as(name, ignore_if_missing, None)
}

/// The same; in an encoding that is given every file is text.
fn open_as(
    name: &str,
    ignore_if_missing: bool,
    encoding: Option<&str>,
) -> Result<Option<PathBuf>, CallError> {
    let at = Path::new(name);
    if !at.exists() {
        return if ignore_if_missing {
            Ok(None)
        } else {
            Err(CallError::invocation(format!("File not found: {name}")))
        };
    }
    let real = path::real_to_change(name).map_err(|error| os_error(&error, at))?;
    let is_text = match encoding {
        Some(_) => true,
        None if real.is_dir() => false,
        None => text::file_is_text(&real).map_err(|error| os_error(&error, &real))?,
    };
    if real.is_dir() || !is_text {
        return Err(CallError::invocation(format!(
            "Cannot perform string replacements on a binary file: {}",
            real.display()
        )));
    }
    Ok(Some(real))
}

/// Keeps the old file beside the new one; a link gets a link to it.
pub(super) fn keep_beside(name: &str, real: &Path, suffix: &str) -> Result<(), CallError> {
    let beside = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let copy = beside(real);
    // Who may not give files away keeps the copy himself.
    super::tree::copy_file(real, &copy).map_err(|error| os_error(&error, &copy))?;
    if path::is_link(name) {
        let link = beside(Path::new(name));
        let target = fs::read_link(name).unwrap_or_default();
        let target = beside(&target);
        let _ = paths::remove_file(&link);
        paths::symlink(target, &link).map_err(|error| os_error(&error, &link))?;
    }
    Ok(())
}

/// The suffix of a kept file; nothing if none is kept.
pub(super) fn backup_suffix(backup: &Value) -> Option<String> {
    backup.is_true().then(|| match backup {
        Value::Bool(_) => ".bak".to_owned(),
        other => python::str(other),
    })
}

pub(super) fn replace(call: &Call<'_>) -> CallResult {
    let name = arg(call, "path");
    let (append, prepend) = (
        call.flag("append_if_not_found"),
        call.flag("prepend_if_not_found"),
    );
    let search_only = call.flag("search_only");
    let encoding = call.text_opt("encoding");
    let missing = call.flag("ignore_if_missing");
    let Some(real) = open_as(&name, missing, encoding.as_deref())? else {
        return Ok(false.into());
    };
    check_exclusive(search_only, append, prepend)?;
    let flags = regex::flags(call.arg("flags"))?;
    let content = match encoding {
        Some(encoding) => Text::in_encoding(&text::read(&real)?, &encoding)?,
        None => Text::new(text::read(&real)?),
    };
    let given = pattern_text(call.arg("pattern"))?;
    let pattern = Pattern::new(&content.fit(&given), flags)?;
    if search_only {
        return Ok(pattern.is_in(&content.text)?.into());
    }
    let repl = content.fit(&call.text("repl"));
    let template = template(call, &repl)?;
    let bufsize = call.arg("bufsize");
    if bufsize.as_str().is_some_and(|size| size != "file") {
        return Err(CallError::wrong_type(
            "'str' object cannot be interpreted as an integer",
        ));
    }
    let count = usize::try_from(call.int("count")?).unwrap_or(0);
    let mut added = None;
    let (mut new, replaced) = pattern.replace(&template, &content.text, count)?;
    let mut changed = replaced > 0 && given != call.text("repl");
    if replaced == 0
        && (append || prepend)
        && let Some(addition) = addition(call, &content, repl, flags)?
    {
        if !prepend && !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        added = Some(format!("{addition}\n"));
        changed = true;
    }
    // What is added is one line of the difference, however many it has.
    let mut new_lines = byte_lines(&new);
    if let Some(added) = &added {
        let at = if prepend { 0 } else { new_lines.len() };
        new_lines.insert(at, added);
    }
    let differences = diff::unified(&byte_lines(&content.text), &new_lines, "", "");
    let new = new_lines.concat();
    if changed && !call.flag("dry_run") && new != content.text {
        if let Some(suffix) = backup_suffix(call.arg("backup")) {
            keep_beside(&name, &real, &suffix)?;
        }
        write::update(&real, &content.encoded(&new)?).map_err(|error| {
            CallError::command(format!(
                "Unable to write file '{}'. Exception: {}",
                real.display(),
                halite_call::os_text(&error, &real)
            ))
        })?;
    }
    if call.flag("show_changes") {
        Ok(differences.into())
    } else {
        Ok(changed.into())
    }
}

/// Refuses options that exclude each other.
fn check_exclusive(search_only: bool, append: bool, prepend: bool) -> Result<(), CallError> {
    if search_only && (append || prepend) {
        return Err(CallError::invocation(
            "search_only cannot be used with append/prepend_if_not_found",
        ));
    }
    if append && prepend {
        return Err(CallError::invocation(
            "Only one of append and prepend_if_not_found is permitted",
        ));
    }
    Ok(())
}

/// The text to add because nothing was replaced; `None` if the file has it already.
fn addition(
    call: &Call<'_>,
    content: &Text,
    repl: String,
    flags: i64,
) -> Result<Option<String>, CallError> {
    let addition = match call.arg("not_found_content") {
        Value::Nil => repl,
        other => content.fit(&python::str(other)),
    };
    let there = format!("^{}($|(?=\r\n))", regex::escape(&addition));
    let is_there = Pattern::new(&there, flags)?.is_in(&content.text)?;
    Ok((!is_there).then_some(addition))
}

/// The template of the text that replaces.
fn template(call: &Call<'_>, repl: &str) -> Result<Template, CallError> {
    if call.flag("backslash_literal") {
        Ok(Template::literal(repl))
    } else {
        Template::parse(repl)
    }
}

/// `bytes.splitlines(True)`: lines end with `\n`, `\r` or both.
pub(super) fn byte_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => at + 2,
            b'\r' | b'\n' => at + 1,
            _ => {
                at += 1;
                continue;
            }
        };
        lines.push(&text[start..end]);
        (start, at) = (end, end);
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}
