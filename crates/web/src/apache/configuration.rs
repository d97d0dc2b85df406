//! Configuration files of Apache from maps.

use halite_call::host::replace_file;
use halite_call::{Call, CallError, CallResult, os_error, python};
use halite_proto::{Map, Value};

/// Sections within each other no deeper than so.
const DEPTH_MAX: usize = 32;

/// The text of a configuration: a list of maps of directives and sections.
pub(crate) fn text(config: &Value) -> Result<String, CallError> {
    let items = match config {
        Value::List(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut parts = Vec::new();
    for item in items {
        let Value::Map(directives) = item else {
            return Err(CallError::invocation(format!(
                "a configuration is a list of maps, not of {}",
                python::repr(item)
            )));
        };
        for (name, value) in directives {
            parts.push(directive(&python::str(name), value, 0)?);
        }
    }
    Ok(parts.join("\n"))
}

/// A directive, or as many as it has values, or a section.
fn directive(name: &str, value: &Value, depth: usize) -> Result<String, CallError> {
    match value {
        Value::Map(section) => self::section(name, section, depth),
        Value::List(values) => {
            let values = values.iter().map(|value| match value {
                Value::Map(section) => self::section(name, section, depth),
                value => Ok(format!("{name} {}\n", python::str(value))),
            });
            values.collect()
        }
        value => Ok(format!("{name} {}", python::str(value))),
    }
}

fn section(name: &str, directives: &Map, depth: usize) -> Result<String, CallError> {
    if depth >= DEPTH_MAX {
        return Err(CallError::invocation(format!(
            "sections are within each other too deeply: {name}"
        )));
    }
    let Some(attribute) = directives.get("this") else {
        return Err(CallError::exception(
            "SaltException",
            format!(
                "Apache section container \"<{name}>\" expects attribute. Specify it using key \"this\"."
            ),
        ));
    };
    let mut text = format!("<{name} {}>\n", python::str(attribute));
    for (key, value) in directives {
        let key = python::str(key);
        if key != "this" {
            text.push_str(&directive(&key, value, depth + 1)?);
            text.push('\n');
        }
    }
    text.push_str(&format!("</{name}>\n"));
    Ok(text)
}

/// Writes a file of the web server.
pub(crate) fn write(call: &Call<'_>, file: &str, text: &str) -> Result<(), CallError> {
    replace_file(&call.host().path(file), text.as_bytes()).map_err(|error| os_error(&error, file))
}

pub(super) fn config(call: &Call<'_>) -> CallResult {
    let text = text(call.arg("config"))?;
    if call.flag("edit") {
        let content = format!("# This file is managed by Salt.\n{text}");
        write(call, &call.text("name"), &content)?;
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_end_within_their_limit() {
        let mut inner = Value::from("x");
        for _ in 0..=DEPTH_MAX {
            inner = Map::from([("this", Value::from("a")), ("S", inner)]).into();
        }
        let config = Map::from([("S", inner)]).into();
        assert!(text(&config).is_err());
        assert!(text(&"Listen 80".into()).is_err());
    }

    #[test]
    fn a_section_says_what_it_is_of() {
        let config = Map::from([("Directory", Map::from([("Order", "x")]))]);
        let error = text(&config.into()).unwrap_err().to_string();
        assert!(
            error.contains("\"<Directory>\" expects attribute"),
            "{error}"
        );
    }
}
