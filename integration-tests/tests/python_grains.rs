//! The core grains of a machine are those of real Salt on the same machine,
//! key for key and value for value.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind};
use serde_json::{Map, Value, json};

/// Grains that are not Salt's, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("ca_truststore", "no bundle of Python's is used"),
    ("cwd", "each runs in a directory of its own here"),
    ("mem_total", "compared apart: it may change by a rounding"),
    ("pid", "each program has its own"),
    (
        "pythonexecutable",
        "that of the system: ours runs none of its own",
    ),
    ("pythonpath", "ours runs no Python of its own"),
    ("pythonversion", "that of the system's Python"),
    ("saltpath", "where the program lies"),
    ("zmqversion", "of the library that is built in"),
];

/// What a minion of a kind says of this machine.
fn grains(kind: Kind) -> Result<Map<String, Value>> {
    let fleet = Fleet::new("grains")?;
    let plan = fleet.minion("web1", kind);
    let minion = plan
        .set("master", "127.0.0.1")
        .set("enable_fqdns_grains", true)
        .set("enable_gpu_grains", true)
        .set("grains", json!({ "role": ["web"], "deep": { "a": 1 } }))
        .lay()?;
    let file = "site: home\nrole: [file]\n";
    std::fs::write(minion.dir().join("grains"), file)?;
    let args = ["--local", "grains.items", "--out=json"];
    match minion.call(&args)?.ok()?.of("local")? {
        Value::Object(grains) => Ok(grains),
        other => anyhow::bail!("no grains: {other}"),
    }
}

#[test]
fn the_grains_of_this_machine_are_those_of_salt() -> Result<()> {
    let (ours, theirs) = (grains(Kind::Ours)?, grains(Kind::Salt3008)?);
    let is_exception = |name: &str| EXCEPTIONS.iter().any(|(known, _)| *known == name);
    let names = ours.keys().chain(theirs.keys());
    let different: BTreeMap<&String, (Option<&Value>, Option<&Value>)> = names
        .filter(|name| !is_exception(name))
        .filter(|name| ours.get(*name) != theirs.get(*name))
        .map(|name| (name, (ours.get(name), theirs.get(name))))
        .collect();
    ensure!(different.is_empty(), "ours, theirs: {different:#?}");
    // Exceptions are in both, or in none.
    for (name, why) in EXCEPTIONS {
        ensure!(
            ours.contains_key(*name) == theirs.contains_key(*name),
            "{name} ({why}) is only in one of them"
        );
    }
    let memory = |grains: &Map<String, Value>| grains["mem_total"].as_i64().unwrap_or_default();
    ensure!((memory(&ours) - memory(&theirs)).abs() <= 1);
    let order = |grains: &Map<String, Value>| grains.keys().cloned().collect::<Vec<_>>();
    ensure!(order(&ours) == order(&theirs), "the order differs");
    Ok(())
}
