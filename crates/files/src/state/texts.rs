//! `file.append`, `file.prepend`, and the texts that states take from sources.

use std::collections::VecDeque;
use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::common;
use super::edits::line_text;
use crate::core::{diff, dirs, lines, path, text};
use crate::exec::content;
use crate::sources::managed::{self, Request};
use crate::sources::{fetch, list};
use halite_call::os_error;

/// The texts of `source` or `sources`.
pub(super) enum Texts {
    /// No source is given.
    None,
    /// These.
    Found(Vec<String>),
    /// One cannot be had; this is the result of the state.
    Failed(StateReturn),
}

/// Fetches and renders the sources of a state.
pub(super) fn of_sources(call: &Call<'_>) -> Result<Texts, CallError> {
    let failed = |name: &str, comment: String| {
        let mut ret = StateReturn::new(name).failed(comment);
        ret.more.insert("data", Vec::new());
        Ok(Texts::Failed(ret))
    };
    let mut sources = common::list(call.arg("sources"));
    let mut hashes = common::list(call.arg("source_hashes"));
    if call.flag("source") {
        if !sources.is_empty() {
            return failed(
                &call.text("name"),
                "source and sources are mutually exclusive".to_owned(),
            );
        }
        sources = vec![call.arg("source").clone()];
        hashes = common::list(call.arg("source_hash"));
    }
    if sources.is_empty() {
        return Ok(Texts::None);
    }
    let saltenv = fetch::state_env(call, call.kwargs());
    let mut texts = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let hash = hashes.get(at).cloned().unwrap_or_default();
        let wrapped = Value::List(vec![source.clone()]);
        let shown = python::str(source);
        // Without a template there is nothing that would read the source.
        if call.arg("template").is_nil() {
            return failed(&shown, format!("Failed to load template file {shown}"));
        }
        let Ok(chosen) = list::choose(call, &wrapped, &hash, &saltenv) else {
            return failed(&shown, format!("Failed to load template file {shown}"));
        };
        let name = call.text("name");
        let request = Request {
            name: &name,
            template: call.text_opt("template"),
            source: chosen.source,
            source_hash: chosen.hash,
            saltenv: &saltenv,
            context: call.arg("context").clone(),
            defaults: call.arg("defaults").clone(),
            verify_ssl: true,
            ..Request::default()
        };
        let mut prepared = managed::prepare(call, &request)?;
        managed::bring(call, &request, &mut prepared)?;
        let Some(body) = prepared.body.filter(|_| prepared.complaint.is_none()) else {
            return failed(&shown, format!("Failed to load template file {shown}"));
        };
        let bytes = body
            .read()
            .map_err(|error| os_error(&error, Path::new(&shown)))?;
        texts.push(text::decode(&bytes));
    }
    Ok(Texts::Found(texts))
}

/// The blocks of text given; `None` is the text `None`, as in Salt.
fn given(call: &Call<'_>) -> Result<Result<Vec<String>, StateReturn>, CallError> {
    Ok(match of_sources(call)? {
        Texts::Failed(ret) => Err(ret),
        Texts::Found(texts) => Ok(texts),
        Texts::None => Ok(match call.arg("text") {
            Value::List(items) => items.iter().map(line_text).collect(),
            one => vec![line_text(one)],
        }),
    })
}

/// Makes the missing directories, if asked.
fn make_way(call: &Call<'_>, name: &str) -> Result<(), CallError> {
    let parent = path::dirname(name);
    if call.flag("makedirs") && !Path::new(parent).is_dir() && !call.is_test() {
        dirs::make_parents(name, &Value::Nil, &Value::Nil, None)?;
    }
    Ok(())
}

/// A file that texts are to be added to.
struct Begun {
    name: String,
    ret: StateReturn,
    texts: Vec<String>,
    exists: bool,
    /// What it holds.
    old: String,
}

/// The file of the call as it is; the result where that is all there is to
/// say.
fn begin(call: &Call<'_>) -> Result<Result<Begun, Value>, CallError> {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    let refused = |ret: StateReturn, text: String| common::failed(ret, text).map(Err);
    if name.is_empty() {
        return refused(ret, format!("Must provide name to {}", call.function()));
    }
    let texts = match given(call)? {
        Ok(texts) => texts,
        Err(ret) => return Ok(Err(ret.into())),
    };
    if !path::is_absolute(&name) {
        let text = common::not_absolute(&name);
        return refused(ret, text);
    }
    make_way(call, &name)?;
    let at = Path::new(&name);
    let exists = at.exists();
    if !exists && call.is_test() {
        let text = format!("File {name} is set to be created");
        return Ok(Err(ret.change("new", name.as_str()).pending(text).into()));
    }
    let has_place = Path::new(path::dirname(&name)).is_dir() && !name.ends_with('/');
    if !exists && !has_place {
        return refused(ret, format!("{name}: file not found"));
    }
    let old = match exists {
        true => text::decode(&text::read(at)?),
        false => String::new(),
    };
    Ok(Ok(Begun {
        name,
        ret,
        texts,
        exists,
        old,
    }))
}

pub(super) fn append(call: &Call<'_>) -> CallResult {
    let Begun {
        name,
        ret,
        texts,
        exists,
        old,
    } = match begin(call)? {
        Ok(begun) => begun,
        Err(done) => return Ok(done),
    };
    let at = Path::new(&name);
    let mut added = Vec::new();
    for block in &texts {
        if is_there(call, &old, block) {
            continue;
        }
        added.extend(lines::split(block).into_iter().map(str::to_owned));
    }
    if added.is_empty() {
        if !exists {
            content::touch_file(&name, &Value::Nil, &Value::Nil)?;
        }
        return Ok(ret.ok(format!("File {name} is in correct state")).into());
    }
    let before: Vec<&str> = lines::split(&old);
    let after: Vec<&str> = before
        .iter()
        .copied()
        .chain(added.iter().map(String::as_str))
        .collect();
    let differences = if !call.flag("show_changes") {
        "<show_changes=False>".to_owned()
    } else if text::is_text(old.as_bytes()) {
        diff::unified_lines(&before, &after, "", "").join("\n")
    } else {
        "Replace binary file".to_owned()
    };
    let ret = ret.change("diff", differences);
    if call.is_test() {
        return Ok(ret
            .pending(format!("File {name} is set to be updated"))
            .into());
    }
    let done = if exists {
        content::append_lines(at, &added)
    } else {
        content::new_of_lines(at, &added)
    };
    if let Err(error) = done {
        let mut ret = ret;
        ret.changes = Map::new();
        return common::failed(ret, super::managed::plain(&error));
    }
    Ok(ret.ok(format!("Appended {} lines", added.len())).into())
}

/// Whether the whole block stands in the file already.
fn is_there(call: &Call<'_>, old: &str, block: &str) -> bool {
    if block.trim().is_empty() {
        return true;
    }
    if call.get("ignore_whitespace").is_none_or(Value::is_true) {
        stand_in_order(old, block)
    } else {
        is_whole_lines(old, block.trim_end_matches('\n'))
    }
}

/// Whether the lines stand there exactly so.
fn is_whole_lines(text: &str, lines: &str) -> bool {
    text.match_indices(lines).any(|(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        (before.is_empty() || before.ends_with('\n'))
            && (after.is_empty() || after.starts_with('\n'))
    })
}

/// Whether the words stand there in this order with nothing but white space
/// around them, from the beginning of a line to the end of one.
fn stand_in_order(text: &str, block: &str) -> bool {
    let wanted: Vec<&str> = block.split_whitespace().collect();
    // How much of the beginning the words up to each place repeat.
    let mut repeats = vec![0; wanted.len()];
    let mut known = 0;
    for at in 1..wanted.len() {
        while known > 0 && wanted[at] != wanted[known] {
            known = repeats[known - 1];
        }
        known += usize::from(wanted[at] == wanted[known]);
        repeats[at] = known;
    }
    // The words, and whether each is the first and the last of its line.
    let words = text.split('\n').flat_map(|line| {
        let mut line = line.split_whitespace().peekable();
        let mut is_first = true;
        std::iter::from_fn(move || {
            let word = line.next()?;
            Some((
                word,
                std::mem::replace(&mut is_first, false),
                line.peek().is_none(),
            ))
        })
    });
    let mut firsts: VecDeque<bool> = VecDeque::with_capacity(wanted.len());
    let mut found = 0;
    for (word, is_first, is_last) in words {
        if firsts.len() == wanted.len() {
            firsts.pop_front();
        }
        firsts.push_back(is_first);
        if found == wanted.len() {
            found = repeats[found - 1];
        }
        while found > 0 && word != wanted[found] {
            found = repeats[found - 1];
        }
        found += usize::from(word == wanted[found]);
        if found == wanted.len() && is_last && firsts.front() == Some(&true) {
            return true;
        }
    }
    false
}

pub(super) fn prepend(call: &Call<'_>) -> CallResult {
    let Begun {
        name,
        ret,
        texts,
        exists,
        old,
    } = match begin(call)? {
        Ok(begun) => begun,
        Err(done) => return Ok(done),
    };
    let at = Path::new(&name);
    let header = call.flag("header");
    let mut added = Vec::new();
    for block in &texts {
        if !header && is_there(call, &old, block) {
            continue;
        }
        added.extend(
            lines::split(block)
                .into_iter()
                .map(|line| format!("{line}\n")),
        );
    }
    let head: String = lines::kept(&old).into_iter().take(added.len()).collect();
    let already = header && !added.is_empty() && head == added.concat();
    if added.is_empty() || already && !call.is_test() {
        if !exists {
            content::touch_file(&name, &Value::Nil, &Value::Nil)?;
        }
        return Ok(ret.ok(format!("File {name} is in correct state")).into());
    }
    let before = lines::kept(&old);
    let after: Vec<&str> = added
        .iter()
        .map(String::as_str)
        .chain(before.iter().copied())
        .collect();
    let differences = if call.flag("show_changes") {
        diff::unified(&before, &after, "", "")
    } else {
        "<show_changes=False>".to_owned()
    };
    let ret = ret.change("diff", differences);
    if call.is_test() {
        return Ok(ret
            .pending(format!("File {name} is set to be updated"))
            .into());
    }
    let bare: Vec<String> = added
        .iter()
        .map(|line| line.trim_end_matches('\n').to_owned())
        .collect();
    if let Err(error) = content::prepend_lines(at, &bare) {
        let mut ret = ret;
        ret.changes = Map::new();
        return common::failed(ret, super::managed::plain(&error));
    }
    Ok(ret.ok(format!("Prepended {} lines", added.len())).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_order_are_whole_lines() {
        let text = "one two\n\n  three four \na a a b\nfive";
        for block in [
            "one two",
            "one\ttwo\nthree four",
            "three four\na a a b",
            "five\n",
            "a a a b",
        ] {
            assert!(stand_in_order(text, block), "{block:?}");
        }
        for block in ["one", "two three", "a a b", "four", "fiv", "five six"] {
            assert!(!stand_in_order(text, block), "{block:?}");
        }
        assert!(stand_in_order("a a\na a b", "a a b"));
        assert!(!stand_in_order("x a a b", "a a b"));
    }

    #[test]
    fn lines_are_compared_from_end_to_end() {
        let text = "a b\nc\n b\n";
        assert!(is_whole_lines(text, "a b\nc"));
        assert!(is_whole_lines(text, " b"));
        assert!(!is_whole_lines(text, "b"));
        assert!(!is_whole_lines(text, "a"));
    }
}
