//! The notations that this program reads and writes.

use halite_call::python;
use halite_proto::{Map, Value, json, msgpack};
use halite_yaml::{DumpOptions, FlowStyle};

/// A notation of data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    Json,
    Yaml,
    /// YAML that keeps its order, with leaves on one line.
    Yamlex,
    Msgpack,
    Ini,
}

impl Notation {
    /// The notation that Salt calls `name`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "yaml" => Some(Self::Yaml),
            "yamlex" => Some(Self::Yamlex),
            "msgpack" => Some(Self::Msgpack),
            "configparser" => Some(Self::Ini),
            _ => None,
        }
    }

    /// The data of a file called `name`, or what is wrong with it.
    pub(super) fn read(self, bytes: &[u8], name: &str) -> Result<Value, String> {
        let text = || String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string());
        match self {
            Self::Yaml | Self::Yamlex => {
                let loaded = halite_yaml::load(&text()?, name);
                Ok(loaded.map_err(|error| error.to_string())?.into_value())
            }
            Self::Json => json::read(&text()?).map_err(|error| error.to_string()),
            Self::Msgpack => msgpack::unpack_modern(bytes).map_err(|error| error.to_string()),
            Self::Ini => Ok(read_ini(&text()?)),
        }
    }

    /// `data` as the content of a file, or why that cannot be.
    pub(super) fn write(self, data: &Value, options: &Map) -> Result<Value, String> {
        match self {
            Self::Yaml => Ok(write_yaml(data, options, true)),
            Self::Yamlex => Ok(write_yaml(data, options, false)),
            Self::Json => write_json(data, options),
            Self::Msgpack => {
                let bytes = msgpack::pack_modern(data).map_err(|error| error.to_string())?;
                Ok(Value::Bytes(bytes))
            }
            Self::Ini => write_ini(data),
        }
    }
}

fn read_ini(text: &str) -> Value {
    let mut all = Map::new();
    let mut section = String::new();
    for line in text.lines() {
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
    all.into()
}

/// With `is_plain`, keys are sorted and nothing is on one line unless asked for.
fn write_yaml(data: &Value, options: &Map, is_plain: bool) -> Value {
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

fn write_json(data: &Value, options: &Map) -> Result<Value, String> {
    let indent = match options.get("indent") {
        None => Some(2),
        Some(Value::Nil) => None,
        Some(indent) => usize::try_from(python::int(indent).unwrap_or(2)).ok(),
    };
    let names = options.keys().map(python::str);
    if let Some(other) = names
        .into_iter()
        .find(|key| !JSON_OPTIONS.contains(&key.as_str()))
    {
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
    let text = json::write(data, style).map_err(|error| error.to_string())?;
    Ok(text.into())
}

fn write_ini(data: &Value) -> Result<Value, String> {
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
    Ok(out.into())
}

/// What Python's encoder of JSON takes.
const JSON_OPTIONS: &[&str] = &[
    "allow_nan",
    "check_circular",
    "default",
    "ensure_ascii",
    "indent",
    "separators",
    "skipkeys",
    "sort_keys",
];
