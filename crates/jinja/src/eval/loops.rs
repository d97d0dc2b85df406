//! Loops: items are drawn one by one, so that a loop's condition sees what its body
//! did, and a loop over a growing list sees the new items.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::statement::Flow;
use super::{Args, Env, Machine, Sink};
use crate::ast::For;
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Iter, ListCell, Object, Other, OtherKind, Undefined, Value, equal, iterate};

enum Items {
    Live(Rc<ListCell>, Cell<usize>),
    Generator(Rc<Iter>),
    Fixed(RefCell<std::vec::IntoIter<Value>>),
}

/// A loop at work: what templates call `loop`.
pub(crate) struct LoopState {
    items: Items,
    /// Drawn, but not yet gone through.
    ahead: RefCell<VecDeque<Value>>,
    index: Cell<usize>,
    depth: usize,
    previous: RefCell<Option<Value>>,
    current: RefCell<Option<Value>>,
    changed: RefCell<Option<Value>>,
    node: Arc<For>,
    env: Env,
}

impl LoopState {
    fn new(node: &Arc<For>, env: &Env, iterable: &Value, depth: usize) -> Result<Self> {
        let items = match iterable {
            Value::List(list) => Items::Live(Rc::clone(&list.0), Cell::new(0)),
            Value::Other(Other(OtherKind::Iter(iter))) => Items::Generator(Rc::clone(iter)),
            other => Items::Fixed(RefCell::new(iterate(other)?.into_iter())),
        };
        Ok(Self {
            items,
            ahead: RefCell::default(),
            index: Cell::new(0),
            depth,
            previous: RefCell::default(),
            current: RefCell::default(),
            changed: RefCell::default(),
            node: Arc::clone(node),
            env: env.clone(),
        })
    }

    /// The next item that the loop's condition accepts.
    fn draw(&self, machine: &Machine<'_>) -> Result<Option<Value>> {
        loop {
            let item = match &self.items {
                Items::Live(cell, at) => {
                    let item = cell.0.borrow().get(at.get()).cloned();
                    at.set(at.get() + 1);
                    item
                }
                Items::Generator(iter) => iter.next(),
                Items::Fixed(items) => items.borrow_mut().next(),
            };
            let Some(item) = item else { return Ok(None) };
            machine.step()?;
            let Some(test) = &self.node.test else {
                return Ok(Some(item));
            };
            let env = self.env.inner();
            machine.assign(&env, &self.node.target, item.clone())?;
            if machine.truth(&env, test)? {
                return Ok(Some(item));
            }
        }
    }

    fn peek(&self, machine: &Machine<'_>) -> Result<Option<Value>> {
        if self.ahead.borrow().is_empty()
            && let Some(item) = self.draw(machine)?
        {
            self.ahead.borrow_mut().push_back(item);
        }
        Ok(self.ahead.borrow().front().cloned())
    }

    fn advance(&self, machine: &Machine<'_>) -> Result<Option<Value>> {
        let next = self.ahead.borrow_mut().pop_front();
        let next = match next {
            Some(item) => Some(item),
            None => self.draw(machine)?,
        };
        if let Some(item) = &next {
            self.index.set(self.index.get() + 1);
            let before = self.current.replace(Some(item.clone()));
            *self.previous.borrow_mut() = before;
        }
        Ok(next)
    }

    fn count(&self, machine: &Machine<'_>) -> Result<usize> {
        while let Some(item) = self.draw(machine)? {
            self.ahead.borrow_mut().push_back(item);
        }
        Ok(self.index.get() + self.ahead.borrow().len())
    }

    pub(crate) fn is_recursive(&self) -> bool {
        self.node.recursive
    }

    pub(crate) fn text(&self) -> String {
        format!("<LoopContext {}/...>", self.index.get())
    }

    pub(crate) fn attribute(&self, machine: &Machine<'_>, name: &str) -> Result<Option<Value>> {
        let index = self.index.get();
        let int = Value::int_of;
        let missing = |what: &str| Undefined::hint(what, machine.lenient());
        Ok(Some(match name {
            "index" => int(index),
            "index0" => int(index.saturating_sub(1)),
            "depth" => int(self.depth + 1),
            "depth0" => int(self.depth),
            "first" => Value::Bool(index == 1),
            "last" => Value::Bool(self.peek(machine)?.is_none()),
            "length" => int(self.count(machine)?),
            "revindex" => int(self.count(machine)? + 1 - index),
            "revindex0" => int(self.count(machine)? - index),
            "previtem" => match self.previous.borrow().clone() {
                Some(item) => item,
                None => missing("there is no previous item"),
            },
            "nextitem" => match self.peek(machine)? {
                Some(item) => item,
                None => missing("there is no next item"),
            },
            _ => return Ok(None),
        }))
    }

    pub(crate) fn changed(&self, values: Vec<Value>) -> Result<bool> {
        let values = Value::tuple(values);
        let same = match &*self.changed.borrow() {
            Some(before) => equal(before, &values)?,
            None => false,
        };
        if !same {
            *self.changed.borrow_mut() = Some(values);
        }
        Ok(!same)
    }

    pub(crate) fn cycle(&self, items: &[Value]) -> Result<Value> {
        if items.is_empty() {
            return Err(Error::of_type("no items for cycling given"));
        }
        let at = self.index.get().saturating_sub(1) % items.len();
        Ok(items.get(at).cloned().unwrap_or(Value::None))
    }

    /// `loop(items)` inside a recursive loop: its text for other items.
    pub(crate) fn recurse(&self, machine: &Machine<'_>, args: Args) -> Result<Value> {
        if !self.node.recursive {
            return Err(Error::of_type(
                "The loop must have the 'recursive' marker to be called recursively.",
            ));
        }
        let [iterable] = args.bind("loop", ["iterable"], 1)?;
        let iterable = iterable.unwrap_or(Value::None);
        let mut sink = Sink::default();
        machine.run_loop(&self.env, &self.node, &iterable, self.depth + 1, &mut sink)?;
        Ok(Value::str(sink.text))
    }
}

impl Machine<'_> {
    pub(super) fn for_loop(&self, env: &Env, node: &Arc<For>, sink: &mut Sink) -> Result<()> {
        let iterable = self.eval(env, &node.iterable)?;
        self.run_loop(env, node, &iterable, 0, sink)
    }

    fn run_loop(
        &self,
        env: &Env,
        node: &Arc<For>,
        iterable: &Value,
        depth: usize,
        sink: &mut Sink,
    ) -> Result<()> {
        let place = node.iterable.span;
        let state = LoopState::new(node, env, iterable, depth)
            .map_err(|error| error.at(&env.source, place))?;
        let state = Rc::new(state);
        let shown = Value::object(Object::Loop(Rc::clone(&state)));
        let mut empty = true;
        let name = "loop".into();
        while let Some(item) = state.advance(self)? {
            empty = false;
            let inner = env.inner();
            inner.set(&name, shown.clone());
            self.assign(&inner, &node.target, item)
                .map_err(|error| error.at(&env.source, place))?;
            if self.body(&inner, &node.body, sink)? == Flow::Break {
                return Ok(());
            }
        }
        if empty {
            self.body(&env.inner(), &node.otherwise, sink)?;
        }
        Ok(())
    }

    /// Takes a value apart for several targets.
    pub(crate) fn unpack(&self, value: &Value, wanted: usize) -> Result<Vec<Value>> {
        let items = match iterate(value) {
            Err(error) if error.kind() == ErrorKind::Type => {
                return Err(Error::of_type(format!(
                    "cannot unpack non-iterable {} object",
                    value.type_name()
                )));
            }
            other => other?,
        };
        let got = items.len();
        if got < wanted {
            return Err(Error::of_value(format!(
                "not enough values to unpack (expected {wanted}, got {got})"
            )));
        }
        if got > wanted {
            return Err(Error::of_value(format!(
                "too many values to unpack (expected {wanted})"
            )));
        }
        Ok(items)
    }
}
