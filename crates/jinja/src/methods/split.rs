//! The methods of text that make parts of it: at a separator, at blanks, at the
//! ends of lines.

use crate::error::{Error, Result};
use crate::eval::Args;
use crate::value::{Value, to_usize};

pub(super) fn split(text: &str, name: &str, args: Args) -> Result<Value> {
    let [separator, most] = args.bind(name, ["sep", "maxsplit"], 0)?;
    let most = most.map_or(Ok(-1), |most| most.want_int())?;
    let most = to_usize(most).unwrap_or(usize::MAX);
    let reverse = name == "rsplit";
    let separator = separator.filter(|separator| !separator.is_none());
    let parts: Vec<&str> = match &separator {
        Some(separator) => {
            let separator = separator.want_str("sep")?;
            if separator.is_empty() {
                return Err(Error::of_value("empty separator"));
            }
            let limit = most.saturating_add(1);
            if reverse {
                let mut parts: Vec<&str> = text.rsplitn(limit, separator).collect();
                parts.reverse();
                parts
            } else {
                text.splitn(limit, separator).collect()
            }
        }
        None => split_blanks(text, most, reverse),
    };
    Ok(Value::list(parts.into_iter().map(Value::str).collect()))
}

fn split_blanks(text: &str, most: usize, reverse: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    if reverse {
        let mut rest = text.trim_end();
        while !rest.is_empty() && parts.len() < most {
            let at = rest.rfind(char::is_whitespace);
            let Some(at) = at else { break };
            let (before, word) = rest.split_at(at);
            parts.push(word.trim_start());
            rest = before.trim_end();
        }
        if !rest.is_empty() {
            parts.push(if parts.len() < most {
                rest.trim_start()
            } else {
                rest
            });
        }
        parts.reverse();
        return parts;
    }
    let mut rest = text.trim_start();
    while !rest.is_empty() && parts.len() < most {
        let Some(at) = rest.find(char::is_whitespace) else {
            break;
        };
        let (word, after) = rest.split_at(at);
        parts.push(word);
        rest = after.trim_start();
    }
    if !rest.is_empty() {
        parts.push(if parts.len() < most {
            rest.trim_end()
        } else {
            rest
        });
    }
    parts
}

/// Python's `splitlines`.
pub(crate) fn lines(text: &str, keep: bool) -> Vec<&str> {
    let is_end = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some(at) = rest.find(is_end) else {
            out.push(rest);
            break;
        };
        let end = &rest[at..];
        let width = if end.starts_with("\r\n") {
            2
        } else {
            end.chars().next().map_or(1, char::len_utf8)
        };
        out.push(&rest[..if keep { at + width } else { at }]);
        rest = &rest[at + width..];
    }
    out
}

pub(super) fn partition(text: &str, separator: &str, from_end: bool) -> Result<Value> {
    if separator.is_empty() {
        return Err(Error::of_value("empty separator"));
    }
    let found = if from_end {
        text.rsplit_once(separator)
    } else {
        text.split_once(separator)
    };
    let parts = match found {
        Some((before, after)) => [before, separator, after],
        None if from_end => ["", "", text],
        None => [text, "", ""],
    };
    Ok(Value::tuple(parts.into_iter().map(Value::str).collect()))
}
