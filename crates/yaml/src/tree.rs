//! What a document is built of: nodes, which know their places, or values
//! alone.

use std::num::NonZeroU32;

use halite_proto::{Map, Value};

use crate::node::{Kind, Node};
use crate::place::Span;

/// Where a part of a document stands, and which other parts are the same one.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) span: Span,
    pub(crate) shared: Option<NonZeroU32>,
}

impl Standing {
    /// At `span`, on its own.
    pub(crate) fn at(span: Span) -> Self {
        Self { span, shared: None }
    }
}

/// A part of a document with everything in it.
pub(crate) trait Tree: Sized {
    /// A scalar.
    fn scalar(value: Value, standing: Standing) -> Self;
    /// A list.
    fn list(items: Vec<Self>, standing: Standing) -> Self;
    /// A map; no two keys are equal.
    fn map(entries: Vec<(Self, Self)>, standing: Standing) -> Self;
    /// The scalar, if this is one.
    fn as_scalar(&self) -> Option<&Value>;
}

impl Node {
    fn standing(value: Kind, Standing { span, shared }: Standing) -> Self {
        Self {
            value,
            span,
            shared,
        }
    }
}

impl Tree for Node {
    fn scalar(value: Value, standing: Standing) -> Self {
        Self::standing(Kind::Scalar(value), standing)
    }

    fn list(items: Vec<Self>, standing: Standing) -> Self {
        Self::standing(Kind::List(items), standing)
    }

    fn map(entries: Vec<(Self, Self)>, standing: Standing) -> Self {
        Self::standing(Kind::Map(entries), standing)
    }

    fn as_scalar(&self) -> Option<&Value> {
        Self::as_scalar(self)
    }
}

impl Tree for Value {
    fn scalar(value: Value, _: Standing) -> Self {
        value
    }

    fn list(items: Vec<Self>, _: Standing) -> Self {
        Self::List(items)
    }

    fn map(entries: Vec<(Self, Self)>, _: Standing) -> Self {
        Self::Map(Map::from_distinct(entries))
    }

    fn as_scalar(&self) -> Option<&Value> {
        match self {
            Self::List(_) | Self::Map(_) => None,
            scalar => Some(scalar),
        }
    }
}
