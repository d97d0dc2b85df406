//! Lists that only zypper has: patterns, patches, products, capabilities.

use halite_call::{Call, CallError, host, python};
use halite_proto::{Map, Value};

use super::query::refresh;
use super::{Before, ask, run, xml};
use crate::pkg::error::PkgError;
use crate::pkg::rpm;
use crate::words;

fn refresh_if_wanted(call: &Call<'_>) -> Result<(), PkgError> {
    if call.get("refresh").is_some_and(host::is_true) {
        refresh(call, &Map::new())?;
    }
    Ok(())
}

/// All of a kind with their state and summary, by name.
fn with_state(call: &Call<'_>, kind: &str, only: bool) -> Result<Map, PkgError> {
    refresh_if_wanted(call)?;
    let before = Before {
        xml: true,
        no_refresh: true,
        ..Before::default()
    };
    // Nothing found is a failure of its own.
    let found = run(call, before, &words(&["search", "--type", kind]));
    let found = found.map(|ran| xml::elements(&ran.stdout));
    Ok(found
        .unwrap_or_default()
        .into_iter()
        .filter(|element| element.name == "solvable")
        .filter_map(|element| {
            let installed = matches!(element.get("status"), Some("installed" | "applied"));
            let about = Map::from([
                ("installed", Value::from(installed)),
                ("summary", element.text_of("summary").into()),
            ]);
            (installed || !only).then(|| (element.text_of("name"), Value::from(about)))
        })
        .collect())
}

/// The functions `pkg.list_patterns` and `pkg.list_installed_patterns`.
pub(in crate::pkg) fn list_patterns(call: &Call<'_>, installed: bool) -> Result<Map, PkgError> {
    with_state(call, "pattern", installed)
}

/// The functions `pkg.list_patches` and `pkg.list_installed_patches`.
pub(in crate::pkg) fn list_patches(call: &Call<'_>, installed: bool) -> Result<Map, PkgError> {
    with_state(call, "patch", installed)
}

/// The function `pkg.list_products`: the installed ones, or all.
pub(in crate::pkg) fn list_products(call: &Call<'_>) -> Result<Value, PkgError> {
    refresh_if_wanted(call)?;
    let mut line = vec!["products"];
    if !call.flag("all") {
        line.push("--installed-only");
    }
    let mut products: Vec<Map> = Vec::new();
    for element in ask(call, &line, &[])? {
        match element.name.as_str() {
            "product" => {
                let mut product = Map::from([("description", "")]);
                for (key, value) in element.attributes() {
                    match key {
                        "installed" | "isbase" => {
                            product.insert(key, matches!(value, "true" | "1"));
                        }
                        _ if value.is_empty() => {}
                        key => drop(product.insert(key, value)),
                    }
                }
                products.push(product);
            }
            "description" => {
                if let Some(product) = products.last_mut() {
                    product.insert("description", element.text);
                }
            }
            "endoflife" => {
                if let Some(product) = products.last_mut()
                    && let Some(end) = element.get("text").filter(|end| *end != "0")
                {
                    product.insert("eol", end);
                    product.insert("eol_t", element.text_of("time_t"));
                }
            }
            _ => {}
        }
    }
    Ok(Value::List(products.into_iter().map(Value::from).collect()))
}

/// What can be searched in, and its option.
const SEARCHED: &[(&str, &str)] = &[
    ("provides", "--provides"),
    ("recommends", "--recommends"),
    ("requires", "--requires"),
    ("suggests", "--suggests"),
    ("conflicts", "--conflicts"),
    ("obsoletes", "--obsoletes"),
    ("file_list", "--file-list"),
    ("search_descriptions", "--search-descriptions"),
    ("case_sensitive", "--case-sensitive"),
    ("installed_only", "--installed-only"),
    ("not_installed_only", "-u"),
    ("details", "--details"),
];

fn find(call: &Call<'_>, criteria: &str, kwargs: &Map) -> Result<Vec<xml::Element>, PkgError> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    let mut options: Vec<String> = SEARCHED
        .iter()
        .filter(|(key, _)| flag(key))
        .map(|(_, option)| (*option).to_owned())
        .collect();
    match kwargs.get("match").map(python::str).as_deref() {
        None => {}
        Some("exact") => options.push("--match-exact".to_owned()),
        Some("words") => options.push("--match-words".to_owned()),
        Some("substrings") => options.push("--match-substrings".to_owned()),
        Some(other) => {
            return Err(PkgError::invocation(format!(
                "match must be one of exact, words, substrings, not {other}"
            )));
        }
    }
    options.push(criteria.to_owned());
    let before = Before {
        xml: true,
        no_refresh: true,
        ..Before::default()
    };
    let mut line = words(&["search"]);
    line.extend(options);
    // Nothing found is a failure of its own.
    let found = run(call, before, &line).map(|ran| xml::elements(&ran.stdout));
    let found: Vec<xml::Element> = found
        .unwrap_or_default()
        .into_iter()
        .filter(|element| element.name == "solvable")
        .collect();
    if found.is_empty() {
        return Err(PkgError::command(format!(
            "No packages found matching '{criteria}'"
        )));
    }
    Ok(found)
}

/// The function `pkg.search`.
pub(in crate::pkg) fn search(call: &Call<'_>) -> Result<Map, PkgError> {
    refresh_if_wanted(call)?;
    let kwargs = call.clean_kwargs();
    let found = find(call, &call.text("criteria"), &kwargs)?;
    let mut all = Map::new();
    for element in found {
        let about: Map = element.attributes().collect();
        all.insert(element.text_of("name"), about);
    }
    Ok(all)
}

/// The function `pkg.list_provides`: what packages provide beside themselves.
pub(in crate::pkg) fn list_provides(call: &Call<'_>) -> Result<Map, PkgError> {
    let format = "[%{PROVIDES}_|-%{=NAME}\\n]";
    let ran = rpm::rpm(call, &words(&["-qa", "--queryformat", format]))?;
    let mut all = Map::new();
    for (capability, name) in ran.stdout.lines().filter_map(|line| line.split_once("_|-")) {
        if capability == name {
            continue;
        }
        let names = all.get_or_insert_with(Value::from(capability), || Value::List(Vec::new()));
        if let Value::List(names) = names {
            let name = Value::from(name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(all)
}

/// The function `pkg.resolve_capabilities`: capabilities become the package
/// that provides them.
pub(in crate::pkg) fn resolve_capabilities(call: &Call<'_>) -> Result<Value, CallError> {
    refresh_if_wanted(call)?;
    let installed = rpm::installed(call)?;
    let asked = Map::from([("provides", Value::from(true)), ("match", "exact".into())]);
    let resolve = |name: &str| -> String {
        if installed.contains_key(name) {
            return name.to_owned();
        }
        match find(call, name, &asked).as_deref() {
            Ok([only]) => only.text_of("name"),
            Ok(many) => {
                tracing::warn!(name, found = many.len(), "several packages provide it");
                name.to_owned()
            }
            Err(_) => name.to_owned(),
        }
    };
    let Value::List(items) = call.arg("pkgs") else {
        return Ok(call.arg("pkgs").clone());
    };
    let resolved = items.iter().map(|item| match item {
        Value::Map(map) => {
            let pairs = map.iter();
            let pairs = pairs.map(|(name, version)| (resolve(&python::str(name)), version.clone()));
            Value::Map(pairs.collect())
        }
        other => resolve(&python::str(other)).into(),
    });
    Ok(Value::List(resolved.collect()))
}
