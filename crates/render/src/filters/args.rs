//! The arguments of a filter by position or name.

use halite_jinja::{Error, Result};
use halite_proto::{Map, Value};

/// The arguments of a filter; the first one is the value it is applied to.
pub(crate) struct Args<'a> {
    filter: &'a str,
    places: Vec<Value>,
    names: Map,
}

impl<'a> Args<'a> {
    pub(crate) fn new(filter: &'a str, places: &[Value], names: &Map) -> Self {
        Self {
            filter,
            places: places.to_vec(),
            names: names.clone(),
        }
    }

    /// What the filter is applied to.
    pub(crate) fn value(&self) -> Value {
        self.places.first().cloned().unwrap_or_default()
    }

    /// The argument at `place`, or called `name`.
    pub(crate) fn get(&self, place: usize, name: &str) -> Option<&Value> {
        self.places
            .get(place)
            .or_else(|| self.names.get(name))
            .filter(|value| !value.is_nil())
    }

    /// A text that must be given.
    pub(crate) fn text(&self, place: usize, name: &str) -> Result<String> {
        match self.get(place, name) {
            Some(Value::Str(text)) => Ok(text.clone()),
            Some(other) => Err(self.wrong(name, other)),
            None => Err(Error::foreign(format!(
                "{}() missing 1 required positional argument: '{name}'",
                self.filter
            ))),
        }
    }

    /// A text, or `default`.
    pub(crate) fn text_or(&self, place: usize, name: &str, default: &str) -> Result<String> {
        match self.get(place, name) {
            None => Ok(default.to_owned()),
            Some(_) => self.text(place, name),
        }
    }

    /// A size, or `default`.
    pub(crate) fn size_or(&self, place: usize, name: &str, default: usize) -> Result<usize> {
        match self.get(place, name) {
            None => Ok(default),
            Some(value) => value
                .as_int()
                .and_then(|int| usize::try_from(int).ok())
                .ok_or_else(|| self.wrong(name, value)),
        }
    }

    /// Python's truth, or `default`.
    pub(crate) fn flag_or(&self, place: usize, name: &str, default: bool) -> bool {
        self.get(place, name).map_or(default, Value::is_true)
    }

    pub(crate) fn wrong(&self, name: &str, value: &Value) -> Error {
        Error::foreign(format!(
            "{}: '{name}' can not be of the type {}",
            self.filter,
            value.type_name()
        ))
    }
}
