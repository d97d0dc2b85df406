//! Filters of text.

use super::regex;
use super::{flag, int, only};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine};
use crate::format;
use crate::methods;
use crate::value::{self, Native, Undefined, Value, to_usize};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "default" | "d" => default,
        "lower" => |_, args| map(args, "lower", |text| text.to_lowercase()),
        "upper" => |_, args| map(args, "upper", |text| text.to_uppercase()),
        "capitalize" => |_, args| map(args, "capitalize", methods::capitalize),
        "title" => |_, args| map(args, "title", title),
        "string" => |_, args| {
            let value = only(args, "string")?;
            match value {
                Value::Str(_) | Value::Markup(_) => Ok(value),
                other => value::text(&other).map(Value::str),
            }
        },
        "replace" => replace,
        "trim" => trim,
        "indent" => indent,
        "format" => |_, args| {
            let mut pos = args.pos.into_iter();
            let pattern = pos.next().unwrap_or(Value::None);
            let pattern = Value::str(value::text(&pattern)?);
            let rest: Vec<Value> = pos.collect();
            if args.named.is_empty() {
                return format::percent(&pattern, &Value::tuple(rest));
            }
            if !rest.is_empty() {
                return Err(Error::new(
                    ErrorKind::FilterArgument,
                    "can't handle positional and keyword arguments at the same time",
                ));
            }
            let entries = args
                .named
                .into_iter()
                .map(|(name, value)| (value::Key::text(name), value));
            format::percent(&pattern, &Value::dict(entries.collect()))
        },
        "center" => |_, args| {
            let [value, width] = args.bind("do_center", ["value", "width"], 1)?;
            let text = value::text(&value.unwrap_or(Value::None))?;
            format::pad(&text, int(width, 80)?, ' ', "center").map(Value::str)
        },
        "truncate" => truncate,
        "reverse" => reverse,
        "regex_search" => regex::search,
        "regex_match" => regex::matches,
        "regex_replace" => regex::replace,
        "regex_escape" => regex::escape,
        _ => return None,
    })
}

fn map(args: Args, name: &str, change: impl FnOnce(&str) -> String) -> Result<Value> {
    let value = only(args, name)?;
    let text = change(&value::text(&value)?);
    Ok(match value {
        Value::Markup(_) => Value::markup(text),
        _ => Value::str(text),
    })
}

fn default(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["value", "default_value", "boolean"];
    let [value, default, boolean] = args.bind("do_default", names, 1)?;
    let value = value.unwrap_or(Value::None);
    let missing = value.as_undefined().is_some() || (flag(boolean, false)? && !value.is_true()?);
    machine.step()?;
    Ok(if missing {
        default.unwrap_or_else(|| Value::str(""))
    } else {
        value
    })
}

/// Every word's first letter; words end at blanks and some signs.
fn title(text: &str) -> String {
    let mut out = String::new();
    let mut first = true;
    for c in text.chars() {
        if first {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
        first = c.is_whitespace() || "-({[<".contains(c);
    }
    out
}

fn replace(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["s", "old", "new", "count"];
    let [value, old, new, count] = args.bind("do_replace", names, 3)?;
    let text = |value: Option<Value>| value::text(&value.unwrap_or(Value::None));
    let (subject, old, new) = (text(value)?, text(old)?, text(new)?);
    let count = count.filter(|count| !count.is_none());
    let replaced = methods::replace(&subject, &old, &new, int(count, -1)?)?;
    machine.account(replaced.len() / 16)?;
    Ok(Value::str(replaced))
}

fn trim(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, chars] = args.bind("do_trim", ["value", "chars"], 1)?;
    let text = value::text(&value.unwrap_or(Value::None))?;
    let chars = chars.filter(|chars| !chars.is_none());
    let chars = chars
        .as_ref()
        .map(|chars| chars.want_str("strip arg"))
        .transpose()?;
    Ok(Value::str(methods::strip(&text, chars, "strip")))
}

fn indent(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["s", "width", "first", "blank"];
    let [value, width, first, blank] = args.bind("do_indent", names, 1)?;
    let value = value.unwrap_or(Value::None);
    let Some(text) = value.as_str() else {
        super::defined(&value)?;
        return Err(Error::of_type(format!(
            "unsupported operand type(s) for +=: '{}' and 'str'",
            value.type_name()
        )));
    };
    let lead = match width {
        Some(Value::Str(width) | Value::Markup(width)) => width.to_string(),
        width => {
            let width = to_usize(int(width, 4)?.max(0)).unwrap_or(usize::MAX);
            " ".repeat(width.min(10_000))
        }
    };
    let (first, blank) = (flag(first, false)?, flag(blank, false)?);
    // The newline that is added makes an empty text one line.
    let with_end = format!("{text}\n");
    let lines = methods::lines(&with_end, false);
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if (index > 0 && (blank || !line.is_empty())) || (index == 0 && first) {
            out.push_str(&lead);
        }
        out.push_str(line);
    }
    machine.account(out.len() / 16)?;
    Ok(match value {
        Value::Markup(_) => Value::markup(out),
        _ => Value::str(out),
    })
}

fn truncate(_: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["s", "length", "killwords", "end", "leeway"];
    let [value, length, kill, end, leeway] = args.bind("do_truncate", names, 1)?;
    let value = value.unwrap_or(Value::None);
    let text = value::text(&value)?;
    let length = to_usize(int(length, 255)?.max(0)).unwrap_or(usize::MAX);
    let end = end.map_or_else(|| Ok("...".to_owned()), |end| value::text(&end))?;
    let leeway = leeway.filter(|leeway| !leeway.is_none());
    let leeway = to_usize(int(leeway, 5)?.max(0)).unwrap_or_default();
    let end_length = end.chars().count();
    if length < end_length {
        let message = format!("expected length >= {end_length}, got {length}");
        return Err(Error::of_value(message));
    }
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(value);
    }
    let cut: String = text.chars().take(length - end_length).collect();
    if flag(kill, false)? {
        return Ok(Value::str(cut + &end));
    }
    let words = cut
        .rsplit_once(' ')
        .map_or(cut.as_str(), |(before, _)| before);
    Ok(Value::str(format!("{words}{end}")))
}

fn reverse(_: &Machine<'_>, args: Args) -> Result<Value> {
    let value = only(args, "reverse")?;
    if let Some(text) = value.as_str() {
        return Ok(Value::str(text.chars().rev().collect::<String>()));
    }
    let mut items = value::iterate(&value).map_err(|error| match error.kind() {
        ErrorKind::Type => Error::new(ErrorKind::FilterArgument, "argument must be iterable"),
        _ => error,
    })?;
    items.reverse();
    Ok(Value::iter("reversed", items))
}

/// What a filter yields where a sequence is empty.
pub(super) fn nothing(machine: &Machine<'_>, message: &str) -> Value {
    Undefined::hint(message, machine.lenient())
}
