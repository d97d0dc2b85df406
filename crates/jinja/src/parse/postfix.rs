//! What follows an expression: attributes, subscripts, calls, filters, tests.

use super::Parser;
use super::expression::node;
use crate::ast::{Applied, CallArgs, Expr, ExprKind};
use crate::error::Result;
use crate::lex::TokenKind;

impl Parser {
    pub(super) fn postfix(&mut self, mut value: Expr) -> Result<Expr> {
        let mut length = 0;
        loop {
            value = match self.peek() {
                TokenKind::Op("." | "[") => self.subscript(value)?,
                TokenKind::Op("(") => self.call(value)?,
                _ => return Ok(value),
            };
            self.chained(&mut length)?;
        }
    }

    pub(super) fn filters_and_tests(&mut self, mut value: Expr) -> Result<Expr> {
        let mut length = 0;
        loop {
            value = match self.peek() {
                TokenKind::Op("|") => {
                    self.skip(1);
                    self.filter(Some(value))?
                }
                TokenKind::Op("(") => self.call(value)?,
                kind if kind.is_name("is") => self.test(value)?,
                _ => return Ok(value),
            };
            self.chained(&mut length)?;
        }
    }

    fn subscript(&mut self, value: Expr) -> Result<Expr> {
        let span = self.span();
        if self.skip_op(".") {
            let item_span = self.span();
            let kind = match self.peek().clone() {
                TokenKind::Name(name) => ExprKind::Attribute(Box::new(value), name),
                TokenKind::Int(int) => {
                    let item = node(item_span, ExprKind::Int(int));
                    ExprKind::Item(Box::new(value), Box::new(item))
                }
                _ => return Err(self.fail(item_span, "expected name or number")),
            };
            self.skip(1);
            return Ok(node(item_span, kind));
        }
        self.expect_op("[")?;
        let mut items = Vec::new();
        while !self.peek().is_op("]") {
            if !items.is_empty() {
                self.expect_op(",")?;
            }
            items.push(self.subscribed()?);
        }
        self.expect_op("]")?;
        let item = if items.len() == 1 {
            items.remove(0)
        } else {
            node(span, ExprKind::Tuple(items))
        };
        Ok(node(span, ExprKind::Item(Box::new(value), Box::new(item))))
    }

    fn subscribed(&mut self) -> Result<Expr> {
        let span = self.span();
        let start = if self.peek().is_op(":") {
            None
        } else {
            let value = self.expression()?;
            if !self.peek().is_op(":") {
                return Ok(value);
            }
            Some(value)
        };
        self.expect_op(":")?;
        let part = |parser: &mut Self| {
            let ends = matches!(parser.peek(), TokenKind::Op(":" | "]" | ","));
            if ends {
                Ok(None)
            } else {
                parser.expression().map(Some)
            }
        };
        let stop = part(self)?;
        let step = if self.skip_op(":") { part(self)? } else { None };
        Ok(node(span, ExprKind::Slice(Box::new([start, stop, step]))))
    }

    pub(super) fn call(&mut self, callee: Expr) -> Result<Expr> {
        let span = callee.span;
        let args = self.call_args()?;
        Ok(node(span, ExprKind::Call(Box::new(callee), Box::new(args))))
    }

    pub(super) fn call_args(&mut self) -> Result<CallArgs> {
        let span = self.span();
        self.expect_op("(")?;
        let mut args = CallArgs::default();
        let mut first = true;
        while !self.peek().is_op(")") {
            if !first {
                self.expect_op(",")?;
                if self.peek().is_op(")") {
                    break;
                }
            }
            first = false;
            let bare = args.star.is_none() && args.star_star.is_none();
            let valid = if self.skip_op("*") {
                args.star = Some(self.expression()?);
                bare
            } else if self.skip_op("**") {
                let free = args.star_star.is_none();
                args.star_star = Some(self.expression()?);
                free
            } else if let TokenKind::Name(name) = self.peek().clone()
                && self.look().is_op("=")
            {
                self.skip(2);
                let free = args.star_star.is_none();
                args.named.push((name, self.expression()?));
                free
            } else {
                let free = bare && args.named.is_empty();
                args.positional.push(self.expression()?);
                free
            };
            if !valid {
                let message = "invalid syntax for function call expression";
                return Err(self.fail(span, message));
            }
        }
        self.expect_op(")")?;
        Ok(args)
    }

    fn dotted_name(&mut self) -> Result<String> {
        let mut name = self.any_name()?.to_string();
        while self.skip_op(".") {
            name.push('.');
            name.push_str(&self.any_name()?);
        }
        Ok(name)
    }

    /// One filter after its bar.
    pub(super) fn filter(&mut self, value: Option<Expr>) -> Result<Expr> {
        let span = self.span();
        let name = self.dotted_name()?;
        let args = if self.peek().is_op("(") {
            self.call_args()?
        } else {
            CallArgs::default()
        };
        if self.soft == 0 && !(self.names.is_filter)(&name) {
            return Err(self.assertion(span, format!("No filter named '{name}'.")));
        }
        let name = name.into();
        let applied = Applied { value, name, args };
        Ok(node(span, ExprKind::Filter(Box::new(applied))))
    }

    fn test(&mut self, value: Expr) -> Result<Expr> {
        self.skip(1);
        let negated = self.skip_name("not");
        let span = self.span();
        let name = self.dotted_name()?;
        let takes_one = match self.peek() {
            TokenKind::Name(next) => !matches!(&**next, "else" | "or" | "and"),
            TokenKind::Text(_) | TokenKind::Int(_) | TokenKind::Float(_) => true,
            TokenKind::Op("[" | "{") => true,
            _ => false,
        };
        let mut args = CallArgs::default();
        if self.peek().is_op("(") {
            args = self.call_args()?;
        } else if takes_one {
            if self.peek().is_name("is") {
                return Err(self.fail(span, "You cannot chain multiple tests with is"));
            }
            let arg = self.primary()?;
            args.positional.push(self.postfix(arg)?);
        }
        if self.soft == 0 && !(self.names.is_test)(&name) {
            return Err(self.assertion(span, format!("No test named '{name}'.")));
        }
        let value = Some(value);
        let name = name.into();
        let applied = Applied { value, name, args };
        let test = node(span, ExprKind::Test(Box::new(applied)));
        if negated {
            return Ok(node(span, ExprKind::Not(Box::new(test))));
        }
        Ok(test)
    }
}
