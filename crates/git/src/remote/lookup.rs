//! Looks up an option of a remote, and describes wrong ones.

use halite_proto::{Map, Value, python};

use super::Role;
use crate::OptionsError;

/// Where options are looked up: first those of the remote.
pub(super) struct Options<'a> {
    pub(super) role: Role,
    pub(super) opts: &'a Map,
    pub(super) own: Map,
}

impl Options<'_> {
    /// The value of an option, and the name under which it was found.
    pub(super) fn value(&self, name: &str) -> Option<(String, &Value)> {
        if let Some(value) = self.own.get(name) {
            return Some((name.to_owned(), value));
        }
        let global = format!("{}_{name}", self.role.name());
        let value = self.opts.get(global.as_str())?;
        Some((global, value))
    }

    /// A text; `None` if it is empty.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, OptionsError> {
        match self.value(name) {
            None | Some((_, Value::Nil)) => Ok(None),
            Some((name, value)) => {
                let text = text(&name, value)?;
                Ok((!text.is_empty()).then_some(text))
            }
        }
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool, OptionsError> {
        match self.value(name) {
            None | Some((_, Value::Nil)) => Ok(default),
            Some((_, Value::Bool(flag))) => Ok(*flag),
            Some((_, Value::Int(number @ (0 | 1)))) => Ok(*number == 1),
            Some((name, _)) => Err(wrong(&name, None, "it is True or False")),
        }
    }

    pub(super) fn number(&self, name: &str, default: i64) -> Result<u64, OptionsError> {
        let number = match self.value(name) {
            None | Some((_, Value::Nil)) => Some(default),
            Some((_, value)) => value.as_i64(),
        };
        let number = number.and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| wrong(name, None, "it is a whole number, not negative"))
    }

    /// Texts: a list, or one text with commas.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, OptionsError> {
        match self.value(name) {
            None | Some((_, Value::Nil)) => Ok(Vec::new()),
            Some((name, Value::List(items))) => {
                items.iter().map(|item| text(&name, item)).collect()
            }
            Some((name, value)) => {
                let text = text(&name, value)?;
                let items = text.split(',').map(|item| item.trim().to_owned());
                Ok(items.filter(|item| !item.is_empty()).collect())
            }
        }
    }

    /// An option that had another name in older versions.
    pub(super) fn either(&self, name: &str, older: &str) -> Result<Vec<String>, OptionsError> {
        let texts = self.texts(name)?;
        if texts.is_empty() {
            self.texts(older)
        } else {
            Ok(texts)
        }
    }
}

/// A scalar as text, as Salt makes one of each value.
pub(super) fn text(option: &str, value: &Value) -> Result<String, OptionsError> {
    match value {
        Value::Str(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_) => Ok(python::str(value)),
        Value::Nil => Ok(String::new()),
        _ => Err(wrong(option, None, "it is text")),
    }
}

pub(super) fn wrong(option: &str, remote: Option<&str>, why: impl Into<String>) -> OptionsError {
    OptionsError {
        remote: remote.map(str::to_owned),
        index: None,
        option: option.to_owned(),
        why: why.into(),
    }
}

pub(super) fn named(error: OptionsError, remote: &str) -> OptionsError {
    OptionsError {
        remote: Some(remote.to_owned()),
        ..error
    }
}

/// A list of maps as one map; a map is itself.
pub(super) fn repacked(option: &str, value: &Value) -> Result<Map, OptionsError> {
    let items = match value {
        Value::Map(map) => return Ok(map.clone()),
        Value::List(items) => items,
        _ => return Err(wrong(option, None, "a list of options is expected here")),
    };
    let mut all = Map::new();
    for item in items {
        let Value::Map(item) = item else {
            return Err(wrong(option, None, "each item is `option: value`"));
        };
        for (name, value) in item {
            if all.insert(name.clone(), value.clone()).is_some() {
                let name = python::str(name);
                return Err(wrong(&name, None, "it is there twice"));
            }
        }
    }
    Ok(all)
}
