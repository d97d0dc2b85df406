//! `str` and `repr` as CPython prints them.

use halite_proto::python;

use super::{Mapping, Object, Other, OtherKind, Set, Value, ViewKind};
use crate::error::{Error, Result};
use crate::limits;

/// Python's `str`.
pub(crate) fn text(value: &Value) -> Result<String> {
    match value {
        Value::Str(text) | Value::Markup(text) => Ok(text.to_string()),
        Value::Other(Other(OtherKind::Undefined(undefined))) => {
            undefined.used()?;
            Ok(String::new())
        }
        Value::Other(Other(OtherKind::Object(object))) => match &**object {
            Object::Module(module) => Ok(module.text().to_owned()),
            _ => repr(value),
        },
        other => repr(other),
    }
}

/// Python's `repr`.
pub(crate) fn repr(value: &Value) -> Result<String> {
    let mut out = String::new();
    write(value, &mut out, 0)?;
    Ok(out)
}

fn write(value: &Value, out: &mut String, depth: u32) -> Result<()> {
    if depth >= limits::NESTING_MAX {
        return Err(Error::limit(
            "data is nested too deeply to print, or holds itself",
        ));
    }
    value.see()?;
    if out.len() > MAX_BYTES {
        return Err(Error::limit("printed data is too large"));
    }
    match value {
        Value::None => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(int) => out.push_str(&int.to_string()),
        Value::Float(float) => out.push_str(&python::float_repr(*float)),
        Value::Str(text) => out.push_str(&python::str_repr(text)),
        Value::Markup(text) => {
            out.push_str("Markup(");
            out.push_str(&python::str_repr(text));
            out.push(')');
        }
        Value::Bytes(bytes) => out.push_str(&python::bytes_repr(bytes)),
        Value::List(list) => sequence(&list.0.0.borrow(), "[", "]", out, depth)?,
        Value::Tuple(tuple) => {
            let items = &tuple.0.0;
            let end = if items.len() == 1 { ",)" } else { ")" };
            sequence(items, "(", end, out, depth)?;
        }
        Value::Dict(Mapping(cell)) => {
            out.push('{');
            for (index, (key, value)) in cell.0.borrow().iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(key.value(), out, depth + 1)?;
                out.push_str(": ");
                write(value, out, depth + 1)?;
            }
            out.push('}');
        }
        Value::Set(Set(cell)) => {
            let keys = cell.0.borrow().keys();
            if keys.is_empty() {
                out.push_str("set()");
            } else {
                sequence(&keys, "{", "}", out, depth)?;
            }
        }
        Value::Other(Other(kind)) => other(kind, out, depth)?,
    }
    Ok(())
}

fn other(kind: &OtherKind, out: &mut String, depth: u32) -> Result<()> {
    match kind {
        OtherKind::Undefined(_) => out.push_str("Undefined"),
        OtherKind::View(cell, view) => {
            let dict = cell.0.borrow();
            let (name, items) = match view {
                ViewKind::Keys => ("dict_keys([", dict.keys()),
                ViewKind::Values => ("dict_values([", dict.values()),
                ViewKind::Items => ("dict_items([", dict.items()),
            };
            sequence(&items, name, "])", out, depth)?;
        }
        OtherKind::Range(range) => {
            out.push_str(&format!("range({}, {}", range.start, range.stop));
            if range.step != 1 {
                out.push_str(&format!(", {}", range.step));
            }
            out.push(')');
        }
        OtherKind::Iter(iter) => out.push_str(&format!("<{} object>", iter.name())),
        OtherKind::Object(object) => match &**object {
            Object::Namespace(cell) => {
                out.push_str("<Namespace ");
                let dict = Value::Dict(Mapping(std::rc::Rc::clone(cell)));
                write(&dict, out, depth + 1)?;
                out.push('>');
            }
            Object::Group(grouper, items) => {
                sequence(&[grouper.clone(), items.clone()], "(", ")", out, depth)?;
            }
            Object::Macro(value) => match value.name() {
                Some(name) => out.push_str(&format!("<Macro {}>", python::str_repr(name))),
                None => out.push_str("<Macro anonymous>"),
            },
            Object::Function(name, _) => out.push_str(&format!("<function {name}>")),
            Object::Method(value, name) => out.push_str(&format!(
                "<built-in method {name} of {} object>",
                value.type_name()
            )),
            Object::Loop(state) => out.push_str(&state.text()),
            Object::SaltFunction(name) => out.push_str(&format!("<function {name}>")),
            other => out.push_str(&format!("<{}>", other.described())),
        },
    }
    Ok(())
}

fn sequence(items: &[Value], start: &str, end: &str, out: &mut String, depth: u32) -> Result<()> {
    out.push_str(start);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(item, out, depth + 1)?;
    }
    out.push_str(end);
    Ok(())
}

/// Characters of one printed value.
const MAX_BYTES: usize = 64 * 1024 * 1024;
