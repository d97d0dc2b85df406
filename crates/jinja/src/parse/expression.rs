//! Expressions, weakest operators first.

use super::Parser;
use crate::ast::{BinaryOp, CompareOp, Condition, Expr, ExprKind};
use crate::error::{Error, Result};
use crate::lex::TokenKind;
use crate::limits;
use crate::source::Span;

pub(super) fn node(span: Span, kind: ExprKind) -> Expr {
    Expr { span, kind }
}

impl Parser {
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.deeper(Self::conditional)
    }

    /// Without `if`: what a loop iterates over.
    pub(super) fn plain_expression(&mut self, with_condition: bool) -> Result<Expr> {
        if with_condition {
            self.expression()
        } else {
            self.deeper(Self::or)
        }
    }

    fn deeper(&mut self, rule: impl FnOnce(&mut Self) -> Result<Expr>) -> Result<Expr> {
        if self.expressions >= limits::EXPRESSION_DEPTH_MAX {
            let message = "expressions are nested too deeply";
            return Err(Error::limit(message).at(&self.source, self.span()));
        }
        self.expressions += 1;
        let result = rule(self);
        self.expressions -= 1;
        result
    }

    /// Counts one operator of a chain: a chain of them is a deep tree.
    pub(super) fn chained(&self, length: &mut u32) -> Result<()> {
        *length += 1;
        if *length > limits::CHAIN_MAX {
            let message = format!("more than {} operators in one chain", limits::CHAIN_MAX);
            return Err(Error::limit(message).at(&self.source, self.span()));
        }
        Ok(())
    }

    fn conditional(&mut self) -> Result<Expr> {
        let span = self.span();
        let mut value = self.or()?;
        let mut length = 0;
        while self.skip_name("if") {
            self.chained(&mut length)?;
            self.soft += 1;
            let test = self.or()?;
            let otherwise = if self.skip_name("else") {
                Some(self.deeper(Self::conditional)?)
            } else {
                None
            };
            self.soft -= 1;
            let condition = Condition {
                test,
                then: value,
                otherwise,
            };
            value = node(span, ExprKind::Condition(Box::new(condition)));
        }
        Ok(value)
    }

    fn or(&mut self) -> Result<Expr> {
        let mut left = self.and()?;
        let mut length = 0;
        while self.peek().is_name("or") {
            self.chained(&mut length)?;
            self.skip(1);
            let span = left.span;
            let right = self.and()?;
            left = node(span, ExprKind::Or(Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr> {
        let mut left = self.not()?;
        let mut length = 0;
        while self.peek().is_name("and") {
            self.chained(&mut length)?;
            self.skip(1);
            let span = left.span;
            let right = self.not()?;
            left = node(span, ExprKind::And(Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr> {
        let span = self.span();
        if self.skip_name("not") {
            let inner = self.deeper(Self::not)?;
            return Ok(node(span, ExprKind::Not(Box::new(inner))));
        }
        self.compare()
    }

    fn compare(&mut self) -> Result<Expr> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let op = match self.peek() {
                TokenKind::Op("==") => CompareOp::Eq,
                TokenKind::Op("!=") => CompareOp::Ne,
                TokenKind::Op("<") => CompareOp::Lt,
                TokenKind::Op("<=") => CompareOp::Le,
                TokenKind::Op(">") => CompareOp::Gt,
                TokenKind::Op(">=") => CompareOp::Ge,
                kind if kind.is_name("in") => CompareOp::In,
                kind if kind.is_name("not") && self.look().is_name("in") => CompareOp::NotIn,
                _ => break,
            };
            self.skip(if op == CompareOp::NotIn { 2 } else { 1 });
            rest.push((op, self.sum()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let span = first.span;
        Ok(node(span, ExprKind::Compare(Box::new(first), rest)))
    }

    fn sum(&mut self) -> Result<Expr> {
        self.binary(Self::concat, |op| match op {
            "+" => Some(BinaryOp::Add),
            "-" => Some(BinaryOp::Sub),
            _ => None,
        })
    }

    fn concat(&mut self) -> Result<Expr> {
        let first = self.product()?;
        if !self.peek().is_op("~") {
            return Ok(first);
        }
        let span = first.span;
        let mut parts = vec![first];
        while self.skip_op("~") {
            parts.push(self.product()?);
        }
        Ok(node(span, ExprKind::Concat(parts)))
    }

    fn product(&mut self) -> Result<Expr> {
        self.binary(Self::power, |op| match op {
            "*" => Some(BinaryOp::Mul),
            "/" => Some(BinaryOp::Div),
            "//" => Some(BinaryOp::FloorDiv),
            "%" => Some(BinaryOp::Mod),
            _ => None,
        })
    }

    fn power(&mut self) -> Result<Expr> {
        // To the left, unlike in Python.
        self.binary(
            |parser| parser.unary(true),
            |op| (op == "**").then_some(BinaryOp::Pow),
        )
    }

    fn binary(
        &mut self,
        operand: fn(&mut Self) -> Result<Expr>,
        operator: fn(&str) -> Option<BinaryOp>,
    ) -> Result<Expr> {
        let mut left = operand(self)?;
        let mut length = 0;
        while let TokenKind::Op(op) = self.peek()
            && let Some(op) = operator(op)
        {
            self.chained(&mut length)?;
            self.skip(1);
            let span = left.span;
            let right = operand(self)?;
            left = node(span, ExprKind::Binary(op, Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    fn unary(&mut self, with_filter: bool) -> Result<Expr> {
        let span = self.span();
        let value = if self.skip_op("-") {
            let inner = self.deeper(|parser| parser.unary(false))?;
            node(span, ExprKind::Negative(Box::new(inner)))
        } else if self.skip_op("+") {
            let inner = self.deeper(|parser| parser.unary(false))?;
            node(span, ExprKind::Positive(Box::new(inner)))
        } else {
            self.primary()?
        };
        let value = self.postfix(value)?;
        if with_filter {
            return self.filters_and_tests(value);
        }
        Ok(value)
    }

    pub(super) fn primary(&mut self) -> Result<Expr> {
        let span = self.span();
        let kind = match self.peek().clone() {
            TokenKind::Name(name) => {
                self.skip(1);
                match &*name {
                    "true" | "True" => ExprKind::Bool(true),
                    "false" | "False" => ExprKind::Bool(false),
                    "none" | "None" => ExprKind::None,
                    _ => {
                        self.record_read(&name);
                        ExprKind::Name(name)
                    }
                }
            }
            TokenKind::Text(first) => {
                self.skip(1);
                let mut text = first;
                while let TokenKind::Text(next) = self.peek() {
                    text = format!("{text}{next}").into();
                    self.skip(1);
                }
                ExprKind::Text(text)
            }
            TokenKind::Int(int) => {
                self.skip(1);
                ExprKind::Int(int)
            }
            TokenKind::Float(float) => {
                self.skip(1);
                ExprKind::Float(float)
            }
            TokenKind::Op("(") => {
                self.skip(1);
                let inner = self.tuple(true, &[], true)?;
                self.expect_op(")")?;
                return Ok(inner);
            }
            TokenKind::Op("[") => self.list()?,
            TokenKind::Op("{") => self.dict()?,
            other => {
                let message = format!("unexpected '{}'", other.describe());
                return Err(self.fail(span, message));
            }
        };
        Ok(node(span, kind))
    }

    /// An expression, or several with commas between them: a tuple.
    pub(super) fn tuple(
        &mut self,
        with_condition: bool,
        ends: &[&str],
        parentheses: bool,
    ) -> Result<Expr> {
        let span = self.span();
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            if self.tuple_ends(ends) {
                break;
            }
            items.push(self.plain_expression(with_condition)?);
            if !self.skip_op(",") {
                break;
            }
            is_tuple = true;
        }
        if !is_tuple {
            if let Some(only) = items.pop() {
                return Ok(only);
            }
            if !parentheses {
                let got = self.peek().describe();
                return Err(self.fail(span, format!("Expected an expression, got '{got}'")));
            }
        }
        Ok(node(span, ExprKind::Tuple(items)))
    }

    pub(super) fn tuple_ends(&self, ends: &[&str]) -> bool {
        match self.peek() {
            TokenKind::VariableEnd | TokenKind::BlockEnd | TokenKind::Op(")") | TokenKind::End => {
                true
            }
            TokenKind::Name(name) => ends.contains(&&**name),
            _ => false,
        }
    }

    fn list(&mut self) -> Result<ExprKind> {
        self.expect_op("[")?;
        let mut items = Vec::new();
        while !self.peek().is_op("]") {
            if !items.is_empty() {
                self.expect_op(",")?;
                if self.peek().is_op("]") {
                    break;
                }
            }
            items.push(self.expression()?);
        }
        self.expect_op("]")?;
        Ok(ExprKind::List(items))
    }

    fn dict(&mut self) -> Result<ExprKind> {
        self.expect_op("{")?;
        let mut items = Vec::new();
        while !self.peek().is_op("}") {
            if !items.is_empty() {
                self.expect_op(",")?;
                if self.peek().is_op("}") {
                    break;
                }
            }
            let key = self.expression()?;
            self.expect_op(":")?;
            items.push((key, self.expression()?));
        }
        self.expect_op("}")?;
        Ok(ExprKind::Dict(items))
    }
}
