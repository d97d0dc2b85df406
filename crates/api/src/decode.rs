//! The body of a request as data, and data as low data.
//!
//! Pure. Invariant: whatever the bytes, the answer is data or a fault, and the
//! nesting that is followed is limited by the readers of JSON and YAML.

use halite_client::args::yamlify;
use halite_proto::{Map, Value};
use percent_encoding::percent_decode;

use crate::fault::Fault;
use crate::limits::CHUNKS_MAX;

/// The content of a body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Its data; nothing for an empty body.
    pub data: Value,
    /// Its text, unchanged.
    pub raw: String,
}

/// Reads a body by its content type; an empty one needs none.
///
/// # Errors
/// With 406 for a type that is not read, and 400 for a body that is not of its
/// type.
pub fn body(content_type: Option<&str>, bytes: &[u8]) -> Result<Body, Fault> {
    if bytes.is_empty() {
        return Ok(Body::default());
    }
    let essence = content_type.unwrap_or_default().split(';').next();
    let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
    let text = |kind: &str| {
        let text = std::str::from_utf8(bytes);
        text.map_err(|_| Fault::bad(format!("Invalid {kind} document")))
    };
    let (raw, data) = match essence.as_str() {
        "application/x-www-form-urlencoded" => {
            let raw = String::from_utf8_lossy(bytes).into_owned();
            let data = form(&raw).into();
            (raw, data)
        }
        "application/json" => {
            let raw = text("JSON")?;
            let read = halite_proto::json::read(raw);
            let data = read.map_err(|_| Fault::bad("Invalid JSON document"))?;
            (raw.to_owned(), data)
        }
        "application/x-yaml" | "text/yaml" => {
            let raw = text("YAML")?;
            let read = halite_yaml::load(raw, "the request");
            let data = read.map_err(|_| Fault::bad("Invalid YAML document"))?;
            (raw.to_owned(), data.into_value())
        }
        // Some large services send JSON under this name.
        "text/plain" => {
            let raw = text("text")?;
            let read = halite_proto::json::read(raw);
            (raw.to_owned(), read.unwrap_or_else(|_| raw.into()))
        }
        _ => {
            return Err(Fault::new(
                axum::http::StatusCode::NOT_ACCEPTABLE,
                "Content type not supported",
            ));
        }
    };
    Ok(Body { data, raw })
}

/// A form: a name that comes several times is a list; `arg` and `kwarg` are read
/// as on a command line.
fn form(text: &str) -> Map {
    let mut fields: Map = Map::new();
    for (name, value) in pairs(text) {
        let value = Value::from(value);
        match fields.get_mut(name.as_str()) {
            None => {
                fields.insert(name, value);
            }
            Some(Value::List(items)) => items.push(value),
            Some(first) => {
                let only = std::mem::take(first);
                *first = Value::List(vec![only, value]);
            }
        }
    }
    let parsed = |value: Value| match value {
        Value::Str(text) => yamlify(&text),
        other => other,
    };
    if let Some(kwarg) = fields.get_mut("kwarg") {
        *kwarg = parsed(std::mem::take(kwarg));
    }
    if let Some(arg) = fields.get_mut("arg") {
        let given = match std::mem::take(arg) {
            Value::List(items) => items,
            one => vec![one],
        };
        *arg = Value::List(given.into_iter().map(parsed).collect());
    }
    fields
}

/// The fields of a form or a query that have a name and a value.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    let parts = text.split('&').filter_map(|part| part.split_once('='));
    parts
        .map(|(name, value)| (unquoted(name), unquoted(value)))
        .filter(|(_, value)| !value.is_empty())
}

/// The fields of a query, also those without a value.
pub fn query(text: &str) -> Vec<(String, String)> {
    let parts = text.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (unquoted(name), unquoted(value))
        })
        .collect()
}

fn unquoted(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_decode(spaced.as_bytes())
        .decode_utf8_lossy()
        .into_owned()
}

/// The chunks of low data in a body: a list of maps, or one map.
///
/// # Errors
/// With 400 for anything else.
pub fn low_data(data: Value) -> Result<Vec<Map>, Fault> {
    let items = match data {
        Value::Map(map) if !map.is_empty() => vec![map.into()],
        Value::List(items) => items,
        _ => return Err(Fault::bad("Lowstates must be a list")),
    };
    if items.len() > CHUNKS_MAX {
        let why = format!("Lowstates may have {CHUNKS_MAX} chunks at most");
        return Err(Fault::bad(why));
    }
    items.into_iter().map(chunk).collect()
}

fn chunk(item: Value) -> Result<Map, Fault> {
    let Value::Map(mut chunk) = item else {
        return Err(Fault::bad("Each lowstate must be a map"));
    };
    if let Some(arg) = chunk.get_mut("arg")
        && !matches!(arg, Value::List(_))
    {
        let one = std::mem::take(arg);
        *arg = Value::List(vec![one]);
    }
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form_of(text: &str) -> Value {
        let form = Some("application/x-www-form-urlencoded; charset=utf-8");
        body(form, text.as_bytes()).unwrap().data
    }

    #[test]
    fn forms_are_read_as_command_lines() {
        let data =
            form_of("client=local&tgt=%2A&fun=test.arg&arg=1&arg=b%3D+2&kwarg=%7Bz%3A+3%7D&x=");
        assert_eq!(data.get("tgt"), Some(&"*".into()));
        assert_eq!(data.get("x"), None);
        let args = Value::List(vec![1.into(), "b= 2".into()]);
        assert_eq!(data.get("arg"), Some(&args));
        assert_eq!(data.get("kwarg"), Some(&Map::from([("z", 3)]).into()));
        assert_eq!(
            form_of("arg=x").get("arg"),
            Some(&Value::List(vec!["x".into()]))
        );
        let twice = Value::List(vec!["a".into(), "b".into(), "c".into()]);
        assert_eq!(form_of("tgt=a&tgt=b&tgt=c").get("tgt"), Some(&twice));
    }

    #[test]
    fn a_body_is_of_its_type_or_refused() {
        let status = |kind: Option<&str>, bytes: &[u8]| {
            body(kind, bytes)
                .map_err(|fault| fault.status.as_u16())
                .map(|body| body.data)
        };
        assert_eq!(status(None, b""), Ok(Value::Nil));
        assert_eq!(status(None, b"x"), Err(406));
        assert_eq!(status(Some("application/xml"), b"<a/>"), Err(406));
        assert_eq!(status(Some("application/json"), b"{bad"), Err(400));
        assert_eq!(status(Some("application/json"), b"\xff"), Err(400));
        assert_eq!(status(Some("application/x-yaml"), b"a: ["), Err(400));
        assert_eq!(status(Some("text/plain"), b"abc"), Ok("abc".into()));
        assert_eq!(
            status(Some("text/plain"), b"[1]"),
            Ok(vec![Value::from(1)].into())
        );
        assert_eq!(
            status(Some("text/yaml"), b"a: 1"),
            Ok(Map::from([("a", 1)]).into())
        );
        let deep = "[".repeat(100_000);
        assert_eq!(status(Some("application/json"), deep.as_bytes()), Err(400));
        assert_eq!(status(Some("text/yaml"), deep.as_bytes()), Err(400));
    }

    #[test]
    fn low_data_is_a_list_of_maps() {
        let one = Map::from([("arg", "x")]);
        let chunks = low_data(one.into()).unwrap();
        assert_eq!(chunks[0].get("arg"), Some(&Value::List(vec!["x".into()])));
        assert_eq!(low_data(Value::List(Vec::new())), Ok(Vec::new()));
        for bad in [
            Value::Nil,
            Map::new().into(),
            "x".into(),
            vec![Value::from(5)].into(),
        ] {
            assert_eq!(low_data(bad).unwrap_err().status.as_u16(), 400);
        }
        let many = vec![Value::from(Map::new()); CHUNKS_MAX + 1];
        assert!(low_data(many.into()).is_err());
    }
}
