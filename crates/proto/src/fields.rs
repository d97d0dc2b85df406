//! Takes the fields of a message out of its map.
//!
//! Invariant: unknown fields stay in the map, in their order, so that the fields of
//! a newer peer are kept.

use thiserror::Error;

use crate::ids::IdError;
use crate::msgpack::UnpackError;
use crate::{Map, Value};

/// Why a message is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MessageError {
    /// The bytes are not msgpack.
    #[error("{message} is unreadable")]
    Unreadable {
        /// The kind of message.
        message: &'static str,
        /// What is wrong with its bytes.
        #[source]
        source: UnpackError,
    },
    /// The message is of another type than any such message.
    #[error("{message} is a {found}, not a {expected}")]
    WrongKind {
        /// The kind of message.
        message: &'static str,
        /// The type it should have.
        expected: &'static str,
        /// The type it has.
        found: &'static str,
    },
    /// A field that has to be there is not.
    #[error("{message} has no `{field}`")]
    Missing {
        /// The kind of message.
        message: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field is of another type.
    #[error("`{field}` of {message} is a {found}, not a {expected}")]
    WrongType {
        /// The kind of message.
        message: &'static str,
        /// The field.
        field: &'static str,
        /// The type it should have.
        expected: &'static str,
        /// The type it has.
        found: &'static str,
    },
    /// A field's value is not one of those that have a meaning.
    #[error("`{field}` of {message} {why}")]
    BadValue {
        /// The kind of message.
        message: &'static str,
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A field is not a valid name.
    #[error("`{field}` of {message} is refused")]
    BadName {
        /// The kind of message.
        message: &'static str,
        /// The field.
        field: &'static str,
        /// What is wrong with the name.
        #[source]
        source: IdError,
    },
}

pub(crate) fn unreadable(message: &'static str, source: UnpackError) -> MessageError {
    MessageError::Unreadable { message, source }
}

/// The fields of one message.
#[derive(Debug)]
pub(crate) struct Fields {
    message: &'static str,
    map: Map,
}

impl Fields {
    pub(crate) fn new(message: &'static str, map: Map) -> Self {
        Self { message, map }
    }

    pub(crate) fn from_value(message: &'static str, value: Value) -> Result<Self, MessageError> {
        match value {
            Value::Map(map) => Ok(Self { message, map }),
            other => Err(MessageError::WrongKind {
                message,
                expected: "dict",
                found: other.type_name(),
            }),
        }
    }

    /// The value of a field, `None` where it is missing.
    pub(crate) fn take(&mut self, field: &'static str) -> Option<Value> {
        self.map.remove(field)
    }

    /// The value of a field, `None` where it is missing or nil.
    pub(crate) fn value(&mut self, field: &'static str) -> Option<Value> {
        self.take(field).filter(|value| !value.is_nil())
    }

    pub(crate) fn text(&mut self, field: &'static str) -> Result<Option<String>, MessageError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::Str(text)) => Ok(Some(text)),
            // A `bin` from a peer that marks its strings so.
            Some(Value::Bytes(bytes)) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(self.bad_value(field, "is not UTF-8")),
            },
            Some(other) => Err(self.wrong_type(field, "str", &other)),
        }
    }

    pub(crate) fn bytes(&mut self, field: &'static str) -> Result<Option<Vec<u8>>, MessageError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::Str(text)) => Ok(Some(text.into_bytes())),
            Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
            Some(other) => Err(self.wrong_type(field, "bytes", &other)),
        }
    }

    pub(crate) fn int(&mut self, field: &'static str) -> Result<Option<i64>, MessageError> {
        match self.value(field) {
            None => Ok(None),
            Some(value) => match value.as_i64() {
                Some(int) => Ok(Some(int)),
                None => Err(self.wrong_type(field, "int", &value)),
            },
        }
    }

    pub(crate) fn uint(&mut self, field: &'static str) -> Result<Option<u64>, MessageError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::Int(int)) => match u64::try_from(int) {
                Ok(int) => Ok(Some(int)),
                Err(_) => Err(self.bad_value(field, "is negative or beyond 64 bits")),
            },
            Some(other) => Err(self.wrong_type(field, "int", &other)),
        }
    }

    /// A flag, with Python's truth for values that are no booleans.
    pub(crate) fn flag(&mut self, field: &'static str) -> Option<bool> {
        self.value(field).map(|value| value.is_true())
    }

    pub(crate) fn list(&mut self, field: &'static str) -> Result<Option<Vec<Value>>, MessageError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::List(items)) => Ok(Some(items)),
            Some(other) => Err(self.wrong_type(field, "list", &other)),
        }
    }

    pub(crate) fn map(&mut self, field: &'static str) -> Result<Option<Map>, MessageError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::Map(map)) => Ok(Some(map)),
            Some(other) => Err(self.wrong_type(field, "dict", &other)),
        }
    }

    pub(crate) fn texts(
        &mut self,
        field: &'static str,
    ) -> Result<Option<Vec<String>>, MessageError> {
        let Some(items) = self.list(field)? else {
            return Ok(None);
        };
        let texts = items.into_iter().map(|item| match item {
            Value::Str(text) => Ok(text),
            other => Err(self.wrong_type(field, "list of str", &other)),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    /// A text that has to be a name of one of the types in [`crate::ids`].
    pub(crate) fn name<T: std::str::FromStr<Err = IdError>>(
        &mut self,
        field: &'static str,
    ) -> Result<Option<T>, MessageError> {
        let Some(text) = self.text(field)? else {
            return Ok(None);
        };
        match text.parse() {
            Ok(name) => Ok(Some(name)),
            Err(source) => Err(MessageError::BadName {
                message: self.message,
                field,
                source,
            }),
        }
    }

    pub(crate) fn missing(&self, field: &'static str) -> MessageError {
        MessageError::Missing {
            message: self.message,
            field,
        }
    }

    pub(crate) fn bad_value(&self, field: &'static str, why: &'static str) -> MessageError {
        MessageError::BadValue {
            message: self.message,
            field,
            why,
        }
    }

    pub(crate) fn wrong_type(
        &self,
        field: &'static str,
        expected: &'static str,
        found: &Value,
    ) -> MessageError {
        MessageError::WrongType {
            message: self.message,
            field,
            expected,
            found: found.type_name(),
        }
    }

    /// What was not taken.
    pub(crate) fn rest(self) -> Map {
        self.map
    }
}

/// Makes a missing field an error: `fields.need("id", Fields::text)?`.
impl Fields {
    pub(crate) fn need<T>(
        &mut self,
        field: &'static str,
        take: impl FnOnce(&mut Self, &'static str) -> Result<Option<T>, MessageError>,
    ) -> Result<T, MessageError> {
        take(self, field)?.ok_or_else(|| self.missing(field))
    }
}

/// Builds the map that a message travels as; optional fields are left out where
/// they have no value.
pub(crate) trait Put {
    fn put(&mut self, field: &'static str, value: impl Into<Value>);
    fn put_some<T: Into<Value>>(&mut self, field: &'static str, value: Option<T>);
    fn put_bytes(&mut self, field: &'static str, bytes: Vec<u8>);
}

impl Put for Map {
    fn put(&mut self, field: &'static str, value: impl Into<Value>) {
        self.insert(field, value);
    }

    fn put_some<T: Into<Value>>(&mut self, field: &'static str, value: Option<T>) {
        if let Some(value) = value {
            self.insert(field, value);
        }
    }

    fn put_bytes(&mut self, field: &'static str, bytes: Vec<u8>) {
        self.insert(field, Value::Bytes(bytes));
    }
}
