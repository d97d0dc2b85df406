//! Python's regular expressions, for Salt's filters and the `match` test. The
//! engine counts steps, so that no pattern runs for ever.

use fancy_regex::{Captures, Regex, RegexBuilder};

use crate::error::{Error, Result};
use crate::eval::{Args, Machine};
use crate::limits;
use crate::value::Value;

fn compile(pattern: &str, ignore_case: bool, multi_line: bool, anchored: bool) -> Result<Regex> {
    let flags = match (ignore_case, multi_line) {
        (true, true) => "(?im)",
        (true, false) => "(?i)",
        (false, true) => "(?m)",
        (false, false) => "",
    };
    let pattern = pattern.replace("\\Z", "\\z");
    let start = if anchored { "\\A" } else { "" };
    let pattern = if anchored {
        format!("{start}{flags}(?:{pattern})")
    } else {
        format!("{flags}{pattern}")
    };
    RegexBuilder::new(&pattern)
        .backtrack_limit(limits::REGEX_STEPS_MAX)
        .build()
        .map_err(|error| Error::of_value(format!("bad regular expression: {error}")))
}

fn failed(error: &fancy_regex::Error) -> Error {
    Error::limit(format!("regular expression: {error}"))
}

struct Call {
    text: Value,
    value: Option<Value>,
    regex: Regex,
}

fn call(args: Args, function: &str, replaces: bool, anchored: bool) -> Result<Call> {
    let (text, pattern, value, ignore_case, multi_line) = if replaces {
        let names = ["txt", "rgx", "val", "ignorecase", "multiline"];
        let [text, pattern, value, ignore_case, multi_line] = args.bind(function, names, 3)?;
        (text, pattern, value, ignore_case, multi_line)
    } else {
        let names = ["txt", "rgx", "ignorecase", "multiline"];
        let [text, pattern, ignore_case, multi_line] = args.bind(function, names, 2)?;
        (text, pattern, None, ignore_case, multi_line)
    };
    let flag = |value: Option<Value>| value.map_or(Ok(false), |value| value.is_true());
    let pattern = pattern.unwrap_or(Value::None);
    let pattern = pattern.want_str("first argument")?;
    let regex = compile(pattern, flag(ignore_case)?, flag(multi_line)?, anchored)?;
    let text = text.unwrap_or(Value::None);
    if text.as_str().is_none() {
        if let Some(undefined) = text.as_undefined() {
            return Err(undefined.error());
        }
        return Err(Error::of_type(format!(
            "expected string or bytes-like object, got '{}'",
            text.type_name()
        )));
    }
    Ok(Call { text, value, regex })
}

/// `is match(pattern)`.
pub(crate) fn test_match(args: Args) -> Result<bool> {
    let call = call(args, "test_match", false, true)?;
    let text = call.text.as_str().unwrap_or_default();
    call.regex.is_match(text).map_err(|error| failed(&error))
}

fn groups(captures: &Captures<'_, str>) -> Value {
    let group = |at: usize| {
        captures
            .get(at)
            .map_or(Value::None, |found| Value::str(found.as_str()))
    };
    if captures.len() == 1 {
        return Value::tuple(vec![group(0)]);
    }
    Value::tuple((1..captures.len()).map(group).collect())
}

/// `regex_search` and `regex_match`: the groups, or the whole, or `None`.
pub(super) fn search(_: &Machine<'_>, args: Args) -> Result<Value> {
    find(args, "regex_search", false)
}

/// `regex_match`.
pub(super) fn matches(_: &Machine<'_>, args: Args) -> Result<Value> {
    find(args, "regex_match", true)
}

fn find(args: Args, function: &str, anchored: bool) -> Result<Value> {
    let call = call(args, function, false, anchored)?;
    let text = call.text.as_str().unwrap_or_default();
    let found = call.regex.captures(text).map_err(|error| failed(&error))?;
    Ok(found.map_or(Value::None, |captures| groups(&captures)))
}

/// `regex_replace`.
pub(super) fn replace(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let call = call(args, "regex_replace", true, false)?;
    let text = call.text.as_str().unwrap_or_default();
    let template = call.value.unwrap_or(Value::None);
    let template = template.want_str("replacement")?;
    let mut out = String::new();
    let mut at = 0;
    for captures in call.regex.captures_iter(text) {
        let captures = captures.map_err(|error| failed(&error))?;
        let Some(whole) = captures.get(0) else {
            continue;
        };
        out.push_str(&text[at..whole.start()]);
        expand(template, &captures, &mut out)?;
        machine.account(out.len() / 64)?;
        at = whole.end();
    }
    out.push_str(&text[at..]);
    Ok(Value::str(out))
}

fn expand(template: &str, captures: &Captures<'_, str>, out: &mut String) -> Result<()> {
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(digit) if digit.is_ascii_digit() => {
                let mut number = digit.to_digit(10).unwrap_or_default() as usize;
                if let Some(second) = chars.peek().and_then(|c| c.to_digit(10)) {
                    number = number * 10 + second as usize;
                    chars.next();
                }
                if number == 0 && digit == '0' {
                    out.push('\0');
                    continue;
                }
                if number >= captures.len() {
                    return Err(Error::of_value(format!("invalid group reference {number}")));
                }
                out.push_str(captures.get(number).map_or("", |found| found.as_str()));
            }
            Some('g') if chars.peek() == Some(&'<') => {
                chars.next();
                let name: String = chars.by_ref().take_while(|c| *c != '>').collect();
                let group = match name.parse::<usize>() {
                    Ok(number) if number < captures.len() => captures.get(number),
                    Ok(number) => {
                        return Err(Error::of_value(format!("invalid group reference {number}")));
                    }
                    Err(_) => captures.name(&name),
                };
                out.push_str(group.map_or("", |found| found.as_str()));
            }
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('\\') => out.push('\\'),
            Some(other) if other.is_ascii_alphabetic() => {
                return Err(Error::of_value(format!("bad escape \\{other}")));
            }
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => return Err(Error::of_value("bad escape (end of pattern)")),
        }
    }
    Ok(())
}

/// `regex_escape`.
pub(super) fn escape(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [value] = args.bind("regex_escape", ["value"], 1)?;
    let value = value.unwrap_or(Value::None);
    let mut out = String::new();
    for c in value.want_str("pattern")?.chars() {
        if "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    Ok(Value::str(out))
}
