//! `file.serialize`: data as a file in one of several notations.

mod merge;
mod notation;

use std::path::Path;

use halite_call::extensions::{self, ExtensionKind};
use halite_call::{
    Call, CallError, CallResult, StateReturn, python, run_plugin, run_state_function,
};
use halite_proto::{Map, Value};

use self::merge::{differences, merge};
use self::notation::Notation;
use super::common;
use crate::core::text;

pub(super) fn serialize(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    let serializer = match Serializer::choose(call) {
        Ok(serializer) => serializer,
        Err(wrong) => return common::failed(ret, wrong),
    };
    let is_there = Path::new(&name).is_file();
    if !call.flag("create") && !is_there {
        let text = format!("File {name} is not present and is not set for creation");
        return Ok(ret.ok(text).into());
    }
    let mut dataset = match dataset(call) {
        Ok(dataset) => dataset,
        Err(wrong) => return common::failed(ret, wrong),
    };
    let mut merged_changes = None;
    if call.flag("merge_if_exists") && is_there {
        match merge_existing(call, &serializer, &name, &dataset)? {
            Existing::Empty => {}
            Existing::Unreadable(why) => return common::failed(ret, why),
            Existing::UpToDate => {
                let text = format!("The file {name} is in the correct state");
                return Ok(ret.ok(text).into());
            }
            Existing::Merged { data, changes } => {
                merged_changes = Some(changes);
                dataset = data;
            }
        }
    }
    let contents = match serializer.write(call, dataset)? {
        Ok(contents) => contents,
        Err(why) => return common::failed(ret, format!("Failed to serialize the data: {why}")),
    };
    if !name.starts_with('/') {
        return common::failed(ret, "Parent directory not present");
    }
    let kwargs = managed_kwargs(call, &name, contents, &serializer);
    let result = run_state_function(call.ctx, "file.managed", Vec::new(), kwargs, call.job)?;
    Ok(as_own_result(call, result, &name, merged_changes))
}

/// How the data is written, under the name that the state has for it.
struct Serializer {
    name: String,
    format: Format,
}

/// Who writes the data.
enum Format {
    /// This program.
    Ours(Notation),
    /// A serializer in Python: one of users', or of an installed Salt.
    Python,
}

impl Serializer {
    /// The serializer that is asked for, or why there is none.
    fn choose(call: &Call<'_>) -> Result<Self, String> {
        let formatter = call.kwargs().get("formatter").map(python::str);
        let serializer = call.text_opt("serializer");
        if formatter.is_some() && serializer.is_some() {
            return Err("Only one of serializer and formatter are allowed".to_owned());
        }
        let name = serializer
            .or(formatter)
            .unwrap_or_else(|| "yaml".to_owned());
        let format = match Notation::parse(&name) {
            Some(notation) => Format::Ours(notation),
            None if is_in_python(call, &name) => Format::Python,
            None => {
                return Err(format!(
                    "The {name} serializer could not be found. It either does not exist or its \
                     prerequisites are not installed."
                ));
            }
        };
        Ok(Self { name, format })
    }

    /// The data of a file called `file`, or why its content is not understood.
    fn read(
        &self,
        call: &Call<'_>,
        content: &[u8],
        file: &str,
    ) -> Result<Result<Value, String>, CallError> {
        match self.format {
            Format::Ours(notation) => Ok(notation.read(content, file)),
            Format::Python => {
                let options = options(call.arg("deserializer_opts"), &self.name);
                let text = String::from_utf8_lossy(content).into_owned();
                run_python(call, &self.name, "deserialize", text.into(), options)
            }
        }
    }

    /// The content of a file with `data`, or why that cannot be written.
    fn write(&self, call: &Call<'_>, data: Value) -> Result<Result<Value, String>, CallError> {
        let mut options = options(call.arg("serializer_opts"), &self.name);
        match self.format {
            Format::Ours(notation) => {
                if notation == Notation::Yaml && !call.arg("encoding").is_nil() {
                    options.get_or_insert_with("allow_unicode", || true.into());
                }
                Ok(notation.write(&data, &options))
            }
            Format::Python => run_python(call, &self.name, "serialize", data, options),
        }
    }

    fn is_binary(&self) -> bool {
        matches!(self.format, Format::Ours(Notation::Msgpack))
    }
}

/// The data of the state: its own, or that of a pillar key.
fn dataset(call: &Call<'_>) -> Result<Value, &'static str> {
    let dataset = call.arg("dataset");
    match (dataset.is_nil(), call.text_opt("dataset_pillar")) {
        (false, Some(_)) => Err("Only one of 'dataset' and 'dataset_pillar' is permitted"),
        (false, None) => Ok(dataset.clone()),
        (true, Some(key)) => Ok(python::traverse_map(&call.ctx.pillar(), &key, ":")
            .cloned()
            .unwrap_or_else(|| "".into())),
        (true, None) => Err("Neither 'dataset' nor 'dataset_pillar' was defined"),
    }
}

/// What the data becomes with what a file has already.
enum Existing {
    Empty,
    Unreadable(String),
    /// The file has all of it.
    UpToDate,
    Merged {
        data: Value,
        changes: Map,
    },
}

fn merge_existing(
    call: &Call<'_>,
    serializer: &Serializer,
    name: &str,
    dataset: &Value,
) -> Result<Existing, CallError> {
    let content = text::read(Path::new(name))?;
    let old = match serializer.read(call, &content, name)? {
        Ok(Value::Map(old)) => old,
        Ok(Value::Nil) => return Ok(Existing::Empty),
        Ok(_) => {
            return Err(CallError::wrong_type(
                "Cannot update using non-dict types in dictupdate.update()",
            ));
        }
        Err(why) => {
            let why = format!("Failed to deserialize existing data: {why}");
            return Ok(Existing::Unreadable(why));
        }
    };
    let mut merged = old.clone();
    merge(&mut merged, dataset);
    if merged == old {
        return Ok(Existing::UpToDate);
    }
    Ok(Existing::Merged {
        changes: differences(&old, &merged),
        data: merged.into(),
    })
}

/// What `file.managed` is called with.
fn managed_kwargs(call: &Call<'_>, name: &str, contents: Value, serializer: &Serializer) -> Map {
    let mut kwargs = call.clean_kwargs();
    kwargs.remove("formatter");
    for key in PASSED {
        kwargs.insert(*key, call.arg(key).clone());
    }
    kwargs.insert("name", name);
    kwargs.insert("contents", contents);
    kwargs.insert("contents_newline", !serializer.is_binary());
    kwargs
}

/// The result of `file.managed` as that of this state.
fn as_own_result(call: &Call<'_>, result: Value, name: &str, merged_changes: Option<Map>) -> Value {
    let Value::Map(mut result) = result else {
        return result;
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
    result.into()
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

/// Whether there is a serializer of that name in Python.
fn is_in_python(call: &Call<'_>, name: &str) -> bool {
    let function = format!("{name}.serialize");
    extensions::plugin(call.ctx, ExtensionKind::Serializers, &function).is_some()
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

/// Arguments that `file.managed` has too.
const PASSED: &[&str] = &[
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
];
