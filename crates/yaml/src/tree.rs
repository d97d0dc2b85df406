//! What a document is built of: nodes, which know their places, or values
//! alone.

use std::num::NonZeroU32;

use halite_proto::{Map, Value};

use crate::node::{Node, NodeKind};
use crate::place::Span;

/// The position of a node, and which other nodes are the same object.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) span: Span,
    pub(crate) shared: Option<NonZeroU32>,
}

impl Origin {
    /// At `span`, on its own.
    pub(crate) fn at(span: Span) -> Self {
        Self { span, shared: None }
    }
}

/// A part of a document with everything in it.
pub(crate) trait Tree: Sized {
    /// A scalar.
    fn scalar(value: Value, standing: Origin) -> Self;
    /// A list.
    fn list(items: Vec<Self>, standing: Origin) -> Self;
    /// A map; no two keys are equal.
    fn map(entries: Vec<(Self, Self)>, standing: Origin) -> Self;
    /// The scalar, if this is one.
    fn as_scalar(&self) -> Option<&Value>;
}

impl Node {
    fn standing(value: NodeKind, Origin { span, shared }: Origin) -> Self {
        Self {
            value,
            span,
            shared,
        }
    }
}

impl Tree for Node {
    fn scalar(value: Value, standing: Origin) -> Self {
        Self::standing(NodeKind::Scalar(value), standing)
    }

    fn list(items: Vec<Self>, standing: Origin) -> Self {
        Self::standing(NodeKind::List(items), standing)
    }

    fn map(entries: Vec<(Self, Self)>, standing: Origin) -> Self {
        Self::standing(NodeKind::Map(entries), standing)
    }

    fn as_scalar(&self) -> Option<&Value> {
        Self::as_scalar(self)
    }
}

impl Tree for Value {
    fn scalar(value: Value, _: Origin) -> Self {
        value
    }

    fn list(items: Vec<Self>, _: Origin) -> Self {
        Self::List(items)
    }

    fn map(entries: Vec<(Self, Self)>, _: Origin) -> Self {
        Self::Map(Map::from_distinct(entries))
    }

    fn as_scalar(&self) -> Option<&Value> {
        match self {
            Self::List(_) | Self::Map(_) => None,
            scalar => Some(scalar),
        }
    }
}
