//! `file.keyvalue`: settings of the form `key = value`, one per line.

use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn, paths, python};
use halite_proto::Value;

use super::common;
use crate::core::write::{self, Body};
use crate::core::{lines, mode, text};

/// A setting that is wanted.
struct Pair {
    key: String,
    value: String,
    /// The type of a value that was no text.
    converted: Option<&'static str>,
    seen: i64,
}

/// How settings are recognised.
struct Rules {
    separator: String,
    uncomment: String,
    key_ignore_case: bool,
    value_ignore_case: bool,
    count: i64,
}

impl Rules {
    /// A line as key and value; nothing if it is no setting. Blanks that are
    /// no part of the separator are part of the key.
    fn split<'l>(&self, line: &'l str) -> Option<(&'l str, &'l str)> {
        let (key, value) = line.trim().split_once(self.separator.as_str())?;
        Some((key, value.trim()))
    }

    fn same_key(&self, one: &str, other: &str) -> bool {
        if self.key_ignore_case {
            one.to_lowercase() == other.to_lowercase()
        } else {
            one == other
        }
    }

    fn same_value(&self, one: &str, other: &str) -> bool {
        if self.value_ignore_case {
            one.to_lowercase() == other.to_lowercase()
        } else {
            one == other
        }
    }
}

/// What becomes of the file.
#[derive(Default)]
struct Outcome {
    lines: Vec<String>,
    diff: Vec<String>,
    changed: usize,
    deleted: usize,
}

pub(super) fn keyvalue(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.keyvalue");
    }
    let mut pairs = match wanted(call) {
        Ok(pairs) => pairs,
        Err(wrong) => return common::failed(ret, wrong),
    };
    let at = Path::new(&name);
    let create = call.flag("create_if_missing") && !at.exists();
    if !create && !is_readable(at) {
        let text = format!("unable to open {name}");
        return if call.flag("ignore_if_missing") {
            Ok(ret.ok(text).into())
        } else {
            common::failed(ret, text)
        };
    }
    let old = if create {
        String::new()
    } else {
        text::decode(&text::read(at)?)
    };
    let rules = Rules {
        separator: call.text("separator"),
        uncomment: call.text_opt("uncomment").unwrap_or_default(),
        key_ignore_case: call.flag("key_ignore_case"),
        value_ignore_case: call.flag("value_ignore_case"),
        count: call.int("count")?,
    };
    if rules.separator.is_empty() {
        return Err(CallError::exception("ValueError", "empty separator"));
    }
    let outcome = edit(call, &old, &mut pairs, &rules, create);
    if outcome.changed == 0 && outcome.deleted == 0 {
        return Ok(ret.ok("").into());
    }
    let mut ret = ret;
    if call.flag("show_changes") {
        ret.changes.insert("diff", outcome.diff.concat());
    }
    if call.is_test() {
        let text = prediction(&name, &outcome, call.flag("show_changes"));
        return Ok(ret.pending(text).into());
    }
    let bytes = outcome.lines.concat().into_bytes();
    let written = if create {
        write::replace(at, &Body::Bytes(bytes), mode::default_mode())
    } else {
        write::update(at, &bytes)
    };
    if let Err(error) = written {
        tracing::error!(name, %error, "could not change the file");
        return common::failed(ret, format!("{name} not writable"));
    }
    let text = format!(
        "Changed {}, deleted {} lines",
        outcome.changed, outcome.deleted
    );
    Ok(ret.ok(text).into())
}

/// What a run in test mode says.
fn prediction(name: &str, outcome: &Outcome, with_diff: bool) -> String {
    let mut text = format!(
        "File {name} is set to be changed ({} lines modified, {} deleted)",
        outcome.changed, outcome.deleted
    );
    if with_diff {
        text.push_str("\nPredicted diff:\n");
        for line in &outcome.diff {
            text.push_str(&format!("\r\t\t{line}"));
        }
    }
    text
}

fn is_readable(at: &Path) -> bool {
    at.is_file() && paths::open_to_read(at).is_ok()
}

fn wanted(call: &Call<'_>) -> Result<Vec<Pair>, &'static str> {
    let (key, value, many) = (call.arg("key"), call.arg("value"), call.arg("key_values"));
    let pair = |key: &Value, value: &Value| Pair {
        key: python::str(key),
        value: python::str(value),
        converted: value.as_str().is_none().then(|| value.type_name()),
        seen: 0,
    };
    if !key.is_nil() && !value.is_nil() {
        if many.is_true() {
            return Err("file.keyvalue can not combine key_values with key and value");
        }
        return Ok(vec![pair(key, value)]);
    }
    match many {
        Value::Map(many) if !many.is_empty() => {
            Ok(many.iter().map(|(key, value)| pair(key, value)).collect())
        }
        many if many.is_true() => {
            Err("file.keyvalue key and value not supplied and key_values is not a dictionary")
        }
        _ => Err("file.keyvalue key and value not supplied and key_values is empty"),
    }
}

fn edit(call: &Call<'_>, old: &str, pairs: &mut [Pair], rules: &Rules, create: bool) -> Outcome {
    let prune = call.flag("prune");
    let mut out = Outcome::default();
    let mut added: Vec<String> = Vec::new();
    let mut pruned: Vec<String> = Vec::new();
    for line in lines::kept(old) {
        let bare = line.trim_end_matches('\n');
        let uncommented = bare
            .trim_start()
            .trim_start_matches(|c: char| rules.uncomment.contains(c));
        let candidate = if rules.uncomment.is_empty() {
            bare
        } else {
            uncommented
        };
        // A mark with a blank behind it begins a remark, not a setting.
        let is_remark = candidate.len() != bare.len()
            && uncommented.len() != bare.trim_start().len()
            && candidate.starts_with(char::is_whitespace);
        let found = rules.split(candidate).filter(|_| !is_remark);
        let pair =
            found.and_then(|(key, _)| pairs.iter_mut().find(|pair| rules.same_key(&pair.key, key)));
        let (Some(pair), Some((key, value))) = (pair, found) else {
            if prune {
                pruned.push(format!("- {line}"));
                out.deleted += 1;
            } else {
                out.lines.push(line.to_owned());
            }
            continue;
        };
        pair.seen += 1;
        // Less than none is all of them.
        if rules.count >= 0 && pair.seen > rules.count {
            out.changed += 1;
            out.diff.push(format!("- {line}"));
            continue;
        }
        let was_commented =
            !rules.uncomment.is_empty() && uncommented.len() != bare.trim_start().len();
        if rules.same_value(value, &pair.value) && !was_commented {
            out.lines.push(line.to_owned());
            continue;
        }
        let new = format!("{key}{}{}\n", rules.separator, pair.value);
        out.changed += 1;
        out.diff.push(format!("- {line}"));
        let note = match pair.converted {
            Some(kind) => format!(" (from {kind} type)\n"),
            None => "\n".to_owned(),
        };
        let shown = format!("+ {}{note}", new.trim_end_matches('\n'));
        if prune {
            added.push(shown);
        } else {
            out.diff.push(shown);
        }
        out.lines.push(new);
    }
    if prune {
        pruned.reverse();
        out.diff.append(&mut pruned);
        out.diff.append(&mut added);
    }
    add_missing(call, pairs, rules, create, &mut out);
    out
}

fn add_missing(call: &Call<'_>, pairs: &[Pair], rules: &Rules, create: bool, out: &mut Outcome) {
    let missing: Vec<String> = pairs
        .iter()
        .filter(|pair| pair.seen == 0)
        .map(|pair| format!("{}{}{}\n", pair.key, rules.separator, pair.value))
        .collect();
    if missing.is_empty() {
        return;
    }
    let prepend = call.flag("prepend_if_not_found");
    // What was not there has no place for them but its end.
    if call.flag("append_if_not_found") || create {
        if let Some(last) = out.lines.last_mut().filter(|last| !last.ends_with('\n')) {
            last.push('\n');
        }
        out.diff.push("- <EOF>\n".to_owned());
        for line in missing {
            out.changed += 1;
            out.diff.push(format!("+ {line}"));
            out.lines.push(line);
        }
        out.diff.push("+ <EOF>\n".to_owned());
    } else if prepend {
        out.diff.push("  <SOF>\n".to_owned());
        // Each goes before all others, the last one is the first line.
        for line in missing {
            out.changed += 1;
            out.diff.push(format!("+ {line}"));
            out.lines.insert(0, line);
        }
    }
}
