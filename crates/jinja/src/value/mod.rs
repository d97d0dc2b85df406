//! The values that templates compute with: Python's, as far as templates see them.
//! Lists and maps are shared: appending to one changes it for everyone who holds
//! it.

mod bury;
mod convert;
mod dict;
mod iterate;
mod object;
mod order;
mod repr;
mod undefined;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::source::Str;
use crate::walk;

pub(crate) use bury::{DictCell, ListCell, TupleCell};
pub(crate) use dict::{Dict, Key};
pub(crate) use iterate::{Iter, char_value, iterate, length};
pub(crate) use object::namespace;
pub(crate) use object::{Cycler, Native, Object, Range};
pub(crate) use order::{equal, keys_of, less, order, set_order, sort_by};
pub(crate) use repr::{repr, text};
pub(crate) use undefined::Undefined;

/// A value of a template at work.
#[derive(Clone)]
pub enum Value {
    /// `None`.
    None,
    /// `True`, `False`.
    Bool(bool),
    /// An integer; Python's are unlimited, these end at 128 bits.
    Int(i128),
    /// A float.
    Float(f64),
    /// Text.
    Str(Arc<str>),
    /// Text that is marked as safe: what `safe`, `escape`, `tojson` yield.
    Markup(Arc<str>),
    /// Bytes.
    Bytes(Rc<[u8]>),
    /// A list.
    List(List),
    /// A tuple.
    Tuple(Tuple),
    /// A map.
    Dict(Mapping),
    /// A set.
    Set(Set),
    /// Everything else that a template can hold but not write down.
    Other(Other),
}

/// A shared list.
#[derive(Clone)]
pub struct List(pub(crate) Rc<ListCell>);
/// A tuple.
#[derive(Clone)]
pub struct Tuple(pub(crate) Rc<TupleCell>);
/// A shared map.
#[derive(Clone)]
pub struct Mapping(pub(crate) Rc<DictCell>);
/// A shared set: the keys of a map.
#[derive(Clone)]
pub struct Set(pub(crate) Rc<DictCell>);
/// What can not be written down: functions, macros, loops, undefined values.
#[derive(Clone)]
pub struct Other(pub(crate) OtherKind);

#[derive(Clone)]
pub(crate) enum OtherKind {
    Undefined(Rc<Undefined>),
    View(Rc<DictCell>, ViewKind),
    Range(Rc<Range>),
    Iter(Rc<Iter>),
    Object(Rc<Object>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewKind {
    Keys,
    Values,
    Items,
}

impl Value {
    /// The bytes that this value alone holds, if nobody else has it: it has just
    /// been made. Those of items are not looked for, they have been made before.
    pub(crate) fn new_bytes(&self) -> usize {
        let items = |count: usize, is_new: bool| match is_new {
            true => count.saturating_mul(size_of::<Self>()),
            false => 0,
        };
        match self {
            Self::Str(text) | Self::Markup(text) if Arc::strong_count(text) == 1 => text.len(),
            Self::Bytes(bytes) if Rc::strong_count(bytes) == 1 => bytes.len(),
            Self::List(List(list)) => {
                let count = list.0.try_borrow().map_or(0, |list| list.len());
                items(count, Rc::strong_count(list) == 1)
            }
            Self::Tuple(Tuple(tuple)) => items(tuple.0.len(), Rc::strong_count(tuple) == 1),
            Self::Dict(Mapping(dict)) | Self::Set(Set(dict)) => {
                let count = dict.0.try_borrow().map_or(0, |dict| dict.len());
                items(count, Rc::strong_count(dict) == 1)
            }
            _ => 0,
        }
    }

    /// Counts the value, with the text that it holds itself, among those that the
    /// render has walked through.
    pub(crate) fn see(&self) -> Result<()> {
        walk::see(self.as_str().map_or(0, str::len))
    }

    pub(crate) fn str(text: impl Into<Str>) -> Self {
        Self::Str(text.into())
    }

    pub(crate) fn markup(text: impl Into<Str>) -> Self {
        Self::Markup(text.into())
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List(Rc::new(ListCell(RefCell::new(items)))))
    }

    pub(crate) fn tuple(items: Vec<Self>) -> Self {
        Self::Tuple(Tuple(Rc::new(TupleCell(items))))
    }

    pub(crate) fn dict(dict: Dict) -> Self {
        Self::Dict(Mapping(Rc::new(DictCell(RefCell::new(dict)))))
    }

    pub(crate) fn set(keys: impl IntoIterator<Item = Key>) -> Self {
        let dict = keys.into_iter().map(|key| (key, Self::None)).collect();
        Self::Set(Set(Rc::new(DictCell(RefCell::new(dict)))))
    }

    pub(crate) fn iter(name: &'static str, items: Vec<Self>) -> Self {
        Self::other(OtherKind::Iter(Rc::new(Iter::new(name, items))))
    }

    pub(crate) fn object(object: Object) -> Self {
        Self::other(OtherKind::Object(Rc::new(object)))
    }

    pub(crate) fn other(kind: OtherKind) -> Self {
        Self::Other(Other(kind))
    }

    pub(crate) fn int_of(number: usize) -> Self {
        Self::Int(number as i128)
    }

    /// The text, if this is text.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) | Self::Markup(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_undefined(&self) -> Option<&Rc<Undefined>> {
        match self {
            Self::Other(Other(OtherKind::Undefined(undefined))) => Some(undefined),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Other(Other(OtherKind::Object(object))) => Some(object),
            _ => None,
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// An integer or a boolean, which is one in Python.
    pub(crate) fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(*int),
            Self::Bool(bool) => Some(i128::from(*bool)),
            _ => None,
        }
    }

    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(float) => Some(*float),
            other => other.as_int().map(int_to_float),
        }
    }

    /// The type's name in Python.
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::Markup(_) => "Markup",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
            Self::Set(_) => "set",
            Self::Other(Other(kind)) => match kind {
                OtherKind::Undefined(_) => "StrictUndefined",
                OtherKind::View(_, ViewKind::Keys) => "dict_keys",
                OtherKind::View(_, ViewKind::Values) => "dict_values",
                OtherKind::View(_, ViewKind::Items) => "dict_items",
                OtherKind::Range(_) => "range",
                OtherKind::Iter(iter) => iter.name(),
                OtherKind::Object(object) => object.type_name(),
            },
        }
    }

    /// What Jinja2 calls the value in its messages.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::None => "None".to_owned(),
            Self::Markup(_) => "markupsafe.Markup object".to_owned(),
            Self::Dict(map) => match &map.0.0.borrow().label {
                Some(label) => format!("{label} object"),
                None => "dict object".to_owned(),
            },
            Self::Other(Other(OtherKind::Object(object))) => object.described(),
            other => format!("{} object", other.type_name()),
        }
    }

    /// Python's truth; an error for what is undefined.
    pub(crate) fn is_true(&self) -> Result<bool> {
        Ok(match self {
            Self::None => false,
            Self::Bool(bool) => *bool,
            Self::Int(int) => *int != 0,
            Self::Float(float) => *float != 0.0,
            Self::Str(text) | Self::Markup(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => !list.0.0.borrow().is_empty(),
            Self::Tuple(tuple) => !tuple.0.0.is_empty(),
            Self::Dict(Mapping(cell)) | Self::Set(Set(cell)) => !cell.0.borrow().is_empty(),
            Self::Other(Other(kind)) => match kind {
                OtherKind::Undefined(undefined) => {
                    undefined.used()?;
                    false
                }
                OtherKind::View(cell, _) => !cell.0.borrow().is_empty(),
                OtherKind::Range(range) => range.len() != 0,
                OtherKind::Iter(_) => true,
                OtherKind::Object(object) => object.is_true(),
            },
        })
    }

    /// The same object, as Python's `is` sees it.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Markup(a), Self::Markup(b)) => Arc::ptr_eq(a, b),
            (Self::List(a), Self::List(b)) => Rc::ptr_eq(&a.0, &b.0),
            (Self::Tuple(a), Self::Tuple(b)) => Rc::ptr_eq(&a.0, &b.0),
            (Self::Dict(a), Self::Dict(b)) => Rc::ptr_eq(&a.0, &b.0),
            (Self::Set(a), Self::Set(b)) => Rc::ptr_eq(&a.0, &b.0),
            (Self::Other(a), Self::Other(b)) => match (&a.0, &b.0) {
                (OtherKind::Undefined(a), OtherKind::Undefined(b)) => Rc::ptr_eq(a, b),
                (OtherKind::Object(a), OtherKind::Object(b)) => Rc::ptr_eq(a, b),
                (OtherKind::Iter(a), OtherKind::Iter(b)) => Rc::ptr_eq(a, b),
                _ => false,
            },
            _ => false,
        }
    }

    /// The text, or a `TypeError` that names what was wanted.
    pub(crate) fn want_str(&self, what: &str) -> Result<&str> {
        if let Some(undefined) = self.as_undefined() {
            undefined.used()?;
        }
        self.as_str()
            .ok_or_else(|| Error::of_type(format!("{what} must be str, not {}", self.type_name())))
    }

    /// The integer, or a `TypeError`.
    pub(crate) fn want_int(&self) -> Result<i128> {
        if let Some(undefined) = self.as_undefined() {
            undefined.used()?;
        }
        self.as_int().ok_or_else(|| {
            Error::of_type(format!(
                "'{}' object cannot be interpreted as an integer",
                self.type_name()
            ))
        })
    }
}

/// What Python's `float()` makes of an integer.
#[expect(clippy::cast_precision_loss, reason = "what Python's float() does")]
pub(crate) fn int_to_float(int: i128) -> f64 {
    int as f64
}

/// A float without its fraction, if it is an integer of 128 bits.
#[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
pub(crate) fn float_to_int(float: f64) -> Option<i128> {
    const EDGE: f64 = 1.7e38;
    (float.abs() < EDGE).then(|| float.trunc() as i128)
}

/// An index or a count that fits the machine.
pub(crate) fn to_usize(int: i128) -> Option<usize> {
    usize::try_from(int).ok()
}
