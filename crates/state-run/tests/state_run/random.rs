//! Random state trees with the results of Salt 3008.5: every kind of requisite, in
//! every form, with conditions, retries, orders and extensions.
//! `integration-tests/recorders/random_states.py` has recorded them.
//!
//! `HALITE_REAL=<file>` compares with another recording (`cargo xtask random` makes
//! one), `HALITE_SEED=<seed>` tries one tree alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fmt::Write as _;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use halite_proto::{Map, Value};
use serde_json::{Map as JsonMap, Value as Json, json};

use crate::local_minion::LocalMinion;
use crate::local_minion::compare::{as_json, diff, normal, shown, strip_results};

/// What stands in a recording for the directory of a tree's files.
const PLACE: &str = "@W@";

/// How many trees that differ are shown.
const SHOWN_MAX: usize = 5;

#[test]
fn random_trees_run_as_with_salt() {
    let alone: Option<u64> = std::env::var("HALITE_SEED")
        .ok()
        .map(|seed| seed.parse().unwrap());
    let (mut equal, mut wrong) = (0, Vec::new());
    for line in recorded().lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        if alone.is_some_and(|seed| case["seed"] != seed) {
            continue;
        }
        let differences = Case::lay(&case).play();
        if differences.is_empty() {
            equal += 1;
        } else {
            wrong.push(format!("seed {}\n{differences}", case["seed"]));
        }
    }
    assert!(equal > 0 || alone.is_some(), "no tree was compared");
    let shown: String = wrong.iter().take(SHOWN_MAX).cloned().collect();
    assert!(
        wrong.is_empty(),
        "{equal} trees are equal, {} differ:\n{shown}",
        wrong.len()
    );
}

fn recorded() -> String {
    if let Ok(path) = std::env::var("HALITE_REAL") {
        return std::fs::read_to_string(path).unwrap();
    }
    let mut cases = String::new();
    flate2::read::GzDecoder::new(&include_bytes!("../random/cases.jsonl.gz")[..])
        .read_to_string(&mut cases)
        .unwrap();
    cases
}

/// A tree, laid out in a directory of its own.
struct Case<'c> {
    case: &'c Json,
    /// Removed with the case.
    _work: tempfile::TempDir,
    files: String,
    minion: LocalMinion,
}

impl<'c> Case<'c> {
    fn lay(case: &'c Json) -> Self {
        let work = tempfile::tempdir().unwrap();
        let root = work.path();
        let files = root.join("t").to_string_lossy().into_owned();
        for name in ["srv", "t", "pillar"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        for (name, text) in case["before"].as_object().unwrap() {
            std::fs::write(root.join("t").join(name), text.as_str().unwrap()).unwrap();
        }
        for (name, document) in case["files"].as_object().unwrap() {
            let path = root.join("srv").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, placed(document, &files)).unwrap();
        }
        let mut config = json!({
            "id": "m1",
            "root_dir": root,
            "file_roots": {"base": [root.join("srv")]},
            "pillar_roots": {"base": [root.join("pillar")]},
            "log_level": "quiet",
        });
        for (name, value) in case["config"].as_object().unwrap() {
            config[name] = value.clone();
        }
        std::fs::write(root.join("minion"), config.to_string()).unwrap();
        let grains = Map::from([("id", "m1"), ("shell", "/bin/sh"), ("os", "Debian")]);
        let minion = LocalMinion::new(root, grains);
        Self {
            case,
            _work: work,
            files,
            minion,
        }
    }

    /// What differs from the recorded answers, and in what lies there.
    fn play(&self) -> String {
        let mut report = String::new();
        let runs = self.case["runs"].as_array().unwrap();
        let answers = self.case["answers"].as_array().unwrap();
        // What runs beside ends in any order.
        let any_order = placed(&self.case["files"], "").contains(r#""parallel":true"#);
        let hold = |mut answer: Json| {
            strip_results(&mut answer["ret"]);
            if any_order {
                forget_numbers(&mut answer["ret"]);
            }
            normal(answer, &self.files)
        };
        for (number, (run, want)) in runs.iter().zip(answers).enumerate() {
            let want = serde_json::from_str(&placed(want, &self.files)).unwrap();
            let (mut differences, got) = (Vec::new(), self.call(run));
            diff(&hold(want), &hold(got), "", &mut differences);
            for difference in differences {
                writeln!(report, "  {number} {run} {difference}").unwrap();
            }
        }
        let mut tree = JsonMap::new();
        walk(Path::new(&self.files), "", &mut tree);
        let (want, mut differences) = (placed(&self.case["tree"], &self.files), Vec::new());
        let want = serde_json::from_str(&want).unwrap();
        diff(&want, &Json::Object(tree), "tree", &mut differences);
        for difference in differences {
            writeln!(report, "  {difference}").unwrap();
        }
        report
    }

    fn call(&self, run: &Json) -> Json {
        let word = |value: &Json| match value {
            Json::String(text) => text.replace(PLACE, &self.files),
            other => placed(other, &self.files),
        };
        let mut words: Vec<String> = run[1].as_array().unwrap().iter().map(word).collect();
        for (key, value) in run[2].as_object().unwrap() {
            words.push(format!("{key}={}", word(value)));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let outcome = self.minion.call(run[0].as_str().unwrap(), &words);
        let retcode = outcome.retcode;
        let ret = shown(outcome).unwrap_or(Value::Nil);
        json!({"ret": as_json(&ret), "retcode": retcode})
    }
}

/// The value as text, with its files where they lie.
fn placed(value: &Json, files: &str) -> String {
    value.to_string().replace(PLACE, files)
}

fn forget_numbers(ret: &mut Json) {
    for result in ret
        .as_object_mut()
        .into_iter()
        .flat_map(JsonMap::values_mut)
    {
        if let Json::Object(result) = result {
            result.remove("__run_num__");
        }
    }
}

fn walk(dir: &Path, prefix: &str, tree: &mut JsonMap<String, Json>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let mode = format!("{:04o}", meta.permissions().mode() & 0o7777);
        let entry = if meta.is_symlink() {
            json!({"link": std::fs::read_link(&path).unwrap()})
        } else if meta.is_dir() {
            walk(&path, &format!("{name}/"), tree);
            json!({ "mode": mode })
        } else {
            json!({"mode": mode, "text": std::fs::read_to_string(&path).unwrap()})
        };
        tree.insert(name, entry);
    }
}
