//! `stack` (PillarStack): YAML files that configuration files list, rendered with
//! the result of the files before them and merged as the files ask.
//!
//! Mirrors `salt/pillar/stack.py` (3008.5). Invariant: each file is read once, in
//! the order of the lists, those of one line by name.

use std::path::{Path, PathBuf};

use halite_proto::{Map, Value};
use halite_target::DEFAULT_DELIMITER;
use halite_target::glob::{fnmatch, is_glob};

use super::Externals;
use crate::limits::{LIST_DEPTH_MAX, LIST_ENTRIES_MAX, STACK_FILES_MAX};
use crate::tree::Found;

/// The key that says how a map or list is merged.
const STRATEGY: &str = "__";

/// The arguments of `stack`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stack {
    /// Configuration files that count for every minion.
    files: Vec<String>,
    /// What is looked up (`pillar:environment`), and files by what is there.
    by_data: Vec<(String, Value)>,
}

impl Stack {
    pub(super) fn parse(arguments: &Value) -> Self {
        match arguments {
            Value::Map(matchers) => Self {
                files: Vec::new(),
                by_data: matchers
                    .iter()
                    .map(|(matcher, files)| (halite_yaml::python_str(matcher), files.clone()))
                    .collect(),
            },
            files => Self {
                files: texts(files),
                by_data: Vec::new(),
            },
        }
    }

    /// # Errors
    /// When a matcher or a strategy is none that there is, or a template or
    /// a file cannot be read.
    pub(super) fn read(&self, at: &Externals<'_>, pillar: &Map) -> Result<Map, String> {
        let mut files = self.files.clone();
        for (matcher, choices) in &self.by_data {
            let found = look_up(matcher, at, pillar)?;
            let chosen = choices
                .as_map()
                .and_then(|choices| choices.get_value(&found));
            files.extend(chosen.map(texts).unwrap_or_default());
        }
        let mut reading = Reading {
            at,
            pillar,
            left: STACK_FILES_MAX,
        };
        let mut stack = Map::new();
        for file in &files {
            let path = Path::new(file);
            if path.is_file() {
                stack = reading.listed(path, stack)?;
            } else {
                tracing::info!(file, "stack: the configuration file does not exist");
            }
        }
        Ok(stack)
    }
}

/// One text, or the texts of a list.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(halite_yaml::python_str).collect(),
        Value::Nil => Vec::new(),
        one => vec![halite_yaml::python_str(one)],
    }
}

fn look_up(matcher: &str, at: &Externals<'_>, pillar: &Map) -> Result<Value, String> {
    let (data, path) = matcher.split_once(':').unwrap_or((matcher, ""));
    let opts;
    let data = match data {
        "pillar" => pillar,
        "grains" => &at.request.grains,
        "opts" => {
            opts = at.effects.opts_of_modules();
            &opts
        }
        other => {
            return Err(format!(
                "Unknown traverse option \"{other}\", should be one of ['pillar', 'grains', 'opts']"
            ));
        }
    };
    let found = halite_target::data::traverse(data, path, DEFAULT_DELIMITER);
    Ok(found.cloned().unwrap_or_default())
}

struct Reading<'a, 'b> {
    at: &'a Externals<'b>,
    pillar: &'a Map,
    /// Files that may still be read.
    left: usize,
}

impl Reading<'_, '_> {
    /// The files that a configuration file lists, over `stack`.
    fn listed(&mut self, config: &Path, mut stack: Map) -> Result<Map, String> {
        let below = config.parent().unwrap_or_else(|| Path::new("/"));
        let lines = self.rendered(config, config, &stack)?;
        for line in lines.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let paths = matching(&below.join(line));
            if paths.is_empty() {
                tracing::info!(line, "stack: no file matches");
            }
            for path in paths {
                tracing::debug!(path = %path.display(), "stack: reading");
                let text = self.rendered(&path, config, &stack)?;
                let name = path.display().to_string();
                let data = halite_yaml::load(&text, &name).map_err(|error| {
                    // Where, but not what: the file may hold secrets.
                    let place = error.place.span;
                    format!(
                        "{name} is no YAML: line {}, column {}",
                        place.line, place.column
                    )
                })?;
                match data.into_value() {
                    Value::Map(over) => merge_maps(&mut stack, over)?,
                    _ => tracing::info!(name, "stack: the file has no data in the form of a map"),
                }
            }
        }
        Ok(stack)
    }

    fn rendered(&mut self, path: &Path, config: &Path, stack: &Map) -> Result<String, String> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| format!("more than {STACK_FILES_MAX} files for one minion"))?;
        let file = Found::on_disk(path.to_owned(), path.display().to_string());
        let bytes = file.read().map_err(|error| error.to_string())?;
        let about = Map::from([("cfg_path", Value::from(config.display().to_string()))]);
        let names = Map::from([
            ("stack", Value::from(stack.clone())),
            ("pillar", self.pillar.clone().into()),
            ("minion_id", self.at.request.id.as_str().into()),
            ("__opts__", self.at.effects.opts_of_modules().into()),
            ("__grains__", Map::clone(&self.at.request.grains).into()),
            ("__stack__", about.into()),
        ]);
        self.at.effects.render_plain(&bytes, &file, &names)
    }
}

/// The files that a path with wildcards means, sorted.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    let parts = pattern.components().skip(1).take(LIST_DEPTH_MAX);
    for part in parts {
        let part = part.as_os_str();
        match part.to_str().filter(|part| is_glob(part)) {
            None => {
                for path in &mut found {
                    path.push(part);
                }
            }
            Some(glob) => {
                let inside = found.iter().flat_map(|dir| entries(dir, glob));
                found = inside.take(LIST_ENTRIES_MAX).collect();
            }
        }
    }
    found.retain(|path| path.is_file());
    found.sort();
    found
}

/// The entries of a directory whose names match; hidden ones only if asked for.
fn entries(dir: &Path, glob: &str) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(dir).into_iter().flatten().flatten();
    listed
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with('.') == glob.starts_with('.') && fnmatch(glob, &name)
        })
        .map(|entry| entry.path())
        .collect()
}

/// How something is merged with what was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    /// Behind and over it.
    Last,
    /// Before and under it.
    First,
    /// What it names goes.
    Remove,
    /// In place of it.
    Overwrite,
}

impl Strategy {
    fn parse(name: &Value) -> Result<Self, String> {
        match name.as_str() {
            Some("merge-last") => Ok(Self::Last),
            Some("merge-first") => Ok(Self::First),
            Some("remove") => Ok(Self::Remove),
            Some("overwrite") => Ok(Self::Overwrite),
            _ => Err(format!(
                "Unknown strategy \"{}\", should be one of ('overwrite', 'merge-first', \
                 'merge-last', 'remove')",
                halite_yaml::python_str(name)
            )),
        }
    }
}

fn merge_maps(under: &mut Map, mut over: Map) -> Result<(), String> {
    let strategy = match over.remove(STRATEGY) {
        Some(name) => Strategy::parse(&name)?,
        None => Strategy::Last,
    };
    if strategy == Strategy::Overwrite {
        *under = cleaned_map(over);
        return Ok(());
    }
    for (key, value) in over {
        if strategy == Strategy::Remove {
            under.retain(|known, _| *known != key);
            continue;
        }
        if under.get_value(&key).is_none() {
            under.insert(key, cleaned(value));
            continue;
        }
        let old = under.get_or_insert_with(key, || Value::Nil);
        let value = match strategy {
            // The same the other way round.
            Strategy::First => std::mem::replace(old, cleaned(value)),
            _ => value,
        };
        match (old, value) {
            (Value::Map(old), Value::Map(new)) => merge_maps(old, new)?,
            (Value::List(old), Value::List(new)) => merge_lists(old, new)?,
            (old, new) => *old = cleaned(new),
        }
    }
    Ok(())
}

fn merge_lists(under: &mut Vec<Value>, mut over: Vec<Value>) -> Result<(), String> {
    let strategy = match over.first().and_then(|first| first.get(STRATEGY)) {
        Some(name) => {
            let strategy = Strategy::parse(name)?;
            over.remove(0);
            strategy
        }
        None => Strategy::Last,
    };
    match strategy {
        Strategy::Last => under.extend(over),
        Strategy::First => {
            over.append(under);
            *under = over;
        }
        Strategy::Remove => under.retain(|item| !over.contains(item)),
        Strategy::Overwrite => *under = over,
    }
    Ok(())
}

/// The same without what says how things are merged.
fn cleaned(value: Value) -> Value {
    match value {
        Value::Map(map) => cleaned_map(map).into(),
        Value::List(mut items) => {
            if items
                .first()
                .is_some_and(|first| first.get(STRATEGY).is_some())
            {
                items.remove(0);
            }
            Value::List(items)
        }
        other => other,
    }
}

fn cleaned_map(mut map: Map) -> Map {
    map.remove(STRATEGY);
    map.into_iter()
        .map(|(key, value)| (key, cleaned(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(yaml: &str) -> Map {
        match halite_yaml::load(yaml, "test").unwrap().into_value() {
            Value::Map(map) => map,
            other => panic!("{other:?}"),
        }
    }

    fn merged(under: &str, over: &str) -> Map {
        let mut under = data(under);
        merge_maps(&mut under, data(over)).unwrap();
        under
    }

    #[test]
    fn maps_and_lists_are_merged_as_they_ask_for_it() {
        let under = "{a: {x: 1, y: [1, 2]}, b: [1]}";
        let cases = [
            ("{a: {x: 2, y: [3]}}", "{a: {x: 2, y: [1, 2, 3]}, b: [1]}"),
            (
                "{a: {__: merge-first, x: 2, y: [3], z: 1}}",
                "{a: {x: 1, y: [3, 1, 2], z: 1}, b: [1]}",
            ),
            (
                "{a: {__: remove, x: 9}, b: [{__: remove}, 1]}",
                "{a: {y: [1, 2]}, b: []}",
            ),
            (
                "{a: {__: overwrite, k: {__: remove, v: 1}}}",
                "{a: {k: {v: 1}}, b: [1]}",
            ),
            (
                "{b: [{__: merge-first}, 0]}",
                "{a: {x: 1, y: [1, 2]}, b: [0, 1]}",
            ),
            (
                "{b: [{__: overwrite}, 0]}",
                "{a: {x: 1, y: [1, 2]}, b: [0]}",
            ),
            (
                "{b: text, c: [{__: remove}, 1]}",
                "{a: {x: 1, y: [1, 2]}, b: text, c: [1]}",
            ),
        ];
        for (over, wanted) in cases {
            assert_eq!(merged(under, over), data(wanted), "{over}");
        }
        assert!(merge_maps(&mut data(under), data("{a: {__: weird}}")).is_err());
        assert!(merge_maps(&mut data(under), data("{b: [{__: weird}]}")).is_err());
    }

    #[test]
    fn wildcards_mean_files_sorted_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join("b/sub.yml")).unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        for name in ["b/2.yml", "b/1.yml", "a/9.yml", "b/.hidden.yml", "b/x.txt"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        let found = |pattern: &str| -> Vec<String> {
            let below = |path: PathBuf| path.strip_prefix(root).unwrap().display().to_string();
            matching(&root.join(pattern))
                .into_iter()
                .map(below)
                .collect()
        };
        assert_eq!(found("*/*.yml"), ["a/9.yml", "b/1.yml", "b/2.yml"]);
        assert_eq!(found("b/1.yml"), ["b/1.yml"]);
        assert_eq!(found("b/.*"), ["b/.hidden.yml"]);
        assert!(found("none/*").is_empty() && found("b/none").is_empty());
    }
}
