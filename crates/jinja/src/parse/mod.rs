//! Tokens to the tree. One rule per grammar rule of Jinja2, so that what one
//! of them accepts the other does.

mod expression;
mod postfix;
mod salt;
mod statement;
mod tags;

use std::sync::Arc;

use crate::ast::{Ast, BlockDef};
use crate::error::{Error, ErrorKind, Result};
use crate::lex::{self, Token, TokenKind};
use crate::limits;
use crate::settings::Settings;
use crate::source::{Source, Span, Str};

/// The names of filters and tests that there are: of another one, a template is
/// refused where Jinja2 refuses it.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    pub(crate) is_filter: fn(&str) -> bool,
    pub(crate) is_test: fn(&str) -> bool,
}

/// Parses a template.
pub(crate) fn parse(source: &Arc<Source>, settings: &Settings, names: Names) -> Result<Ast> {
    if source.text().len() > limits::SOURCE_BYTES_MAX {
        return Err(Error::limit(format!(
            "template {} is larger than {} bytes",
            source.name(),
            limits::SOURCE_BYTES_MAX
        )));
    }
    let (tokens, fault) = lex::tokens(source, settings);
    let mut parser = Parser {
        source: Arc::clone(source),
        names,
        tokens,
        at: 0,
        expressions: 0,
        statements: 0,
        soft: 0,
        blocks: Vec::new(),
        macros: Vec::new(),
        ends: Vec::new(),
        loops: 0,
    };
    let body = parser.body(&[]);
    if let Some(fault) = fault
        && (body.is_ok() || parser.at + 1 >= parser.tokens.len())
    {
        return Err(fault);
    }
    let body = body?;
    Ok(Ast {
        source: parser.source,
        body,
        blocks: parser.blocks,
    })
}

/// Which of a macro's implicit names its body uses.
#[derive(Default)]
struct Implicit {
    varargs: Use,
    kwargs: Use,
    caller: Use,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Use {
    #[default]
    Not,
    /// Read before anything of that name was assigned.
    Read,
    Assigned,
}

struct Parser {
    source: Arc<Source>,
    names: Names,
    tokens: Vec<Token>,
    at: usize,
    /// Expressions inside one another here.
    expressions: u32,
    /// Statements inside one another here.
    statements: u32,
    /// Inside conditions, where an unknown filter is an error only when used.
    soft: u32,
    blocks: Vec<Arc<BlockDef>>,
    macros: Vec<Implicit>,
    /// The end tags that are waited for, innermost last.
    ends: Vec<&'static [&'static str]>,
    loops: u32,
}

impl Parser {
    fn peek(&self) -> &TokenKind {
        self.tokens
            .get(self.at)
            .map_or(&TokenKind::End, |token| &token.kind)
    }

    fn look(&self) -> &TokenKind {
        self.tokens
            .get(self.at + 1)
            .map_or(&TokenKind::End, |token| &token.kind)
    }

    fn span(&self) -> Span {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens
            .get(self.at.min(last))
            .map(|token| token.span)
            .unwrap_or_default()
    }

    fn last_span(&self) -> Span {
        let last = self.at.min(self.tokens.len()).saturating_sub(1);
        self.tokens
            .get(last)
            .map(|token| token.span)
            .unwrap_or_default()
    }

    fn skip(&mut self, count: usize) {
        self.at = (self.at + count).min(self.tokens.len().saturating_sub(1));
    }

    fn fail(&self, span: Span, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Syntax, message).at(&self.source, span)
    }

    fn assertion(&self, span: Span, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Assertion, message).at(&self.source, span)
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T> {
        let got = self.peek().describe();
        let message = if matches!(self.peek(), TokenKind::End) {
            format!("unexpected end of template, expected '{expected}'.")
        } else {
            format!("expected token '{expected}', got '{got}'")
        };
        Err(self.fail(self.span(), message))
    }

    fn skip_name(&mut self, name: &str) -> bool {
        let found = self.peek().is_name(name);
        if found {
            self.skip(1);
        }
        found
    }

    fn skip_op(&mut self, op: &str) -> bool {
        let found = self.peek().is_op(op);
        if found {
            self.skip(1);
        }
        found
    }

    fn expect_op(&mut self, op: &str) -> Result<()> {
        if self.skip_op(op) {
            return Ok(());
        }
        self.unexpected(op)
    }

    fn expect_name(&mut self, name: &str) -> Result<()> {
        if self.skip_name(name) {
            return Ok(());
        }
        self.unexpected(name)
    }

    fn any_name(&mut self) -> Result<Str> {
        let TokenKind::Name(name) = self.peek() else {
            return self.unexpected("name");
        };
        let name = Str::clone(name);
        self.skip(1);
        Ok(name)
    }

    fn record_read(&mut self, name: &str) {
        for implicit in &mut self.macros {
            if let Some(used) = implicit.slot(name)
                && *used == Use::Not
            {
                *used = Use::Read;
            }
        }
    }

    fn record_assigned(&mut self, name: &str) {
        for implicit in &mut self.macros {
            if let Some(used) = implicit.slot(name)
                && *used == Use::Not
            {
                *used = Use::Assigned;
            }
        }
    }
}

impl Implicit {
    fn slot(&mut self, name: &str) -> Option<&mut Use> {
        match name {
            "varargs" => Some(&mut self.varargs),
            "kwargs" => Some(&mut self.kwargs),
            "caller" => Some(&mut self.caller),
            _ => None,
        }
    }
}
