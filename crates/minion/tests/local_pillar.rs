//! Pillar functions without a master, compared with Salt 3008.5.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use halite_call::{Failure, Job, run_function};
use halite_fileserver::{FileServer, RootsOptions};
use halite_minion::context::local::LocalContext;
use halite_proto::{Map, Value};

/// Where a case stands for its own directory.
const WORK: &str = "@W@";

fn replaced(value: &Value, to: &str) -> Value {
    match value {
        Value::Str(text) => text.replace(WORK, to).into(),
        Value::List(items) => {
            let items = items.iter().map(|item| replaced(item, to));
            items.collect::<Vec<_>>().into()
        }
        Value::Map(map) => {
            let entries = map.iter();
            entries
                .map(|(key, value)| (key.clone(), replaced(value, to)))
                .collect::<Map>()
                .into()
        }
        other => other.clone(),
    }
}

fn context(dir: &str, case: &Value, run: &Value) -> LocalContext {
    let roots = Map::from([("base", Value::List(vec![format!("{dir}/pillar").into()]))]);
    let mut opts = Map::from([
        ("id", Value::from("labminion")),
        ("file_client", "local".into()),
        ("on_demand_ext_pillar", Value::List(Vec::new())),
        ("pillar_roots", roots.into()),
    ]);
    for source in [case, run] {
        let config = source.get("config").and_then(Value::as_map);
        for (name, value) in config.into_iter().flatten() {
            opts.insert(name.clone(), replaced(value, dir));
        }
    }
    let grains = Map::from([("id", "labminion"), ("os", "Debian"), ("role", "web")]);
    LocalContext::new(
        opts,
        grains,
        FileServer::from_roots(RootsOptions::default()).unwrap(),
    )
}

/// An argument as the command line reads it.
fn typed(arg: &Value) -> Value {
    match arg.as_str() {
        Some(text) if text.starts_with('{') => case_of(text),
        _ => arg.clone(),
    }
}

fn check(name: &str, dir: &str, case: &Value, run: &Value) -> Result<(), String> {
    let command = run.get("command").and_then(Value::as_list).unwrap();
    let (fun, args) = command.split_first().unwrap();
    let context = context(dir, case, run);
    let args: Vec<Value> = args.iter().map(typed).collect();
    let outcome = run_function(&context, fun.as_str().unwrap(), &args, &Job::default());
    let found = match (run.get("fails"), outcome.failure) {
        (Some(_), Some(Failure::Call { error, .. })) => Value::from(error.to_string()),
        _ => outcome.ret,
    };
    // What is not as with Salt on purpose has our answer beside Salt's.
    let wanted = ["ours", "fails", "expected"];
    let wanted = wanted.iter().find_map(|key| run.get(key)).unwrap();
    if &found == wanted {
        return Ok(());
    }
    Err(format!(
        "{name} {command:?}\n  ours: {found:?}\n  Salt: {wanted:?}"
    ))
}

#[test]
fn pillar_functions_give_what_they_give_in_salt() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/local-pillar");
    let mut wrong = Vec::new();
    let mut runs_seen = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let case = case_of(&text);
        let work = tempfile::tempdir().unwrap();
        for (file, text) in case.get("files").and_then(Value::as_map).unwrap() {
            let file = work.path().join(file.as_str().unwrap());
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text.as_str().unwrap()).unwrap();
        }
        let name = path.file_stem().unwrap().to_string_lossy();
        for run in case.get("runs").and_then(Value::as_list).unwrap() {
            runs_seen += 1;
            wrong.extend(check(&name, work.path().to_str().unwrap(), &case, run).err());
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

/// JSON is YAML.
fn case_of(text: &str) -> Value {
    halite_yaml::load(text, "case").unwrap().into_value()
}
