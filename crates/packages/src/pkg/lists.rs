//! Lists of packages with their versions: Salt's shapes of them.

use halite_call::python;
use halite_proto::{Map, Value};

/// The attributes that are asked for: in a list, or in a text with commas.
pub(crate) fn attributes_of(value: Option<&Value>) -> Vec<String> {
    match value.unwrap_or(&Value::Nil) {
        Value::Str(text) => text
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect(),
        other => python::texts(other),
    }
}

/// Adds a version of a package.
pub(crate) fn add(list: &mut Map, name: &str, version: &str) {
    push(list, name, version.into());
}

/// Adds something to the list of a package.
pub(crate) fn push(list: &mut Map, name: &str, item: Value) {
    let items = list.get_or_insert_with(Value::from(name), || Value::List(Vec::new()));
    if let Value::List(items) = items {
        items.push(item);
    }
}

/// The versions of what repositories offer: name, version and repository each.
pub(crate) fn offered_versions(all: Vec<(String, String, String)>) -> Map {
    let mut versions = Map::new();
    for (name, version, _) in all {
        add(&mut versions, &name, &version);
    }
    versions
}

/// The same by repository.
pub(crate) fn offered_by_repository(all: Vec<(String, String, String)>) -> Map {
    let mut repos = Map::new();
    for (name, version, repo) in all {
        let versions = repos.get_or_insert_with(Value::from(repo), || Value::Map(Map::new()));
        if let Value::Map(versions) = versions {
            add(versions, &name, &version);
        }
    }
    repos
}

/// Sorts the versions of each package and drops repeated ones.
pub(crate) fn sort(list: &mut Map) {
    for (_, versions) in list.iter_mut() {
        if let Value::List(versions) = versions {
            versions.sort_by_key(python::str);
            versions.dedup();
        }
    }
}

/// The versions of each as one text.
pub(crate) fn joined(list: &Map) -> Map {
    list.iter()
        .map(|(name, versions)| (name.clone(), Value::Str(join(versions))))
        .collect()
}

/// Versions as one text.
pub(crate) fn join(versions: &Value) -> String {
    match versions {
        Value::List(items) => items.iter().map(python::str).collect::<Vec<_>>().join(","),
        other => python::str(other),
    }
}

/// The versions of one package.
pub(crate) fn versions(list: &Map, name: &str) -> Vec<String> {
    match list.get(name) {
        Some(Value::List(items)) => items.iter().map(python::str).collect(),
        _ => Vec::new(),
    }
}
