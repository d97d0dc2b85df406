//! Jinja's own tags.

use std::sync::Arc;

use super::{Implicit, Parser, Use};
use crate::ast::{
    BlockDef, Expr, ExprKind, For, FromImport, Import, Include, MacroDef, Stmt, StmtKind, Target,
};
use crate::error::Result;
use crate::lex::TokenKind;
use crate::source::{Span, Str};

impl Parser {
    pub(super) fn for_tag(&mut self) -> Result<StmtKind> {
        let target = self.target(&["in"], false)?;
        self.expect_name("in")?;
        let iterable = self.tuple(false, &["recursive"], false)?;
        let test = if self.skip_name("if") {
            Some(self.expression()?)
        } else {
            None
        };
        let recursive = self.skip_name("recursive");
        self.loops += 1;
        let body = self.open_body(&["endfor", "else"]);
        self.loops -= 1;
        let body = body?;
        let otherwise = if self.skip_name("else") {
            self.open_body(&["endfor"])?
        } else {
            Vec::new()
        };
        self.skip(1);
        Ok(StmtKind::For(Arc::new(For {
            target,
            iterable,
            test,
            recursive,
            body,
            otherwise,
        })))
    }

    pub(super) fn if_tag(&mut self) -> Result<StmtKind> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        self.soft += 1;
        loop {
            let test = self.tuple(false, &[], false)?;
            let body = self.open_body(&["elif", "else", "endif"])?;
            branches.push((test, body));
            if self.skip_name("elif") {
                continue;
            }
            if self.skip_name("else") {
                otherwise = self.open_body(&["endif"])?;
            }
            break;
        }
        self.soft -= 1;
        self.skip(1);
        Ok(StmtKind::If(branches, otherwise))
    }

    pub(super) fn set_tag(&mut self) -> Result<StmtKind> {
        let target = self.target(&[], true)?;
        if self.skip_op("=") {
            let value = self.tuple(true, &[], false)?;
            return Ok(StmtKind::Set(target, value));
        }
        let mut filter = None;
        while self.skip_op("|") {
            filter = Some(self.filter(filter)?);
        }
        let body = self.block_body(&["endset"])?;
        Ok(StmtKind::SetBlock(target, filter, body))
    }

    pub(super) fn with_tag(&mut self) -> Result<StmtKind> {
        let mut pairs: Vec<(Target, Expr)> = Vec::new();
        while *self.peek() != TokenKind::BlockEnd {
            if !pairs.is_empty() {
                self.expect_op(",")?;
            }
            let name = self.any_name()?;
            self.record_assigned(&name);
            self.expect_op("=")?;
            pairs.push((Target::Name(name), self.expression()?));
        }
        let body = self.block_body(&["endwith"])?;
        Ok(StmtKind::With(pairs, body))
    }

    fn signature(&mut self) -> Result<Vec<(Str, Option<Expr>)>> {
        self.expect_op("(")?;
        let mut parameters: Vec<(Str, Option<Expr>)> = Vec::new();
        let mut defaults = false;
        while !self.peek().is_op(")") {
            if !parameters.is_empty() {
                self.expect_op(",")?;
            }
            let span = self.span();
            let name = self.any_name()?;
            if parameters.iter().any(|(other, _)| *other == name) {
                return Err(self.fail(span, format!("duplicate parameter '{name}'")));
            }
            let default = if self.skip_op("=") {
                defaults = true;
                Some(self.expression()?)
            } else if defaults {
                return Err(self.fail(span, "non-default argument follows default argument"));
            } else {
                None
            };
            parameters.push((name, default));
        }
        self.expect_op(")")?;
        Ok(parameters)
    }

    pub(super) fn macro_tag(&mut self, span: Span) -> Result<StmtKind> {
        let name = self.any_name()?;
        let parameters = self.signature()?;
        let def = self.macro_def(Some(name), parameters, &["endmacro"], span)?;
        Ok(StmtKind::Macro(Arc::new(def)))
    }

    pub(super) fn macro_def(
        &mut self,
        name: Option<Str>,
        parameters: Vec<(Str, Option<Expr>)>,
        ends: &'static [&'static str],
        span: Span,
    ) -> Result<MacroDef> {
        self.macros.push(Implicit::default());
        let loops = std::mem::take(&mut self.loops);
        let body = self.block_body(ends);
        self.loops = loops;
        let implicit = self.macros.pop().unwrap_or_default();
        let declared = |name: &str| parameters.iter().any(|(other, _)| &**other == name);
        let without_default = parameters
            .iter()
            .any(|(name, default)| &**name == "caller" && default.is_none());
        if without_default && implicit.caller == Use::Read {
            let message = "When defining macros or call blocks the special \"caller\" argument \
                           must be omitted or be given a default.";
            return Err(self.fail(span, message));
        }
        Ok(MacroDef {
            name,
            takes_varargs: implicit.varargs == Use::Read && !declared("varargs"),
            takes_kwargs: implicit.kwargs == Use::Read && !declared("kwargs"),
            takes_caller: implicit.caller == Use::Read,
            parameters,
            body: body?,
        })
    }

    pub(super) fn call_tag(&mut self, span: Span) -> Result<StmtKind> {
        let parameters = if self.peek().is_op("(") {
            self.signature()?
        } else {
            Vec::new()
        };
        let call = self.expression()?;
        if !matches!(call.kind, ExprKind::Call(..)) {
            return Err(self.fail(span, "expected call"));
        }
        let def = self.macro_def(None, parameters, &["endcall"], span)?;
        Ok(StmtKind::CallBlock(Arc::new(def), call))
    }

    pub(super) fn filter_tag(&mut self) -> Result<StmtKind> {
        let mut filter = self.filter(None)?;
        while self.skip_op("|") {
            filter = self.filter(Some(filter))?;
        }
        let body = self.block_body(&["endfilter"])?;
        Ok(StmtKind::FilterBlock(filter, body))
    }

    pub(super) fn block_tag(&mut self, span: Span) -> Result<StmtKind> {
        let name = self.any_name()?;
        let scoped = self.skip_name("scoped");
        let required = self.skip_name("required");
        if self.peek().is_op("-") {
            let message = "Block names in Jinja have to be valid Python identifiers and may not \
                           contain hyphens, use an underscore instead.";
            return Err(self.fail(span, message));
        }
        let loops = std::mem::take(&mut self.loops);
        let body = self.block_body(&["endblock"]);
        self.loops = loops;
        self.skip_name(&name);
        if self.blocks.iter().any(|block| block.name == name) {
            return Err(self.assertion(span, format!("block '{name}' defined twice")));
        }
        let body = body?;
        let blank =
            |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Data(text) if text.trim().is_empty());
        if required && !body.iter().all(blank) {
            let message = "Required blocks can only contain comments or whitespace";
            return Err(self.fail(span, message));
        }
        let block = Arc::new(BlockDef {
            name,
            scoped,
            required,
            body,
            source: Arc::clone(&self.source),
            span,
        });
        self.blocks.push(Arc::clone(&block));
        Ok(StmtKind::Block(block))
    }

    fn context(&mut self, default: bool) -> bool {
        if self.look().is_name("context") {
            if self.skip_name("with") {
                self.skip(1);
                return true;
            }
            if self.skip_name("without") {
                self.skip(1);
                return false;
            }
        }
        default
    }

    pub(super) fn include_tag(&mut self) -> Result<StmtKind> {
        let template = self.expression()?;
        let ignore_missing = self.peek().is_name("ignore") && self.look().is_name("missing");
        if ignore_missing {
            self.skip(2);
        }
        let with_context = self.context(true);
        Ok(StmtKind::Include(Box::new(Include {
            template,
            ignore_missing,
            with_context,
        })))
    }

    pub(super) fn import_rest(&mut self) -> Result<Import> {
        let template = self.expression()?;
        self.expect_name("as")?;
        let target = self.any_name()?;
        self.record_assigned(&target);
        let with_context = self.context(false);
        Ok(Import {
            template,
            target,
            with_context,
        })
    }

    pub(super) fn names_tag(&mut self) -> Result<StmtKind> {
        let template = self.expression()?;
        self.expect_name("import")?;
        let mut names: Vec<(Str, Str)> = Vec::new();
        let mut with_context = false;
        loop {
            let has_context = self.look().is_name("context")
                && (self.peek().is_name("with") || self.peek().is_name("without"));
            if has_context {
                with_context = self.context(false);
                break;
            }
            let span = self.span();
            let name = self.any_name()?;
            if name.starts_with('_') {
                let message = "names starting with an underline can not be imported";
                return Err(self.assertion(span, message));
            }
            let alias = if self.skip_name("as") {
                self.any_name()?
            } else {
                Str::clone(&name)
            };
            self.record_assigned(&alias);
            names.push((name, alias));
            let has_context = self.look().is_name("context")
                && (self.peek().is_name("with") || self.peek().is_name("without"));
            if !has_context && !self.skip_op(",") {
                break;
            }
        }
        Ok(StmtKind::FromImport(Box::new(FromImport {
            template,
            names,
            with_context,
        })))
    }
}
