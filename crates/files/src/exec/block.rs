//! `file.blockreplace`: the text between two marks.

use std::path::Path;

use halite_call::{Call, CallError, CallResult};
use halite_proto::Value;

use super::paths::arg;
use super::replace::{backup_suffix, keep_beside};
use crate::core::regex::Pattern;
use crate::core::text::{self, Text};
use crate::core::{diff, lines, path, write};
use halite_call::os_error;

/// The block and how its lines end.
struct Block<'a> {
    start: &'a str,
    end: &'a str,
    content: String,
    line_end: &'a str,
}

impl Block<'_> {
    /// Content and end mark.
    fn tail(&self, end_line: &str) -> String {
        format!("{}{end_line}", self.content.replace('\n', self.line_end))
    }

    /// The whole block.
    fn whole(&self) -> String {
        let end = format!("{}{}", self.end, self.line_end);
        format!("{}{}{}", self.start, self.line_end, self.tail(&end))
    }
}

/// What the system refuses, with the file that was to be read.
fn unread(name: &str, error: CallError) -> CallError {
    match error {
        CallError::Exception { message, .. } => {
            CallError::command(format!("Failed to read from {name}: {message}"))
        }
        other => other,
    }
}

pub(super) fn blockreplace(call: &Call<'_>) -> CallResult {
    let ways = [
        call.flag("append_if_not_found"),
        call.flag("prepend_if_not_found"),
        call.flag("insert_before_match"),
        call.flag("insert_after_match"),
    ];
    if ways.iter().filter(|way| **way).count() > 1 {
        return Err(CallError::invocation(
            "Only one of append_if_not_found, prepend_if_not_found, insert_before_match, and \
             insert_after_match is permitted",
        ));
    }
    let name = arg(call, "path");
    let real = path::real_to_change(&name).map_err(|error| os_error(&error, Path::new(&name)))?;
    if real.is_dir() {
        return Err(CallError::command(format!(
            "Failed to read from {name}: [Errno 21] Is a directory: '{name}'"
        )));
    }
    if !real.is_file() {
        return Err(CallError::invocation(format!("File not found: {name}")));
    }
    let bytes = text::read(&real).map_err(|error| unread(&name, error))?;
    if !text::is_text(&bytes) {
        return Err(CallError::invocation(format!(
            "Cannot perform string replacements on a binary file: {name}"
        )));
    }
    let old = Text::new(bytes);
    let line_end = match old.text.find('\n') {
        Some(at) if old.text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    };
    let mut content = old.fit(&call.text("content"));
    let newline = call.arg("append_newline");
    if newline.is_true() || newline.is_nil() && !content.ends_with('\n') {
        content.push('\n');
    }
    let (start, end) = (
        old.fit(&call.text("marker_start")),
        old.fit(&call.text("marker_end")),
    );
    let block = Block {
        start: &start,
        end: &end,
        content,
        line_end,
    };
    let parts = match within(&old.text, &block)? {
        Some(new) => vec![new],
        None => placed(call, &old.text, &block, ways)?,
    };
    let new_lines: Vec<&str> = parts.iter().flat_map(|part| lines::kept(part)).collect();
    let differences = diff::unified(&lines::kept(&old.text), &new_lines, "", "");
    let new = parts.concat();
    let changed = old.text != new;
    if changed && !call.flag("dry_run") {
        if let Some(suffix) = backup_suffix(call.arg("backup")) {
            keep_beside(&name, &real, &suffix)?;
        }
        write::update(&real, &old.bytes(&new)).map_err(|error| os_error(&error, &real))?;
    }
    if call.flag("show_changes") {
        Ok(Value::from(differences))
    } else {
        Ok(changed.into())
    }
}

/// The text with every block's content replaced; nothing if there is no block.
fn within(text: &str, block: &Block<'_>) -> Result<Option<String>, CallError> {
    let mut new = String::with_capacity(text.len());
    let (mut inside, mut found) = (false, false);
    for line in lines::kept(text) {
        if inside {
            // A line that begins a block ends none, also where both marks are one.
            let begins = line.contains(block.start);
            if let Some(at) = line.find(block.end).filter(|_| !begins) {
                inside = false;
                new.push_str(&block.tail(&line[at..]));
            }
            continue;
        }
        new.push_str(line);
        if line.contains(block.start) {
            (inside, found) = (true, true);
        }
    }
    if inside {
        return Err(CallError::command(
            "Unterminated marked block. End of file reached before marker_end.",
        ));
    }
    Ok(found.then_some(new))
}

/// The text with a new block where it is to go: what is before it, the block,
/// and what is behind it.
fn placed(
    call: &Call<'_>,
    text: &str,
    block: &Block<'_>,
    [append, prepend, before, after]: [bool; 4],
) -> Result<Vec<String>, CallError> {
    let whole = block.whole();
    if prepend {
        return Ok(vec![whole, text.to_owned()]);
    }
    if append {
        let end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            block.line_end
        };
        return Ok(vec![format!("{text}{end}"), whole]);
    }
    if before || after {
        let expression = if before {
            "insert_before_match"
        } else {
            "insert_after_match"
        };
        let pattern = Pattern::new(&call.text(expression), 0)?;
        let mut at = 0;
        for line in lines::kept(text) {
            if pattern.is_in(line)? {
                let at = if before { at } else { at + line.len() };
                return Ok(vec![text[..at].to_owned(), whole, text[at..].to_owned()]);
            }
            at += line.len();
        }
    }
    Err(CallError::command(
        "Cannot edit marked block. Markers were not found in file.",
    ))
}
