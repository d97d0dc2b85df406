//! Runs statements.

use std::rc::Rc;
use std::sync::Arc;

use super::{Args, Env, Machine, MacroValue, Sink};
use crate::ast::{Expr, ExprKind, Stmt, StmtKind, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{self, Key, Object, Value};
use crate::{filters, finalize};

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Normal,
    Break,
    Continue,
}

impl Machine<'_> {
    /// Runs statements until one of them leaves the loop.
    pub(crate) fn body(&self, env: &Env, body: &[Stmt], sink: &mut Sink) -> Result<Flow> {
        for stmt in body {
            Self::mark(sink, stmt.span, matches!(stmt.kind, StmtKind::Data(_)));
            let flow = self.statement(env, stmt, sink).map_err(|error| {
                let line = match &stmt.kind {
                    StmtKind::Output(expr) => expr.span,
                    _ => stmt.span,
                };
                error
                    .at(&env.source, stmt.span)
                    .of_statement(&env.source, line)
            })?;
            if flow != Flow::Normal {
                return Ok(flow);
            }
        }
        Ok(Flow::Normal)
    }

    fn statement(&self, env: &Env, stmt: &Stmt, sink: &mut Sink) -> Result<Flow> {
        match &stmt.kind {
            StmtKind::Data(text) => {
                self.step()?;
                self.write(sink, text)?;
            }
            StmtKind::Output(expr) => self.output(env, expr, sink)?,
            StmtKind::If(branches, otherwise) => {
                for (index, (test, body)) in branches.iter().enumerate() {
                    // Each `elif` is a statement of its own.
                    let truth = self.truth(env, test).map_err(|error| match index {
                        0 => error,
                        _ => error.of_statement(&env.source, test.span),
                    });
                    if truth? {
                        return self.body(env, body, sink);
                    }
                }
                return self.body(env, otherwise, sink);
            }
            StmtKind::For(node) => self.for_loop(env, node, sink)?,
            StmtKind::Set(target, expr) => {
                let value = self.eval(env, expr)?;
                self.assign(env, target, value)?;
            }
            StmtKind::Do(expr) => {
                self.eval(env, expr)?;
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Profile(label, body) => {
                self.eval(env, label)?;
                return self.body(env, body, sink);
            }
            other => return self.rare_statement(env, stmt, other, sink),
        }
        Ok(Flow::Normal)
    }

    fn rare_statement(
        &self,
        env: &Env,
        stmt: &Stmt,
        kind: &StmtKind,
        sink: &mut Sink,
    ) -> Result<Flow> {
        self.step()?;
        match kind {
            StmtKind::SetBlock(target, filter, body) => {
                let text = self.captured_text(env, body)?;
                let value = match filter {
                    Some(filter) => self.filtered(env, filter, &text)?,
                    None => text,
                };
                self.assign(env, target, value)?;
            }
            StmtKind::With(pairs, body) => {
                let inner = env.inner();
                for (target, expr) in pairs {
                    let value = self.eval(env, expr)?;
                    self.assign(&inner, target, value)?;
                }
                return self.body(&inner, body, sink);
            }
            StmtKind::Macro(def) => {
                let value = MacroValue::new(self, def, env);
                if let Some(name) = &def.name {
                    env.set(name, Value::object(Object::Macro(value)));
                }
            }
            StmtKind::CallBlock(def, call) => {
                let caller = MacroValue::new(self, def, env);
                let text = self.call_block(env, Value::object(Object::Macro(caller)), call)?;
                self.write(sink, &value::text(&text)?)?;
            }
            StmtKind::FilterBlock(filter, body) => {
                let text = self.captured_text(env, body)?;
                let value = self.filtered(env, filter, &text)?;
                self.write(sink, &value::text(&value)?)?;
            }
            StmtKind::Include(node) => self.include(env, stmt, node, sink)?,
            StmtKind::Import(node) => {
                let module = self.import(env, stmt, node)?;
                env.set(&node.target, module);
            }
            StmtKind::FromImport(node) => self.import_names(env, stmt, node)?,
            StmtKind::Block(block) => self.block(env, block, sink)?,
            StmtKind::Extends(expr) => self.extends(env, stmt, expr, sink)?,
            StmtKind::Scope(body) => return self.body(&env.inner(), body, sink),
            StmtKind::Load(decoder, target, body) => {
                let text = self.captured_text(env, body)?;
                let value = self.decode(decoder, text)?;
                self.assign(env, target, value)?;
            }
            StmtKind::ImportData(decoder, node) => {
                let module = self.import(env, stmt, node)?;
                let value = self.decode(decoder, module)?;
                env.set(&node.target, value);
            }
            _ => {}
        }
        Ok(Flow::Normal)
    }

    fn output(&self, env: &Env, expr: &Expr, sink: &mut Sink) -> Result<()> {
        let value = self.eval(env, expr)?;
        if sink.muted {
            return Ok(());
        }
        match &value {
            Value::Str(text) | Value::Markup(text) => self.write(sink, text),
            other => {
                let text = if self.settings.yaml_friendly_maps {
                    finalize::text(other)
                } else {
                    value::text(other)
                };
                let text = text.map_err(|error| error.at(&env.source, expr.span))?;
                self.write(sink, &text)
            }
        }
    }

    fn captured_text(&self, env: &Env, body: &[Stmt]) -> Result<Value> {
        let mut inner = Sink::default();
        self.body(&env.inner(), body, &mut inner)?;
        Ok(Value::str(inner.text))
    }

    fn filtered(&self, env: &Env, filter: &Expr, text: &Value) -> Result<Value> {
        match &filter.kind {
            ExprKind::Filter(applied) => self
                .eval_filter(env, applied, Some(text))
                .map_err(|error| error.at(&env.source, filter.span)),
            _ => self.eval(env, filter),
        }
    }

    fn call_block(&self, env: &Env, caller: Value, call: &Expr) -> Result<Value> {
        let ExprKind::Call(callee, args) = &call.kind else {
            return Err(Error::new(ErrorKind::Runtime, "expected call"));
        };
        let callee_value = self.eval(env, callee)?;
        let mut args: Args = self.eval_args(env, args, None)?;
        args.named.push(("caller".into(), caller));
        self.call_in(env, callee, &callee_value, args)
    }

    fn decode(&self, decoder: &str, value: Value) -> Result<Value> {
        filters::apply(self, decoder, Args::positional(vec![value]))
    }

    /// Assigns to a target.
    pub(crate) fn assign(&self, env: &Env, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Name(name) => env.set(name, value),
            Target::Tuple(targets) => {
                let items = self.unpack(&value, targets.len())?;
                for (target, item) in targets.iter().zip(items) {
                    self.assign(env, target, item)?;
                }
            }
            Target::Attribute(name, attribute, span) => {
                let found = env.get(name);
                let object = found.as_ref().and_then(Value::as_object);
                let Some(Object::Namespace(cell)) = object else {
                    let error = Error::new(
                        ErrorKind::Runtime,
                        "cannot assign attribute on non-namespace object",
                    );
                    return Err(error.at(&env.source, *span));
                };
                let cell = Rc::clone(cell);
                let key = Key::text(Arc::clone(attribute));
                let old = cell.0.borrow_mut().insert(key, value);
                drop(old);
            }
        }
        Ok(())
    }
}
