//! The default outputter and its small sister for minions that did not return
//! (`salt/output/nested.py`, `no_return.py`, 3008.5).

use halite_proto::{Map, Value};

use crate::{Color, Palette, RenderOptions, Unfit, python};

/// How much deeper the value of a key stands.
const STEP: usize = 4;

/// How much deeper a list or map inside a list stands.
const ITEM_STEP: usize = 2;

pub(crate) fn render(data: &Value, options: &RenderOptions) -> String {
    let mut nest = Nest {
        palette: Palette::new(options.color),
        strip_colors: options.strip_colors,
        failed: options.retcode != 0,
        out: String::new(),
    };
    nest.value(data, options.nested_indent, "");
    // Lines are joined, not ended.
    nest.out.pop();
    nest.out
}

pub(crate) fn render_no_return(data: &Value, options: &RenderOptions) -> Result<String, Unfit> {
    let mut out = String::new();
    no_return(data, 0, Palette::new(options.color), &mut out)?;
    Ok(out)
}

/// Makes the escape character harmless, so that data cannot steer a terminal.
pub(crate) fn strip_escapes(text: &str) -> String {
    text.replace('\x1b', "?")
}

struct Nest {
    palette: Palette,
    strip_colors: bool,
    failed: bool,
    out: String,
}

impl Nest {
    fn line(&mut self, indent: usize, color: Color, prefix: &str, text: &str, suffix: &str) {
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.out.push_str(self.palette.start(color));
        self.out.push_str(prefix);
        self.out.push_str(text);
        self.out.push_str(self.palette.end());
        self.out.push_str(suffix);
        self.out.push('\n');
    }

    fn value(&mut self, value: &Value, indent: usize, prefix: &str) {
        match value {
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                let text = python::repr(value);
                self.line(indent, Color::LightYellow, prefix, &text, "");
            }
            Value::Str(text) => self.text(text, indent, prefix),
            // Bytes that are not text show nothing, as do dates.
            Value::Bytes(bytes) => {
                if let Ok(text) = std::str::from_utf8(bytes) {
                    self.text(text, indent, prefix);
                }
            }
            Value::Ext(..) => {}
            Value::List(items) => self.list(items, indent),
            Value::Map(map) => self.map(map, indent, prefix),
        }
    }

    fn text(&mut self, text: &str, indent: usize, prefix: &str) {
        let spaces = " ".repeat(prefix.len());
        for (index, line) in python::lines(text).enumerate() {
            let prefix = if index == 0 { prefix } else { &spaces };
            if self.strip_colors && line.contains('\x1b') {
                self.line(indent, Color::Green, prefix, &strip_escapes(line), "");
            } else {
                self.line(indent, Color::Green, prefix, line, "");
            }
        }
    }

    fn list(&mut self, items: &[Value], indent: usize) {
        let color = if self.failed {
            Color::Red
        } else {
            Color::Green
        };
        for item in items {
            let inner_prefix = match item {
                Value::Map(_) => "",
                Value::List(_) => "- ",
                _ => {
                    self.value(item, indent, "- ");
                    continue;
                }
            };
            self.line(indent, color, "", "|_", "");
            self.value(item, indent + ITEM_STEP, inner_prefix);
        }
    }

    fn map(&mut self, map: &Map, indent: usize, prefix: &str) {
        let color = if self.failed { Color::Red } else { Color::Cyan };
        if indent > 0 {
            self.line(indent, color, "", "----------", "");
        }
        if let Some(entries) = python::sorted(map) {
            for (key, value) in entries {
                self.entry(&python::str(key), value, indent, prefix, color);
            }
            return;
        }
        // Keys that cannot be compared are made text first; of two that become
        // the same text the later counts.
        let texts: Map = map
            .iter()
            .map(|(key, value)| (python::str(key), value.clone()))
            .collect();
        for (key, value) in python::sorted(&texts).unwrap_or_default() {
            self.entry(&python::str(key), value, indent, prefix, color);
        }
    }

    fn entry(&mut self, key: &str, value: &Value, indent: usize, prefix: &str, color: Color) {
        self.line(indent, color, prefix, key, ":");
        self.value(value, indent + STEP, "");
    }
}

fn no_return(
    value: &Value,
    indent: usize,
    palette: Palette,
    out: &mut String,
) -> Result<(), Unfit> {
    match value {
        Value::Str(text) => {
            for line in text.split('\n') {
                push_no_return(out, palette, Color::Red, indent, line);
                out.push('\n');
            }
        }
        Value::Map(map) => {
            for (key, value) in python::sorted(map).ok_or(Unfit)? {
                push_no_return(out, palette, Color::Cyan, indent, &python::str(key));
                out.push_str(":\n");
                no_return(value, indent + STEP, palette, out)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Unlike in the tree, the indentation is inside the colour.
fn push_no_return(out: &mut String, palette: Palette, color: Color, indent: usize, text: &str) {
    out.push_str(palette.start(color));
    out.extend(std::iter::repeat_n(' ', indent));
    out.push_str(text);
    out.push_str(palette.end());
}
