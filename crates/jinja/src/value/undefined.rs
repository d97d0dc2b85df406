//! The value of an undefined name. It may be tested, defaulted and passed on;
//! strict ones are an error wherever they are used.

use halite_proto::python;

use crate::error::{Error, ErrorKind, Result};

use super::{OtherKind, Value};
use std::rc::Rc;

/// An undefined value: the error that it is when used.
#[derive(Debug)]
pub(crate) struct Undefined {
    kind: ErrorKind,
    message: String,
    lenient: bool,
}

impl Undefined {
    /// Nothing of that name is there.
    pub(crate) fn name(name: &str, lenient: bool) -> Value {
        Self::hint(format!("'{name}' is undefined"), lenient)
    }

    /// A value without that attribute.
    pub(crate) fn attribute(value: &Value, name: &str, lenient: bool) -> Value {
        let name = python::str_repr(name);
        let message = format!("'{}' has no attribute {name}", value.described());
        Self::hint(message, lenient)
    }

    /// A value without that item.
    pub(crate) fn item(value: &Value, item: &Value, lenient: bool) -> Result<Value> {
        if let Some(name) = item.as_str() {
            return Ok(Self::attribute(value, name, lenient));
        }
        let message = format!(
            "{} has no element {}",
            value.described(),
            super::repr(item)?
        );
        Ok(Self::hint(message, lenient))
    }

    /// An attribute that the sandbox refuses.
    pub(crate) fn unsafe_attribute(value: &Value, name: &str) -> Value {
        Self::make(
            ErrorKind::Security,
            format!(
                "access to attribute '{name}' of '{}' object is unsafe.",
                value.type_name()
            ),
            false,
        )
    }

    pub(crate) fn hint(message: impl Into<String>, lenient: bool) -> Value {
        Self::make(ErrorKind::Undefined, message.into(), lenient)
    }

    fn make(kind: ErrorKind, message: String, lenient: bool) -> Value {
        Value::other(OtherKind::Undefined(Rc::new(Self {
            kind,
            message,
            lenient,
        })))
    }

    /// What the error of using it says.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The error of using it.
    pub(crate) fn error(&self) -> Error {
        Error::new(self.kind, self.message.clone())
    }

    /// An error, unless undefined values are empty here.
    pub(crate) fn used(&self) -> Result<()> {
        if self.lenient {
            Ok(())
        } else {
            Err(self.error())
        }
    }
}
