//! The functions of queries.

use std::cmp::Ordering;

use halite_proto::json::{self, Style};
use halite_proto::{Map, Value};

use super::QueryError;
use super::evaluate::{equal, evaluate, order};
use super::parser::Node;

type Found = Result<Value, QueryError>;

/// A function's name and how many arguments it takes.
const FUNCTIONS: &[(&str, usize)] = &[
    ("abs", 1),
    ("avg", 1),
    ("ceil", 1),
    ("contains", 2),
    ("ends_with", 2),
    ("floor", 1),
    ("join", 2),
    ("keys", 1),
    ("length", 1),
    ("map", 2),
    ("max", 1),
    ("max_by", 2),
    ("merge", 0),
    ("min", 1),
    ("min_by", 2),
    ("not_null", 0),
    ("reverse", 1),
    ("sort", 1),
    ("sort_by", 2),
    ("starts_with", 2),
    ("sum", 1),
    ("to_array", 1),
    ("to_number", 1),
    ("to_string", 1),
    ("type", 1),
    ("values", 1),
];

/// Calls a function on data.
pub(super) fn call(name: &str, arguments: &[Node], data: &Value) -> Found {
    let Some((name, count)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
        return Err(QueryError::UnknownFunction(name.to_owned()));
    };
    // Those that take none by the table take any number but none.
    let fits = match count {
        0 => !arguments.is_empty(),
        count => *count == arguments.len(),
    };
    if !fits {
        return Err(QueryError::Arity {
            name,
            expected: (*count).max(1),
            received: arguments.len(),
        });
    }
    let value = |at: usize| {
        arguments
            .get(at)
            .map_or(Ok(Value::Nil), |node| evaluate(node, data))
    };
    match *name {
        "map" => {
            let by = reference(name, arguments, 0)?;
            let found: Result<Vec<Value>, _> = list(name, value(1)?)?
                .iter()
                .map(|item| evaluate(by, item))
                .collect();
            Ok(found?.into())
        }
        "max_by" | "min_by" | "sort_by" => {
            let by = reference(name, arguments, 1)?;
            by_key(name, list(name, value(0)?)?, by)
        }
        "merge" => {
            let mut merged = Map::new();
            for at in 0..arguments.len() {
                merged.extend(map(name, value(at)?)?);
            }
            Ok(merged.into())
        }
        "not_null" => {
            for at in 0..arguments.len() {
                let found = value(at)?;
                if !found.is_nil() {
                    return Ok(found);
                }
            }
            Ok(Value::Nil)
        }
        "contains" => contains(value(0)?, &value(1)?),
        "starts_with" => Ok(text(name, value(0)?)?
            .starts_with(&text(name, value(1)?)?)
            .into()),
        "ends_with" => Ok(text(name, value(0)?)?
            .ends_with(&text(name, value(1)?)?)
            .into()),
        "join" => {
            let glue = text(name, value(0)?)?;
            let parts: Result<Vec<String>, _> = list(name, value(1)?)?
                .into_iter()
                .map(|part| text(name, part))
                .collect();
            Ok(parts?.join(&glue).into())
        }
        _ => of_one(name, value(0)?),
    }
}

fn of_one(name: &'static str, value: Value) -> Found {
    Ok(match name {
        "abs" => match value {
            Value::Int(int) => Value::Int(int.saturating_abs()),
            other => Value::Float(number(name, &other)?.abs()),
        },
        "ceil" => whole(number(name, &value)?.ceil()),
        "floor" => whole(number(name, &value)?.floor()),
        "avg" => {
            let items = list(name, value)?;
            if items.is_empty() {
                return Ok(Value::Nil);
            }
            #[expect(clippy::cast_precision_loss, reason = "what Python's division does")]
            let count = items.len() as f64;
            Value::Float(total(name, &items)?.as_f64().unwrap_or_default() / count)
        }
        "sum" => total(name, &list(name, value)?)?,
        "keys" => map(name, value)?.keys().cloned().collect::<Vec<_>>().into(),
        "values" => map(name, value)?
            .values()
            .cloned()
            .collect::<Vec<_>>()
            .into(),
        "length" => match &value {
            Value::Str(text) => text.chars().count().into(),
            Value::List(items) => items.len().into(),
            Value::Map(map) => map.len().into(),
            _ => return Err(wrong(name, &value, &["string", "array", "object"])),
        },
        "reverse" => match value {
            Value::Str(text) => text.chars().rev().collect::<String>().into(),
            other => list(name, other)?
                .into_iter()
                .rev()
                .collect::<Vec<_>>()
                .into(),
        },
        "max" | "min" => best(name, &sortable(name, value)?),
        "sort" => {
            let mut items = sortable(name, value)?;
            items.sort_by(order);
            items.into()
        }
        "to_array" => match value {
            list @ Value::List(_) => list,
            other => vec![other].into(),
        },
        "to_number" => match value {
            Value::Int(_) | Value::Float(_) => value,
            Value::Str(text) => match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(int), _) => int.into(),
                (_, Ok(float)) => Value::Float(float),
                _ => Value::Nil,
            },
            _ => Value::Nil,
        },
        "to_string" => match value {
            text @ Value::Str(_) => text,
            other => compact(&other).into(),
        },
        "type" => kind(&value).into(),
        _ => Value::Nil,
    })
}

/// JSON without blanks.
fn compact(value: &Value) -> String {
    let style = Style {
        separators: Some((",", ":")),
        ..Style::default()
    };
    json::write(value, style).unwrap_or_default()
}

fn contains(subject: Value, wanted: &Value) -> Found {
    match (subject, wanted) {
        (Value::Str(text), Value::Str(part)) => Ok(text.contains(part.as_str()).into()),
        (Value::List(items), wanted) => Ok(items.iter().any(|item| equal(item, wanted)).into()),
        (Value::Str(_), other) => Err(wrong("contains", other, &["string"])),
        (other, _) => Err(wrong("contains", &other, &["array", "string"])),
    }
}

fn reference<'n>(
    name: &'static str,
    arguments: &'n [Node],
    at: usize,
) -> Result<&'n Node, QueryError> {
    match arguments.get(at) {
        Some(Node::Reference(node)) => Ok(node),
        _ => Err(wrong(name, &Value::Nil, &["expref"])),
    }
}

fn by_key(name: &'static str, items: Vec<Value>, by: &Node) -> Found {
    let mut keyed = Vec::new();
    for item in items {
        let key = evaluate(by, &item)?;
        match keyed.first() {
            _ if !is_sortable(&key) => return Err(wrong(name, &key, &["number", "string"])),
            Some((first, _)) if kind(first) != kind(&key) => {
                return Err(wrong(name, &key, &[kind(first)]));
            }
            _ => keyed.push((key, item)),
        }
    }
    if name == "sort_by" {
        keyed.sort_by(|(a, _), (b, _)| order(a, b));
        return Ok(keyed
            .into_iter()
            .map(|(_, item)| item)
            .collect::<Vec<_>>()
            .into());
    }
    let wanted = if name == "max_by" {
        Ordering::Greater
    } else {
        Ordering::Less
    };
    // The first of several that are equal, as Python's max and min take.
    let mut keyed = keyed.into_iter();
    let Some(mut best) = keyed.next() else {
        return Ok(Value::Nil);
    };
    for other in keyed {
        if order(&other.0, &best.0) == wanted {
            best = other;
        }
    }
    Ok(best.1)
}

fn best(name: &str, items: &[Value]) -> Value {
    let found = if name == "max" {
        items.iter().max_by(|a, b| order(a, b))
    } else {
        items.iter().min_by(|a, b| order(a, b))
    };
    found.cloned().unwrap_or_default()
}

fn is_sortable(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_) | Value::Str(_))
}

/// A list of numbers or of texts.
fn sortable(name: &'static str, value: Value) -> Result<Vec<Value>, QueryError> {
    let items = list(name, value)?;
    let first = items.first().map(kind);
    match items
        .iter()
        .find(|item| !is_sortable(item) || Some(kind(item)) != first)
    {
        Some(odd) => Err(wrong(name, odd, &["array-number", "array-string"])),
        None => Ok(items),
    }
}

fn total(name: &'static str, items: &[Value]) -> Found {
    let mut ints: i128 = 0;
    let mut floats = 0.0;
    let mut is_float = false;
    for item in items {
        match item {
            Value::Int(int) => ints = ints.saturating_add(*int),
            other => {
                floats += number(name, other)?;
                is_float = true;
            }
        }
    }
    if is_float {
        let ints = Value::Int(ints).as_f64().unwrap_or_default();
        Ok(Value::Float(ints + floats))
    } else {
        Ok(Value::Int(ints))
    }
}

fn whole(float: f64) -> Value {
    const EDGE: f64 = 1e30;
    if float.abs() < EDGE {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within the bounds"
        )]
        return Value::Int(float as i128);
    }
    Value::Float(float)
}

fn number(name: &'static str, value: &Value) -> Result<f64, QueryError> {
    value
        .as_f64()
        .ok_or_else(|| wrong(name, value, &["number"]))
}

fn text(name: &'static str, value: Value) -> Result<String, QueryError> {
    match value {
        Value::Str(text) => Ok(text),
        other => Err(wrong(name, &other, &["string"])),
    }
}

fn list(name: &'static str, value: Value) -> Result<Vec<Value>, QueryError> {
    match value {
        Value::List(items) => Ok(items),
        other => Err(wrong(name, &other, &["array"])),
    }
}

fn map(name: &'static str, value: Value) -> Result<Map, QueryError> {
    match value {
        Value::Map(map) => Ok(map),
        other => Err(wrong(name, &other, &["object"])),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) | Value::Float(_) => "number",
        Value::Str(_) | Value::Bytes(_) | Value::Ext(..) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    }
}

fn wrong(name: &'static str, value: &Value, expected: &[&str]) -> QueryError {
    let shown = halite_proto::python::str(value);
    let expected: Vec<String> = expected.iter().map(|kind| format!("'{kind}'")).collect();
    QueryError::Type {
        name,
        value: shown,
        expected: format!("[{}]", expected.join(", ")),
        received: kind(value),
    }
}
