//! Data to text and back.

use halite_proto::json::{self, Style};
use halite_proto::{Map, Value, msgpack};
use halite_yaml::{DumpOptions, FlowStyle};

use super::super::ini;
use halite_call::{
    Call, CallError, CallResult,
    extensions::{self, ExtensionKind},
    python, run_plugin,
};

fn unknown(name: &str) -> CallError {
    CallError::command(format!("Serializer '{name}' not found."))
}

fn wrong(message: impl Into<String>) -> CallError {
    CallError::exception("salt.serializers.SerializationError", message)
}

fn unreadable(message: impl Into<String>) -> CallError {
    CallError::exception("salt.serializers.DeserializationError", message)
}

pub(super) fn serialize(call: &Call<'_>) -> CallResult {
    let (data, options) = (call.arg("obj"), call.clean_kwargs());
    let number = |name: &str| options.get(name).and_then(Value::as_i64);
    match call.text("serializer").as_str() {
        "json" => {
            let style = Style {
                sort_keys: options.get("sort_keys").is_some_and(Value::is_true),
                indent: number("indent").and_then(|indent| usize::try_from(indent).ok()),
                ascii: options.get("ensure_ascii").is_some_and(Value::is_true),
                ..Style::default()
            };
            let text = json::write(data, style);
            Ok(text.map_err(|error| wrong(error.to_string()))?.into())
        }
        "yaml" => Ok(yaml(data, &options).into()),
        "configparser" => Ok(ini::write(data).map_err(wrong)?.into()),
        "msgpack" => {
            let bytes = msgpack::pack_modern(data).map_err(|error| wrong(error.to_string()))?;
            Ok(Value::Bytes(bytes))
        }
        other => in_python(call, other, "serialize", data),
    }
}

/// A serializer of users', or of an installed Salt.
fn in_python(call: &Call<'_>, name: &str, way: &str, data: &Value) -> CallResult {
    let function = extensions::plugin(
        call.ctx,
        ExtensionKind::Serializers,
        &format!("{name}.{way}"),
    );
    let function = function.ok_or_else(|| unknown(name))?;
    run_plugin(call, function, vec![data.clone()], call.clean_kwargs())
}

fn yaml(data: &Value, options: &Map) -> String {
    let number = |name: &str, default: i32| {
        let given = options.get(name).and_then(Value::as_i64);
        given
            .and_then(|given| i32::try_from(given).ok())
            .unwrap_or(default)
    };
    let options = DumpOptions {
        flow: match options.get("default_flow_style") {
            None | Some(Value::Nil) => FlowStyle::Leaves,
            Some(flow) if flow.is_true() => FlowStyle::Flow,
            Some(_) => FlowStyle::Block,
        },
        sort_keys: options.get("sort_keys").is_none_or(Value::is_true),
        indent: number("indent", 2),
        width: number("width", 80),
        explicit_start: options.get("explicit_start").is_some_and(Value::is_true),
        explicit_end: options.get("explicit_end").is_some_and(Value::is_true),
        ..DumpOptions::default()
    };
    let mut text = halite_yaml::dump(data, options);
    if let Some(rest) = text.strip_suffix("\n...\n") {
        text.truncate(rest.len());
    } else if text.ends_with('\n') {
        text.pop();
    }
    text
}

pub(super) fn deserialize(call: &Call<'_>) -> CallResult {
    let given = call.arg("stream_or_string");
    let text = match given {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => python::str(other),
    };
    match call.text("serializer").as_str() {
        "json" => json::read(&text).map_err(|error| unreadable(error.to_string())),
        "yaml" => match halite_yaml::load(&text, "<text>") {
            Ok(node) => Ok(node.into_value()),
            Err(error) => Err(unreadable(error.python_text())),
        },
        "configparser" => ini::read(&text).map_err(unreadable),
        "msgpack" => {
            let bytes = given.as_bytes().unwrap_or_default();
            msgpack::unpack_modern(bytes).map_err(|error| unreadable(error.to_string()))
        }
        other => in_python(call, other, "deserialize", given),
    }
}
