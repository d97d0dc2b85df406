//! Nodes as PyYAML prints them, for messages.

use std::fmt::Write;

use halite_proto::python;

use super::Constructor;
use crate::compose::Body;
use crate::limits::KEY_CHARS_MAX;

impl Constructor<'_> {
    /// A list or map that is a key, as PyYAML prints its nodes.
    pub(super) fn shown(&self, index: usize) -> String {
        let mut out = String::new();
        self.show_body(&mut out, index);
        if out.chars().nth(KEY_CHARS_MAX).is_some() {
            out = out.chars().take(KEY_CHARS_MAX).collect();
            out.push_str("...");
        }
        out
    }

    fn show_body(&self, out: &mut String, index: usize) {
        match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::Scalar(text)) => {
                out.push_str(&python::str_repr(text));
            }
            Some(Body::List(items)) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    self.show_node(out, *item);
                }
                out.push(']');
            }
            Some(Body::Map(entries)) => {
                out.push('[');
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if at == 0 { "(" } else { ", (" });
                    self.show_node(out, *key);
                    out.push_str(", ");
                    self.show_node(out, *value);
                    out.push(')');
                }
                out.push(']');
            }
            None => {}
        }
    }

    fn show_node(&self, out: &mut String, index: usize) {
        if out.len() > KEY_CHARS_MAX * 4 {
            return;
        }
        let kind = match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::List(_)) => "SequenceNode",
            Some(Body::Map(_)) => "MappingNode",
            _ => "ScalarNode",
        };
        let _ = write!(out, "{kind}(tag='{}', value=", self.tag(index).name());
        self.show_body(out, index);
        out.push(')');
    }
}
