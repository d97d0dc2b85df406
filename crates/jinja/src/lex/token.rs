//! The tokens that the lexer yields.

use crate::source::{Span, Str};

/// A token and where it starts.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) span: Span,
    pub(crate) kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// Text between the tags.
    Data(Str),
    BlockBegin,
    BlockEnd,
    VariableBegin,
    VariableEnd,
    Name(Str),
    Text(Str),
    Int(i128),
    Float(f64),
    /// An operator or a bracket, as written.
    Op(&'static str),
    /// The end of the template.
    End,
}

impl TokenKind {
    pub(crate) fn is_name(&self, name: &str) -> bool {
        matches!(self, Self::Name(text) if &**text == name)
    }

    pub(crate) fn is_op(&self, op: &str) -> bool {
        matches!(self, Self::Op(text) if *text == op)
    }

    /// What an error message calls it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Data(_) => "template data / text".to_owned(),
            Self::BlockBegin => "begin of statement block".to_owned(),
            Self::BlockEnd => "end of statement block".to_owned(),
            Self::VariableBegin => "begin of print statement".to_owned(),
            Self::VariableEnd => "end of print statement".to_owned(),
            Self::Name(text) => text.to_string(),
            Self::Text(text) => text.to_string(),
            Self::Int(_) => "integer".to_owned(),
            Self::Float(_) => "float".to_owned(),
            Self::Op(op) => (*op).to_owned(),
            Self::End => "end of template".to_owned(),
        }
    }
}
