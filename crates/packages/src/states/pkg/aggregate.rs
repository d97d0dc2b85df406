//! Putting the packages of several states into one state, so that the package
//! manager runs once.

use halite_call::{Aggregation, Call, CallResult, python};
use halite_proto::{Map, Value};

const AGGREGATED: &[&str] = &["installed", "latest", "removed", "purged"];

/// Packages with all the versions that are asked for.
type Versions = Vec<(String, Vec<Value>)>;

fn add(all: &mut Versions, name: &str, version: Value) {
    match all.iter_mut().find(|(known, _)| known == name) {
        Some((_, versions)) if versions.contains(&version) => {}
        Some((_, versions)) => versions.push(version),
        None => all.push((name.to_owned(), vec![version])),
    }
}

fn add_list(all: &mut Versions, list: &Value) {
    for item in list.as_list().unwrap_or_default() {
        match item {
            Value::Map(map) => {
                for (name, version) in map {
                    add(all, &python::str(name), version.clone());
                }
            }
            other => add(all, &python::str(other), Value::Nil),
        }
    }
}

/// The chunk with the packages of all states alike.
pub(super) fn mod_aggregate(call: &Call<'_>) -> CallResult {
    let Some(aggregation) = Aggregation::of(call, "pkg", AGGREGATED) else {
        return Ok(call.arg("low").clone());
    };
    let low = aggregation.low;
    let from_files = low.contains_key("sources");
    let mut found = Versions::new();
    let mut taken = Vec::new();
    for chunk in &aggregation.others {
        if chunk.get("fromrepo") != low.get("fromrepo") || chunk.has("hold") {
            continue;
        }
        match (from_files, chunk.get("sources"), chunk.get("pkgs")) {
            (true, Some(sources), _) => add_list(&mut found, sources),
            (true, None, _) => continue,
            (false, _, Some(pkgs)) => add_list(&mut found, pkgs),
            (false, _, None) => {
                let version = chunk.get("version").cloned().unwrap_or_default();
                let name = chunk.get("name").map(python::str).unwrap_or_default();
                add(&mut found, &name, version);
            }
        }
        taken.push(chunk);
    }
    if found.is_empty() {
        return Ok(low.clone().into());
    }
    let key = if from_files { "sources" } else { "pkgs" };
    let mut all = Versions::new();
    if let Some(own) = low.get(key) {
        add_list(&mut all, own);
    }
    for (name, versions) in found {
        for version in versions {
            add(&mut all, &name, version);
        }
    }
    let list = all.into_iter().flat_map(|(name, mut versions)| {
        // A version says more than none.
        if versions.len() > 1 {
            versions.retain(|version| !version.is_nil());
        }
        versions.into_iter().map(move |version| match version {
            Value::Nil => Value::from(name.as_str()),
            version => Map::from([(name.as_str(), version)]).into(),
        })
    });
    Ok(aggregation.taking(&taken, key, list.collect::<Vec<_>>()))
}
