//! Template inheritance: blocks, `super`, `self`, `extends`.

use std::rc::Rc;
use std::sync::Arc;

use halite_proto::python;

use super::{Env, Machine, Sink};
use crate::ast::{BlockDef, Expr, Stmt};
use crate::error::{Error, ErrorKind, Result};
use crate::source::Str;
use crate::value::{Object, Undefined, Value};

/// A block of a template at work: its name, and how many derived ones of that
/// name come before it.
#[derive(Clone)]
pub(crate) struct BlockRef {
    env: Env,
    name: Option<Str>,
    depth: usize,
}

impl BlockRef {
    /// One block by name: `self.name`.
    pub(crate) fn named(&self, machine: &Machine<'_>, name: &str) -> Option<Value> {
        self.env.context.block(name, 0)?;
        let block = Self {
            env: self.env.clone(),
            name: Some(name.into()),
            depth: 0,
        };
        machine.capture(&self.env);
        Some(Value::object(Object::Block(block)))
    }

    /// The block that this one overrides.
    pub(crate) fn parent(&self, machine: &Machine<'_>) -> Value {
        let name = self.name.clone().unwrap_or_default();
        let depth = self.depth + 1;
        if self.env.context.block(&name, depth).is_none() {
            let message = format!(
                "there is no parent block called {}.",
                python::str_repr(&name)
            );
            return Undefined::hint(message, machine.lenient());
        }
        let env = self.env.clone();
        let name = self.name.clone();
        Value::object(Object::Block(Self { env, name, depth }))
    }

    /// The block's text.
    pub(crate) fn render(&self, machine: &Machine<'_>) -> Result<String> {
        let name = self.name.clone().unwrap_or_default();
        let Some(block) = self.env.context.block(&name, self.depth) else {
            return Err(Error::new(ErrorKind::Key, python::str_repr(&name)));
        };
        let mut sink = Sink::default();
        machine.run_block(&self.env, &block, self.depth, &mut sink)?;
        Ok(sink.text)
    }
}

impl Machine<'_> {
    /// What `self` is.
    pub(super) fn blocks_of(&self, env: &Env) -> Value {
        let env = Env::top(&env.context, &env.source);
        self.capture(&env);
        let name = None;
        Value::object(Object::Blocks(BlockRef {
            env,
            name,
            depth: 0,
        }))
    }

    pub(super) fn block(&self, env: &Env, block: &Arc<BlockDef>, sink: &mut Sink) -> Result<()> {
        if env.is_top() && sink.muted {
            return Ok(());
        }
        let Some(first) = env.context.block(&block.name, 0) else {
            return Ok(());
        };
        if block.required && first.required {
            let message = format!("Required block {} not found", python::str_repr(&block.name));
            return Err(Error::new(ErrorKind::Runtime, message));
        }
        let outer = if block.scoped {
            env.clone()
        } else {
            Env::top(&env.context, &env.source)
        };
        self.deeper(|| self.run_block(&outer, &first, 0, sink))
    }

    fn run_block(
        &self,
        outer: &Env,
        block: &Arc<BlockDef>,
        depth: usize,
        sink: &mut Sink,
    ) -> Result<()> {
        let mut env = outer.inner();
        env.source = Arc::clone(&block.source);
        let this = BlockRef {
            env: outer.clone(),
            name: Some(Str::clone(&block.name)),
            depth,
        };
        env.set(&"super".into(), this.parent(self));
        self.body(&env, &block.body, sink)
            .map(|_| ())
            .map_err(|error| {
                let what = format!("block '{}'", block.name);
                error.through(what, &block.source, block.span)
            })
    }

    pub(super) fn extends(
        &self,
        env: &Env,
        stmt: &Stmt,
        expr: &Expr,
        sink: &mut Sink,
    ) -> Result<()> {
        let name = self.eval(env, expr)?;
        if env.context.is_extended() {
            return Err(Error::new(ErrorKind::Runtime, "extended multiple times"));
        }
        let loaded = self.load(env, stmt, &name)?;
        // A template that extends itself goes on for ever.
        self.steps_taken(EXTENDS_STEPS)?;
        if env.context.extend(Rc::clone(&loaded).ast()) {
            sink.muted = true;
        }
        Ok(())
    }
}

/// What one `extends` costs of the steps.
const EXTENDS_STEPS: u64 = 10_000;
