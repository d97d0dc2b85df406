//! Where names live: the globals of a render, the variables at the top of one
//! template, and scopes inside loops, macros and blocks.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::ast::{Ast, BlockDef};
use crate::source::{Source, Str};
use crate::value::Value;

/// Names and their values.
pub(crate) type Vars = HashMap<Str, Value>;

/// One template at work: what surrounds it, what its top level assigns.
pub(crate) struct Context {
    parent: Rc<Vars>,
    vars: RefCell<IndexMap<Str, Value>>,
    /// Blocks by name; the most derived first.
    blocks: RefCell<HashMap<Str, Vec<Arc<BlockDef>>>>,
    /// The template that this one extends, once it said so.
    extends: RefCell<Option<Arc<Ast>>>,
    extended: Cell<bool>,
}

impl Context {
    pub(crate) fn new(parent: Rc<Vars>, blocks: &[Arc<BlockDef>]) -> Rc<Self> {
        let context = Self {
            parent,
            vars: RefCell::default(),
            blocks: RefCell::default(),
            extends: RefCell::default(),
            extended: Cell::new(false),
        };
        context.add_blocks(blocks);
        Rc::new(context)
    }

    pub(crate) fn add_blocks(&self, blocks: &[Arc<BlockDef>]) {
        let mut all = self.blocks.borrow_mut();
        for block in blocks {
            all.entry(Str::clone(&block.name))
                .or_default()
                .push(Arc::clone(block));
        }
    }

    pub(crate) fn block(&self, name: &str, depth: usize) -> Option<Arc<BlockDef>> {
        self.blocks.borrow().get(name)?.get(depth).cloned()
    }

    /// Notes the parent template; false if there is one already.
    pub(crate) fn extend(&self, ast: Arc<Ast>) -> bool {
        let first = self.extends.borrow().is_none();
        if first {
            self.add_blocks(&ast.blocks);
            *self.extends.borrow_mut() = Some(ast);
            self.extended.set(true);
        }
        first
    }

    pub(crate) fn take_parent(&self) -> Option<Arc<Ast>> {
        self.extended.set(false);
        self.extends.take()
    }

    /// Whether what the top level writes is lost to a parent template.
    pub(crate) fn is_extended(&self) -> bool {
        self.extended.get()
    }

    fn get(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.vars.borrow().get(name) {
            return Some(value.clone());
        }
        self.parent.get(name).cloned()
    }

    pub(crate) fn set(&self, name: &Str, value: Value) {
        self.vars.borrow_mut().insert(Str::clone(name), value);
    }

    /// What an importer may take.
    pub(crate) fn exported(&self) -> IndexMap<Str, Value> {
        let vars = self.vars.borrow();
        let visible = vars.iter().filter(|(name, _)| !name.starts_with('_'));
        visible
            .map(|(name, value)| (Str::clone(name), value.clone()))
            .collect()
    }

    fn all(&self) -> Vars {
        let mut all = (*self.parent).clone();
        for (name, value) in self.vars.borrow().iter() {
            all.insert(Str::clone(name), value.clone());
        }
        all
    }
}

/// Variables of a loop round, a macro call, a block.
pub(crate) struct Scope {
    vars: RefCell<Vec<(Str, Value)>>,
    parent: Option<Rc<Self>>,
}

impl Scope {
    pub(crate) fn set(&self, name: &Str, value: Value) {
        let mut vars = self.vars.borrow_mut();
        match vars.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = value,
            None => vars.push((Str::clone(name), value)),
        }
    }

    fn get(&self, name: &str) -> Option<Value> {
        let mut scope = Some(self);
        while let Some(here) = scope {
            let vars = here.vars.borrow();
            if let Some((_, value)) = vars.iter().find(|(other, _)| &**other == name) {
                return Some(value.clone());
            }
            scope = here.parent.as_deref();
        }
        None
    }
}

/// Where a piece of a template runs.
#[derive(Clone)]
pub(crate) struct Env {
    pub(crate) context: Rc<Context>,
    pub(crate) scope: Option<Rc<Scope>>,
    pub(crate) source: Arc<Source>,
}

impl Env {
    pub(crate) fn top(context: &Rc<Context>, source: &Arc<Source>) -> Self {
        Self {
            context: Rc::clone(context),
            scope: None,
            source: Arc::clone(source),
        }
    }

    /// A scope inside this one.
    pub(crate) fn inner(&self) -> Self {
        Self {
            context: Rc::clone(&self.context),
            scope: Some(Rc::new(Scope {
                vars: RefCell::default(),
                parent: self.scope.clone(),
            })),
            source: Arc::clone(&self.source),
        }
    }

    pub(crate) fn is_top(&self) -> bool {
        self.scope.is_none()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        self.scope
            .as_ref()
            .and_then(|scope| scope.get(name))
            .or_else(|| self.context.get(name))
    }

    pub(crate) fn set(&self, name: &Str, value: Value) {
        match &self.scope {
            Some(scope) => scope.set(name, value),
            None => self.context.set(name, value),
        }
    }

    /// Every name that is visible here: what `with context` hands on.
    pub(crate) fn all(&self) -> Vars {
        let mut all = self.context.all();
        let mut chain = Vec::new();
        let mut scope = self.scope.as_deref();
        while let Some(here) = scope {
            chain.push(here);
            scope = here.parent.as_deref();
        }
        for scope in chain.into_iter().rev() {
            for (name, value) in scope.vars.borrow().iter() {
                all.insert(Str::clone(name), value.clone());
            }
        }
        all
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        let scopes = match (&self.scope, &other.scope) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        scopes && Rc::ptr_eq(&self.context, &other.context)
    }

    /// Drops the variables: they may hold what holds them.
    pub(crate) fn clear(&self) {
        if let Some(scope) = &self.scope {
            drop(scope.vars.take());
        }
        drop(self.context.vars.take());
    }
}
