//! Text to tokens: first the tags and the text between them, with their
//! whitespace control, then the expressions inside the tags.

mod data;
mod expression;
mod token;

pub(crate) use data::tokens;
pub(crate) use token::{Token, TokenKind};
