//! The operators of expressions.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::ast::{BinaryOp, CompareOp};
use crate::error::{Error, ErrorKind, Result};
use crate::escape::escape_html;
use crate::format::percent;
use crate::limits;
use crate::value::{
    Key, Mapping, Other, OtherKind, Set, Value, ViewKind, equal, float_to_int, int_to_float,
    iterate, keys_of, order, set_order, to_usize,
};

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::FloorDiv => "//",
        BinaryOp::Mod => "%",
        BinaryOp::Pow => "** or pow()",
    }
}

/// Applies a binary operator.
pub(crate) fn binary(op: BinaryOp, a: &Value, b: &Value) -> Result<Value> {
    for value in [a, b] {
        if let Some(undefined) = value.as_undefined() {
            return Err(undefined.error());
        }
    }
    if let (BinaryOp::Mod, Some(_)) = (op, a.as_str()) {
        return percent(a, b);
    }
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        return ints(op, x, y);
    }
    if let (Some(x), Some(y)) = (a.as_float(), b.as_float()) {
        return floats(op, x, y);
    }
    match op {
        BinaryOp::Add => add(a, b),
        BinaryOp::Mul => match (a.as_int(), b.as_int()) {
            (Some(times), None) => repeat(b, times),
            (None, Some(times)) => repeat(a, times),
            _ => Err(unsupported(op, a, b)),
        },
        BinaryOp::Sub => match (keys_of(a), keys_of(b)) {
            (Some(a), Some(b)) => {
                let mut kept = Vec::new();
                for item in a {
                    if !held(&b, &item)? {
                        kept.push(Key::new(item)?);
                    }
                }
                Ok(Value::set(kept))
            }
            _ => Err(unsupported(op, a, b)),
        },
        _ => Err(unsupported(op, a, b)),
    }
}

fn held(items: &[Value], wanted: &Value) -> Result<bool> {
    for item in items {
        if item.same(wanted) || equal(item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn unsupported(op: BinaryOp, a: &Value, b: &Value) -> Error {
    Error::of_type(format!(
        "unsupported operand type(s) for {}: '{}' and '{}'",
        symbol(op),
        a.type_name(),
        b.type_name()
    ))
}

fn add(a: &Value, b: &Value) -> Result<Value> {
    Ok(match (a, b) {
        (Value::Str(x), Value::Str(y)) => Value::str(joined(x, y)?),
        (Value::Markup(x), Value::Markup(y)) => Value::markup(joined(x, y)?),
        (Value::Markup(x), Value::Str(y)) => Value::markup(joined(x, &escape_html(y))?),
        (Value::Str(x), Value::Markup(y)) => Value::markup(joined(&escape_html(x), y)?),
        (Value::List(x), Value::List(y)) => {
            let mut items = x.0.0.borrow().clone();
            items.extend_from_slice(&y.0.0.borrow());
            bounded(items.len())?;
            Value::list(items)
        }
        (Value::Tuple(x), Value::Tuple(y)) => {
            let mut items = x.0.0.clone();
            items.extend_from_slice(&y.0.0);
            bounded(items.len())?;
            Value::tuple(items)
        }
        (Value::Bytes(x), Value::Bytes(y)) => Value::Bytes([&**x, &**y].concat().into()),
        (Value::Str(_) | Value::Markup(_), other) => {
            return Err(Error::of_type(format!(
                "can only concatenate str (not \"{}\") to str",
                other.type_name()
            )));
        }
        (Value::List(_) | Value::Tuple(_), other) => {
            let name = a.type_name();
            return Err(Error::of_type(format!(
                "can only concatenate {name} (not \"{}\") to {name}",
                other.type_name()
            )));
        }
        _ => return Err(unsupported(BinaryOp::Add, a, b)),
    })
}

fn joined(a: &str, b: &str) -> Result<String> {
    if a.len() + b.len() > TEXT_MAX {
        return Err(Error::long_text());
    }
    Ok([a, b].concat())
}

fn bounded(length: usize) -> Result<()> {
    if length > limits::ITEMS_MAX {
        return Err(Error::limit(format!(
            "a list may have {} items",
            limits::ITEMS_MAX
        )));
    }
    Ok(())
}

fn repeat(value: &Value, times: i128) -> Result<Value> {
    let times = to_usize(times.max(0)).unwrap_or(usize::MAX);
    let text = |text: &str| {
        if text.len().saturating_mul(times) > TEXT_MAX {
            return Err(Error::long_text());
        }
        Ok(text.repeat(times))
    };
    let items = |items: &[Value]| {
        bounded(items.len().saturating_mul(times))?;
        let mut all = Vec::with_capacity(items.len() * times);
        for _ in 0..times {
            all.extend_from_slice(items);
        }
        Ok::<_, Error>(all)
    };
    Ok(match value {
        Value::Str(inner) => Value::str(text(inner)?),
        Value::Markup(inner) => Value::markup(text(inner)?),
        Value::List(list) => Value::list(items(&list.0.0.borrow())?),
        Value::Tuple(tuple) => Value::tuple(items(&tuple.0.0)?),
        other => {
            return Err(Error::of_type(format!(
                "can't multiply sequence by non-int of type '{}'",
                other.type_name()
            )));
        }
    })
}

fn zero(message: &str) -> Error {
    Error::new(ErrorKind::ZeroDivision, message)
}

fn too_large() -> Error {
    Error::overflow("integers beyond 128 bits are not supported")
}

fn ints(op: BinaryOp, a: i128, b: i128) -> Result<Value> {
    let checked = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div if b == 0 => return Err(zero("division by zero")),
        BinaryOp::Div => return Ok(Value::Float(int_to_float(a) / int_to_float(b))),
        BinaryOp::FloorDiv if b == 0 => return Err(zero("integer division or modulo by zero")),
        BinaryOp::Mod if b == 0 => return Err(zero("integer modulo by zero")),
        BinaryOp::FloorDiv => a.checked_div(b).map(|quotient| {
            let rounds_up = a % b != 0 && (a < 0) != (b < 0);
            if rounds_up { quotient - 1 } else { quotient }
        }),
        BinaryOp::Mod => a.checked_rem(b).map(|rest| {
            let wrong_sign = rest != 0 && (rest < 0) != (b < 0);
            if wrong_sign { rest + b } else { rest }
        }),
        BinaryOp::Pow if b < 0 && a == 0 => {
            return Err(zero("0.0 cannot be raised to a negative power"));
        }
        BinaryOp::Pow if b < 0 => {
            return Ok(Value::Float(int_to_float(a).powf(int_to_float(b))));
        }
        BinaryOp::Pow => match u32::try_from(b) {
            Ok(exponent) => a.checked_pow(exponent),
            Err(_) if (-1..=1).contains(&a) => Some(if b % 2 == 0 { a * a } else { a }),
            Err(_) => None,
        },
    };
    checked.map(Value::Int).ok_or_else(too_large)
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Result<Value> {
    let result = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div if b == 0.0 => return Err(zero("float division by zero")),
        BinaryOp::Div => a / b,
        BinaryOp::FloorDiv if b == 0.0 => return Err(zero("float floor division by zero")),
        BinaryOp::Mod if b == 0.0 => return Err(zero("float modulo")),
        BinaryOp::FloorDiv => ((a - modulo(a, b)) / b).round(),
        BinaryOp::Mod => modulo(a, b),
        BinaryOp::Pow if a == 0.0 && b < 0.0 => {
            return Err(zero("0.0 cannot be raised to a negative power"));
        }
        BinaryOp::Pow if a < 0.0 && b.fract() != 0.0 => {
            return Err(Error::of_value("complex numbers are not supported"));
        }
        BinaryOp::Pow => {
            let power = a.powf(b);
            if power.is_infinite() && a.is_finite() && b.is_finite() {
                return Err(Error::overflow("(34, 'Numerical result out of range')"));
            }
            power
        }
    };
    Ok(Value::Float(result))
}

fn modulo(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
}

/// Unary minus.
pub(crate) fn negative(value: &Value) -> Result<Value> {
    sign(value, "-", |int| int.checked_neg(), |float| -float)
}

/// Unary plus.
pub(crate) fn positive(value: &Value) -> Result<Value> {
    sign(value, "+", Some, |float| float)
}

fn sign(
    value: &Value,
    symbol: &str,
    int: impl FnOnce(i128) -> Option<i128>,
    float: impl FnOnce(f64) -> f64,
) -> Result<Value> {
    if let Some(undefined) = value.as_undefined() {
        return Err(undefined.error());
    }
    if let Some(number) = value.as_int() {
        return int(number).map(Value::Int).ok_or_else(too_large);
    }
    if let Value::Float(number) = value {
        return Ok(Value::Float(float(*number)));
    }
    Err(Error::of_type(format!(
        "bad operand type for unary {symbol}: '{}'",
        value.type_name()
    )))
}

/// Applies a comparison.
pub(crate) fn compare(op: CompareOp, a: &Value, b: &Value) -> Result<bool> {
    let symbol = match op {
        CompareOp::Eq => return equal(a, b),
        CompareOp::Ne => return equal(a, b).map(|equal| !equal),
        CompareOp::In => return contains(b, a),
        CompareOp::NotIn => return contains(b, a).map(|found| !found),
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
    };
    if let Some((within, around)) = set_order(a, b)? {
        return Ok(match op {
            CompareOp::Lt => within && !around,
            CompareOp::Le => within,
            CompareOp::Gt => around && !within,
            _ => around,
        });
    }
    let Some(ordering) = order(a, b, symbol)? else {
        return Ok(false);
    };
    Ok(match op {
        CompareOp::Lt => ordering == Ordering::Less,
        CompareOp::Le => ordering != Ordering::Greater,
        CompareOp::Gt => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    })
}

/// Python's `item in container`.
pub(crate) fn contains(container: &Value, item: &Value) -> Result<bool> {
    match container {
        Value::Str(text) | Value::Markup(text) => {
            if let Some(undefined) = item.as_undefined() {
                undefined.used()?;
            }
            let Some(item) = item.as_str() else {
                return Err(Error::of_type(format!(
                    "'in <string>' requires string as left operand, not {}",
                    item.type_name()
                )));
            };
            Ok(text.contains(item))
        }
        Value::Dict(Mapping(cell)) | Value::Set(Set(cell)) => {
            let key = Key::new(item.clone())?;
            Ok(cell.0.borrow().contains(&key))
        }
        Value::Other(Other(OtherKind::View(cell, ViewKind::Keys))) => {
            let key = Key::new(item.clone())?;
            Ok(cell.0.borrow().contains(&key))
        }
        Value::Other(Other(OtherKind::Range(range))) => {
            let int = match item {
                Value::Float(float) if float.fract() == 0.0 => float_to_int(*float),
                other => other.as_int(),
            };
            Ok(int.is_some_and(|int| {
                let inside = if range.step > 0 {
                    int >= range.start && int < range.stop
                } else {
                    int <= range.start && int > range.stop
                };
                inside && (int - range.start) % range.step == 0
            }))
        }
        Value::List(list) => {
            let items = Rc::clone(&list.0);
            held(&items.0.borrow(), item)
        }
        Value::Tuple(tuple) => held(&tuple.0.0, item),
        other => {
            let items = iterate(other).map_err(|error| {
                if error.kind() == ErrorKind::Type {
                    let name = other.type_name();
                    Error::of_type(format!("argument of type '{name}' is not iterable"))
                } else {
                    error
                }
            })?;
            held(&items, item)
        }
    }
}

/// Bytes of one text.
const TEXT_MAX: usize = limits::TEXT_BYTES_MAX;
