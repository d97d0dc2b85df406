//! Values as YAML text, character for character what Salt's `safe_dump`
//! writes: PyYAML decides on types, order and styles, libyaml's emitter on
//! quotes and folds.
//!
//! Invariant: the text reads back as the value, apart from the kinds that YAML
//! does not have.

mod options;
mod text;
mod writer;

use halite_proto::{Map, Value, python};

use crate::resolve::{self, Tag};
pub use options::{DumpOptions, FlowStyle, ScalarQuotes};
use text::{Analysis, Style};
use writer::Writer;

/// `value` as a YAML document, with a line break at its end.
pub fn dump(value: &Value, options: DumpOptions) -> String {
    written(value, options, usize::MAX).writer.out
}

/// The same, or `None` if the document has more than `bytes_max` bytes. Little data that
/// is nested deeply makes a long document: each line begins with the blanks of its depth.
pub fn dump_within(value: &Value, options: DumpOptions, bytes_max: usize) -> Option<String> {
    let text = written(value, options, bytes_max).writer.out;
    (text.len() <= bytes_max).then_some(text)
}

/// Writes until the document is complete or longer than that.
fn written(value: &Value, options: DumpOptions, bytes_max: usize) -> Dumper {
    let mut dumper = Dumper {
        writer: Writer::new(options.indent, options.width),
        options,
        bytes_max,
    };
    dumper.writer.ascii = options.ascii;
    if options.explicit_start {
        dumper.writer.indicator("---", true, false, false);
    }
    dumper.node(value, Role::Root);
    dumper.writer.indent();
    if options.explicit_end {
        dumper.writer.indicator("...", true, false, false);
        dumper.writer.indent();
    }
    dumper
}

struct Dumper {
    writer: Writer,
    options: DumpOptions,
    /// What is longer is of no use.
    bytes_max: usize,
}

/// What a node is to the collection it is in.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Root,
    Item,
    /// A key on one line.
    SimpleKey,
    /// A key behind `?`.
    Key,
    Value,
}

/// A scalar as PyYAML represents it.
struct Scalar {
    tag: Tag,
    text: String,
    literal: bool,
}

impl Scalar {
    /// Whether the text without quotes would be read as this type.
    fn is_plain_implicit(&self) -> bool {
        resolve::plain(&self.text) == self.tag
    }

    /// Whether the text in quotes would be.
    fn is_quoted_implicit(&self) -> bool {
        self.tag == Tag::Str
    }

    /// The tag that has to be written whatever the style.
    fn explicit_tag(&self) -> Option<String> {
        const PREFIX: &str = "tag:yaml.org,2002:";
        if self.is_plain_implicit() || self.is_quoted_implicit() {
            return None;
        }
        Some(format!("!!{}", self.tag.name().trim_start_matches(PREFIX)))
    }
}

impl Dumper {
    const fn is_too_long(&self) -> bool {
        self.writer.out.len() > self.bytes_max
    }

    fn node(&mut self, value: &Value, role: Role) {
        match value {
            Value::List(items) => self.list(items, role),
            Value::Map(map) => self.map(map),
            other => self.scalar(&represent(other), role),
        }
    }

    fn list(&mut self, items: &[Value], role: Role) {
        let flow = self.writer.flow > 0 || items.is_empty() || self.is_flow(items.iter());
        if !flow {
            let value = matches!(role, Role::SimpleKey | Role::Key | Role::Value);
            self.writer.enter_block(value && !self.writer.indention);
            for item in items {
                if self.is_too_long() {
                    break;
                }
                self.writer.indent();
                self.writer.indicator("-", true, false, true);
                self.node(item, Role::Item);
            }
            self.writer.leave();
            return;
        }
        self.open_flow("[");
        for (at, item) in items.iter().enumerate() {
            self.next_in_flow(at);
            self.node(item, Role::Item);
        }
        self.close_flow("]");
    }

    fn open_flow(&mut self, bracket: &str) {
        self.writer.indicator(bracket, true, true, false);
        self.writer.enter_flow();
        self.writer.flow += 1;
    }

    fn next_in_flow(&mut self, at: usize) {
        if at > 0 {
            self.writer.indicator(",", false, false, false);
        }
        self.break_if_past_width();
    }

    fn break_if_past_width(&mut self) {
        if self.writer.is_past_width() {
            self.writer.indent();
        }
    }

    fn close_flow(&mut self, bracket: &str) {
        self.writer.flow -= 1;
        self.writer.leave();
        self.writer.indicator(bracket, false, false, false);
    }

    fn map(&mut self, map: &Map) {
        let mut entries: Vec<(&Value, &Value)> = map.iter().collect();
        if self.options.sort_keys {
            sort(&mut entries);
        }
        let nodes = entries.iter().flat_map(|(key, value)| [*key, *value]);
        let flow = self.writer.flow > 0 || map.is_empty() || self.is_flow(nodes);
        if flow {
            self.flow_map(&entries);
        } else {
            self.block_map(&entries);
        }
    }

    fn flow_map(&mut self, entries: &[(&Value, &Value)]) {
        self.open_flow("{");
        for (at, (key, value)) in entries.iter().enumerate() {
            self.next_in_flow(at);
            if is_simple_key(key) {
                self.node(key, Role::SimpleKey);
                self.writer.indicator(":", false, false, false);
            } else {
                self.writer.indicator("?", true, false, false);
                self.node(key, Role::Key);
                self.break_if_past_width();
                self.writer.indicator(":", true, false, false);
            }
            self.node(value, Role::Value);
        }
        self.close_flow("}");
    }

    fn block_map(&mut self, entries: &[(&Value, &Value)]) {
        self.writer.enter_block(false);
        for (key, value) in entries {
            if self.is_too_long() {
                break;
            }
            self.writer.indent();
            if is_simple_key(key) {
                self.node(key, Role::SimpleKey);
                self.writer.indicator(":", false, false, false);
            } else {
                self.writer.indicator("?", true, false, true);
                self.node(key, Role::Key);
                self.writer.indent();
                self.writer.indicator(":", true, false, true);
            }
            self.node(value, Role::Value);
        }
        self.writer.leave();
    }

    fn scalar(&mut self, scalar: &Scalar, role: Role) {
        let wanted = match self.options.quotes {
            _ if scalar.literal => Style::Literal,
            ScalarQuotes::WhereNeeded => Style::Plain,
            ScalarQuotes::Single => Style::Single,
            ScalarQuotes::Double => Style::Double,
        };
        let key = role == Role::SimpleKey;
        let tag = scalar.explicit_tag();
        let implicit = tag.is_some() || scalar.is_plain_implicit();
        let flow = self.writer.flow > 0;
        let style =
            Analysis::new(&scalar.text, self.options.ascii).style(wanted, flow, key, implicit);
        match tag {
            Some(tag) => self.writer.indicator(&tag, true, false, false),
            None if style != Style::Plain && !scalar.is_quoted_implicit() => {
                self.writer.indicator("!", true, false, false);
            }
            None => {}
        }
        self.writer.enter_flow();
        self.writer.text(&scalar.text, style, !key);
        self.writer.leave();
    }

    fn is_flow<'v>(&self, mut items: impl Iterator<Item = &'v Value>) -> bool {
        match self.options.flow {
            FlowStyle::Block => false,
            FlowStyle::Flow => true,
            FlowStyle::Leaves => {
                let unquoted = self.options.quotes == ScalarQuotes::WhereNeeded;
                items.all(|item| {
                    unquoted && !matches!(item, Value::List(_) | Value::Map(_) | Value::Bytes(_))
                })
            }
        }
    }
}

/// Whether a key fits on one line in front of its `:`.
fn is_simple_key(key: &Value) -> bool {
    const BYTES_MAX: usize = 128;
    match key {
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
        other => {
            let scalar = represent(other);
            let tag = scalar.explicit_tag().map_or(0, |tag| tag.len());
            !Analysis::new(&scalar.text, false).multiline && tag + scalar.text.len() <= BYTES_MAX
        }
    }
}

fn represent(value: &Value) -> Scalar {
    let (tag, text) = match value {
        Value::Nil | Value::List(_) | Value::Map(_) => (Tag::Null, "null".to_owned()),
        Value::Bool(bool) => (Tag::Bool, bool.to_string()),
        Value::Int(int) => (Tag::Int, int.to_string()),
        Value::Float(float) => (Tag::Float, yaml_float(*float)),
        Value::Str(text) => (Tag::Str, text.clone()),
        Value::Bytes(bytes) => (Tag::Binary, base64_lines(bytes)),
        Value::Ext(78, data) => match timestamp(data) {
            Some(text) => (Tag::Timestamp, text),
            None => (Tag::Null, "NULL".to_owned()),
        },
        Value::Ext(..) => (Tag::Null, "NULL".to_owned()),
    };
    Scalar {
        literal: tag == Tag::Binary,
        tag,
        text,
    }
}

fn yaml_float(float: f64) -> String {
    let text = python::float_repr(float);
    match text.as_str() {
        "nan" => ".nan".to_owned(),
        "inf" => ".inf".to_owned(),
        "-inf" => "-.inf".to_owned(),
        _ if text.contains('.') => text,
        _ => text.replacen('e', ".0e", 1),
    }
}

/// A date and time of the wire, `20261120T14:18:41.939742`, as PyYAML writes
/// one.
fn timestamp(data: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(data).ok()?;
    let (date, time) = text.split_once('T')?;
    let (year, month, day) = (date.get(..4)?, date.get(4..6)?, date.get(6..)?);
    let time = time.strip_suffix(".000000").unwrap_or(time);
    let text = format!("{year}-{month}-{day} {time}");
    (resolve::plain(&text) == Tag::Timestamp).then_some(text)
}

/// Base 64 in lines of 76 characters, each ended.
fn base64_lines(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const BYTES_PER_LINE: usize = 57;
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + 8);
    for line in bytes.chunks(BYTES_PER_LINE) {
        for group in line.chunks(3) {
            let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
            let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
            for at in 0..4 {
                if at > group.len() {
                    out.push('=');
                    continue;
                }
                let six = (bits >> (18 - 6 * at)) & 63;
                let index = usize::try_from(six).unwrap_or(0);
                out.push(char::from(ALPHABET.get(index).copied().unwrap_or(b'A')));
            }
        }
        out.push('\n');
    }
    out
}

/// Sorts as Python would, or not at all if Python would refuse.
fn sort(entries: &mut [(&Value, &Value)]) {
    let all = |kind: fn(&Value) -> bool| entries.iter().all(|(key, _)| kind(key));
    let number = |value: &Value| matches!(value, Value::Bool(_) | Value::Int(_) | Value::Float(_));
    if all(|key| matches!(key, Value::Str(_))) || all(|key| matches!(key, Value::Bytes(_))) {
        entries.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(&b.as_bytes()));
    } else if all(number) {
        entries.sort_by(|(a, _), (b, _)| {
            let exact = as_integer(a).zip(as_integer(b)).map(|(a, b)| a.cmp(&b));
            exact.unwrap_or_else(|| as_float(a).total_cmp(&as_float(b)))
        });
    }
}

fn as_integer(value: &Value) -> Option<i128> {
    match value {
        Value::Bool(bool) => Some(i128::from(*bool)),
        other => other.as_int(),
    }
}

fn as_float(value: &Value) -> f64 {
    match value {
        Value::Bool(bool) => f64::from(u8::from(*bool)),
        other => other.as_f64().unwrap_or(f64::NAN),
    }
}
