//! Values with a behaviour of their own: functions, macros, loops, modules.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::{DictCell, Value};
use crate::error::Result;
use crate::eval::{Args, Machine};
use crate::eval::{BlockRef, LoopState, MacroValue, ModuleValue};
use crate::source::Str;

/// A function of ours.
pub(crate) type Native = fn(&Machine<'_>, Args) -> Result<Value>;

/// What a value with behaviour is.
pub(crate) enum Object {
    /// A global function.
    Function(&'static str, Native),
    /// A method with the value it belongs to.
    Method(Value, Str),
    Macro(MacroValue),
    Loop(Rc<LoopState>),
    Module(ModuleValue),
    Namespace(Rc<DictCell>),
    Cycler(Cycler),
    /// One group of `groupby`: a pair that also has names.
    Group(Value, Value),
    /// `joiner`: its separator, and whether it was called before.
    Joiner(Str, Cell<bool>),
    /// `self`: the template's blocks.
    Blocks(BlockRef),
    /// `super`, or one block of `self`.
    Block(BlockRef),
    /// `salt`: all functions of the host.
    Salt,
    /// `salt.module`.
    SaltModule(Str),
    /// `salt['module.function']`.
    SaltFunction(Str),
}

/// `cycler`: items in turn.
pub(crate) struct Cycler {
    pub(crate) items: Vec<Value>,
    pub(crate) at: Cell<usize>,
}

/// `range`.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) start: i128,
    pub(crate) stop: i128,
    pub(crate) step: i128,
}

impl Range {
    pub(crate) fn len(&self) -> i128 {
        let (start, stop, step) = (self.start, self.stop, self.step);
        if step > 0 && start < stop {
            (stop - start - 1) / step + 1
        } else if step < 0 && start > stop {
            (start - stop - 1) / -step + 1
        } else {
            0
        }
    }

    pub(crate) fn get(&self, index: i128) -> Option<i128> {
        let length = self.len();
        let index = if index < 0 { index + length } else { index };
        (0..length)
            .contains(&index)
            .then(|| self.start + index * self.step)
    }
}

impl Object {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Function(..) | Self::SaltFunction(_) => "function",
            Self::Method(..) => "builtin_function_or_method",
            Self::Macro(_) => "Macro",
            Self::Loop(_) => "LoopContext",
            Self::Module(_) => "TemplateModule",
            Self::Namespace(_) => "Namespace",
            Self::Cycler(_) => "Cycler",
            Self::Group(..) => "_GroupTuple",
            Self::Joiner(..) => "Joiner",
            Self::Blocks(_) => "TemplateReference",
            Self::Block(_) => "BlockReference",
            Self::Salt | Self::SaltModule(_) => "AliasedLoader",
        }
    }

    pub(crate) fn described(&self) -> String {
        let module = match self {
            Self::Function(..) | Self::Method(..) | Self::SaltFunction(_) => "",
            Self::Cycler(_) | Self::Joiner(..) | Self::Namespace(_) => "jinja2.utils.",
            Self::Module(_) => "jinja2.environment.",
            Self::Salt => "salt.utils.templates.",
            Self::SaltModule(_) => return "salt.loader.lazy.LoadedMod object".to_owned(),
            _ => "jinja2.runtime.",
        };
        format!("{module}{} object", self.type_name())
    }

    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Cycler(cycler) => !cycler.items.is_empty(),
            _ => true,
        }
    }

    pub(crate) fn is_callable(&self) -> bool {
        match self {
            Self::Loop(state) => state.is_recursive(),
            Self::Module(_) | Self::Namespace(_) | Self::Blocks(_) | Self::Salt => false,
            Self::Cycler(_) | Self::SaltModule(_) | Self::Group(..) => false,
            _ => true,
        }
    }
}

impl Cycler {
    pub(crate) fn new(items: Vec<Value>) -> Self {
        Self {
            items,
            at: Cell::new(0),
        }
    }

    pub(crate) fn current(&self) -> Value {
        self.items
            .get(self.at.get())
            .cloned()
            .unwrap_or(Value::None)
    }

    pub(crate) fn next(&self) -> Value {
        let current = self.current();
        self.at.set((self.at.get() + 1) % self.items.len().max(1));
        current
    }
}

/// A namespace with nothing in it.
pub(crate) fn namespace() -> Rc<DictCell> {
    Rc::new(DictCell(RefCell::default()))
}
