//! The tests of `is`: Jinja2's and Salt's.

use crate::ast::{BinaryOp, CompareOp};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine, operators};
use crate::filters;
use crate::value::{self, Object, Other, OtherKind, Value};

const NAMES: &[&str] = &[
    "!=",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "boolean",
    "callable",
    "defined",
    "divisibleby",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "list",
    "lower",
    "lt",
    "mapping",
    "match",
    "ne",
    "none",
    "number",
    "odd",
    "sameas",
    "sequence",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

/// Whether there is a test of that name.
pub(crate) fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Applies a test; the first argument is the value.
pub(crate) fn apply(machine: &Machine<'_>, name: &str, mut args: Args) -> Result<bool> {
    if name == "match" {
        return filters::test_match(args);
    }
    if !exists(name) {
        return Err(Error::new(
            ErrorKind::Runtime,
            format!("No test named '{name}'."),
        ));
    }
    let mut pos = args.pos.drain(..);
    let value = pos.next().unwrap_or(Value::None);
    let other = pos
        .next()
        .or_else(|| args.named.pop().map(|(_, value)| value));
    drop(pos);
    match is_kind(name, &value)? {
        Some(is_kind) => Ok(is_kind),
        None => is_related(machine, name, &value, other),
    }
}

/// The tests that ask what a value is; `None` if the test is another one.
fn is_kind(name: &str, value: &Value) -> Result<Option<bool>> {
    Ok(Some(match name {
        "defined" => value.as_undefined().is_none(),
        "undefined" => value.as_undefined().is_some(),
        "none" => value.is_none(),
        "true" => matches!(value, Value::Bool(true)),
        "false" => matches!(value, Value::Bool(false)),
        "boolean" => matches!(value, Value::Bool(_)),
        "integer" => matches!(value, Value::Int(_)),
        "float" => matches!(value, Value::Float(_)),
        "number" => value.as_float().is_some(),
        "string" => value.as_str().is_some(),
        "escaped" => matches!(value, Value::Markup(_)),
        "mapping" => matches!(value, Value::Dict(_)),
        "list" => matches!(value, Value::List(_)),
        "sequence" => is_sequence(value),
        "iterable" => is_iterable(value)?,
        "callable" => {
            value.as_undefined().is_some() || value.as_object().is_some_and(Object::is_callable)
        }
        "lower" => is_cased(value, char::is_uppercase)?,
        "upper" => is_cased(value, char::is_lowercase)?,
        "odd" => has_rest(value, &Value::Int(2), 1)?,
        "even" => has_rest(value, &Value::Int(2), 0)?,
        "filter" => filters::exists(value.want_str("name")?),
        "test" => exists(value.want_str("name")?),
        _ => return Ok(None),
    }))
}

/// The tests that compare a value with another one.
fn is_related(
    machine: &Machine<'_>,
    name: &str,
    value: &Value,
    other: Option<Value>,
) -> Result<bool> {
    let given = || {
        other.clone().ok_or_else(|| {
            Error::of_type(format!(
                "test_{name}() missing 1 required positional argument: 'other'"
            ))
        })
    };
    let compare = |op| operators::compare(op, value, &given()?);
    Ok(match name {
        "sameas" => value.same(&given()?),
        "divisibleby" => has_rest(value, &given()?, 0)?,
        "in" => operators::contains(&given()?, value)?,
        "eq" | "==" | "equalto" => compare(CompareOp::Eq)?,
        "ne" | "!=" => compare(CompareOp::Ne)?,
        "lt" | "<" | "lessthan" => compare(CompareOp::Lt)?,
        "le" | "<=" => compare(CompareOp::Le)?,
        "gt" | ">" | "greaterthan" => compare(CompareOp::Gt)?,
        "ge" | ">=" => compare(CompareOp::Ge)?,
        _ => {
            machine.step()?;
            false
        }
    })
}

fn is_sequence(value: &Value) -> bool {
    matches!(
        value,
        Value::Str(_)
            | Value::Markup(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Tuple(_)
            | Value::Dict(_)
            | Value::Other(Other(OtherKind::Range(_)))
    )
}

fn is_iterable(value: &Value) -> Result<bool> {
    Ok(match value {
        Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
        Value::Other(Other(OtherKind::Undefined(undefined))) => {
            undefined.used()?;
            true
        }
        Value::Other(Other(OtherKind::Object(object))) => matches!(&**object, Object::Loop(_)),
        _ => true,
    })
}

/// Whether a text has letters with a case, and none of the wrong one.
fn is_cased(value: &Value, is_wrong: fn(char) -> bool) -> Result<bool> {
    let text = value::text(value)?;
    let has_case = text.chars().any(|c| c.is_lowercase() || c.is_uppercase());
    Ok(has_case && !text.chars().any(is_wrong))
}

/// Whether this rest is left of a division.
fn has_rest(value: &Value, by: &Value, wanted: i128) -> Result<bool> {
    let rest = operators::binary(BinaryOp::Mod, value, by)?;
    value::equal(&rest, &Value::Int(wanted))
}
