//! Reading the files: the main one, its includes, and what the caller lays
//! over them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use halite_proto::{Map, Value};
use halite_target::glob;
use halite_yaml::place::{Place, Span};
use halite_yaml::{Kind, Node};

use crate::error::{ConfigError, Warning};
use crate::known::{self, Side};
use crate::minion_id::HostNames;
use crate::setting::{OneOrMany, Setting};
use crate::{MasterConfig, MinionConfig};

/// How deep includes may be nested.
const INCLUDE_DEPTH_MAX: usize = 16;

/// Largest configuration file that is read.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What the caller knows beside the files.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `-c DIR`, or `SALT_CONFIG_DIR`; `/etc/salt` otherwise.
    pub config_dir: Option<PathBuf>,
    /// A file given by `SALT_MASTER_CONFIG` or `SALT_MINION_CONFIG`; `-c` is
    /// stronger.
    pub config_file: Option<PathBuf>,
    /// Options from the command line, which win over the files.
    pub overrides: Vec<(String, Value)>,
    /// The names of this machine, for a minion without `id`.
    pub host_names: HostNames,
}

impl LoadOptions {
    fn file(&self, name: &str) -> PathBuf {
        match (&self.config_dir, &self.config_file) {
            (Some(dir), _) => dir.join(name),
            (None, Some(file)) => file.clone(),
            (None, None) => Path::new("/etc/salt").join(name),
        }
    }
}

/// A configuration and what is odd about it.
#[derive(Clone, Debug)]
pub struct Loaded<C> {
    /// The configuration.
    pub config: C,
    /// What an administrator should look at.
    pub warnings: Vec<Warning>,
}

/// Reads a master's configuration.
///
/// # Errors
/// When a file cannot be read or a value does not fit.
pub fn load_master(options: &LoadOptions) -> Result<Loaded<MasterConfig>, ConfigError> {
    let conf_file = options.file("master");
    let (raw, mut warnings) = read(&conf_file, "master.d/*.conf", Side::Master, options)?;
    raw.check_names(MasterConfig::HONOURED, &mut warnings);
    let mut config = MasterConfig::read(conf_file, raw)?;
    config.settle(&options.host_names);
    Ok(Loaded { config, warnings })
}

/// Reads a master's configuration as the programs beside it do: a wildcard
/// address means this machine.
///
/// # Errors
/// When a file cannot be read or a value does not fit.
pub fn load_client(options: &LoadOptions) -> Result<Loaded<MasterConfig>, ConfigError> {
    let mut loaded = load_master(options)?;
    match loaded.config.interface.as_str() {
        "0.0.0.0" | "*" => "127.0.0.1".clone_into(&mut loaded.config.interface),
        "::" => "::1".clone_into(&mut loaded.config.interface),
        _ => {}
    }
    Ok(loaded)
}

/// Reads a minion's configuration.
///
/// # Errors
/// When a file cannot be read, a value does not fit, or there is no id.
pub fn load_minion(options: &LoadOptions) -> Result<Loaded<MinionConfig>, ConfigError> {
    let conf_file = options.file("minion");
    let (raw, mut warnings) = read(&conf_file, "minion.d/*.conf", Side::Minion, options)?;
    raw.check_names(MinionConfig::HONOURED, &mut warnings);
    let mut config = MinionConfig::read(conf_file, raw)?;
    config.settle(&options.host_names)?;
    Ok(Loaded { config, warnings })
}

/// A file that was read.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: Arc<str>,
}

impl Source {
    fn place(&self, span: Span) -> Place {
        Place::new(&self.name, &self.text, span)
    }
}

/// One option of the files.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    /// None for an option of the command line.
    source: Option<Source>,
    key: Span,
    value: Node,
}

/// The options of all files, merged, each with its place.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    side: Side,
    entries: Vec<Entry>,
    opts: OnceLock<Map>,
    settled: Map,
}

impl Raw {
    /// The option `name`, if a file or the command line has it.
    pub(crate) fn setting<T: Setting>(&self, name: &str) -> Result<Option<T>, ConfigError> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name) else {
            return Ok(None);
        };
        if let Some(value) = T::read(&entry.value) {
            return Ok(Some(value));
        }
        let option = name.to_owned();
        let found = describe(&entry.value);
        let allowed = T::ALLOWED.to_owned();
        Err(match &entry.source {
            Some(source) => {
                let place = Box::new(source.place(entry.value.span));
                ConfigError::Value {
                    place,
                    option,
                    found,
                    allowed,
                }
            }
            None => ConfigError::Override {
                option,
                found,
                allowed,
            },
        })
    }

    /// The error about a value that has the right type and is wrong all the
    /// same.
    pub(crate) fn wrong(&self, name: &str, allowed: String) -> ConfigError {
        let option = name.to_owned();
        match self.entries.iter().find(|entry| entry.name == name) {
            Some(Entry {
                source: Some(source),
                value,
                ..
            }) => ConfigError::Value {
                place: Box::new(source.place(value.span)),
                option,
                found: describe(value),
                allowed,
            },
            Some(entry) => ConfigError::Override {
                option,
                found: describe(&entry.value),
                allowed,
            },
            None => ConfigError::Override {
                option,
                found: "the default".to_owned(),
                allowed,
            },
        }
    }

    /// Notes what became of an option, for [`Self::opts`].
    pub(crate) fn settle(&mut self, name: &str, value: impl Into<Value>) {
        self.settled.insert(name, value);
    }

    /// All options, defaults included.
    pub(crate) fn opts(&self) -> &Map {
        self.opts.get_or_init(|| {
            let mut opts = known::defaults(self.side);
            for entry in &self.entries {
                opts.insert(entry.name.as_str(), entry.value.to_value());
            }
            opts.extend(self.settled.clone());
            opts
        })
    }

    fn check_names(&self, honoured: &'static [&'static str], warnings: &mut Vec<Warning>) {
        for entry in &self.entries {
            let name = entry.name.as_str();
            let Some(source) = &entry.source else {
                continue;
            };
            if honoured.contains(&name) || name == "include" || name == "default_include" {
                continue;
            }
            let place = source.place(entry.key);
            let option = entry.name.clone();
            warnings.push(if known::is_known(name) {
                Warning::NotHonoured { place, option }
            } else {
                let nearest = known::nearest(name, honoured);
                Warning::Unknown {
                    place,
                    option,
                    nearest,
                }
            });
        }
    }
}

fn describe(node: &Node) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    match &node.value {
        Kind::Scalar(Value::Nil) => "empty".to_owned(),
        Kind::Scalar(value) => {
            let text = halite_yaml::python_str(value);
            let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
            format!("{shown:?}")
        }
        Kind::List(_) => "a list".to_owned(),
        Kind::Map(_) => "a map".to_owned(),
    }
}

fn read(
    conf_file: &Path,
    default_include: &str,
    side: Side,
    options: &LoadOptions,
) -> Result<(Raw, Vec<Warning>), ConfigError> {
    let mut warnings = Vec::new();
    let main = read_file(conf_file)?;
    if main.is_none() {
        warnings.push(Warning::NoFile {
            path: conf_file.to_owned(),
        });
    }
    let mut entries = main.unwrap_or_default();
    let dir = conf_file.parent().unwrap_or_else(|| Path::new("/"));
    let patterns = match find(&entries, "default_include") {
        Some(entry) => OneOrMany::read(&entry.value).unwrap_or_default().0,
        None => vec![default_include.to_owned()],
    };
    for pattern in &patterns {
        let included = include(dir, pattern, 0, &mut warnings)?.unwrap_or_default();
        lay_over(&mut entries, included);
    }
    let own_includes = find(&entries, "include").cloned();
    if let Some(entry) = own_includes {
        lay_over(&mut entries, included_by(dir, &entry, 0, &mut warnings)?);
    }
    let given = options.overrides.iter().map(|(name, value)| Entry {
        name: name.clone(),
        source: None,
        key: Span::START,
        value: node_of(value),
    });
    lay_over(&mut entries, given.collect());
    let raw = Raw {
        side,
        entries,
        opts: OnceLock::new(),
        settled: Map::new(),
    };
    Ok((raw, warnings))
}

/// The options of all files that an `include` names.
fn included_by(
    dir: &Path,
    entry: &Entry,
    depth: usize,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Entry>, ConfigError> {
    let mut entries = Vec::new();
    for pattern in OneOrMany::read(&entry.value).unwrap_or_default().0 {
        match include(dir, &pattern, depth, warnings)? {
            Some(included) => merge(&mut entries, included),
            None => {
                if let Some(source) = &entry.source {
                    let place = source.place(entry.value.span);
                    warnings.push(Warning::NoInclude { place, pattern });
                }
            }
        }
    }
    Ok(entries)
}

/// The options of all files that match a pattern, in the order of their names,
/// later ones over earlier ones; none if no file matches.
fn include(
    dir: &Path,
    pattern: &str,
    depth: usize,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Vec<Entry>>, ConfigError> {
    if depth >= INCLUDE_DEPTH_MAX {
        return Err(ConfigError::IncludeDepth {
            path: dir.join(pattern),
            max: INCLUDE_DEPTH_MAX,
        });
    }
    let files = expand(&dir.join(pattern));
    if files.is_empty() {
        return Ok(None);
    }
    let mut entries = Vec::new();
    for file in files {
        let mut own = read_file(&file)?.unwrap_or_default();
        if let Some(entry) = find(&own, "include").cloned() {
            let dir = file.parent().unwrap_or(dir);
            let included = included_by(dir, &entry, depth + 1, warnings)?;
            merge(&mut own, included);
        }
        merge(&mut entries, own);
    }
    Ok(Some(entries))
}

/// The files that a path with wildcards names, in order.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let part = part.as_os_str();
        let text = part.to_string_lossy();
        if !glob::is_glob(&text) {
            for path in &mut found {
                path.push(part);
            }
            continue;
        }
        let matching = |dir: PathBuf| {
            let mut names: Vec<_> = fs::read_dir(&dir)
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                // As in a shell, a wildcard does not find what is hidden.
                .filter(|name| !name.starts_with('.') || text.starts_with('.'))
                .filter(|name| glob::fnmatch(&text, name))
                .collect();
            names.sort_unstable();
            names
                .into_iter()
                .map(move |name| dir.join(name))
                .collect::<Vec<_>>()
        };
        found = found.into_iter().flat_map(matching).collect();
    }
    found.retain(|path| path.is_file());
    found
}

fn read_file(path: &Path) -> Result<Option<Vec<Entry>>, ConfigError> {
    let failed = |source| ConfigError::Read {
        path: path.to_owned(),
        source,
    };
    let length = match fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if length > FILE_BYTES_MAX {
        return Err(failed(std::io::ErrorKind::FileTooLarge.into()));
    }
    let bytes = fs::read(path).map_err(failed)?;
    let name = path.display().to_string();
    let node = halite_yaml::load_bytes(&bytes, &name)
        .map_err(|error| ConfigError::Yaml(Box::new(error)))?;
    let text: Arc<str> = String::from_utf8_lossy(&bytes).into();
    let source = Source { name, text };
    let options = match node.value {
        Kind::Map(options) => options,
        Kind::Scalar(Value::Nil) => return Ok(Some(Vec::new())),
        _ => {
            let found = node.type_name();
            return Err(ConfigError::NotAMap {
                place: Box::new(source.place(node.span)),
                found,
            });
        }
    };
    let entry = |(key, value): (Node, Node)| Entry {
        name: key
            .as_scalar()
            .map(halite_yaml::python_str)
            .unwrap_or_default(),
        source: Some(source.clone()),
        key: key.span,
        value,
    };
    Ok(Some(options.into_iter().map(entry).collect()))
}

fn find<'e>(entries: &'e [Entry], name: &str) -> Option<&'e Entry> {
    entries.iter().find(|entry| entry.name == name)
}

/// Puts options over others, whole option by whole option.
fn lay_over(entries: &mut Vec<Entry>, over: Vec<Entry>) {
    for entry in over {
        entries.retain(|old| old.name != entry.name);
        entries.push(entry);
    }
}

/// Puts options over others; maps are merged, deeply.
fn merge(entries: &mut Vec<Entry>, over: Vec<Entry>) {
    for mut entry in over {
        if let Some(at) = entries.iter().position(|old| old.name == entry.name) {
            let old = entries.remove(at);
            entry.value = merged(old.value, entry.value);
        }
        entries.push(entry);
    }
}

fn merged(old: Node, new: Node) -> Node {
    match (old.value, new.value) {
        (Kind::Map(mut old), Kind::Map(new_entries)) => {
            for (key, value) in new_entries {
                match old.iter().position(|(known, _)| known.value == key.value) {
                    Some(at) => {
                        let (known, before) = old.remove(at);
                        old.insert(at, (known, merged(before, value)));
                    }
                    None => old.push((key, value)),
                }
            }
            Node {
                value: Kind::Map(old),
                span: new.span,
                shared: None,
            }
        }
        (_, value) => Node {
            value,
            span: new.span,
            shared: new.shared,
        },
    }
}

fn node_of(value: &Value) -> Node {
    let value = match value {
        Value::List(items) => Kind::List(items.iter().map(node_of).collect()),
        Value::Map(map) => Kind::Map(
            map.iter()
                .map(|(key, value)| (node_of(key), node_of(value)))
                .collect(),
        ),
        scalar => Kind::Scalar(scalar.clone()),
    };
    Node {
        value,
        span: Span::START,
        shared: None,
    }
}
