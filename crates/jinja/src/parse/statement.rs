//! The body of a template or a tag, and which tag it is.

use super::Parser;
use crate::ast::{Expr, ExprKind, Stmt, StmtKind, Target};
use crate::error::{Error, Result};
use crate::lex::TokenKind;
use crate::limits;
use crate::source::Span;

impl Parser {
    /// Statements up to one of the end tags, whose name is the current token
    /// then; without end tags, up to the end of the template.
    pub(super) fn body(&mut self, ends: &'static [&'static str]) -> Result<Vec<Stmt>> {
        if self.statements >= limits::BLOCK_DEPTH_MAX {
            let message = "statements are nested too deeply";
            return Err(Error::limit(message).at(&self.source, self.span()));
        }
        self.statements += 1;
        self.ends.push(ends);
        let result = self.body_inner(ends);
        self.ends.pop();
        self.statements -= 1;
        result
    }

    fn body_inner(&mut self, ends: &'static [&'static str]) -> Result<Vec<Stmt>> {
        let mut body = Vec::new();
        loop {
            let span = self.span();
            match self.peek().clone() {
                TokenKind::End if ends.is_empty() => return Ok(body),
                // Jinja2 names the line where the last token began.
                TokenKind::End => return Err(self.unfinished(self.last_span())),
                TokenKind::Data(text) => {
                    self.skip(1);
                    body.push(Stmt {
                        span,
                        kind: StmtKind::Data(text),
                    });
                }
                TokenKind::VariableBegin => {
                    self.skip(1);
                    let value = self.tuple(true, &[], false)?;
                    self.expect_end(&TokenKind::VariableEnd)?;
                    body.push(Stmt {
                        span: value.span,
                        kind: StmtKind::Output(value),
                    });
                }
                TokenKind::BlockBegin => {
                    self.skip(1);
                    if let TokenKind::Name(name) = self.peek()
                        && ends.contains(&&**name)
                    {
                        return Ok(body);
                    }
                    self.statement(&mut body)?;
                    self.expect_end(&TokenKind::BlockEnd)?;
                }
                other => {
                    let message = format!("unexpected '{}'", other.describe());
                    return Err(self.fail(span, message));
                }
            }
        }
    }

    /// A body after the end of its opening tag, its end tag's name consumed.
    pub(super) fn block_body(&mut self, ends: &'static [&'static str]) -> Result<Vec<Stmt>> {
        let body = self.open_body(ends)?;
        self.skip(1);
        Ok(body)
    }

    /// A body after the end of its opening tag; its end tag's name is current.
    pub(super) fn open_body(&mut self, ends: &'static [&'static str]) -> Result<Vec<Stmt>> {
        // Older templates end a tag with a colon.
        self.skip_op(":");
        self.expect_end(&TokenKind::BlockEnd)?;
        self.body(ends)
    }

    pub(super) fn expect_end(&mut self, end: &TokenKind) -> Result<()> {
        if self.peek() == end {
            self.skip(1);
            return Ok(());
        }
        let expected = end.describe();
        self.unexpected(&expected)
    }

    fn unfinished(&self, span: Span) -> Error {
        let ends = self.ends.last().copied().unwrap_or_default();
        let wanted: Vec<String> = ends.iter().map(|end| format!("'{end}'")).collect();
        let message = format!(
            "Unexpected end of template. Jinja was looking for the following tags: {}. \
             The innermost block that needs to be closed is '{}'.",
            wanted.join(" or "),
            ends.last().map_or("", |end| end.trim_start_matches("end")),
        );
        self.fail(span, message)
    }

    fn statement(&mut self, body: &mut Vec<Stmt>) -> Result<()> {
        let span = self.span();
        let TokenKind::Name(name) = self.peek().clone() else {
            return Err(self.fail(span, "tag name expected"));
        };
        self.skip(1);
        let kind = match &*name {
            "for" => self.for_tag()?,
            "if" => self.if_tag()?,
            "block" => self.block_tag(span)?,
            "extends" => StmtKind::Extends(self.expression()?),
            "print" => return self.print_tag(body),
            "macro" => self.macro_tag(span)?,
            "include" => self.include_tag()?,
            "from" => self.names_tag()?,
            "import" => StmtKind::Import(Box::new(self.import_rest()?)),
            "set" => self.set_tag()?,
            "with" => self.with_tag()?,
            "autoescape" => {
                self.expression()?;
                StmtKind::Scope(self.block_body(&["endautoescape"])?)
            }
            "call" => self.call_tag(span)?,
            "filter" => self.filter_tag()?,
            "do" => StmtKind::Do(self.tuple(true, &[], false)?),
            "break" | "continue" if self.loops == 0 => {
                return Err(self.fail(span, format!("'{name}' outside loop")));
            }
            "break" => StmtKind::Break,
            "continue" => StmtKind::Continue,
            "load_yaml" | "load_json" | "load_text" => self.load_tag(&name)?,
            "import_yaml" | "import_json" | "import_text" => self.import_data_tag(&name)?,
            "profile" => self.profile_tag()?,
            _ => return Err(self.unknown_tag(&name, span)),
        };
        body.push(Stmt { span, kind });
        Ok(())
    }

    fn unknown_tag(&self, name: &str, span: Span) -> Error {
        let mut message = format!("Encountered unknown tag '{name}'.");
        // The innermost body is the one that was being read.
        if let Some(ends) = self.ends.last().filter(|ends| !ends.is_empty()) {
            let wanted: Vec<String> = ends.iter().map(|end| format!("'{end}'")).collect();
            message.push_str(&format!(
                " Jinja was looking for the following tags: {}.",
                wanted.join(" or ")
            ));
        }
        self.fail(span, message)
    }

    fn print_tag(&mut self, body: &mut Vec<Stmt>) -> Result<()> {
        let mut first = true;
        while *self.peek() != TokenKind::BlockEnd {
            if !first {
                self.expect_op(",")?;
            }
            first = false;
            let value = self.expression()?;
            body.push(Stmt {
                span: value.span,
                kind: StmtKind::Output(value),
            });
        }
        Ok(())
    }

    /// What can be assigned to: names, tuples of them, `ns.attribute`.
    pub(super) fn target(&mut self, ends: &[&str], attributes: bool) -> Result<Target> {
        let span = self.span();
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            if self.target_ends(ends) {
                break;
            }
            items.push(self.target_item(attributes)?);
            if !self.skip_op(",") {
                break;
            }
            is_tuple = true;
        }
        match (is_tuple, items.pop()) {
            (false, Some(only)) => Ok(only),
            (false, None) => {
                let got = self.peek().describe();
                Err(self.fail(span, format!("Expected an expression, got '{got}'")))
            }
            (true, last) => {
                items.extend(last);
                Ok(Target::Tuple(items))
            }
        }
    }

    fn target_ends(&self, ends: &[&str]) -> bool {
        self.tuple_ends(ends) || self.peek().is_op("=")
    }

    fn target_item(&mut self, attributes: bool) -> Result<Target> {
        let span = self.span();
        if attributes
            && let TokenKind::Name(name) = self.peek().clone()
            && self.look().is_op(".")
        {
            self.skip(2);
            self.record_read(&name);
            let attribute = self.any_name()?;
            return Ok(Target::Attribute(name, attribute, span));
        }
        if let TokenKind::Name(name) = self.peek().clone() {
            let constant = matches!(
                &*name,
                "true" | "True" | "false" | "False" | "none" | "None"
            );
            if !constant {
                self.skip(1);
                self.record_assigned(&name);
                return Ok(Target::Name(name));
            }
        }
        let value = self.primary()?;
        self.expression_target(value)
    }

    fn expression_target(&mut self, value: Expr) -> Result<Target> {
        let what = match value.kind {
            ExprKind::Name(name) => {
                self.record_assigned(&name);
                return Ok(Target::Name(name));
            }
            ExprKind::Tuple(items) => {
                let items: Result<Vec<Target>> = items
                    .into_iter()
                    .map(|item| self.expression_target(item))
                    .collect();
                return items.map(Target::Tuple);
            }
            ExprKind::List(_) => "list",
            ExprKind::Dict(_) => "dict",
            _ => "const",
        };
        Err(self.fail(value.span, format!("can't assign to '{what}'")))
    }
}
