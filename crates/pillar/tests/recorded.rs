//! Pillar trees with the results of Salt 3008.5's pillar compiler.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use halite_fileserver::{FileServer, RootsOptions};
use halite_pillar::{Compiler, MasterlessContext, Request};
use halite_proto::{Map, Value};

/// Where a case stands for its own directory.
const WORK: &str = "@W@";

fn cases() -> Vec<(String, Value)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut paths: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let case = halite_yaml::load(&text, "case").unwrap().into_value();
            (path.file_stem().unwrap().to_string_lossy().into(), case)
        })
        .collect()
}

fn replaced(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::Str(text) => text.replace(from, to).into(),
        Value::List(items) => items
            .iter()
            .map(|item| replaced(item, from, to))
            .collect::<Vec<_>>()
            .into(),
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| (replaced(key, from, to), replaced(value, from, to)))
            .collect::<Map>()
            .into(),
        other => other.clone(),
    }
}

fn lay_out(dir: &Path, case: &Value) {
    for (path, text) in case.get("files").unwrap().as_map().unwrap() {
        let path = dir.join(path.as_str().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = text.as_str().unwrap();
        fs::write(&path, text).unwrap();
        if text.starts_with("#!/bin/sh") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}

fn compile(dir: &str, case: &Value, run: &Value) -> Map {
    let mut opts = Map::from([
        ("id", Value::from("labminion")),
        ("renderer", "jinja|yaml".into()),
        ("file_client", "local".into()),
        (
            "pillar_roots",
            Map::from([("base", Value::List(vec![format!("{dir}/pillar").into()]))]).into(),
        ),
    ]);
    for source in [case, run] {
        if let Some(Value::Map(config)) = source.get("config") {
            for (name, value) in config {
                opts.insert(name.clone(), replaced(value, WORK, dir));
            }
        }
    }
    let grains = Map::from([
        ("id", Value::from("labminion")),
        ("role", "web".into()),
        ("os", "Debian".into()),
        ("ipv4", Value::List(vec!["127.0.0.1".into()])),
    ]);
    let compiler = Compiler::new(&opts).unwrap();
    let files = Arc::new(FileServer::from_roots(RootsOptions::default()).unwrap());
    let base = MasterlessContext::new(opts, halite_core_modules::registry(), files);
    let env = |name: &str| compiler.opts().get(name).and_then(Value::as_str);
    let overrides = run.get("pillar").and_then(Value::as_map);
    let request = Request {
        id: "labminion".to_owned(),
        grains: Arc::new(grains),
        saltenv: env("saltenv").map(str::to_owned),
        pillarenv: env("pillarenv").map(str::to_owned),
        overrides: overrides.cloned().unwrap_or_default(),
        ..Request::default()
    };
    halite_pillar::compile(&compiler, &request, &base)
}

#[test]
fn pillars_are_what_salt_makes_of_them() {
    let mut wrong = Vec::new();
    let mut runs_seen = 0;
    for (name, case) in cases() {
        let work = tempfile::tempdir().unwrap();
        let dir = work.path().to_str().unwrap();
        lay_out(work.path(), &case);
        for (at, run) in case
            .get("runs")
            .unwrap()
            .as_list()
            .unwrap()
            .iter()
            .enumerate()
        {
            runs_seen += 1;
            let expected = run.get("expected").unwrap();
            let found = replaced(&compile(dir, &case, run).into(), dir, WORK);
            if &found != expected {
                wrong.push(format!(
                    "{name} {at}\n  ours: {found:?}\n  Salt: {expected:?}"
                ));
            }
        }
    }
    assert!(runs_seen > 50, "only {runs_seen} runs");
    assert!(
        wrong.is_empty(),
        "{} of {runs_seen} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
