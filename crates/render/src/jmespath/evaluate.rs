//! A query's tree over data.

use std::cmp::Ordering;

use halite_proto::{Map, Value};

use super::parser::Node;
use super::{QueryError, functions};

type Found = Result<Value, QueryError>;

/// What a query finds.
pub(super) fn evaluate(node: &Node, data: &Value) -> Found {
    Ok(match node {
        Node::Current => data.clone(),
        Node::Field(name) => data.get(name).cloned().unwrap_or_default(),
        Node::Literal(value) => value.clone(),
        Node::Index(index) => item(data, *index),
        Node::Slice(start, stop, step) => slice(data, *start, *stop, *step)?,
        Node::Then(left, right) => evaluate(right, &evaluate(left, data)?)?,
        Node::Pipe(left, right) => evaluate(right, &evaluate(left, data)?)?,
        Node::Projection(left, right) => match evaluate(left, data)? {
            Value::List(items) => each(right, &items)?,
            _ => Value::Nil,
        },
        Node::Values(left, right) => match evaluate(left, data)? {
            Value::Map(map) => each(right, &map.values().cloned().collect::<Vec<_>>())?,
            _ => Value::Nil,
        },
        Node::Filter(left, right, condition) => match evaluate(left, data)? {
            Value::List(items) => each(right, &filter(items, condition)?)?,
            _ => Value::Nil,
        },
        Node::Flatten(inner) => match evaluate(inner, data)? {
            Value::List(items) => flatten(items).into(),
            _ => Value::Nil,
        },
        Node::Compare(sign, left, right) => {
            compare(sign, &evaluate(left, data)?, &evaluate(right, data)?)
        }
        Node::Or(left, right) => {
            let found = evaluate(left, data)?;
            if is_true(&found) {
                found
            } else {
                evaluate(right, data)?
            }
        }
        Node::And(left, right) => {
            let found = evaluate(left, data)?;
            if is_true(&found) {
                evaluate(right, data)?
            } else {
                found
            }
        }
        Node::Not(inner) => (!is_true(&evaluate(inner, data)?)).into(),
        Node::List(_) | Node::Map(_) if data.is_nil() => Value::Nil,
        Node::List(items) => {
            let found: Result<Vec<Value>, _> =
                items.iter().map(|item| evaluate(item, data)).collect();
            found?.into()
        }
        Node::Map(entries) => {
            let mut map = Map::new();
            for (name, node) in entries {
                map.insert(name.as_str(), evaluate(node, data)?);
            }
            map.into()
        }
        Node::Call(name, arguments) => functions::call(name, arguments, data)?,
        Node::Reference(_) => Value::Nil,
    })
}

/// The items for which the condition is true.
fn filter(items: Vec<Value>, condition: &Node) -> Result<Vec<Value>, QueryError> {
    let mut kept = Vec::new();
    for item in items {
        if is_true(&evaluate(condition, &item)?) {
            kept.push(item);
        }
    }
    Ok(kept)
}

/// The items, with those of lists among them in their place.
fn flatten(items: Vec<Value>) -> Vec<Value> {
    let mut flat = Vec::new();
    for item in items {
        match item {
            Value::List(inner) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    flat
}

/// What is found in each item, without what is not there.
fn each(node: &Node, items: &[Value]) -> Found {
    let mut found = Vec::new();
    for item in items {
        let value = evaluate(node, item)?;
        if !value.is_nil() {
            found.push(value);
        }
    }
    Ok(found.into())
}

/// JMESPath's truth: zero is true.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Int(_) | Value::Float(_) => true,
        other => other.is_true(),
    }
}

fn item(data: &Value, index: i64) -> Value {
    let items = data.as_list().unwrap_or_default();
    let at = match usize::try_from(index) {
        Ok(at) => Some(at),
        Err(_) => usize::try_from(index.unsigned_abs())
            .ok()
            .and_then(|back| items.len().checked_sub(back)),
    };
    at.and_then(|at| items.get(at)).cloned().unwrap_or_default()
}

/// Python's slices.
fn slice(data: &Value, start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> Found {
    let Some(items) = data.as_list() else {
        return Ok(Value::Nil);
    };
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(QueryError::Value("slice step cannot be zero"));
    }
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let (low, high) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let place = |given: Option<i64>, default: i64| match given {
        None => default,
        Some(at) if at < 0 => at.saturating_add(length).clamp(low, high),
        Some(at) => at.clamp(low, high),
    };
    let (from, to) = if step > 0 { (low, high) } else { (high, low) };
    let (mut at, end) = (place(start, from), place(stop, to));
    let mut taken = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        taken.extend(
            usize::try_from(at)
                .ok()
                .and_then(|at| items.get(at))
                .cloned(),
        );
        at = at.saturating_add(step);
    }
    Ok(taken.into())
}

fn compare(sign: &str, left: &Value, right: &Value) -> Value {
    match sign {
        "==" => return equal(left, right).into(),
        "!=" => return (!equal(left, right)).into(),
        _ => {}
    }
    let is_number = |value: &Value| matches!(value, Value::Int(_) | Value::Float(_));
    if !is_number(left) || !is_number(right) {
        return Value::Nil;
    }
    let order = order(left, right);
    match sign {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }
    .into()
}

/// Equality: `1` and `1.0` are equal, `1` and `true` are not.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Int(_), Value::Float(_)) | (Value::Float(_), Value::Int(_)) => {
            order(left, right).is_eq()
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            let same = |(key, value): (&Value, &Value)| {
                b.get_value(key).is_some_and(|other| equal(value, other))
            };
            a.len() == b.len() && a.iter().all(same)
        }
        _ => left == right,
    }
}

/// Numbers by size, texts by their characters.
pub(super) fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        _ => {
            let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
            number(left).total_cmp(&number(right))
        }
    }
}
