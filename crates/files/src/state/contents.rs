//! The contents a state gives: text, lists of lines, pillar, grains.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::managed::encoded;
use crate::core::lines;
use crate::sources::template::{self, Template};

/// The contents of the arguments.
pub(super) enum Contents {
    /// None are given.
    None,
    /// These.
    Text(Vec<u8>),
    /// They are senseless; the comment says why.
    Wrong(String),
}

const MALFORMED: &str = "Contents specified by contents/contents_pillar/contents_grains is not a \
                         string or list of strings, and is not binary data. SLS is likely malformed.";

/// How many of the three ways to give contents are used.
pub(super) fn count(call: &Call<'_>) -> usize {
    ["contents", "contents_pillar", "contents_grains"]
        .iter()
        .filter(|name| !call.arg(name).is_nil())
        .count()
}

/// Looks the contents up and brings them into shape.
pub(super) fn resolve(call: &Call<'_>, name: &str, saltenv: &str) -> Result<Contents, CallError> {
    let (pillar, grains) = (call.arg("contents_pillar"), call.arg("contents_grains"));
    let delimiter = call.text("contents_delimiter");
    let value = if !pillar.is_nil() {
        match looked_up(&call.ctx.pillar(), pillar, &delimiter) {
            Ok(value) => value,
            Err(key) => return Ok(Contents::Wrong(format!("Pillar {key} does not exist"))),
        }
    } else if !grains.is_nil() {
        match looked_up(&call.ctx.grains(), grains, &delimiter) {
            Ok(value) => value,
            Err(key) => return Ok(Contents::Wrong(format!("Grain {key} does not exist"))),
        }
    } else {
        call.arg("contents").clone()
    };
    if value.is_nil() {
        return Ok(Contents::None);
    }
    if !call.flag("allow_empty") && !value.is_true() {
        let which = ["contents", "contents_pillar", "contents_grains"]
            .into_iter()
            .find(|name| !call.arg(name).is_nil())
            .unwrap_or("contents");
        return Ok(Contents::Wrong(format!(
            "'{which}' value would result in empty contents. Set allow_empty to True to allow the \
             managed file to be empty."
        )));
    }
    shaped(call, &value, name, saltenv)
}

fn looked_up(data: &Map, keys: &Value, delimiter: &str) -> Result<Value, String> {
    let one = |key: &Value| {
        let key = python::str(key);
        python::traverse_map(data, &key, delimiter)
            .cloned()
            .ok_or(key)
    };
    match keys {
        Value::List(keys) => {
            let mut texts = Vec::new();
            for key in keys {
                texts.push(python::str(&one(key)?));
            }
            Ok(texts.join("\n").into())
        }
        key => one(key),
    }
}

fn shaped(
    call: &Call<'_>,
    value: &Value,
    name: &str,
    saltenv: &str,
) -> Result<Contents, CallError> {
    if let Value::Bytes(bytes) = value {
        return Ok(Contents::Text(bytes.clone()));
    }
    if let Some(text) = value.as_str().filter(|text| text.contains('\0')) {
        return Ok(Contents::Text(text.as_bytes().to_vec()));
    }
    let parts: Vec<String> = match value {
        Value::List(items) if items.is_empty() => return Ok(Contents::Wrong(MALFORMED.to_owned())),
        Value::List(items) => items.iter().map(python::str).collect(),
        one => vec![python::str(one)],
    };
    let mut text = String::new();
    for part in &parts {
        for line in lines::split(part) {
            text.push_str(line.trim_end_matches('\n').trim_end_matches('\r'));
            text.push('\n');
        }
    }
    if !call.flag("contents_newline") {
        let bare = text.trim_end_matches('\n').trim_end_matches('\r').len();
        text.truncate(bare);
    }
    if let Some(engine) = call.text_opt("template") {
        let template = Template {
            engine: &engine,
            name: Some(name),
            saltenv,
            context: template::variables(call.arg("defaults"), call.arg("context")),
            ..Template::default()
        };
        match template::render(call, text.as_bytes(), &template) {
            Ok(bytes) => text = String::from_utf8_lossy(&bytes).into_owned(),
            Err(template::TemplateError::Render(why)) => {
                return Err(CallError::exception("SaltRenderError", why));
            }
            Err(error) => return Ok(Contents::Wrong(error.text())),
        }
    }
    Ok(match encoded(call, &text) {
        Ok(bytes) => Contents::Text(bytes),
        Err(why) => Contents::Wrong(format!("Unable to manage file: {why}")),
    })
}
