//! A map as XML.

use halite_jinja::{Error, Result};
use halite_proto::Value;
use halite_proto::python;

/// An element while it is being built.
struct Element {
    tag: String,
    attributes: Vec<(String, String)>,
    text: Option<String>,
    children: Vec<Self>,
}

/// The XML of a map, as Salt's filter and Python's `minidom` write it: values
/// are attributes of their element, maps and lists are elements.
pub(super) fn format(value: &Value) -> Result<Value> {
    let mut tops = Vec::new();
    build(pairs(value)?, &mut tops)?;
    // A document has one element at its top.
    let is_list = value.as_map().is_some_and(|map| {
        let mut values = map.values();
        values.any(|value| matches!(value, Value::List(_)))
    });
    let Some(top) = tops.pop().filter(|_| !is_list) else {
        return Err(Error::foreign("'NoneType' object has no attribute 'iter'"));
    };
    let mut out = String::from("<?xml version=\"1.0\" ?>\n");
    write(&top, 0, &mut out);
    Ok(out.into())
}

fn pairs(value: &Value) -> Result<Vec<(String, Value)>> {
    match value {
        Value::Map(map) => Ok(map
            .iter()
            .map(|(key, value)| (python::str(key), value.clone()))
            .collect()),
        Value::List(items) => Ok(match items.as_slice() {
            [Value::Str(tag), inner] => vec![(tag.clone(), inner.clone())],
            _ => Vec::new(),
        }),
        _ => Err(Error::runtime(
            "Value is not a dict or list. Cannot render as XML",
        )),
    }
}

fn build(pairs: Vec<(String, Value)>, out: &mut Vec<Element>) -> Result<()> {
    for (tag, value) in pairs {
        match value {
            Value::List(items) => {
                for item in items {
                    build(vec![(tag.clone(), item)], out)?;
                }
            }
            Value::Map(map) => {
                let mut element = Element::new(tag);
                for (key, value) in &map {
                    let key = python::str(key);
                    if matches!(value, Value::Map(_) | Value::List(_)) {
                        build(vec![(key, value.clone())], &mut element.children)?;
                    } else {
                        let text = python::str(value);
                        element.attributes.push((key, text));
                    }
                }
                out.push(element);
            }
            Value::Nil => return Err(pairs_of_nothing()),
            scalar => {
                let mut element = Element::new(tag);
                element.text = Some(python::str(&scalar));
                out.push(element);
            }
        }
    }
    Ok(())
}

fn pairs_of_nothing() -> Error {
    Error::runtime("Value is not a dict or list. Cannot render as XML")
}

impl Element {
    fn new(tag: String) -> Self {
        Self {
            tag,
            attributes: Vec::new(),
            text: None,
            children: Vec::new(),
        }
    }
}

fn write(element: &Element, depth: usize, out: &mut String) {
    let indent = " ".repeat(depth);
    out.push_str(&format!("{indent}<{}", element.tag));
    for (name, value) in &element.attributes {
        out.push_str(&format!(
            " {name}=\"{}\"",
            escaped(value).replace('"', "&quot;")
        ));
    }
    match &element.text {
        Some(text) if !text.is_empty() => {
            out.push_str(&format!(">{}</{}>\n", escaped(text), element.tag));
        }
        _ if element.children.is_empty() => out.push_str("/>\n"),
        _ => {
            out.push_str(">\n");
            for child in &element.children {
                write(child, depth + 1, out);
            }
            out.push_str(&format!("{indent}</{}>\n", element.tag));
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
        .replace('>', "&gt;")
}
