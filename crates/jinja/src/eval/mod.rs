//! Runs a parsed template: a walk over the tree.

pub(crate) mod access;
mod arguments;
mod block;
mod call;
mod expression;
mod import;
mod loops;
mod macros;
pub(crate) mod operators;
mod scope;
mod statement;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) use arguments::Args;
pub(crate) use block::BlockRef;
pub(crate) use import::ModuleValue;
pub(crate) use loops::LoopState;
pub(crate) use macros::MacroValue;
pub(crate) use scope::{Context, Env, Vars};

use crate::ast::Ast;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::limits;
use crate::parse::Names;
use crate::settings::{Settings, UndefinedMode};
use crate::source::Span;
use crate::stack::Stack;
use crate::trace::Mark;
use crate::{checks, filters};

/// What the parser needs to know of filters and tests.
pub(crate) const NAMES: Names = Names {
    is_filter: filters::exists,
    is_test: checks::exists,
};

/// One render: its globals, its loaded templates and what it has used up.
pub(crate) struct Machine<'h> {
    settings: &'h Settings,
    host: &'h dyn Host,
    stack: Stack,
    steps: Cell<u64>,
    written: Cell<usize>,
    depth: Cell<u32>,
    globals: RefCell<Vars>,
    templates: RefCell<HashMap<String, Rc<Loaded>>>,
    /// What macros captured: emptied at the end, because a macro lives in the
    /// scope that it captures.
    captured: RefCell<Vec<Env>>,
}

/// A template that was imported or included, and its module once one was made
/// without context: it is shared by all who import it so.
pub(crate) struct Loaded {
    /// As the importing template calls it.
    name: String,
    ast: Arc<Ast>,
    module: RefCell<Option<crate::value::Value>>,
}

/// Text being written.
#[derive(Default)]
pub(crate) struct Sink {
    text: String,
    /// After `extends`: nothing more is written at the top.
    muted: bool,
    /// Where each piece of the text came from, if somebody wants to know.
    marks: Option<Vec<Mark>>,
}

impl<'h> Machine<'h> {
    pub(crate) fn new(settings: &'h Settings, host: &'h dyn Host, globals: Vars) -> Self {
        Self {
            settings,
            host,
            stack: Stack::here(),
            steps: Cell::new(0),
            written: Cell::new(0),
            depth: Cell::new(0),
            globals: RefCell::new(globals),
            templates: RefCell::default(),
            captured: RefCell::default(),
        }
    }

    pub(crate) fn host(&self) -> &'h dyn Host {
        self.host
    }

    pub(crate) fn lenient(&self) -> bool {
        self.settings.undefined == UndefinedMode::Lenient
    }

    /// Renders a template at the top.
    pub(crate) fn render(&self, ast: &Arc<Ast>) -> Result<String> {
        let parent = Rc::new(self.globals.borrow().clone());
        let context = Context::new(parent, &ast.blocks);
        self.run(ast, &context)
    }

    /// Renders a template at the top, and says where its text came from. Of a
    /// template that extends another one that is not known.
    pub(crate) fn render_marked(&self, ast: &Arc<Ast>) -> Result<(String, Vec<Mark>)> {
        let parent = Rc::new(self.globals.borrow().clone());
        let context = Context::new(parent, &ast.blocks);
        let mut sink = Sink {
            marks: Some(Vec::new()),
            ..Sink::default()
        };
        let env = Env::top(&context, &ast.source);
        self.body(&env, &ast.body, &mut sink)?;
        match context.take_parent() {
            None => Ok((sink.text, sink.marks.unwrap_or_default())),
            Some(parent) => {
                let text = self.run_into(parent, &context, sink.text)?;
                Ok((text, Vec::new()))
            }
        }
    }

    /// The text of a template in a context.
    pub(crate) fn run(&self, ast: &Arc<Ast>, context: &Rc<Context>) -> Result<String> {
        self.run_into(Arc::clone(ast), context, String::new())
    }

    fn run_into(&self, mut ast: Arc<Ast>, context: &Rc<Context>, text: String) -> Result<String> {
        let mut sink = Sink {
            text,
            ..Sink::default()
        };
        loop {
            let env = Env::top(context, &ast.source);
            self.body(&env, &ast.body, &mut sink)?;
            sink.muted = false;
            let Some(parent) = context.take_parent() else {
                return Ok(sink.text);
            };
            ast = parent;
        }
    }

    /// Counts one step.
    pub(crate) fn step(&self) -> Result<()> {
        self.steps_taken(1)
    }

    pub(crate) fn steps_taken(&self, count: u64) -> Result<()> {
        let steps = self.steps.get().saturating_add(count);
        self.steps.set(steps);
        if steps > self.settings.limits.steps_max {
            return Err(Error::limit(format!(
                "the template took more than {} steps",
                self.settings.limits.steps_max
            )));
        }
        Ok(())
    }

    /// Remembers that what is written next comes from a statement.
    fn mark(sink: &mut Sink, span: Span, literal: bool) {
        let out = sink.text.len();
        if let Some(marks) = &mut sink.marks
            && marks.len() < limits::MARKS_MAX
        {
            marks.push(Mark { out, span, literal });
        }
    }

    fn write(&self, sink: &mut Sink, text: &str) -> Result<()> {
        if sink.muted {
            return Ok(());
        }
        self.account(text.len())?;
        sink.text.push_str(text);
        Ok(())
    }

    /// Counts bytes that are kept.
    pub(crate) fn account(&self, bytes: usize) -> Result<()> {
        let written = self.written.get().saturating_add(bytes);
        self.written.set(written);
        if written > self.settings.limits.output_bytes_max {
            return Err(Error::limit(format!(
                "the template wrote more than {} bytes",
                self.settings.limits.output_bytes_max
            )));
        }
        Ok(())
    }

    /// Counts items that an operation is about to build.
    pub(crate) fn account_items(&self, count: usize) -> Result<()> {
        let bytes = count.saturating_mul(size_of::<crate::value::Value>());
        self.account(bytes / limits::NEW_BYTES_PER_KEPT)
    }

    /// Runs something one call deeper.
    pub(crate) fn deeper<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.depth.get() >= self.settings.limits.calls_depth_max {
            return Err(Error::limit("maximum recursion depth exceeded"));
        }
        self.stack.check()?;
        self.depth.set(self.depth.get() + 1);
        let result = run();
        self.depth.set(self.depth.get() - 1);
        result
    }

    pub(crate) fn check_stack(&self) -> Result<()> {
        self.stack.check()
    }

    /// Keeps an environment that a macro captured, to be emptied at the end.
    fn capture(&self, env: &Env) {
        let mut captured = self.captured.borrow_mut();
        let known = captured.last().is_some_and(|last| last.same(env));
        if !known {
            captured.push(env.clone());
        }
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        for env in self.captured.take() {
            env.clear();
        }
    }
}
