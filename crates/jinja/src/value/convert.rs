//! Between the data of the system and the values of a template.

use std::rc::Rc;

use halite_proto::value::{Map, Value as Data};

use super::{Dict, Key, Mapping, Other, OtherKind, Set, Undefined, Value, ViewKind, iterate};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

impl Value {
    /// A value of its own from data: nobody else sees it change.
    pub fn from_data(data: &Data) -> Self {
        match data {
            Data::Nil => Self::None,
            Data::Bool(bool) => Self::Bool(*bool),
            Data::Int(int) => Self::Int(*int),
            Data::Float(float) => Self::Float(*float),
            Data::Str(text) => Self::str(text.as_str()),
            Data::Bytes(bytes) => Self::Bytes(Rc::from(bytes.as_slice())),
            Data::List(items) => Self::list(items.iter().map(Self::from_data).collect()),
            Data::Map(map) => Self::dict(dict_of(map)),
            Data::Ext(UNDEFINED, message) => {
                Undefined::hint(String::from_utf8_lossy(message), false)
            }
            Data::Ext(_, bytes) => Self::Bytes(Rc::from(bytes.as_slice())),
        }
    }

    /// A map that messages call by another name than `dict`, as Salt's
    /// `grains` and `opts` are.
    pub fn labelled_map(map: &Map, label: &str) -> Self {
        Self::labelled_map_with(map, label, &[])
    }

    /// The same with more entries, whose values are shared.
    pub fn labelled_map_with(map: &Map, label: &str, more: &[(&str, Self)]) -> Self {
        let mut dict = dict_of(map);
        for (name, value) in more {
            dict.insert(Key::text(name.to_owned()), value.clone());
        }
        dict.label = Some(label.into());
        Self::dict(dict)
    }

    /// The function map of the host: what templates call `salt`.
    pub fn salt() -> Self {
        Self::object(super::Object::Salt)
    }

    /// The data of the value. Functions and undefined values have none; tuples
    /// and sets become lists.
    pub fn to_data(&self) -> Result<Data> {
        to_data(self, 0, None)
    }

    /// The same for a function that hands parts of its arguments back: what is
    /// undefined within lists and maps comes back as such, and is an error when it
    /// is used.
    pub(crate) fn to_data_handed_on(&self) -> Result<Data> {
        match self.as_undefined() {
            Some(undefined) => Err(undefined.error()),
            None => to_data(self, 0, Some(UNDEFINED)),
        }
    }
}

/// Stands for an undefined value, with the message of the error that it is: one of
/// the codes that msgpack leaves to applications. Nothing sends it.
const UNDEFINED: i8 = 85;

fn dict_of(map: &Map) -> Dict {
    map.iter()
        .filter_map(|(key, value)| {
            let key = match key {
                // Data can have them as keys, Python can not.
                Data::List(items) => Value::tuple(items.iter().map(Value::from_data).collect()),
                other => Value::from_data(other),
            };
            Some((Key::new(key).ok()?, Value::from_data(value)))
        })
        .collect()
}

fn to_data(value: &Value, depth: u32, undefined_as: Option<i8>) -> Result<Data> {
    if depth >= limits::NESTING_MAX {
        return Err(Error::limit("data is nested too deeply, or holds itself"));
    }
    value.see()?;
    Ok(match value {
        Value::None => Data::Nil,
        Value::Bool(bool) => Data::Bool(*bool),
        Value::Int(int) => Data::Int(*int),
        Value::Float(float) => Data::Float(*float),
        Value::Str(text) | Value::Markup(text) => Data::Str(text.to_string()),
        Value::Bytes(bytes) => Data::Bytes(bytes.to_vec()),
        Value::List(list) => items(&list.0.0.borrow(), depth, undefined_as)?,
        Value::Tuple(tuple) => items(&tuple.0.0, depth, undefined_as)?,
        Value::Dict(Mapping(cell)) => {
            let dict = cell.0.borrow();
            let mut map = Map::with_capacity(dict.len());
            for (key, value) in dict.iter() {
                let key = to_data(key.value(), depth + 1, None)?;
                map.insert(key, to_data(value, depth + 1, undefined_as)?);
            }
            Data::Map(map)
        }
        Value::Set(Set(cell)) => items(&cell.0.borrow().keys(), depth, None)?,
        Value::Other(Other(kind)) => match kind {
            OtherKind::Undefined(undefined) => match undefined_as {
                Some(code) => Data::Ext(code, undefined.message().as_bytes().to_vec()),
                None => return Err(undefined.error()),
            },
            OtherKind::View(cell, ViewKind::Keys) => items(&cell.0.borrow().keys(), depth, None)?,
            OtherKind::View(cell, ViewKind::Values) => {
                items(&cell.0.borrow().values(), depth, undefined_as)?
            }
            OtherKind::View(cell, ViewKind::Items) => {
                items(&cell.0.borrow().items(), depth, undefined_as)?
            }
            OtherKind::Range(_) | OtherKind::Iter(_) => {
                items(&iterate(value)?, depth, undefined_as)?
            }
            OtherKind::Object(object) => {
                let message = format!("a {} is no data", object.type_name());
                return Err(Error::new(ErrorKind::Type, message));
            }
        },
    })
}

fn items(values: &[Value], depth: u32, undefined_as: Option<i8>) -> Result<Data> {
    let items = values.iter();
    let items: Result<Vec<Data>> = items
        .map(|item| to_data(item, depth + 1, undefined_as))
        .collect();
    Ok(Data::List(items?))
}
