//! Attributes, items and slices. Attributes reach methods and data only: what
//! Python keeps behind underscores is refused.

use std::rc::Rc;

use super::Machine;
use crate::error::{Error, Result};
use crate::methods;
use crate::source::Str;
use crate::value::{
    Key, Mapping, Object, Other, OtherKind, Undefined, Value, char_value, iterate, to_usize,
};

/// `value.name`: an attribute, else an item of that name.
pub(crate) fn attribute(machine: &Machine<'_>, value: &Value, name: &str) -> Result<Value> {
    if let Some(undefined) = value.as_undefined() {
        return Err(undefined.error());
    }
    if is_dunder(name) {
        return Ok(Undefined::unsafe_attribute(value, name));
    }
    if let Some(found) = own_attribute(machine, value, name)? {
        return Ok(found);
    }
    if let Some(found) = text_item(machine, value, name) {
        return Ok(found);
    }
    Ok(Undefined::attribute(value, name, machine.lenient()))
}

/// `value[item]`: an item, else an attribute of that name.
pub(crate) fn item(machine: &Machine<'_>, value: &Value, item: &Value) -> Result<Value> {
    if let Some(undefined) = value.as_undefined() {
        return Err(undefined.error());
    }
    let found = match value {
        Value::Dict(Mapping(cell)) => match item {
            Value::Str(name) | Value::Markup(name) => cell.0.borrow().get_str(name).cloned(),
            // An unhashable key is a TypeError that Jinja2 turns into undefined.
            other => match Key::new(other.clone()) {
                Ok(key) => cell.0.borrow().get(&key).cloned(),
                Err(error) if other.as_undefined().is_some() => return Err(error),
                Err(_) => None,
            },
        },
        Value::List(list) => {
            let items = list.0.0.borrow();
            index(item, items.len()).and_then(|at| items.get(at).cloned())
        }
        Value::Tuple(tuple) => {
            index(item, tuple.0.0.len()).and_then(|at| tuple.0.0.get(at).cloned())
        }
        Value::Str(text) | Value::Markup(text) => {
            let length = if text.is_ascii() {
                text.len()
            } else {
                text.chars().count()
            };
            index(item, length)
                .and_then(|at| text.chars().nth(at))
                .map(char_value)
        }
        Value::Bytes(bytes) => index(item, bytes.len())
            .and_then(|at| bytes.get(at))
            .map(|byte| Value::Int((*byte).into())),
        Value::Other(Other(OtherKind::Range(range))) => {
            item.as_int().and_then(|at| range.get(at)).map(Value::Int)
        }
        Value::Other(Other(OtherKind::Object(object)))
            if matches!(&**object, Object::Group(..)) && item.as_int().is_some() =>
        {
            let pair = iterate(value)?;
            index(item, pair.len()).and_then(|at| pair.get(at).cloned())
        }
        _ => match item.as_str() {
            Some(name) => text_item(machine, value, name),
            None => None,
        },
    };
    if let Some(found) = found {
        return Ok(found);
    }
    if let Some(undefined) = item.as_undefined() {
        undefined.used()?;
    }
    if let Some(name) = item.as_str() {
        if is_dunder(name) {
            return Ok(Undefined::unsafe_attribute(value, name));
        }
        if let Some(found) = own_attribute(machine, value, name)? {
            return Ok(found);
        }
    }
    Undefined::item(value, item, machine.lenient())
}

/// What any of Python's objects has behind underscores; none of ours reaches
/// anything. Other names with underscores are names like any.
fn is_dunder(name: &str) -> bool {
    const PYTHONS: &str = "add annotations base bases bool builtins call class class_getitem \
        closure code contains defaults delattr delitem dict dir doc eq format func ge get \
        getattribute getitem getnewargs getstate globals gt hash iadd import imul init \
        init_subclass ior iter kwdefaults le len lt mod module mro mul name ne new or qualname \
        reduce reduce_ex repr reversed rmul ror self setattr setitem sizeof str subclasses \
        subclasshook weakref wrapped";
    let inner = name
        .strip_prefix("__")
        .and_then(|name| name.strip_suffix("__"));
    inner.is_some_and(|name| PYTHONS.split_ascii_whitespace().any(|known| known == name))
}

fn index(item: &Value, length: usize) -> Option<usize> {
    let index = item.as_int()?;
    let index = if index < 0 {
        index + i128::try_from(length).ok()?
    } else {
        index
    };
    to_usize(index)
}

fn own_attribute(machine: &Machine<'_>, value: &Value, name: &str) -> Result<Option<Value>> {
    if let Some(object) = value.as_object() {
        return object_attribute(machine, value, object, name);
    }
    if methods::exists(value, name) {
        let method = Object::Method(value.clone(), Str::from(name));
        return Ok(Some(Value::object(method)));
    }
    Ok(methods::property(value, name))
}

fn object_attribute(
    machine: &Machine<'_>,
    value: &Value,
    object: &Object,
    name: &str,
) -> Result<Option<Value>> {
    Ok(match object {
        Object::Loop(state) => match state.attribute(machine, name)? {
            Some(found) => Some(found),
            None if matches!(name, "cycle" | "changed") => {
                Some(Value::object(Object::Method(value.clone(), name.into())))
            }
            None => None,
        },
        Object::Module(module) => module.get(name),
        Object::Group(grouper, _) if name == "grouper" => Some(grouper.clone()),
        Object::Group(_, items) if name == "list" => Some(items.clone()),
        Object::Namespace(cell) => cell.0.borrow().get_str(name).cloned(),
        Object::Macro(value) => value.attribute(name),
        Object::Cycler(cycler) => match name {
            "current" => Some(cycler.current()),
            "items" => Some(Value::tuple(cycler.items.clone())),
            "next" | "reset" => Some(Value::object(Object::Method(value.clone(), name.into()))),
            _ => None,
        },
        Object::Block(block) if name == "super" => Some(block.parent(machine)),
        Object::Salt if name == "get" => {
            Some(Value::object(Object::Method(value.clone(), "get".into())))
        }
        Object::Salt => {
            let module = machine.host().has_module(name);
            module.then(|| Value::object(Object::SaltModule(name.into())))
        }
        _ => None,
    })
}

fn text_item(machine: &Machine<'_>, value: &Value, name: &str) -> Option<Value> {
    match value {
        Value::Dict(Mapping(cell)) => cell.0.borrow().get_str(name).cloned(),
        Value::Other(Other(OtherKind::Object(object))) => match &**object {
            Object::Blocks(blocks) => blocks.named(machine, name),
            Object::Salt if machine.host().has_function(name) => {
                Some(Value::object(Object::SaltFunction(name.into())))
            }
            Object::Salt if !name.contains('.') && machine.host().has_module(name) => {
                Some(Value::object(Object::SaltModule(name.into())))
            }
            Object::SaltModule(module) => {
                let function = format!("{module}.{name}");
                machine
                    .host()
                    .has_function(&function)
                    .then(|| Value::object(Object::SaltFunction(function.into())))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Where a slice of a sequence goes: its start, its step, how many.
pub(crate) fn slice_bounds(parts: [Option<i128>; 3], length: usize) -> Result<Vec<usize>> {
    let length = i128::try_from(length).unwrap_or(i128::MAX);
    let step = parts[2].unwrap_or(1);
    if step == 0 {
        return Err(Error::of_value("slice step cannot be zero"));
    }
    let (low, high) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let clamp = |at: Option<i128>, default: i128| match at {
        None => default,
        Some(at) if at < 0 => at.saturating_add(length).clamp(low, high),
        Some(at) => at.clamp(low, high),
    };
    let (start, stop) = if step > 0 {
        (clamp(parts[0], 0), clamp(parts[1], length))
    } else {
        (clamp(parts[0], length - 1), clamp(parts[1], -1))
    };
    let mut out = Vec::new();
    let mut at = start;
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        out.extend(to_usize(at));
        at = at.saturating_add(step);
    }
    Ok(out)
}

/// `value[start:stop:step]`.
pub(crate) fn slice(machine: &Machine<'_>, value: &Value, parts: [&Value; 3]) -> Result<Value> {
    if let Some(undefined) = value.as_undefined() {
        return Err(undefined.error());
    }
    let mut bounds = [None; 3];
    for (bound, part) in bounds.iter_mut().zip(parts) {
        if let Some(undefined) = part.as_undefined() {
            return Err(undefined.error());
        }
        if !part.is_none() {
            let Some(int) = part.as_int() else {
                // A TypeError that Jinja2 turns into undefined.
                return Ok(no_slice(machine, value));
            };
            *bound = Some(int);
        }
    }
    let pick = |items: &[Value]| -> Result<Vec<Value>> {
        let places = slice_bounds(bounds, items.len())?;
        Ok(places
            .into_iter()
            .filter_map(|at| items.get(at).cloned())
            .collect())
    };
    Ok(match value {
        Value::Str(text) => Value::str(slice_text(text, bounds)?),
        Value::Markup(text) => Value::markup(slice_text(text, bounds)?),
        Value::Bytes(bytes) => {
            let places = slice_bounds(bounds, bytes.len())?;
            let picked: Vec<u8> = places
                .into_iter()
                .filter_map(|at| bytes.get(at).copied())
                .collect();
            Value::Bytes(Rc::from(picked))
        }
        Value::List(list) => Value::list(pick(&list.0.0.borrow())?),
        Value::Tuple(tuple) => Value::tuple(pick(&tuple.0.0)?),
        Value::Other(Other(OtherKind::Range(_))) => Value::list(pick(&iterate(value)?)?),
        other => no_slice(machine, other),
    })
}

fn no_slice(machine: &Machine<'_>, value: &Value) -> Value {
    let message = format!("{} has no element slice", value.described());
    Undefined::hint(message, machine.lenient())
}

fn slice_text(text: &str, bounds: [Option<i128>; 3]) -> Result<String> {
    let chars: Vec<char> = text.chars().collect();
    let places = slice_bounds(bounds, chars.len())?;
    Ok(places.into_iter().filter_map(|at| chars.get(at)).collect())
}
