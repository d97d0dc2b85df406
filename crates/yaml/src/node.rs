//! A read document: values with their places.

use std::num::NonZeroU32;

use halite_proto::{Map, Value};

use crate::place::Span;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The value.
    pub value: NodeKind,
    /// Its first character. What was merged or aliased stands where it was
    /// written.
    pub span: Span,
    /// Set if an alias shares this node: nodes with the same number are the
    /// same object to Salt, and changing one would change the other.
    pub shared: Option<NonZeroU32>,
}

/// The three shapes of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Text, a number, a boolean, null or bytes.
    Scalar(Value),
    /// A list.
    List(Vec<Node>),
    /// A map in the order of the text, keys distinct; keys are scalars.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// A scalar at `span`.
    pub fn scalar(value: impl Into<Value>, span: Span) -> Self {
        Self {
            value: NodeKind::Scalar(value.into()),
            span,
            shared: None,
        }
    }

    /// The value without places.
    pub fn to_value(&self) -> Value {
        match &self.value {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::List(items) => {
                let mut out = Vec::with_capacity(items.len());
                for item in items {
                    out.push(item.to_value());
                }
                Value::List(out)
            }
            NodeKind::Map(entries) => {
                let mut out = Map::with_capacity(entries.len());
                for (key, value) in entries {
                    out.insert(key.to_value(), value.to_value());
                }
                Value::Map(out)
            }
        }
    }

    /// The value without places, without a copy of its texts.
    pub fn into_value(self) -> Value {
        match self.value {
            NodeKind::Scalar(value) => value,
            NodeKind::List(items) => {
                let mut out = Vec::with_capacity(items.len());
                for item in items {
                    out.push(item.into_value());
                }
                Value::List(out)
            }
            NodeKind::Map(entries) => {
                let mut out = Map::with_capacity(entries.len());
                for (key, value) in entries {
                    out.insert(key.into_value(), value.into_value());
                }
                Value::Map(out)
            }
        }
    }

    /// The scalar, if this is one.
    pub fn as_scalar(&self) -> Option<&Value> {
        match &self.value {
            NodeKind::Scalar(value) => Some(value),
            _ => None,
        }
    }

    /// The text, if this is a scalar that is text.
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().and_then(Value::as_str)
    }

    /// The items, if this is a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.value {
            NodeKind::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries, if this is a map.
    pub fn as_map(&self) -> Option<&[(Self, Self)]> {
        match &self.value {
            NodeKind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Whether this is null.
    pub fn is_nil(&self) -> bool {
        matches!(self.value, NodeKind::Scalar(Value::Nil))
    }

    /// The value under the text `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|(_, value)| value)
    }

    /// Key and value under the text `key`, if this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<(&Self, &Self)> {
        self.as_map()?
            .iter()
            .find(|(own, _)| own.as_str() == Some(key))
            .map(|(own, value)| (own, value))
    }

    /// What kind of value this is, in Python's words.
    pub fn type_name(&self) -> &'static str {
        match &self.value {
            NodeKind::Scalar(value) => value.type_name(),
            NodeKind::List(_) => "list",
            NodeKind::Map(_) => "dict",
        }
    }
}
