//! The options of all files, each with its place, before they have types.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use halite_proto::{Map, Value};
use halite_target::glob;
use halite_yaml::place::SourceLocation;
use halite_yaml::{Node, NodeKind};

use crate::behind;
use crate::elsewhere;
use crate::entry::{Entry, Source, describe};
use crate::error::{ConfigError, Faults, Warning};
use crate::files::expand;
use crate::known::{self, Side};
use crate::paths;
use crate::setting::Setting;

/// The names that `encryption_algorithm` may have.
pub(crate) const ENCRYPTION: &[&str] = &["OAEP-SHA1", "OAEP-SHA224"];

/// The names that signing algorithms may have.
pub(crate) const SIGNING: &[&str] = &["PKCS1v15-SHA1", "PKCS1v15-SHA224"];

/// The options of all files, merged, each with its place.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    side: Side,
    entries: Vec<Entry>,
    opts: OnceLock<Map>,
    settled: Map,
}

impl Raw {
    pub(crate) fn new(side: Side, entries: Vec<Entry>) -> Self {
        Self {
            side,
            entries,
            opts: OnceLock::new(),
            settled: Map::new(),
        }
    }

    /// Whether a file or the command line has the option `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    /// Whether `name` comes from the command line.
    pub(crate) fn is_override(&self, name: &str) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.name == name && entry.source.is_none())
    }

    /// The option `name`, if a file or the command line has it.
    pub(crate) fn setting<T: Setting>(&self, name: &str) -> Result<Option<T>, ConfigError> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name) else {
            return Ok(None);
        };
        if let Some(value) = T::read(&entry.value) {
            return Ok(Some(value));
        }
        // A store has texts where a file would have numbers.
        if let (true, Some(text)) = (entry.was_behind, entry.value.as_str())
            && let Some(value) = T::read(&Node::scalar(halite_yaml::scalar(text), entry.value.span))
        {
            return Ok(Some(value));
        }
        // Programs that ask no store know only that there is a value.
        if behind::address(&entry.value).is_some() {
            return Ok(None);
        }
        Err(entry.refused(T::fault(&entry.value), T::ALLOWED))
    }

    /// Checks the options that are no fields of a configuration.
    pub(crate) fn check_shapes(&self, faults: &mut Faults) {
        for entry in &self.entries {
            let Some(shape) = elsewhere::shape(self.side, &entry.name) else {
                continue;
            };
            let is_behind = entry.was_behind || behind::address(&entry.value).is_some();
            if !is_behind && !(shape.fits)(&entry.value) {
                faults.add(entry.refused((shape.fault)(&entry.value), shape.allowed));
            }
        }
    }

    /// The options of all files and of the command line.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Where an option stands in a file.
    pub(crate) fn place_of(&self, name: &str) -> Option<SourceLocation> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        Some(entry.source.as_ref()?.place(entry.key))
    }

    /// The option `name`, as a file has it.
    pub(crate) fn in_file(&self, name: &str) -> Option<(&Source, &Node)> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        Some((entry.source.as_ref()?, &entry.value))
    }

    /// The error about a value that has the right type and is wrong all the
    /// same.
    pub(crate) fn wrong(&self, name: &str, allowed: String) -> ConfigError {
        self.wrong_item(name, None, allowed)
    }

    /// The error about a part of an option's value in a file.
    pub(crate) fn wrong_node(&self, name: &str, node: &Node, allowed: &str) -> Option<ConfigError> {
        let (source, _) = self.in_file(name)?;
        Some(ConfigError::Value {
            place: Box::new(source.place(node.span)),
            option: name.to_owned(),
            found: describe(node),
            allowed: allowed.to_owned(),
        })
    }

    /// The error about the option `inner` of one item of a list, or about all
    /// of that item: a map of a name to a list of options.
    pub(crate) fn unusable(
        &self,
        name: &str,
        item: Option<usize>,
        inner: &str,
        why: String,
    ) -> ConfigError {
        let place = self.in_file(name).map(|(source, list)| {
            let item = match item {
                Some(item) => list.as_list().and_then(|items| items.get(item)),
                // An option that is a map of options itself.
                None => list.as_map().map(|_| list),
            };
            let span = item.map_or(list.span, |item| {
                inner_key(item, inner).map_or(item.span, |key| key.span)
            });
            Box::new(source.place(span))
        });
        let option = name.to_owned();
        ConfigError::Unusable { place, option, why }
    }

    /// The same about one item of a list.
    pub(crate) fn wrong_item(
        &self,
        name: &str,
        item: Option<usize>,
        allowed: String,
    ) -> ConfigError {
        let option = name.to_owned();
        let entry = self.entries.iter().find(|entry| entry.name == name);
        let node = entry.map(|entry| {
            let items = entry.value.as_list();
            let item = items.and_then(|items| items.get(item?));
            item.unwrap_or(&entry.value)
        });
        let found = node.map_or_else(|| "the default".to_owned(), describe);
        match (entry.and_then(|entry| entry.source.as_ref()), node) {
            (Some(source), Some(node)) => ConfigError::Value {
                place: Box::new(source.place(node.span)),
                option,
                found,
                allowed,
            },
            _ => ConfigError::Override {
                option,
                found,
                allowed,
            },
        }
    }

    /// A warning about one item of a list in a file.
    pub(crate) fn odd_item(&self, name: &str, item: usize, text: &str) -> Option<Warning> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        let node = entry.value.as_list()?.get(item)?;
        let place = entry.source.as_ref()?.place(node.span);
        let text = text.to_owned();
        Some(Warning::Odd { place, text })
    }

    /// Checks an option that is one of some words.
    pub(crate) fn check_word(
        &self,
        name: &str,
        value: &str,
        words: &[&str],
    ) -> Result<(), ConfigError> {
        if words.contains(&value) {
            return Ok(());
        }
        let named: Vec<&str> = words
            .iter()
            .copied()
            .filter(|word| !word.is_empty())
            .collect();
        let mut allowed = named.join(" or ");
        if named.len() < words.len() {
            allowed.push_str(", or empty");
        }
        Err(self.wrong(name, allowed))
    }

    /// Puts `root` in front of paths that no field holds.
    pub(crate) fn settle_paths(&mut self, root: &Path, names: &[&str]) {
        for name in names {
            let given = self.entries.iter().find(|entry| entry.name == *name);
            let path = match given {
                Some(entry) => entry.value.as_str().map(str::to_owned),
                None => known::default(self.side, name).and_then(|value| match value {
                    Value::Str(text) => Some(text),
                    _ => None,
                }),
            };
            if let Some(path) = path.filter(|path| !path.is_empty()) {
                let path = paths::below(root, Path::new(&path));
                self.settled.insert(*name, path.display().to_string());
            }
        }
    }

    /// Puts `part` behind a path that [`Self::settle_paths`] has settled.
    pub(crate) fn append_to_path(&mut self, name: &str, part: &str) {
        if let Some(path) = self.settled.get(name).and_then(Value::as_str) {
            let path = Path::new(path).join(part).display().to_string();
            self.settled.insert(name, path);
        }
    }

    /// Lets wildcards in directories of environments mean what is there now.
    pub(crate) fn settle_roots(&mut self, name: &str, roots: &mut BTreeMap<String, Vec<PathBuf>>) {
        for dirs in roots.values_mut() {
            let meant = dirs.drain(..).flat_map(|dir| match dir.to_str() {
                Some(text) if glob::is_glob(text) => expand(&dir),
                _ => vec![dir],
            });
            *dirs = meant.collect();
        }
        // Environments count in the order they are written in.
        let mut order: Vec<String> = Vec::new();
        let given = self.entries.iter().find(|entry| entry.name == name);
        if let Some(Value::Map(written)) = given.map(|entry| entry.value.to_value()) {
            order.extend(written.keys().map(halite_yaml::python_str));
        }
        order.extend(roots.keys().cloned());
        let mut settled = Map::new();
        for env in order {
            if let Some(dirs) = roots.get(&env) {
                let dirs = dirs.iter().map(|dir| dir.display().to_string().into());
                settled.insert(env, Value::List(dirs.collect()));
            }
        }
        self.settled.insert(name, settled);
    }

    /// Git remotes are fetched with their history unless a file says how much of
    /// it: Salt's default of one commit counts for one of its three ways alone.
    pub(crate) fn settle_depths(&mut self) {
        for name in ["gitfs_depth", "git_pillar_depth"] {
            if !self.has(name) {
                self.settle(name, 0);
            }
        }
    }

    /// Notes what became of an option, for [`Self::opts`].
    pub(crate) fn settle(&mut self, name: &str, value: impl Into<Value>) {
        self.settled.insert(name, value);
    }

    /// All options: Salt's defaults, ours for the options that only we have,
    /// what the files say and what became of it.
    pub(crate) fn opts(&self, ours: &[(&str, &dyn Fn() -> Value)]) -> &Map {
        self.opts.get_or_init(|| {
            let mut opts = known::defaults(self.side);
            for entry in &self.entries {
                opts.insert(entry.name.as_str(), entry.value.to_value());
            }
            let names = self.entries.iter().map(|entry| entry.name.as_str());
            let places: Vec<Value> = names
                .filter(|name| PLACES.contains(name))
                .map(Value::from)
                .collect();
            if self.side == Side::Master && !places.is_empty() {
                opts.insert(NAMED_PLACES, Value::List(places));
            }
            for (name, value) in ours {
                // What Salt's minion does not have unless a file says so is not
                // there here either.
                if self.side == Side::Master
                    || known::is_of(self.side, name)
                    || OURS_ALONE.contains(name)
                {
                    opts.get_or_insert_with(*name, value);
                }
            }
            opts.extend(self.settled.clone());
            opts
        })
    }
}

/// Options of a master that say where data is, by Salt's default in files: whether
/// somebody has said so decides about a store of everything.
const PLACES: &[&str] = &["cache", "keys.cache_driver", "master_job_cache"];

/// The names of those of them that are set, for the crate of the stores.
const NAMED_PLACES: &str = "halite_named_places";

/// Options of a minion that Salt does not know.
const OURS_ALONE: &[&str] = &[
    "event_bus_framing",
    "return_spool_bytes",
    "return_spool_age",
];

/// The key `name` of a map, or of the lists and maps in it.
fn inner_key<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    match &node.value {
        NodeKind::Scalar(_) => None,
        NodeKind::List(items) => items.iter().find_map(|item| inner_key(item, name)),
        NodeKind::Map(entries) => entries.iter().find_map(|(key, value)| {
            if key.as_str() == Some(name) {
                return Some(key);
            }
            inner_key(value, name)
        }),
    }
}
