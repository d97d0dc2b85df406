//! Python's `pprint.pformat`: the layout of CPython 3.11 at width 80.
//!
//! A value that fits the rest of the line stays on it; otherwise a container is
//! broken after every item, a text after lines and words.

use halite_proto::{Map, Value};

use crate::{Indent, python};

const WIDTH: usize = 80;

/// Bytes are broken into pieces of this many.
const BYTES_STEP: usize = 4;

pub(crate) fn render(data: &Value, indent: Indent) -> String {
    let per_level = match indent {
        Indent::Spaces(spaces) => spaces,
        _ => 1,
    };
    let mut printer = Printer {
        per_level,
        out: String::new(),
    };
    printer.value(data, 0, 0, 0);
    printer.out
}

struct Printer {
    per_level: usize,
    out: String,
}

impl Printer {
    /// Writes `value`, which begins at column `indent` and must leave room for
    /// `allowance` characters behind it.
    fn value(&mut self, value: &Value, indent: usize, allowance: usize, level: usize) {
        let text = sorted_repr(value);
        if python::len(&text) + indent + allowance <= WIDTH {
            self.out.push_str(&text);
            return;
        }
        match value {
            Value::Map(map) => self.map(map, indent, allowance, level + 1),
            Value::List(items) => self.list(items, indent, allowance, level + 1),
            Value::Str(text) if !text.is_empty() => {
                self.text(text, indent, allowance, level + 1);
            }
            Value::Bytes(bytes) if bytes.len() > BYTES_STEP => {
                self.bytes(bytes, indent, allowance, level + 1);
            }
            _ => self.out.push_str(&text),
        }
    }

    fn map(&mut self, map: &Map, indent: usize, allowance: usize, level: usize) {
        self.out.push('{');
        self.pad();
        let indent = indent + self.per_level;
        let entries = sorted(map);
        let last = entries.len().saturating_sub(1);
        for (index, (key, value)) in entries.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
                self.line_break(indent);
            }
            let key = sorted_repr(key);
            self.out.push_str(&key);
            self.out.push_str(": ");
            let allowance = if index == last { allowance + 1 } else { 1 };
            self.value(value, indent + python::len(&key) + 2, allowance, level);
        }
        self.out.push('}');
    }

    fn list(&mut self, items: &[Value], indent: usize, allowance: usize, level: usize) {
        self.out.push('[');
        self.pad();
        let indent = indent + self.per_level;
        let last = items.len().saturating_sub(1);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
                self.line_break(indent);
            }
            let allowance = if index == last { allowance + 1 } else { 1 };
            self.value(item, indent, allowance, level);
        }
        self.out.push(']');
    }

    fn text(&mut self, text: &str, indent: usize, allowance: usize, level: usize) {
        let (indent, allowance) = parenthesised(indent, allowance, level);
        let chunks = text_chunks(text, WIDTH.saturating_sub(indent), allowance);
        self.chunks(&chunks, indent, level);
    }

    fn bytes(&mut self, bytes: &[u8], indent: usize, allowance: usize, level: usize) {
        let (indent, allowance) = parenthesised(indent, allowance, level);
        let width = WIDTH.saturating_sub(indent);
        let mut chunks = Vec::new();
        let mut current: Vec<u8> = Vec::new();
        let last = bytes.len() / BYTES_STEP * BYTES_STEP;
        for (index, part) in bytes.chunks(BYTES_STEP).enumerate() {
            let width = if index * BYTES_STEP == last {
                width.saturating_sub(allowance)
            } else {
                width
            };
            let mut candidate = current.clone();
            candidate.extend_from_slice(part);
            if python::repr(&Value::Bytes(candidate.clone())).len() > width {
                if !current.is_empty() {
                    chunks.push(python::repr(&Value::Bytes(current)));
                }
                current = part.to_vec();
            } else {
                current = candidate;
            }
        }
        if !current.is_empty() {
            chunks.push(python::repr(&Value::Bytes(current)));
        }
        self.chunks(&chunks, indent, level);
    }

    /// Pieces of one text or of bytes; at the top they need parentheses.
    fn chunks(&mut self, chunks: &[String], indent: usize, level: usize) {
        let parentheses = level == 1 && chunks.len() > 1;
        if parentheses {
            self.out.push('(');
        }
        for (index, chunk) in chunks.iter().enumerate() {
            if index > 0 {
                self.line_break(indent);
            }
            self.out.push_str(chunk);
        }
        if parentheses {
            self.out.push(')');
        }
    }

    fn pad(&mut self) {
        let spaces = self.per_level.saturating_sub(1);
        self.out.extend(std::iter::repeat_n(' ', spaces));
    }

    fn line_break(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }
}

fn parenthesised(indent: usize, allowance: usize, level: usize) -> (usize, usize) {
    if level == 1 {
        (indent + 1, allowance + 1)
    } else {
        (indent, allowance)
    }
}

fn text_chunks(text: &str, width: usize, allowance: usize) -> Vec<String> {
    let mut chunks = Vec::new();
    let lines: Vec<&str> = python::lines_with_ends(text).collect();
    let last_line = lines.len().saturating_sub(1);
    for (index, line) in lines.into_iter().enumerate() {
        let is_last_line = index == last_line;
        let narrow = width.saturating_sub(allowance);
        let whole = python::str_repr(line);
        if python::len(&whole) <= if is_last_line { narrow } else { width } {
            chunks.push(whole);
            continue;
        }
        let words = words(line);
        let last_word = words.len().saturating_sub(1);
        let mut current = String::new();
        for (index, word) in words.into_iter().enumerate() {
            let width = if is_last_line && index == last_word {
                narrow
            } else {
                width
            };
            let candidate = format!("{current}{word}");
            if python::len(&python::str_repr(&candidate)) > width {
                if !current.is_empty() {
                    chunks.push(python::str_repr(&current));
                }
                word.clone_into(&mut current);
            } else {
                current = candidate;
            }
        }
        if !current.is_empty() {
            chunks.push(python::str_repr(&current));
        }
    }
    chunks
}

/// The text cut behind each run of white space.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut in_space = false;
    for (at, char) in line.char_indices() {
        let is_space = python::is_space(char);
        if in_space && !is_space {
            words.push(&line[start..at]);
            start = at;
        }
        in_space = is_space;
    }
    words.push(&line[start..]);
    words
}

/// `repr` with the keys of every map in order.
fn sorted_repr(value: &Value) -> String {
    match value {
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(sorted_repr).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entries: Vec<_> = sorted(map)
                .into_iter()
                .map(|(key, value)| format!("{}: {}", sorted_repr(key), sorted_repr(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        _ => python::repr(value),
    }
}

fn sorted(map: &Map) -> Vec<(&Value, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    python::sort_by_any_key(&mut entries, |(key, _)| key);
    entries
}
