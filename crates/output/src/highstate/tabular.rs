//! `state_tabular` as a text: the content of a terse line, in the notation of
//! Python's `str.format`, with `{0}` to `{6}` for the beginning of the colour,
//! name, module, function, result, the end of the colour, and the whole record.
//!
//! Supported are `{}`, `{1}`, `{6[key]}`, `!s`, `!r`, and fill, alignment, width
//! and precision of texts. Any other format is rejected, so that the results are
//! shown in another way.

use std::iter::Peekable;
use std::str::Chars;

use halite_proto::Value;

use crate::{Unfit, python};

/// No field is made wider than this.
const WIDTH_MAX: usize = 4096;

/// The line that `format` describes.
pub(super) fn line(format: &str, fields: &[Value]) -> Result<String, Unfit> {
    let mut out = String::new();
    let mut rest = format.chars().peekable();
    let mut next = 0;
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.peek() == Some(&c) => {
                rest.next();
                out.push(c);
            }
            '{' => {
                let field = field(&mut rest)?;
                out.push_str(&shown(&field, fields, &mut next)?);
            }
            '}' => return Err(Unfit),
            c => out.push(c),
        }
    }
    Ok(out)
}

/// What stands between the braces.
fn field(rest: &mut Peekable<Chars<'_>>) -> Result<String, Unfit> {
    let mut field = String::new();
    for c in rest.by_ref() {
        match c {
            '}' => return Ok(field),
            '{' => return Err(Unfit),
            c => field.push(c),
        }
    }
    Err(Unfit)
}

fn shown(field: &str, fields: &[Value], next: &mut usize) -> Result<String, Unfit> {
    let (what, layout) = field.split_once(':').unwrap_or((field, ""));
    let (what, conversion) = match what.split_once('!') {
        Some((what, conversion)) => (what, Some(conversion)),
        None => (what, None),
    };
    let (number, key) = match what.split_once('[') {
        Some((number, key)) => (number, Some(key.strip_suffix(']').ok_or(Unfit)?)),
        None => (what, None),
    };
    let number = if number.is_empty() {
        *next += 1;
        *next - 1
    } else {
        number.parse().map_err(|_| Unfit)?
    };
    let mut value = fields.get(number).ok_or(Unfit)?;
    if let Some(key) = key {
        value = value.get(key).ok_or(Unfit)?;
    }
    let text = match conversion {
        Some("r") => python::repr(value),
        None | Some("s") => python::str(value),
        Some(_) => return Err(Unfit),
    };
    // Python lays out texts only so.
    let is_text = conversion.is_some() || value.as_str().is_some();
    if !layout.is_empty() && !is_text {
        return Err(Unfit);
    }
    laid_out(&text, layout)
}

/// The text with `[[fill]align][width][.precision][s]`.
fn laid_out(text: &str, layout: &str) -> Result<String, Unfit> {
    let is_align = |c: &char| matches!(c, '<' | '>' | '^');
    let mut chars: Vec<char> = layout.chars().collect();
    let (fill, align) = if let Some(align) = chars.get(1).copied().filter(is_align) {
        let fill = chars.remove(0);
        chars.remove(0);
        (fill, align)
    } else if let Some(align) = chars.first().copied().filter(is_align) {
        chars.remove(0);
        (' ', align)
    } else {
        (' ', '<')
    };
    let layout: String = chars.into_iter().collect();
    let layout = layout.strip_suffix('s').unwrap_or(&layout);
    let (width, precision) = layout
        .split_once('.')
        .map_or((layout, None), |(w, p)| (w, Some(p)));
    let number = |text: &str| text.parse::<usize>().map_err(|_| Unfit);
    let width = match width {
        "" => 0,
        width => number(width)?,
    };
    if width > WIDTH_MAX {
        return Err(Unfit);
    }
    let text: String = match precision {
        Some(precision) => text.chars().take(number(precision)?).collect(),
        None => text.to_owned(),
    };
    let missing = width.saturating_sub(text.chars().count());
    let before = match align {
        '>' => missing,
        '^' => missing / 2,
        _ => 0,
    };
    let filled = |count| std::iter::repeat_n(fill, count).collect::<String>();
    Ok(format!(
        "{}{text}{}",
        filled(before),
        filled(missing - before)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(format: &str) -> Option<String> {
        let record = halite_proto::Map::from([("result", true)]);
        let texts = ["", "warned", "test", "configurable", "Changed", ""];
        let mut fields: Vec<Value> = texts.into_iter().map(Value::from).collect();
        fields.push(record.into());
        line(format, &fields).ok()
    }

    #[test]
    fn lines_are_as_python_formats_them() {
        let format = "[{0}{1:>8}{5}] {2:<8}|{3:^8.3}|{4!r:10}|{{x}} {6[result]} {6}";
        assert_eq!(
            formatted(format).unwrap(),
            "[  warned] test    |  con   |'Changed' |{x} True {'result': True}"
        );
        assert_eq!(formatted("{} {} {}").unwrap(), " warned test");
        assert_eq!(formatted("{1!s:*^9}").unwrap(), "*warned**");
        assert_eq!(formatted("pad").unwrap(), "pad");
    }

    #[test]
    fn what_cannot_be_understood_does_not_fit() {
        for bad in [
            "{",
            "}",
            "{9}",
            "{1:d}",
            "{name}",
            "{6[nope]}",
            "{6[result}",
            "{6:9}",
            "{1!x}",
            "{1.upper}",
            "{1:99999999999}",
            "{1:{2}}",
        ] {
            assert_eq!(formatted(bad), None, "{bad}");
        }
    }
}
