//! An artificial machine: a root of its own, and stand-ins of programs.

use std::ops::RangeInclusive;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;
use std::{fs, io};

use halite_call::Registry;
use halite_fake_minion::{FakeMinion, from_json};
use halite_proto::{Map, Value};
use serde_json::{Value as Json, json};

use crate::call::carry_out;
use crate::json::replaced;

/// A made-up machine.
pub struct Machine {
    /// Where it lies.
    pub dir: tempfile::TempDir,
    /// The minion on it.
    pub minion: FakeMinion,
    quiet: Vec<String>,
    show: Vec<String>,
    /// Keys of returns that are not compared.
    drop: Vec<String>,
    /// The day it was made on.
    since: u64,
}

/// The list of a scenario under `key`; empty if it has none.
fn texts(scenario: &Json, key: &str) -> Vec<String> {
    let items = scenario[key].as_array().cloned().unwrap_or_default();
    items
        .iter()
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

/// Installs the stand-ins of programs that a scenario names.
fn install_programs(root: &Path, shims: &str, scenario: &Json) {
    let mut only = texts(scenario, "shims");
    only.extend(texts(scenario, "ours_shims"));
    let is_all = scenario["shims"].is_null() && only.is_empty();
    fs::create_dir_all(root.join("bin")).unwrap();
    let wanted = if is_all { names_in(shims) } else { only };
    for name in wanted {
        let text = fs::read_to_string(Path::new(shims).join(&name)).unwrap();
        stand_in(root, &name, &text);
    }
    stand_in(root, "_log", include_str!("log"));
    stand_in(root, "_tape", include_str!("tape"));
    for name in texts(scenario, "answered") {
        stand_in(root, &name, include_str!("answer"));
    }
    for name in texts(scenario, "taped") {
        stand_in(root, &name, "#!/bin/sh\n. \"${0%/*}/_tape\"\n");
    }
}

/// Writes the files of a scenario, and the directories that every machine has.
fn write_files(root: &Path, scenario: &Json) {
    for (name, text) in scenario["data"].as_object().into_iter().flatten() {
        let text = text.as_str().unwrap();
        let text = text.replace("@TMP@", &root.display().to_string());
        fs::write(root.join(name), text).unwrap();
    }
    // "made" is for what the kernel has on a real machine.
    let files = ["files", "made"].map(|key| scenario[key].as_object());
    for (name, text) in files.into_iter().flatten().flatten() {
        write(
            &root.join("root").join(name.trim_start_matches('/')),
            text.as_str().unwrap(),
        );
    }
    for name in ["cache", "srv", "root/etc"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
}

/// The options of the minion on the machine.
fn options(root: &Path, scenario: &Json) -> Map {
    let text = |path: PathBuf| Value::from(path.display().to_string());
    let mut opts = Map::from([
        ("id", Value::from("m1")),
        ("file_client", "local".into()),
        ("hash_type", "sha256".into()),
        ("cachedir", text(root.join("cache"))),
        ("config_dir", text(root.to_owned())),
        ("conf_file", text(root.join("minion"))),
        ("__host_root__", text(root.join("root"))),
        (
            "__host_path__",
            format!("{}/bin:/usr/bin:/bin", root.display()).into(),
        ),
        ("cmd_safe", true.into()),
    ]);
    if let Value::Map(more) = from_json(&scenario["opts"]) {
        opts.extend(more);
    }
    opts
}

/// Days since 1970, as passwords are dated with.
fn today() -> u64 {
    let since = UNIX_EPOCH.elapsed().unwrap();
    since.as_secs() / (24 * 60 * 60)
}

/// Says `@TODAY@` for a password of these days.
fn undated(value: &mut Json, days: &RangeInclusive<u64>) {
    match value {
        Json::Object(map) => map.iter_mut().for_each(|(key, value)| {
            let is_today = key == "lstchg" && value.as_u64().is_some_and(|day| days.contains(&day));
            if is_today {
                *value = json!("@TODAY@");
            } else {
                undated(value, days);
            }
        }),
        Json::Array(list) => list.iter_mut().for_each(|value| undated(value, days)),
        _ => {}
    }
}

/// The stand-ins of a family; one without a directory of them has none.
fn names_in(shims: &str) -> Vec<String> {
    let entries = fs::read_dir(shims).into_iter().flatten();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Puts a program into the made-up machine.
fn stand_in(root: &Path, name: &str, text: &str) {
    let path = root.join("bin").join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Machine {
    /// The machine of a scenario, with the stand-ins of the directory `shims` and
    /// the functions of `registry`.
    ///
    /// # Panics
    /// When the scenario is malformed.
    pub fn new(shims: &str, scenario: &Json, registry: &'static Registry) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        install_programs(root, shims, scenario);
        write_files(root, scenario);
        let Value::Map(grains) = from_json(&scenario["grains"]) else {
            panic!("no grains");
        };
        let minion = FakeMinion::new()
            .with_opts(options(root, scenario))
            .with_grains(grains)
            .with_registry(registry);
        let texts = |key| texts(scenario, key);
        Self {
            quiet: texts("quiet"),
            show: texts("show"),
            drop: texts("drop"),
            since: today(),
            dir,
            minion,
        }
    }

    /// Runs the shell line of a call.
    pub fn shell(&self, asked: &Json) {
        let tmp = self.dir.path().to_str().unwrap();
        if let Some(line) = asked["sh"].as_str() {
            let shell = Command::new("/bin/sh")
                .args(["-ec", line])
                .env("TMP", tmp)
                .env("ROOT", format!("{tmp}/root"))
                .env("HOME", tmp)
                .output()
                .unwrap();
            assert!(shell.status.success(), "{line}: {shell:?}");
        }
    }

    /// Carries out a call and says what came of it.
    pub fn play(&self, call: &Json) -> Json {
        let tmp = self.dir.path().to_str().unwrap().to_owned();
        let log = self.dir.path().join("log");
        fs::write(&log, "").unwrap();
        for (name, text) in call["data"].as_object().into_iter().flatten() {
            fs::write(self.dir.path().join(name), text.as_str().unwrap()).unwrap();
        }
        let asked = replaced(call, "@TMP@", &tmp);
        self.shell(&asked);
        let ret = carry_out(&self.minion, &asked);
        let mut ret = ret;
        if let Json::Object(map) = &mut ret {
            map.retain(|key, _| !self.drop.contains(key));
        }
        undated(&mut ret, &(self.since..=today()));
        let lines: Vec<String> = fs::read_to_string(&log)
            .unwrap()
            .lines()
            .filter(|line| !line.is_empty() && !self.quiet.iter().any(|q| line.starts_with(q)))
            .map(str::to_owned)
            .collect();
        let mut result = json!({"call": call, "ret": ret, "log": lines});
        let mut files = serde_json::Map::new();
        for name in &self.show {
            let path = match name.strip_prefix("@TMP@/") {
                Some(rest) => self.dir.path().join(rest),
                None => self
                    .dir
                    .path()
                    .join("root")
                    .join(name.trim_start_matches('/')),
            };
            files.insert(name.clone(), json!(read(&path)));
        }
        if !files.is_empty() {
            result["files"] = files.into();
        }
        let result = replaced(&result, &format!("{tmp}/root"), "");
        replaced(&result, &tmp, "@TMP@")
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match text.strip_prefix("@LINK ") {
        Some(target) => {
            let _ = fs::remove_file(path);
            symlink(target, path).unwrap();
        }
        None => fs::write(path, text).unwrap(),
    }
}

fn read(path: &Path) -> Option<String> {
    match fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}
