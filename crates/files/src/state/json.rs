//! JSON as `file.serialize` is asked to write it.

use halite_modules::python;
use halite_proto::Value;

/// How `json.dumps` is to write.
pub(super) struct JsonStyle<'o> {
    /// Blanks for each level; nothing for one line.
    pub(super) indent: Option<usize>,
    /// Keys in the order of their texts.
    pub(super) sorted: bool,
    /// Other characters are escaped.
    pub(super) ascii: bool,
    pub(super) comma: &'o str,
    pub(super) colon: &'o str,
}

impl JsonStyle<'_> {
    fn line(&self, out: &mut String, depth: usize) {
        if let Some(indent) = self.indent {
            out.push('\n');
            out.push_str(&" ".repeat(indent * depth));
        }
    }

    fn quoted(&self, text: &str) -> String {
        let quoted = serde_json::Value::from(text).to_string();
        if !self.ascii {
            return quoted;
        }
        let mut out = String::with_capacity(quoted.len());
        for c in quoted.chars() {
            if c.is_ascii() {
                out.push(c);
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
        out
    }

    /// Writes data that stands `depth` levels deep.
    pub(super) fn write(&self, data: &Value, depth: usize, out: &mut String) {
        match data {
            Value::Nil => out.push_str("null"),
            Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
            Value::Int(_) | Value::Float(_) => out.push_str(&python::repr(data)),
            Value::List(items) if items.is_empty() => out.push_str("[]"),
            Value::Map(map) if map.is_empty() => out.push_str("{}"),
            Value::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { self.comma });
                    self.line(out, depth + 1);
                    self.write(item, depth + 1, out);
                }
                self.line(out, depth);
                out.push(']');
            }
            Value::Map(map) => {
                let mut entries: Vec<(String, &Value)> = map
                    .iter()
                    .map(|(key, value)| (key_text(key), value))
                    .collect();
                if self.sorted {
                    entries.sort_by(|a, b| a.0.cmp(&b.0));
                }
                out.push('{');
                for (at, (key, value)) in entries.into_iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { self.comma });
                    self.line(out, depth + 1);
                    out.push_str(&self.quoted(&key));
                    out.push_str(self.colon);
                    self.write(value, depth + 1, out);
                }
                self.line(out, depth);
                out.push('}');
            }
            other => out.push_str(&self.quoted(&python::str(other))),
        }
    }
}

fn key_text(key: &Value) -> String {
    match key {
        Value::Nil => "null".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        other => python::str(other),
    }
}
