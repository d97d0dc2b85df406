//! Filters of words, quoting and names.

use halite_proto::value::{Map, Value as Data};

use super::{defined, flag, int, only};
use crate::error::Result;
use crate::eval::{Args, Machine};
use crate::finalize;
use crate::value::{self, Native, Value, iterate, to_usize};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "wordcount" => word_count,
        "wordwrap" => wrap,
        "quote" => quote,
        "yaml_dquote" => |_, args| {
            let value = only(args, "yaml_dquote")?;
            Ok(Value::str(finalize::quoted(value.want_str("text")?)))
        },
        "yaml_squote" => |_, args| {
            let value = only(args, "yaml_squote")?;
            Ok(Value::str(format!(
                "'{}'",
                value.want_str("text")?.replace('\'', "''")
            )))
        },
        "yaml_encode" => yaml_encode,
        "contains_whitespace" => |_, args| {
            let value = only(args, "contains_whitespace")?;
            Ok(Value::Bool(
                value.want_str("text")?.contains(char::is_whitespace),
            ))
        },
        "to_camelcase" => to_camel_case,
        "to_snake_case" => to_snake_case,
        "is_hex" => is_hex,
        "json_decode_dict" | "json_decode_list" | "json_encode_dict" | "json_encode_list" => {
            texts_as_bytes
        }
        "path_join" => path_join,
        _ => return None,
    })
}

fn word_count(_: &Machine<'_>, args: Args) -> Result<Value> {
    let text = value::text(&only(args, "wordcount")?)?;
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    Ok(Value::int_of(words.filter(|word| !word.is_empty()).count()))
}

fn quote(_: &Machine<'_>, args: Args) -> Result<Value> {
    let value = only(args, "quote")?;
    let text = value.want_str("text")?;
    let safe = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    Ok(Value::str(if text.is_empty() {
        "''".to_owned()
    } else if text.chars().all(safe) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\"'\"'"))
    }))
}

fn yaml_encode(_: &Machine<'_>, args: Args) -> Result<Value> {
    let value = only(args, "yaml_encode")?;
    defined(&value)?;
    match &value {
        Value::None => Ok(Value::str("null")),
        Value::Bool(bool) => Ok(Value::str(bool.to_string())),
        Value::Int(_) | Value::Float(_) => value::text(&value).map(Value::str),
        Value::Str(text) | Value::Markup(text) => Ok(Value::str(finalize::quoted(text))),
        other => Err(crate::error::Error::of_type(format!(
            "yaml_encode() only works with YAML scalar data; failed for <class '{}'>",
            other.type_name()
        ))),
    }
}

fn to_camel_case(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, upper] = args.bind("to_camelcase", ["val", "uppercamel"], 1)?;
    let value = value.unwrap_or(Value::None);
    let upper = flag(upper, false)?;
    let mut out = String::new();
    for (index, word) in value.want_str("text")?.split('_').enumerate() {
        if index == 0 && !upper {
            out.push_str(word);
        } else {
            out.push_str(&crate::methods::capitalize(word));
        }
    }
    Ok(Value::str(out))
}

fn to_snake_case(_: &Machine<'_>, args: Args) -> Result<Value> {
    let value = only(args, "to_snake_case")?;
    let mut out = String::new();
    let chars: Vec<char> = value.want_str("text")?.chars().collect();
    for (index, c) in chars.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|at| chars.get(at));
        let after = chars.get(index + 1);
        let starts = before.is_some_and(|c| c.is_lowercase() || c.is_ascii_digit())
            || (before.is_some() && after.is_some_and(|c| c.is_lowercase()));
        if c.is_uppercase() && starts {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    Ok(Value::str(out))
}

fn is_hex(_: &Machine<'_>, args: Args) -> Result<Value> {
    let value = only(args, "is_hex")?;
    defined(&value)?;
    let hex = value.as_str().is_some_and(|text| {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    Ok(Value::Bool(hex))
}

fn texts_as_bytes(_: &Machine<'_>, args: Args) -> Result<Value> {
    let value = args.pos.into_iter().next().unwrap_or(Value::None);
    defined(&value)?;
    Ok(Value::from_data(&encoded(value.to_data()?)))
}

/// The data with bytes for its texts, which all four of Salt's filters give.
fn encoded(data: Data) -> Data {
    match data {
        Data::Str(text) => Data::Bytes(text.into_bytes()),
        Data::List(items) => Data::List(items.into_iter().map(encoded).collect()),
        Data::Map(map) => map
            .into_iter()
            .map(|(key, value)| (encoded(key), encoded(value)))
            .collect::<Map>()
            .into(),
        other => other,
    }
}

fn wrap(_: &Machine<'_>, args: Args) -> Result<Value> {
    let names = [
        "s",
        "width",
        "break_long_words",
        "wrapstring",
        "break_on_hyphens",
    ];
    let [value, width, long, separator, hyphens] = args.bind("do_wordwrap", names, 1)?;
    let text = value::text(&value.unwrap_or(Value::None))?;
    let width = to_usize(int(width, 79)?).unwrap_or(1).max(1);
    let (long, hyphens) = (flag(long, true)?, flag(hyphens, true)?);
    let separator = separator.filter(|separator| !separator.is_none());
    let separator = separator.map_or_else(|| Ok("\n".to_owned()), |sep| value::text(&sep))?;
    let mut lines = Vec::new();
    for line in crate::methods::lines(&text, false) {
        lines.push(wrap_line(line, width, long, hyphens).join(&separator));
    }
    Ok(Value::str(lines.join(&separator)))
}

/// Words, and the blanks between them, in the order of the line.
fn chunks(line: &str, hyphens: bool) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut blank = None;
    let chars: Vec<char> = line.chars().collect();
    for (index, c) in chars.iter().enumerate() {
        let is_blank = c.is_whitespace();
        let before = index.checked_sub(1).and_then(|at| chars.get(at));
        let two_before = index.checked_sub(2).and_then(|at| chars.get(at));
        let after_hyphen = hyphens
            && before == Some(&'-')
            && c.is_alphabetic()
            && two_before.is_some_and(|c| c.is_alphanumeric());
        if blank != Some(is_blank) || after_hyphen {
            out.push(String::new());
        }
        blank = Some(is_blank);
        if let Some(last) = out.last_mut() {
            last.push(*c);
        }
    }
    out
}

fn wrap_line(line: &str, width: usize, long: bool, hyphens: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut current = String::new();
    let mut pending: std::collections::VecDeque<String> = chunks(line, hyphens).into();
    while let Some(chunk) = pending.pop_front() {
        let is_blank = chunk.starts_with(char::is_whitespace);
        if current.is_empty() && is_blank && !lines.is_empty() {
            continue;
        }
        let (have, more) = (current.chars().count(), chunk.chars().count());
        if have + more <= width {
            current.push_str(&chunk);
            continue;
        }
        if more > width && long {
            let room = width - have;
            let (head, tail) = chunk
                .char_indices()
                .nth(room)
                .map_or((chunk.as_str(), ""), |(at, _)| chunk.split_at(at));
            current.push_str(head);
            pending.push_front(tail.to_owned());
        } else if have == 0 {
            current = chunk;
        } else {
            pending.push_front(chunk);
        }
        let done = current.trim_end().to_owned();
        if !done.is_empty() {
            lines.push(done);
        }
        current.clear();
    }
    let rest = current.trim_end();
    if !rest.is_empty() {
        lines.push(rest.to_owned());
    }
    lines
}

fn path_join(_: &Machine<'_>, args: Args) -> Result<Value> {
    let mut parts = Vec::new();
    for value in &args.pos {
        match value {
            Value::List(_) => {
                for item in iterate(value)? {
                    parts.push(value::text(&item)?);
                }
            }
            other => parts.push(other.want_str("path")?.to_owned()),
        }
    }
    let mut joined = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index == 0 {
            joined.push_str(part);
        } else {
            if !joined.is_empty() && !joined.ends_with('/') {
                joined.push('/');
            }
            joined.push_str(part.trim_start_matches('/'));
        }
    }
    Ok(Value::str(normal_path(&joined)))
}

/// Python's `os.path.normpath`.
fn normal_path(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let lead = if absolute { "/" } else { "" };
    let text = format!("{lead}{}", parts.join("/"));
    if text.is_empty() {
        ".".to_owned()
    } else {
        text
    }
}
