//! `file.serialize`: data as a file in one of several notations.

use std::path::Path;

use halite_call::extensions::{self, ExtensionKind};
use halite_call::{
    Call, CallError, CallResult, StateReturn, python, run_plugin, run_state_function,
};
use halite_proto::{Map, Value, json, msgpack};
use halite_yaml::{DumpOptions, FlowStyle};

use super::common;
use crate::core::text;

/// The notations there are.
#[derive(Clone, PartialEq, Eq)]
enum Notation {
    Json,
    Yaml,
    /// YAML that keeps its order, with leaves on one line.
    Yamlex,
    Msgpack,
    Ini,
    /// A serializer in Python: one of users', or of an installed Salt.
    Python(String),
}

impl Notation {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "yaml" => Some(Self::Yaml),
            "yamlex" => Some(Self::Yamlex),
            "msgpack" => Some(Self::Msgpack),
            "configparser" => Some(Self::Ini),
            _ => None,
        }
    }
}

pub(super) fn serialize(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    let formatter = call.kwargs().get("formatter").map(python::str);
    if formatter.is_some() && call.text_opt("serializer").is_some() {
        return common::failed(ret, "Only one of serializer and formatter are allowed");
    }
    let serializer = call
        .text_opt("serializer")
        .or(formatter)
        .unwrap_or_else(|| "yaml".to_owned());
    let Some(notation) = Notation::parse(&serializer).or_else(|| in_python(call, &serializer))
    else {
        let text = format!(
            "The {serializer} serializer could not be found. It either does not exist or its \
             prerequisites are not installed."
        );
        return common::failed(ret, text);
    };
    let at = Path::new(&name);
    if !call.flag("create") && !at.is_file() {
        let text = format!("File {name} is not present and is not set for creation");
        return Ok(ret.ok(text).into());
    }
    let (dataset, from_pillar) = (call.arg("dataset"), call.text_opt("dataset_pillar"));
    let mut dataset = match (dataset.is_nil(), from_pillar) {
        (false, Some(_)) => {
            return common::failed(
                ret,
                "Only one of 'dataset' and 'dataset_pillar' is permitted",
            );
        }
        (false, None) => dataset.clone(),
        (true, Some(key)) => python::traverse_map(&call.ctx.pillar(), &key, ":")
            .cloned()
            .unwrap_or_else(|| "".into()),
        (true, None) => {
            return common::failed(ret, "Neither 'dataset' nor 'dataset_pillar' was defined");
        }
    };
    let mut merged_changes = None;
    if call.flag("merge_if_exists") && at.is_file() {
        let content = text::read(at)?;
        let parsed = match &notation {
            Notation::Python(python) => {
                let options = options(call.arg("deserializer_opts"), python);
                let text = String::from_utf8_lossy(&content).into_owned();
                run_python(call, python, "deserialize", text.into(), options)?
            }
            known => parse(known, &content, &name),
        };
        let old = match parsed {
            Ok(old) => old,
            Err(why) => {
                return common::failed(ret, format!("Failed to deserialize existing data: {why}"));
            }
        };
        if let Value::Map(old) = &old {
            let mut merged = old.clone();
            merge(&mut merged, &dataset);
            let merged = Value::Map(merged);
            if merged == Value::Map(old.clone()) {
                let text = format!("The file {name} is in the correct state");
                return Ok(ret.ok(text).into());
            }
            merged_changes = Some(differences(old, &merged));
            dataset = merged;
        } else if !old.is_nil() {
            return Err(CallError::wrong_type(
                "Cannot update using non-dict types in dictupdate.update()",
            ));
        }
    }
    let mut options = options(call.arg("serializer_opts"), &serializer);
    if notation == Notation::Yaml && !call.arg("encoding").is_nil() {
        options.get_or_insert_with("allow_unicode", || true.into());
    }
    let written = match &notation {
        Notation::Python(python) => run_python(call, python, "serialize", dataset, options)?,
        known => write(known, &dataset, &options),
    };
    let contents = match written {
        Ok(contents) => contents,
        Err(why) => return common::failed(ret, format!("Failed to serialize the data: {why}")),
    };
    let mut kwargs = call.clean_kwargs();
    kwargs.remove("formatter");
    for key in [
        "user",
        "group",
        "mode",
        "backup",
        "makedirs",
        "show_changes",
        "create",
        "encoding",
        "encoding_errors",
        "check_cmd",
        "tmp_dir",
        "tmp_ext",
    ] {
        kwargs.insert(key, call.arg(key).clone());
    }
    kwargs.insert("name", name.as_str());
    kwargs.insert("contents", contents);
    kwargs.insert("contents_newline", notation != Notation::Msgpack);
    if !name.starts_with('/') {
        return common::failed(ret, "Parent directory not present");
    }
    let result = run_state_function(call.ctx, "file.managed", Vec::new(), kwargs, call.job)?;
    let Value::Map(mut result) = result else {
        return Ok(result);
    };
    let changed = result.get("changes").is_some_and(Value::is_true);
    if call.is_test() && changed {
        let text = format!("Dataset will be serialized and stored into {name}");
        result.insert("comment", text);
    }
    if let (true, Some(changes), Some(all)) = (
        changed,
        merged_changes,
        result.get_mut("changes").and_then(Value::as_map_mut),
    ) && all.contains_key("diff")
    {
        all.insert("diff", changes);
    }
    Ok(result.into())
}

/// Options as one map: they may be a list of maps, or under the serializer's
/// name.
fn options(given: &Value, serializer: &str) -> Map {
    let mut all = Map::new();
    for item in common::list(given) {
        if let Value::Map(item) = item {
            all.extend(item);
        }
    }
    if let Some(own) = all.get(serializer).and_then(|own| match own {
        Value::Map(_) | Value::List(_) => Some(own.clone()),
        _ => None,
    }) {
        return options(&own, serializer);
    }
    all
}

/// Lays `over` over `under`: maps are merged, the rest is replaced.
fn merge(under: &mut Map, over: &Value) {
    let Value::Map(over) = over else { return };
    for (key, value) in over {
        match (under.get_or_insert_with(key.clone(), || Value::Nil), value) {
            (Value::Map(old), new @ Value::Map(_)) => merge(old, new),
            (old, new) => *old = new.clone(),
        }
    }
}

/// What is different between two maps, as Salt's dictionary differences say
/// it.
fn differences(old: &Map, new: &Value) -> Map {
    let mut all = Map::new();
    let Value::Map(new) = new else { return all };
    for (key, value) in new {
        let was = old.get_value(key);
        if was == Some(value) {
            continue;
        }
        let change = match (was, value) {
            (Some(Value::Map(was)), now @ Value::Map(_)) => differences(was, now),
            (was, now) => Map::from([
                ("new", now.clone()),
                ("old", was.cloned().unwrap_or_else(|| "<_null_>".into())),
            ]),
        };
        all.insert(key.clone(), change);
    }
    all
}

/// The serializer of that name in Python, if there is one.
fn in_python(call: &Call<'_>, name: &str) -> Option<Notation> {
    let function = format!("{name}.serialize");
    extensions::plugin(call.ctx, ExtensionKind::Serializers, &function)?;
    Some(Notation::Python(name.to_owned()))
}

/// What a serializer in Python makes of data, or why it makes nothing of it.
fn run_python(
    call: &Call<'_>,
    name: &str,
    way: &str,
    data: Value,
    options: Map,
) -> Result<Result<Value, String>, CallError> {
    let function = format!("{name}.{way}");
    let Some(function) = extensions::plugin(call.ctx, ExtensionKind::Serializers, &function) else {
        return Ok(Err(format!("{name} has no function {way}")));
    };
    match run_plugin(call, function, vec![data], options) {
        Ok(made) => Ok(Ok(made)),
        Err(CallError::Exception { kind, message, .. }) if kind.ends_with("rializationError") => {
            Ok(Err(message))
        }
        Err(error) => Err(error),
    }
}

fn parse(notation: &Notation, bytes: &[u8], name: &str) -> Result<Value, String> {
    let text = || String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string());
    match notation {
        Notation::Yaml | Notation::Yamlex => {
            let loaded = halite_yaml::load(&text()?, name);
            Ok(loaded.map_err(|error| error.to_string())?.into_value())
        }
        Notation::Json => json::read(&text()?).map_err(|error| error.to_string()),
        Notation::Msgpack => msgpack::unpack_modern(bytes).map_err(|error| error.to_string()),
        Notation::Ini => {
            let mut all = Map::new();
            let mut section = String::new();
            for line in text()?.lines() {
                let line = line.trim();
                if let Some(name) = line
                    .strip_prefix('[')
                    .and_then(|line| line.strip_suffix(']'))
                {
                    section = name.to_owned();
                    all.get_or_insert_with(name, || Map::new().into());
                } else if let Some((key, value)) = line.split_once(['=', ':'])
                    && !line.starts_with(['#', ';'])
                    && let Some(Value::Map(entries)) = all.get_mut(&section)
                {
                    entries.insert(key.trim().to_lowercase(), value.trim());
                }
            }
            Ok(all.into())
        }
        Notation::Python(name) => Err(format!("{name} is a serializer in Python")),
    }
}

fn write(notation: &Notation, data: &Value, options: &Map) -> Result<Value, String> {
    Ok(match notation {
        Notation::Yaml | Notation::Yamlex => {
            let is_plain = *notation == Notation::Yaml;
            let flow = match options.get("default_flow_style") {
                Some(Value::Bool(true)) => FlowStyle::Flow,
                None if !is_plain => FlowStyle::Leaves,
                _ => FlowStyle::Block,
            };
            let number = |key: &str, default: i32| {
                let given = options.get(key).and_then(Value::as_i64);
                given
                    .and_then(|given| i32::try_from(given).ok())
                    .unwrap_or(default)
            };
            let dump = DumpOptions {
                flow,
                ascii: !options.get("allow_unicode").is_some_and(Value::is_true),
                indent: number("indent", 2),
                width: number("width", 80),
                sort_keys: is_plain && options.get("sort_keys").is_none_or(Value::is_true),
                explicit_start: options.get("explicit_start").is_some_and(Value::is_true),
                ..DumpOptions::default()
            };
            let text = halite_yaml::dump(data, dump);
            let text = text.strip_suffix("\n...\n").unwrap_or(&text);
            text.trim_end_matches('\n').into()
        }
        Notation::Json => {
            let indent = match options.get("indent") {
                None => Some(2),
                Some(Value::Nil) => None,
                Some(indent) => usize::try_from(python::int(indent).unwrap_or(2)).ok(),
            };
            const KNOWN: &[&str] = &[
                "allow_nan",
                "check_circular",
                "default",
                "ensure_ascii",
                "indent",
                "separators",
                "skipkeys",
                "sort_keys",
            ];
            let names = options.keys().map(python::str);
            if let Some(other) = names.into_iter().find(|key| !KNOWN.contains(&key.as_str())) {
                return Err(format!(
                    "JSONEncoder.__init__() got an unexpected keyword argument '{other}'"
                ));
            }
            let separators = options.get("separators").map(python::texts);
            let style = json::Style {
                indent,
                sort_keys: options.get("sort_keys").is_none_or(Value::is_true),
                ascii: options.get("ensure_ascii").is_some_and(Value::is_true),
                separators: match separators.as_deref() {
                    Some([comma, colon]) => Some((comma.as_str(), colon.as_str())),
                    _ => None,
                },
                default: Some(python::str),
            };
            let text = json::write(data, style);
            text.map_err(|error| error.to_string())?.into()
        }
        Notation::Msgpack => {
            Value::Bytes(msgpack::pack_modern(data).map_err(|error| error.to_string())?)
        }
        Notation::Ini => {
            let Value::Map(sections) = data else {
                return Err("the data is no map of sections".to_owned());
            };
            let mut out = String::new();
            for (name, entries) in sections {
                out.push_str(&format!("[{}]\n", python::str(name)));
                for (key, value) in entries.as_map().into_iter().flatten() {
                    let line = format!("{} = {}\n", python::str(key), python::str(value));
                    out.push_str(&line);
                }
                out.push('\n');
            }
            out.push('\n');
            out.into()
        }
        Notation::Python(name) => return Err(format!("{name} is a serializer in Python")),
    })
}
