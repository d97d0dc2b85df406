//! The stages that turn text into data.

use halite_proto::json::{self, JsonError};
use halite_proto::{Map, Value};
use halite_yaml::{Data, SourceLocation, Span};

use crate::error::{ErrorKind, RenderError};

/// YAML to data. Nothing but data that is false - an empty text, `false` -
/// is the empty map.
pub(crate) fn yaml(text: &str, name: &str) -> Result<Data, RenderError> {
    let data = halite_yaml::load_data(text, name);
    let mut data = data.map_err(|error| RenderError::yaml(&error, text))?;
    if !data.value.is_true() {
        data.value = Map::new().into();
    }
    Ok(data)
}

/// JSON to data; a `#!` line is not part of it.
pub(crate) fn json(text: &str, name: &str) -> Result<Value, RenderError> {
    let (skipped, body) = match text.strip_prefix("#!") {
        Some(_) => match text.split_once('\n') {
            Some((_, body)) => (1, body),
            None => (0, text),
        },
        None => (0, text),
    };
    if body.trim().is_empty() {
        return Ok(Map::new().into());
    }
    json::read(body).map_err(|error| no_json(error, text, skipped, name))
}

fn no_json(error: JsonError, text: &str, skipped: usize, name: &str) -> RenderError {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let span = Span {
        line: number(error.line + skipped),
        column: number(error.column),
    };
    RenderError::new(ErrorKind::Data, error.to_string())
        .foreign("json.decoder.JSONDecodeError")
        .at(Some(SourceLocation::new(name, text, span)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_the_empty_map() {
        for text in ["", "# x\n", "false", "~", "[]"] {
            assert_eq!(
                yaml(text, "f").unwrap().value,
                Map::new().into(),
                "{text:?}"
            );
        }
        assert_eq!(json("#!json\n", "f").unwrap(), Map::new().into());
    }

    #[test]
    fn wrong_json_is_shown_with_its_place() {
        let error = json("#!json\n{\"a\": 1,\n \"b\": }", "f").unwrap_err();
        assert_eq!(error.place().unwrap().to_string(), "f:3:7");
        assert!(
            error
                .sls_text("base", "a")
                .starts_with("Rendering SLS a failed, render error: ")
        );
    }
}
