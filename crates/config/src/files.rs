//! Reads the files: the main one and its includes.
//!
//! Invariant: files are merged as in Salt. Among included files maps and lists are
//! merged; over the main file an included option replaces the whole option.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use halite_proto::Value;
use halite_target::glob;
use halite_yaml::place::Span;
use halite_yaml::{Node, NodeKind};

use crate::entry::{Entry, Source};
use crate::error::{ConfigError, Warning};
use crate::setting::{OneOrMany, Setting};

/// How deep includes may be nested.
const INCLUDE_DEPTH_MAX: usize = 16;

/// Largest configuration file that is read.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What the files say, and what came up in reading them.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) warnings: Vec<Warning>,
    /// The files that were read, in their order.
    pub(crate) files: Vec<PathBuf>,
}

impl Reader {
    /// The options of the main file, of `default_include` over them, of
    /// `include` over both, of the caller's own file over these, and of the
    /// command line over all.
    pub(crate) fn read(
        &mut self,
        conf_file: &Path,
        default_include: &str,
        own_file: Option<&Path>,
        overrides: &[(String, Value)],
    ) -> Result<Vec<Entry>, ConfigError> {
        let main = self.file(conf_file)?;
        if main.is_none() {
            self.warnings.push(Warning::NoFile {
                path: conf_file.to_owned(),
            });
        }
        let mut entries = main.unwrap_or_default();
        let dir = conf_file.parent().unwrap_or_else(|| Path::new("/"));
        let patterns = match find(&entries, "default_include") {
            Some(entry) => OneOrMany::read(&entry.value).unwrap_or_default().0,
            None => vec![default_include.to_owned()],
        };
        // Which files are included is what the main file says.
        let own_includes = find(&entries, "include").cloned();
        for pattern in &patterns {
            let included = self.include(dir, pattern, 0)?.unwrap_or_default();
            lay_over(&mut entries, included);
        }
        if let Some(entry) = own_includes {
            lay_over(&mut entries, self.included_by(dir, &entry, 0)?);
        }
        let own = own_file.map(|file| self.file(file)).transpose()?;
        lay_over(&mut entries, own.flatten().unwrap_or_default());
        let given = overrides.iter().map(|(name, value)| Entry {
            name: name.clone(),
            source: None,
            key: Span::START,
            value: node_of(value),
            was_behind: false,
        });
        lay_over(&mut entries, given.collect());
        Ok(entries)
    }

    /// The options of all files that an `include` names.
    fn included_by(
        &mut self,
        dir: &Path,
        entry: &Entry,
        depth: usize,
    ) -> Result<Vec<Entry>, ConfigError> {
        let mut entries = Vec::new();
        for pattern in OneOrMany::read(&entry.value).unwrap_or_default().0 {
            match self.include(dir, &pattern, depth)? {
                Some(included) => merge(&mut entries, included),
                None => {
                    if let Some(source) = &entry.source {
                        let place = source.place(entry.value.span);
                        self.warnings.push(Warning::NoInclude { place, pattern });
                    }
                }
            }
        }
        Ok(entries)
    }

    /// The options of all files that match a pattern, in the order of their names,
    /// later ones over earlier ones; none if no file matches.
    fn include(
        &mut self,
        dir: &Path,
        pattern: &str,
        depth: usize,
    ) -> Result<Option<Vec<Entry>>, ConfigError> {
        if depth >= INCLUDE_DEPTH_MAX {
            return Err(ConfigError::IncludeDepth {
                path: dir.join(pattern),
                max: INCLUDE_DEPTH_MAX,
            });
        }
        let mut files = expand(&dir.join(pattern));
        files.retain(|path| path.is_file());
        if files.is_empty() {
            return Ok(None);
        }
        let mut entries = Vec::new();
        for file in files {
            let mut own = self.file(&file)?.unwrap_or_default();
            if let Some(entry) = find(&own, "include").cloned() {
                let dir = file.parent().unwrap_or(dir);
                let included = self.included_by(dir, &entry, depth + 1)?;
                lay_over(&mut own, included);
            }
            merge(&mut entries, own);
        }
        Ok(Some(entries))
    }

    /// The options of one file; none if there is no such file.
    fn file(&mut self, path: &Path) -> Result<Option<Vec<Entry>>, ConfigError> {
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
        self.files.push(path.to_owned());
        let name = path.display().to_string();
        let node = halite_yaml::load_bytes(&bytes, &name)
            .map_err(|error| ConfigError::Yaml(Box::new(error)))?;
        let text: Arc<str> = String::from_utf8_lossy(&bytes).into();
        let source = Source { name, text };
        let options = match node.value {
            NodeKind::Map(options) => options,
            NodeKind::Scalar(Value::Nil) => return Ok(Some(Vec::new())),
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
            was_behind: false,
        };
        let entries = options.into_iter().map(entry);
        let (internal, own): (Vec<_>, Vec<_>) = entries.partition(is_internal);
        self.warnings
            .extend(internal.iter().map(|entry| Warning::Odd {
            place: source.place(entry.key),
            text: format!(
                "{} is left out: names with __ are not for files, a program gives them to itself",
                entry.name
            ),
        }));
        Ok(Some(own))
    }
}

/// Whether an option is one that programs set for themselves, such as `__role`.
fn is_internal(entry: &Entry) -> bool {
    entry.name.starts_with("__")
}

/// What a path with wildcards names, in order.
pub(crate) fn expand(pattern: &Path) -> Vec<PathBuf> {
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
    found
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

/// Puts options over others, as Salt does among included files: maps are
/// merged, deeply, and lists get the items that they do not have.
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
        (NodeKind::Map(mut old), NodeKind::Map(new_entries)) => {
            for (key, value) in new_entries {
                match old.iter_mut().find(|(known, _)| known.value == key.value) {
                    Some((_, known)) => {
                        let nothing = Node::scalar(Value::Nil, key.span);
                        let before = std::mem::replace(known, nothing);
                        *known = merged(before, value);
                    }
                    None => old.push((key, value)),
                }
            }
            Node {
                value: NodeKind::Map(old),
                span: new.span,
                shared: None,
            }
        }
        (NodeKind::List(mut old), NodeKind::List(items)) => {
            for item in items {
                if !old.iter().any(|known| known.to_value() == item.to_value()) {
                    old.push(item);
                }
            }
            Node {
                value: NodeKind::List(old),
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

pub(crate) fn node_of(value: &Value) -> Node {
    let value = match value {
        Value::List(items) => NodeKind::List(items.iter().map(node_of).collect()),
        Value::Map(map) => NodeKind::Map(
            map.iter()
                .map(|(key, value)| (node_of(key), node_of(value)))
                .collect(),
        ),
        scalar => NodeKind::Scalar(scalar.clone()),
    };
    Node {
        value,
        span: Span::START,
        shared: None,
    }
}
