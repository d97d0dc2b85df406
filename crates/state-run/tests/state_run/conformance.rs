//! The cases of `conformance/`: SLS trees with the results of Salt 3008.5. Every
//! command of a case is called in this process, in order, and its return and exit
//! code are compared with the recorded ones.
//!
//! A case may be named to try it alone: `CASE=extend cargo test ...`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use halite_proto::{Map, Value};
use serde_json::{Map as JsonMap, Value as Json, json};

use crate::local_minion::compare::{as_json, diff, normal, shown, strip_results};
use crate::local_minion::{LocalMinion, copy_tree};

/// The functions that run states.
const RUNNING: &[&str] = &[
    "state.apply",
    "state.highstate",
    "state.single",
    "state.sls",
    "state.sls_id",
    "state.template_str",
];

/// What differs from the record on purpose. A command that does not differ any
/// more must be taken out.
const DIFFERENT: &[Different] = &[Different {
    case: "errors-compile",
    command: "apply_emptyonlyif",
    why: "an empty list of conditions is none; 3008.5 raises an exception there",
    ours: r#"{"retcode": 0, "return": {"test_|-x_|-x_|-nop": {
        "name": "x", "changes": {}, "result": true, "comment": "Success!",
        "__sls__": "emptyonlyif", "__run_num__": 0, "__id__": "x"}}}"#,
}];

/// A command whose return is not that of Salt.
struct Different {
    case: &'static str,
    command: &'static str,
    why: &'static str,
    /// What it gives here, as JSON.
    ours: &'static str,
}

/// The commands that only compile and show give what Salt gives.
#[test]
fn what_is_shown_equals_salt() {
    check(|fun| !RUNNING.contains(&fun) && fun != "__tree__");
}

/// The commands that run states give what Salt gives, and leave behind what it
/// leaves.
#[test]
fn what_is_run_equals_salt() {
    check(|fun| RUNNING.contains(&fun) || fun == "__tree__");
}

/// Runs the commands of all cases that `wanted` wants and compares them.
fn check(wanted: impl Fn(&str) -> bool) {
    let mut report = String::new();
    let mut equal = 0;
    let only = std::env::var("CASE").ok();
    for dir in cases() {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let case = Case::open(&dir, &name);
        equal += case.check(&wanted, &mut report);
    }
    assert!(equal > 0 || only.is_some(), "no command was compared");
    assert!(
        report.is_empty(),
        "{equal} commands are equal, but:\n{report}"
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

fn cases() -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(root()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.join("case.json").is_file())
        .collect()
}

fn read(path: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A case, laid out in a directory of its own.
struct Case {
    name: String,
    spec: Json,
    expected: Json,
    volatile: Json,
    work: tempfile::TempDir,
    minion: LocalMinion,
}

impl Case {
    fn open(dir: &Path, name: &str) -> Self {
        let work = tempfile::tempdir().unwrap();
        let spec = read(&dir.join("case.json"));
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                copy_tree(&path, &work.path().join(path.file_name().unwrap()));
            }
        }
        std::fs::create_dir_all(work.path().join("target")).unwrap();
        let minion = LocalMinion::new(&config(work.path(), &spec), grains(work.path(), &spec));
        Self {
            name: name.to_owned(),
            expected: read(&dir.join("expected.json")),
            volatile: read(&root().join("volatile.json"))[name].clone(),
            spec,
            work,
            minion,
        }
    }

    fn check(&self, wanted: &impl Fn(&str) -> bool, report: &mut String) -> usize {
        let mut equal = 0;
        for (key, command) in self.spec["commands"].as_object().unwrap() {
            let words: Vec<&str> = texts(command);
            let Some((fun, arguments)) = words.split_first() else {
                continue;
            };
            if !wanted(fun) {
                continue;
            }
            let got = match *fun {
                "__tree__" => json!({"retcode": 0, "return": self.tree()}),
                _ => self.call(fun, arguments),
            };
            let known = DIFFERENT
                .iter()
                .find(|known| known.case == self.name && known.command == key);
            let want = &self.expected[key];
            let differences = match known {
                None => self.compare(key, want, got),
                Some(_) if self.compare(key, want, got.clone()).is_empty() => {
                    vec!["no longer differs".to_owned()]
                }
                Some(Different { ours, why, .. }) => {
                    let ours = serde_json::from_str(ours).unwrap();
                    let differences = self.compare(key, &ours, got).into_iter();
                    differences
                        .map(|differs| format!("({why}) {differs}"))
                        .collect()
                }
            };
            equal += usize::from(differences.is_empty());
            for difference in differences {
                writeln!(report, "{} {key} {difference}", self.name).unwrap();
            }
        }
        equal
    }

    fn call(&self, fun: &str, arguments: &[&str]) -> Json {
        let work = self.work.path().to_string_lossy();
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| argument.replace("@WORK@", &work))
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let outcome = self.minion.call(fun, &arguments);
        let retcode = outcome.retcode;
        match shown(outcome) {
            Some(value) => {
                let mut value = as_json(&value);
                strip_results(&mut value);
                json!({"retcode": retcode, "return": normal(value, &work)})
            }
            None => json!({"retcode": 1}),
        }
    }

    fn compare(&self, key: &str, want: &Json, mut got: Json) -> Vec<String> {
        let mut want = want.clone();
        for side in [&mut want, &mut got] {
            for path in texts(&self.volatile[key]) {
                blank(&mut side["return"], path);
            }
        }
        let mut differences = Vec::new();
        if want["retcode"] != got["retcode"] {
            differences.push(format!(
                "exit code: {} expected, {} is",
                want["retcode"], got["retcode"]
            ));
        }
        diff(&want["return"], &got["return"], "", &mut differences);
        differences
    }

    /// What lies in the target directory.
    fn tree(&self) -> Json {
        let mut tree = JsonMap::new();
        let base = self.work.path().join("target");
        walk(&base, &base, &mut tree);
        normal(Json::Object(tree), &self.work.path().to_string_lossy())
    }
}

fn walk(base: &Path, dir: &Path, tree: &mut JsonMap<String, Json>) {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let mode = format!("{:04o}", meta.permissions().mode() & 0o7777);
        let entry = if meta.is_symlink() {
            json!({"link": std::fs::read_link(&path).unwrap().to_string_lossy()})
        } else if meta.is_dir() {
            walk(base, &path, tree);
            json!({"mode": mode, "dir": true})
        } else {
            let content = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            json!({"mode": mode, "content": content})
        };
        let name = path.strip_prefix(base).unwrap().to_string_lossy();
        tree.insert(name.into_owned(), entry);
    }
}

fn grains(work: &Path, spec: &Json) -> Map {
    let mut grains = read(&root().join("grains-debian12.json"));
    grains["workdir"] = json!(work.join("target").to_string_lossy());
    for (name, value) in spec["grains"].as_object().into_iter().flatten() {
        grains[name] = value.clone();
    }
    let text = serde_json::to_string(&grains).unwrap();
    match halite_yaml::load(&text, "grains").unwrap().into_value() {
        Value::Map(grains) => grains,
        other => panic!("grains are no map: {other:?}"),
    }
}

/// Writes the configuration of the case, which is JSON, and so YAML.
fn config(work: &Path, spec: &Json) -> PathBuf {
    let roots = |name: &str, default: Json| {
        let given = spec[name].as_object().cloned();
        let mut roots = given.unwrap_or_else(|| default.as_object().cloned().unwrap());
        for dirs in roots.values_mut() {
            for dir in dirs.as_array_mut().unwrap() {
                *dir = json!(work.join(dir.as_str().unwrap()).to_string_lossy());
            }
        }
        Json::Object(roots)
    };
    let mut config = json!({
        "id": "oracle-minion",
        "root_dir": work.join("root").to_string_lossy(),
        "pki_dir": "/etc/salt/pki/minion",
        "cachedir": "/var/cache/salt/minion",
        "sock_dir": "/var/run/salt/minion",
        "log_file": "/var/log/salt/minion",
        "user": "root",
        "file_client": "local",
        "fileserver_backend": ["roots"],
        "state_verbose": true,
        "file_roots": roots("file_roots", json!({"base": ["salt"]})),
        "pillar_roots": roots("pillar_roots", json!({"base": ["pillar"]})),
    });
    for (name, value) in spec["config"].as_object().into_iter().flatten() {
        config[name] = value.clone();
    }
    let dir = work.join("conf");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("minion"), config.to_string()).unwrap();
    dir
}

fn texts(list: &Json) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Json::as_str).collect()
}

/// Blanks the value at a path like `/a/b`.
fn blank(value: &mut Json, path: &str) {
    // Keys hold slashes: the longest key that fits is taken.
    let Some(rest) = path.strip_prefix('/') else {
        *value = json!("@VOLATILE@");
        return;
    };
    if let Json::Object(map) = value {
        for (key, value) in map {
            if let Some(rest) = rest.strip_prefix(key.as_str())
                && (rest.is_empty() || rest.starts_with('/'))
            {
                blank(value, rest);
            }
        }
    }
}
