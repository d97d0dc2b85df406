//! Salt's filters between data and text.

use super::pretty;
use super::{flag, only};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine};
use crate::json::{self, Style};
use crate::value::{self, Dict, List, Mapping, Native, Object, Tuple, Undefined, Value, to_usize};
use crate::walk;

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "yaml" => |machine, args| {
            let [value, flow] = args.bind("format_yaml", ["value", "flow_style"], 1)?;
            yaml(machine, &value.unwrap_or(Value::None), flag(flow, true)?)
        },
        "json" => format_json,
        "python" => format_python,
        "pprint" => |_, args| pretty::format(&only(args, "pprint")?).map(Value::str),
        "load_yaml" => load_yaml,
        "load_json" => load_json,
        "load_text" => |_, args| source_text(only(args, "load_text")?),
        "dict_to_sls_yaml_params" => sls_yaml_params,
        "sequence" => sequence,
        "skip" => |_, args| only(args, "skip").map(|_| Value::str("")),
        _ => return None,
    })
}

fn format_json(_: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["value", "sort_keys", "indent"];
    let [value, sort_keys, indent] = args.bind("format_json", names, 1)?;
    let value = value.unwrap_or(Value::None);
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    let indent = indent.filter(|indent| !indent.is_none());
    let style = Style {
        sort_keys: flag(sort_keys, true)?,
        indent: match indent {
            Some(indent) => Some(to_usize(indent.want_int()?).unwrap_or_default()),
            None => None,
        },
        ascii: false,
    };
    json::dump(&value, style).map(Value::markup)
}

fn format_python(_: &Machine<'_>, args: Args) -> Result<Value> {
    let value = only(args, "format_python")?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    pretty::format(&value).map(Value::markup)
}

fn load_yaml(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let value = source_text(only(args, "load_yaml")?)?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    let Some(text) = value.as_str() else {
        return Err(Error::runtime(format!(
            "Unable to load yaml from {}",
            value::text(&value)?
        )));
    };
    let data = machine.host().decode_yaml(text)?;
    Ok(Value::from_data(&data))
}

fn load_json(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let value = source_text(only(args, "load_json")?)?;
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    machine.step()?;
    value
        .as_str()
        .and_then(json::load)
        .ok_or_else(|| json::unable(&value))
}

fn sls_yaml_params(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["value", "flow_style"];
    let [value, flow] = args.bind("dict_to_sls_yaml_params", names, 1)?;
    let value = value.unwrap_or(Value::None);
    if let Some(undefined) = undefined_inside(&value) {
        return Ok(undefined);
    }
    let Value::Dict(Mapping(cell)) = &value else {
        let message = format!("'{}' object has no attribute 'items'", value.type_name());
        return Err(Error::new(ErrorKind::Attribute, message));
    };
    let mut entries = Vec::new();
    for (key, value) in cell.0.borrow().iter() {
        entries.push(Value::dict(
            [(key.clone(), value.clone())].into_iter().collect::<Dict>(),
        ));
    }
    yaml(machine, &Value::list(entries), flag(flow, false)?)
}

fn sequence(_: &Machine<'_>, args: Args) -> Result<Value> {
    let value = only(args, "sequence")?;
    let is_one = matches!(
        value,
        Value::List(_) | Value::Tuple(_) | Value::Set(_) | Value::Dict(_)
    );
    Ok(if is_one {
        value
    } else {
        Value::list(vec![value])
    })
}

fn yaml(machine: &Machine<'_>, value: &Value, flow: bool) -> Result<Value> {
    if let Some(undefined) = undefined_inside(value) {
        return Ok(undefined);
    }
    let text = machine.host().encode_yaml(&value.to_data()?, flow)?;
    let text = text.trim();
    let text = text.strip_suffix("\n...").unwrap_or(text);
    machine.account(text.len() / 16)?;
    Ok(Value::markup(text))
}

/// The text of a module, and whatever else as it is.
fn source_text(value: Value) -> Result<Value> {
    Ok(match value.as_object() {
        Some(Object::Module(module)) => Value::str(module.text()),
        _ => value,
    })
}

/// The undefined values inside data as one, whose message has all of theirs:
/// Salt's filters for data yield it in place of a text.
fn undefined_inside(value: &Value) -> Option<Value> {
    let mut messages = Vec::new();
    collect(value, 0, &mut messages);
    (!messages.is_empty()).then(|| Undefined::hint(messages.join("\n"), false))
}

fn collect(value: &Value, depth: u32, messages: &mut Vec<String>) {
    // What is too much is said by who writes it.
    if depth >= crate::limits::NESTING_MAX || walk::see(0).is_err() {
        return;
    }
    match value {
        Value::List(List(cell)) => {
            for item in cell.0.borrow().iter() {
                collect(item, depth + 1, messages);
            }
        }
        Value::Tuple(Tuple(cell)) => {
            for item in &cell.0 {
                collect(item, depth + 1, messages);
            }
        }
        Value::Dict(Mapping(cell)) => {
            for (_, item) in cell.0.borrow().iter() {
                collect(item, depth + 1, messages);
            }
        }
        other => {
            if let Some(undefined) = other.as_undefined() {
                messages.push(undefined.error().message().to_owned());
            }
        }
    }
}
