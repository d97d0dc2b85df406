//! The methods of text: searching, splitting, replacing.

use super::braces::{braces, braces_map};
use super::split::{lines, partition, split};
use super::text_more;
use crate::error::{Error, Result};
use crate::escape::escape_html;
use crate::eval::{Args, Machine};
use crate::value::{Value, iterate, to_usize};

pub(super) const NAMES: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

/// Text is escaped on its way into marked text.
pub(super) fn markup_call(
    machine: &Machine<'_>,
    text: &str,
    name: &str,
    mut args: Args,
) -> Result<Value> {
    let escape = |value: &Value| match value {
        Value::Str(text) => Value::markup(escape_html(text)),
        other => other.clone(),
    };
    if name == "join" {
        let [items] = args.bind(name, ["iterable"], 1)?;
        let items = iterate(&items.unwrap_or(Value::None))?;
        args = Args::positional(vec![Value::list(items.iter().map(escape).collect())]);
    } else {
        args.pos = args.pos.iter().map(escape).collect();
        for (_, value) in &mut args.named {
            *value = escape(value);
        }
    }
    call(machine, text, name, args)
}

pub(super) fn call(machine: &Machine<'_>, text: &str, name: &str, args: Args) -> Result<Value> {
    machine.account(text.len() / 16)?;
    match name {
        "format" => braces(machine, text, &args).map(Value::str),
        "format_map" => {
            let [map] = args.bind(name, ["mapping"], 1)?;
            braces_map(machine, text, &map.unwrap_or(Value::None)).map(Value::str)
        }
        "split" | "rsplit" => split(text, name, args),
        "encode" => {
            let [encoding, _] = args.bind(name, ["encoding", "errors"], 0)?;
            let encoding = encoding.unwrap_or_else(|| Value::str("utf-8"));
            text_more::encode(text, encoding.want_str("encoding")?)
        }
        "splitlines" => {
            let [keep] = args.bind(name, ["keepends"], 0)?;
            let keep = keep.map_or(Ok(false), |keep| keep.is_true())?;
            let lines = lines(text, keep);
            Ok(Value::list(lines.into_iter().map(Value::str).collect()))
        }
        "expandtabs" => {
            let [size] = args.bind(name, ["tabsize"], 0)?;
            let size = size.map_or(Ok(8), |size| size.want_int())?;
            let size = to_usize(size).unwrap_or(0);
            Ok(Value::str(text_more::expand_tabs(text, size)))
        }
        _ => {
            args.no_named(name)?;
            call_by_position(machine, text, name, &args.pos)
        }
    }
}

/// The methods whose arguments have no names.
fn call_by_position(machine: &Machine<'_>, text: &str, name: &str, pos: &[Value]) -> Result<Value> {
    let arg = |at: usize| -> Result<&Value> {
        pos.get(at).ok_or_else(|| {
            Error::of_type(format!(
                "{name} expected at least {} argument, got {at}",
                at + 1
            ))
        })
    };
    let word = |at: usize| arg(at)?.want_str("argument");
    Ok(match name {
        "startswith" | "endswith" => return affix(text, name, pos),
        "join" => return join(machine, text, arg(0)?),
        "replace" => {
            let count = pos.get(2).map_or(Ok(-1), Value::want_int)?;
            return replace(text, word(0)?, word(1)?, count).map(Value::str);
        }
        "find" | "rfind" | "index" | "rindex" | "count" => {
            return search(text, name, word(0)?, pos.get(1), pos.get(2));
        }
        "strip" | "lstrip" | "rstrip" => {
            let chars = match pos.first() {
                None | Some(Value::None) => None,
                Some(chars) => Some(chars.want_str("strip arg")?),
            };
            Value::str(strip(text, chars, name))
        }
        "partition" | "rpartition" => {
            return partition(text, word(0)?, name == "rpartition");
        }
        "removeprefix" => Value::str(text.strip_prefix(word(0)?).unwrap_or(text)),
        "removesuffix" => Value::str(text.strip_suffix(word(0)?).unwrap_or(text)),
        _ => return text_more::call(text, name, pos),
    })
}

fn join(machine: &Machine<'_>, separator: &str, items: &Value) -> Result<Value> {
    let mut out = String::new();
    for (index, item) in iterate(items)?.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        let Some(item) = item.as_str() else {
            if let Some(undefined) = item.as_undefined() {
                undefined.used()?;
            }
            return Err(Error::of_type(format!(
                "sequence item {index}: expected str instance, {} found",
                item.type_name()
            )));
        };
        if out.len() + separator.len() + item.len() > MAX {
            return Err(Error::long_text());
        }
        out.push_str(item);
    }
    machine.account(out.len() / 16)?;
    Ok(Value::str(out))
}

/// Python's `strip`, `lstrip`, `rstrip`.
pub(crate) fn strip<'a>(text: &'a str, chars: Option<&str>, name: &str) -> &'a str {
    let gone = |c: char| chars.map_or_else(|| c.is_whitespace(), |chars| chars.contains(c));
    let text = if name == "rstrip" {
        text
    } else {
        text.trim_start_matches(gone)
    };
    if name == "lstrip" {
        text
    } else {
        text.trim_end_matches(gone)
    }
}

/// Python's `replace`; a negative count means all.
pub(crate) fn replace(text: &str, old: &str, new: &str, count: i128) -> Result<String> {
    let count = to_usize(count).unwrap_or(usize::MAX);
    let times = if old.is_empty() {
        text.chars().count() + 1
    } else {
        text.len() / old.len()
    };
    if times.min(count).saturating_mul(new.len()) > MAX {
        return Err(Error::long_text());
    }
    Ok(text.replacen(old, new, count))
}

fn affix(text: &str, name: &str, pos: &[Value]) -> Result<Value> {
    let Some(wanted) = pos.first() else {
        return Err(Error::of_type(format!(
            "{name} expected at least 1 argument, got 0"
        )));
    };
    let (text, _) = part(text, pos.get(1), pos.get(2))?;
    let test = |value: &Value| -> Result<bool> {
        let affix = value.want_str(&format!("{name} first arg"))?;
        Ok(match text {
            None => false,
            Some(text) if name == "startswith" => text.starts_with(affix),
            Some(text) => text.ends_with(affix),
        })
    };
    if let Value::Tuple(tuple) = wanted {
        for value in &tuple.0.0 {
            if test(value)? {
                return Ok(Value::Bool(true));
            }
        }
        return Ok(Value::Bool(false));
    }
    test(wanted).map(Value::Bool)
}

/// A part of text by character positions, and how many characters come before.
fn part<'a>(
    text: &'a str,
    start: Option<&Value>,
    end: Option<&Value>,
) -> Result<(Option<&'a str>, usize)> {
    if start.is_none() && end.is_none() {
        return Ok((Some(text), 0));
    }
    let length = text.chars().count();
    let place = |value: Option<&Value>, default: usize| -> Result<usize> {
        let at = match value {
            None | Some(Value::None) => return Ok(default),
            Some(value) => value.want_int()?,
        };
        let signed = i128::try_from(length).unwrap_or(i128::MAX);
        let at = if at < 0 { (at + signed).max(0) } else { at };
        Ok(to_usize(at).unwrap_or(usize::MAX))
    };
    let (start, end) = (place(start, 0)?, place(end, length)?.min(length));
    if start > end {
        return Ok((None, 0));
    }
    let byte = |at: usize| {
        text.char_indices()
            .nth(at)
            .map_or(text.len(), |(byte, _)| byte)
    };
    Ok((text.get(byte(start)..byte(end)), start))
}

fn search(
    text: &str,
    name: &str,
    wanted: &str,
    start: Option<&Value>,
    end: Option<&Value>,
) -> Result<Value> {
    let (text, before) = part(text, start, end)?;
    if name == "count" {
        return Ok(Value::int_of(match text {
            None => 0,
            Some(text) if wanted.is_empty() => text.chars().count() + 1,
            Some(text) => text.matches(wanted).count(),
        }));
    }
    let found = text.and_then(|text| {
        let byte = if name.starts_with('r') {
            text.rfind(wanted)
        } else {
            text.find(wanted)
        };
        byte.and_then(|byte| text.get(..byte))
    });
    match found {
        Some(lead) => Ok(Value::int_of(lead.chars().count() + before)),
        None if name.ends_with("find") => Ok(Value::Int(-1)),
        None => Err(Error::of_value("substring not found")),
    }
}

/// Bytes of one text.
const MAX: usize = crate::limits::TEXT_BYTES_MAX;
