//! One option of the files, before it has a type.

use std::sync::Arc;

use halite_proto::Value;
use halite_yaml::place::{SourceLocation, Span};
use halite_yaml::{Node, NodeKind};

use crate::error::ConfigError;

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: Arc<str>,
}

impl Source {
    pub(crate) fn place(&self, span: Span) -> SourceLocation {
        SourceLocation::new(&self.name, &self.text, span)
    }
}

/// One option of the files.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// None for an option of the command line.
    pub(crate) source: Option<Source>,
    pub(crate) key: Span,
    pub(crate) value: Node,
    /// The value comes from a store of secrets (`sdb://`).
    pub(crate) was_behind: bool,
}

impl Entry {
    /// The error about a value that is wrong at the node `fault`.
    pub(crate) fn refused(&self, fault: &Node, allowed: &str) -> ConfigError {
        let option = self.name.clone();
        let found = describe(fault);
        let allowed = allowed.to_owned();
        match &self.source {
            Some(source) => ConfigError::Value {
                place: Box::new(source.place(fault.span)),
                option,
                found,
                allowed,
            },
            None => ConfigError::Override {
                option,
                found,
                allowed,
            },
        }
    }
}

/// A value as errors show it.
pub(crate) fn describe(node: &Node) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    match &node.value {
        NodeKind::Scalar(Value::Nil) => "empty".to_owned(),
        NodeKind::Scalar(value) => {
            let text = halite_yaml::python_str(value);
            let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
            format!("{shown:?}")
        }
        NodeKind::List(items) if items.is_empty() => "an empty list".to_owned(),
        NodeKind::List(_) => "a list".to_owned(),
        NodeKind::Map(entries) if entries.is_empty() => "an empty map".to_owned(),
        NodeKind::Map(_) => "a map".to_owned(),
    }
}
