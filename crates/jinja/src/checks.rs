//! The tests of `is`: Jinja2's and Salt's.

use crate::ast::CompareOp;
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine};
use crate::filters;
use crate::regex;
use crate::value::{self, Object, Other, OtherKind, Value, ViewKind};

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
        return regex::test_match(args);
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
    let given = || {
        other.clone().ok_or_else(|| {
            Error::of_type(format!(
                "test_{name}() missing 1 required positional argument: 'other'"
            ))
        })
    };
    let compare = |op| value::compare(op, &value, &given()?);
    let is_set = matches!(
        value,
        Value::Set(_) | Value::Other(Other(OtherKind::View(_, ViewKind::Keys | ViewKind::Items)))
    );
    Ok(match name {
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
        "sequence" => {
            let indexed = matches!(
                value,
                Value::Str(_)
                    | Value::Markup(_)
                    | Value::Bytes(_)
                    | Value::List(_)
                    | Value::Tuple(_)
                    | Value::Dict(_)
                    | Value::Other(Other(OtherKind::Range(_)))
            );
            indexed && !is_set
        }
        "iterable" => match &value {
            Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
            Value::Other(Other(OtherKind::Undefined(undefined))) => {
                undefined.used()?;
                true
            }
            Value::Other(Other(OtherKind::Object(object))) => matches!(&**object, Object::Loop(_)),
            _ => true,
        },
        "callable" => {
            value.as_undefined().is_some() || value.as_object().is_some_and(Object::is_callable)
        }
        "sameas" => value.same(&given()?),
        "lower" | "upper" => {
            let text = value::text(&value)?;
            let cased = text.chars().any(|c| c.is_lowercase() || c.is_uppercase());
            let wrong = |c: char| {
                if name == "lower" {
                    c.is_uppercase()
                } else {
                    c.is_lowercase()
                }
            };
            cased && !text.chars().any(wrong)
        }
        "odd" | "even" | "divisibleby" => {
            let by = if name == "divisibleby" {
                given()?
            } else {
                Value::Int(2)
            };
            let rest = value::binary(crate::ast::BinaryOp::Mod, &value, &by)?;
            let wanted = Value::Int(i128::from(name == "odd"));
            value::equal(&rest, &wanted)?
        }
        "in" => value::contains(&given()?, &value)?,
        "eq" | "==" | "equalto" => compare(CompareOp::Eq)?,
        "ne" | "!=" => compare(CompareOp::Ne)?,
        "lt" | "<" | "lessthan" => compare(CompareOp::Lt)?,
        "le" | "<=" => compare(CompareOp::Le)?,
        "gt" | ">" | "greaterthan" => compare(CompareOp::Gt)?,
        "ge" | ">=" => compare(CompareOp::Ge)?,
        "filter" => filters::exists(value.want_str("name")?),
        "test" => exists(value.want_str("name")?),
        _ => {
            machine.step()?;
            false
        }
    })
}
