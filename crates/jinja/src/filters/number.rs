//! Filters of numbers.

use halite_proto::python;

use super::{flag, int, only};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine, operators};
use crate::value::{self, Native, Value, float_to_int, int_to_float};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "int" => to_int,
        "float" => to_float,
        "round" => round,
        "abs" => |_, args| {
            let value = only(args, "abs")?;
            super::defined(&value)?;
            match (&value, value.as_int()) {
                (_, Some(int)) => Ok(Value::Int(int.checked_abs().unwrap_or(i128::MAX))),
                (Value::Float(float), None) => Ok(Value::Float(float.abs())),
                _ => Err(Error::of_type(format!(
                    "bad operand type for abs(): '{}'",
                    value.type_name()
                ))),
            }
        },
        "filesizeformat" => file_size,
        "to_num" | "str_to_num" => |_, args| {
            let value = only(args, "str_to_num")?;
            super::defined(&value)?;
            let Some(text) = value.as_str() else {
                return Ok(value);
            };
            Ok(match (parse_int(text, 10), parse_float(text)) {
                (Some(int), _) => Value::Int(int),
                (None, Some(float)) => Value::Float(float),
                _ => value,
            })
        },
        "human_to_bytes" => human_to_bytes,
        "to_bool" => |_, args| {
            let value = only(args, "to_bool")?;
            Ok(Value::Bool(match &value {
                Value::Bool(bool) => *bool,
                Value::Str(text) | Value::Markup(text) => {
                    matches!(text.to_lowercase().as_str(), "yes" | "1" | "true")
                }
                Value::Int(int) => *int > 0,
                Value::List(_) | Value::Dict(_) | Value::Set(_) => value.is_true()?,
                _ => false,
            }))
        },
        "avg" => |machine, args| {
            let value = only(args, "avg")?;
            super::defined(&value)?;
            match &value {
                Value::List(_) => {
                    let items = value::iterate(&value)?;
                    if items.is_empty() {
                        return Err(Error::new(ErrorKind::ZeroDivision, "division by zero"));
                    }
                    machine.step()?;
                    let mut total = Value::Int(0);
                    for item in &items {
                        total = operators::binary(crate::ast::BinaryOp::Add, &total, item)?;
                    }
                    let count = Value::int_of(items.len());
                    operators::binary(crate::ast::BinaryOp::Div, &total, &count)
                }
                other => python_float(other).map(Value::Float),
            }
        },
        _ => return None,
    })
}

/// Digits with single underscores between them.
fn clean(text: &str) -> Option<String> {
    let text = text.trim();
    let valid = !text.starts_with('_') && !text.ends_with('_') && !text.contains("__");
    valid.then(|| text.replace('_', ""))
}

/// What Python's `int(text, base)` makes of text.
fn parse_int(text: &str, base: u32) -> Option<i128> {
    let text = clean(text)?;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    let lower = digits.to_lowercase();
    let (base, digits) = match (base, lower.get(..2)) {
        (0 | 16, Some("0x")) => (16, &lower[2..]),
        (0 | 8, Some("0o")) => (8, &lower[2..]),
        (0 | 2, Some("0b")) => (2, &lower[2..]),
        (0, _) => (10, lower.as_str()),
        (base, _) => (base, lower.as_str()),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let int = i128::from_str_radix(digits, base).ok()?;
    Some(if negative { -int } else { int })
}

/// What Python's `float(text)` makes of text.
fn parse_float(text: &str) -> Option<f64> {
    let text = clean(text)?;
    let lower = text.to_lowercase();
    let bare = lower.trim_start_matches(['+', '-']);
    if matches!(bare, "inf" | "infinity" | "nan")
        || bare.starts_with(|c: char| c.is_ascii_digit() || c == '.')
    {
        return lower.parse().ok();
    }
    None
}

fn python_float(value: &Value) -> Result<f64> {
    super::defined(value)?;
    if let Some(float) = value.as_float() {
        return Ok(float);
    }
    match value.as_str() {
        Some(text) => parse_float(text).ok_or_else(|| {
            let shown = python::str_repr(text);
            Error::of_value(format!("could not convert string to float: {shown}"))
        }),
        None => Err(Error::of_type(format!(
            "float() argument must be a string or a real number, not '{}'",
            value.type_name()
        ))),
    }
}

fn to_int(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, default, base] = args.bind("do_int", ["value", "default", "base"], 1)?;
    let value = value.unwrap_or(Value::None);
    super::defined(&value)?;
    let base = u32::try_from(int(base, 10)?)
        .ok()
        .filter(|base| *base <= 36 && *base != 1);
    let base = base.ok_or_else(|| Error::of_value("int() base must be >= 2 and <= 36, or 0"))?;
    let found = match &value {
        Value::Str(text) | Value::Markup(text) => parse_int(text, base).or_else(|| {
            parse_float(text)
                .filter(|float| float.is_finite())
                .and_then(float_to_int)
        }),
        Value::Float(float) => float_to_int(*float),
        other => other.as_int(),
    };
    Ok(found.map_or_else(|| default.unwrap_or(Value::Int(0)), Value::Int))
}

fn to_float(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, default] = args.bind("do_float", ["value", "default"], 1)?;
    let value = value.unwrap_or(Value::None);
    super::defined(&value)?;
    Ok(match python_float(&value) {
        Ok(float) => Value::Float(float),
        Err(_) => default.unwrap_or(Value::Float(0.0)),
    })
}

fn round(_: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["value", "precision", "method"];
    let [value, precision, method] = args.bind("do_round", names, 1)?;
    let value = value.unwrap_or(Value::None);
    super::defined(&value)?;
    let precision = i32::try_from(int(precision, 0)?.clamp(-400, 400)).unwrap_or_default();
    let method = method.unwrap_or_else(|| Value::str("common"));
    let Some(float) = value.as_float() else {
        return Err(Error::of_type(format!(
            "type {} doesn't define __round__ method",
            value.type_name()
        )));
    };
    let scale = 10_f64.powi(precision);
    Ok(match (method.as_str(), &value) {
        (Some("common"), Value::Float(float)) => Value::Float(round_half_even(*float, precision)),
        (Some("common"), _) if precision >= 0 => value,
        (Some("common"), _) => {
            let rounded = (float * scale).round_ties_even() / scale;
            Value::Int(float_to_int(rounded).unwrap_or_default())
        }
        (Some("ceil"), _) => Value::Float((float * scale).ceil() / scale),
        (Some("floor"), _) => Value::Float((float * scale).floor() / scale),
        _ => {
            return Err(Error::new(
                ErrorKind::FilterArgument,
                "method must be common, ceil or floor",
            ));
        }
    })
}

/// Python's `round(float, digits)`: of the decimal expansion, not of a product.
fn round_half_even(float: f64, precision: i32) -> f64 {
    if !float.is_finite() {
        return float;
    }
    match usize::try_from(precision) {
        Ok(places) => format!("{float:.places$}").parse().unwrap_or(float),
        Err(_) => {
            let scale = 10_f64.powi(-precision);
            (float / scale).round_ties_even() * scale
        }
    }
}

fn file_size(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, binary] = args.bind("do_filesizeformat", ["value", "binary"], 1)?;
    let bytes = python_float(&value.unwrap_or(Value::None))?;
    let binary = flag(binary, false)?;
    let base = if binary { 1024.0 } else { 1000.0 };
    let units = if binary {
        ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    } else {
        ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"]
    };
    if bytes.to_bits() == 1.0_f64.to_bits() {
        return Ok(Value::str("1 Byte"));
    }
    if bytes < base {
        return Ok(Value::str(format!(
            "{} Bytes",
            float_to_int(bytes).unwrap_or_default()
        )));
    }
    let mut size = base;
    for unit in units {
        if bytes < size * base || unit.starts_with('Y') {
            return Ok(Value::str(format!("{:.1} {unit}", bytes / size)));
        }
        size *= base;
    }
    Ok(Value::None)
}

fn human_to_bytes(_: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["size", "default_unit", "handle_metric"];
    let [size, unit, metric] = args.bind("human_to_bytes", names, 1)?;
    let size = value::text(&size.unwrap_or(Value::None))?;
    let unit = unit.map_or_else(|| Ok("B".to_owned()), |unit| value::text(&unit))?;
    let metric = flag(metric, false)?;
    let size = size.trim();
    let end = size
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(size.len());
    let (digits, given) = size.split_at(end);
    let given = given.trim();
    let Some(number) = parse_float(digits) else {
        return Ok(Value::Int(0));
    };
    let unit = if given.is_empty() {
        unit
    } else {
        given.to_owned()
    };
    let unit = unit.to_lowercase();
    let power = match unit.chars().next() {
        Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some('p') => 5,
        Some('e') => 6,
        Some('z') => 7,
        Some('y') => 8,
        _ => return Ok(Value::Int(0)),
    };
    let decimal = metric && unit.len() == 2 && unit.ends_with('b');
    let base: i128 = if decimal { 1000 } else { 1024 };
    let factor = base.pow(power);
    Ok(Value::Int(
        float_to_int(number * int_to_float(factor)).unwrap_or_default(),
    ))
}
