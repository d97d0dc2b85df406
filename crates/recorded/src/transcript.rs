//! Plays transcripts: calls whose tools give the recorded answers of the real tools
//! (`record.py`, `README.md`), and compares with the returns of real Salt beside
//! the same tools.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use halite_call::Registry;
use halite_fake_minion::{FakeMinion, from_json};
use halite_proto::Value;
use serde_json::{Value as Json, json};

use crate::call::carry_out;
use crate::json::{replaced, sorted};
use crate::{Machine, differing};

/// A stand-in of each tool: gives the answer of the first run of the same
/// command line that has not been given yet.
const REPLAY: &str = r#"#!/bin/sh
PATH=/usr/bin:/bin
DIR=${0%/*}/..
printf '%s\0' "${0##*/}" "$@" >"$DIR/asked"
for run in "$DIR"/runs/*/; do
    [ -e "${run}used" ] && continue
    cmp -s "${run}argv" "$DIR/asked" || continue
    : >"${run}used"
    [ -e "${run}stdin" ] && ! cmp -s "${run}stdin" - && echo "other input" >>"$DIR/unknown"
    [ -e "${run}change" ] && . "${run}change"
    cat "${run}stdout"
    cat "${run}stderr" >&2
    exit "$(cat "${run}code")"
done
tr '\0' ' ' <"$DIR/asked" >>"$DIR/unknown"
echo >>"$DIR/unknown"
exit 127
"#;

/// What is of another moment in each recording.
const OF_A_MOMENT: &[&str] = &[
    "build_date",
    "build_date_time_t",
    "creation_date_time",
    "creation_date_time_t",
    "install_date",
    "install_date_time_t",
    "pid",
];

fn timeless(json: &Json) -> Json {
    match json {
        Json::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let value = if OF_A_MOMENT.contains(&key.as_str()) {
                    json!("then")
                } else {
                    timeless(value)
                };
                (key.clone(), value)
            })
            .collect(),
        Json::Array(items) => items.iter().map(timeless).collect(),
        Json::String(text) => json!(without_age(text)),
        other => other.clone(),
    }
}

/// A text without the lines that tell the age of dnf's lists.
fn without_age(text: &str) -> String {
    const AGE: &str = "Last metadata expiration check:";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(AGE) {
        out.push_str(&rest[..at]);
        let after = rest[at..].split_once('\n');
        rest = after.map_or("", |(_, after)| after.trim_start_matches(' '));
    }
    out + rest
}

/// Lays out the recorded runs of one call for the stand-ins.
fn lay_out(directory: &Path, runs: &[Json]) {
    let all = directory.join("runs");
    let _ = fs::remove_dir_all(&all);
    let _ = fs::remove_file(directory.join("unknown"));
    for (at, run) in runs.iter().enumerate() {
        let place = all.join(format!("{at:04}"));
        fs::create_dir_all(place.join("files")).unwrap();
        let text = |key: &str| run[key].as_str().unwrap_or_default().to_owned();
        let mut argv = String::new();
        for word in run["argv"].as_array().unwrap() {
            argv.push_str(word.as_str().unwrap());
            argv.push('\0');
        }
        let mut change = String::new();
        for (nr, (path, content)) in run["files"].as_object().into_iter().flatten().enumerate() {
            match content.as_str() {
                Some(content) => {
                    fs::write(place.join(format!("files/{nr}")), content).unwrap();
                    change.push_str(&format!(
                        "mkdir -p \"$DIR/root{parent}\"; cp \"${{run}}files/{nr}\" \"$DIR/root{path}\"\n",
                        parent = Path::new(path).parent().unwrap().display(),
                    ));
                }
                None => change.push_str(&format!("rm -f \"$DIR/root{path}\"\n")),
            }
        }
        if !change.is_empty() {
            fs::write(place.join("change"), change).unwrap();
        }
        fs::write(place.join("argv"), argv).unwrap();
        if let Some(stdin) = run["stdin"].as_str() {
            fs::write(place.join("stdin"), stdin).unwrap();
        }
        fs::write(place.join("stdout"), text("stdout")).unwrap();
        fs::write(place.join("stderr"), text("stderr")).unwrap();
        fs::write(place.join("code"), run["code"].to_string()).unwrap();
    }
}

/// The command lines of runs that no call has asked for.
fn left_over(directory: &Path, runs: &[Json]) -> Vec<String> {
    let unused = |at: &usize| !directory.join(format!("runs/{at:04}/used")).exists();
    (0..runs.len())
        .filter(unused)
        .map(|at| runs[at]["argv"].to_string())
        .collect()
}

/// The return as the recorder writes it.
fn as_recorded(ret: &Json) -> Json {
    match ret.as_str().and_then(|text| text.strip_prefix("EXC ")) {
        Some(error) => {
            let message = error.split_once(": ").map_or(error, |(_, message)| message);
            json!(format!("ERROR: {message}"))
        }
        None => ret.clone(),
    }
}

/// Installs the tools that replay their answers, and the programs of a transcript.
fn install_programs(directory: &Path, transcript: &Json) {
    let executable = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    for tool in transcript["tools"].as_array().unwrap() {
        executable(&directory.join("bin").join(tool.as_str().unwrap()), REPLAY);
    }
    for (path, text) in transcript["programs"].as_object().into_iter().flatten() {
        let path = directory.join("root").join(path.trim_start_matches('/'));
        executable(&path, text.as_str().unwrap());
    }
}

fn play(name: &str, transcript: &Json, registry: &'static Registry) -> (usize, Vec<String>) {
    let empty = tempfile::tempdir().unwrap();
    let mut machine = Machine::new(empty.path().to_str().unwrap(), transcript, registry);
    if transcript["live"] == json!(true) {
        // Only places below @TMP@ are meant.
        machine.minion.remove_opt("__host_root__");
    } else {
        // No tool of the machine that we are on.
        let bin = machine.dir.path().join("bin").display().to_string();
        machine.minion.set_opt("__host_path__", bin);
    }
    let machine = machine;
    let directory = machine.dir.path();
    let tmp = directory.to_str().unwrap().to_owned();
    install_programs(directory, transcript);
    let (mut same, mut wrong, mut returns) = (0, Vec::new(), Vec::new());
    for (at, call) in transcript["calls"].as_array().unwrap().iter().enumerate() {
        if call["sh"].is_string() {
            // Elsewhere what it did shows in the answers of the tools.
            if transcript["live"] == json!(true) {
                machine.shell(&replaced(call, "@TMP@", &tmp));
            }
            continue;
        }
        let here = replaced(call, "@TMP@", &tmp);
        let runs = here["runs"].as_array().cloned().unwrap_or_default();
        lay_out(directory, &runs);
        let mut asked = call.clone();
        for key in ["salt", "ours", "runs", "why", "files", "salt_files"] {
            asked.as_object_mut().unwrap().remove(key);
        }
        let result = machine.play(&asked);
        let ours = as_recorded(&result["ret"]);
        returns.push(json!({"at": at, "ours": ours, "files": result["files"]}));
        let ours = timeless(&sorted(&ours));
        let expected = match call.get("ours") {
            Some(ours) => {
                assert!(
                    call["why"].is_string() || call.get("salt").is_none(),
                    "{name} {at} says why it is not as with Salt"
                );
                ours
            }
            None => &call["salt"],
        };
        let mut text = format!("{name} {at} {asked}");
        let start = text.len();
        differing("ret", &ours, &timeless(&sorted(expected)), &mut text);
        if let Some(files) = call.get("files") {
            differing("files", &result["files"], files, &mut text);
        }
        if let Ok(unknown) = fs::read_to_string(directory.join("unknown")) {
            text.push_str(&format!("\n  not recorded: {unknown}"));
        }
        for line in left_over(directory, &runs) {
            text.push_str(&format!("\n  not asked for: {line}"));
        }
        if text.len() == start {
            same += 1;
        } else {
            wrong.push(text);
        }
    }
    if let Some(directory) = std::env::var_os("HALITE_TRANSCRIPT_RETURNS") {
        let path = Path::new(&directory).join(format!("{name}.json"));
        fs::write(path, Json::from(returns).to_string()).unwrap();
    }
    (same, wrong)
}

/// Plays the calls of a scenario on the machine itself, in a directory that the
/// recorder has prepared.
fn play_for_recorder(directory: &Path, registry: &'static Registry) {
    let read = |name: &str| -> Json {
        serde_json::from_str(&fs::read_to_string(directory.join(name)).unwrap()).unwrap()
    };
    let scenario = read("scenario.json");
    let Value::Map(opts) = from_json(&read("conf/minion")) else {
        panic!("no options");
    };
    let Value::Map(grains) = from_json(&scenario["grains"]) else {
        panic!("no grains");
    };
    let minion = FakeMinion::new()
        .with_opts(opts)
        .with_grains(grains)
        .with_registry(registry);
    let tmp = directory.to_str().unwrap();
    let mut results = Vec::new();
    for call in scenario["calls"].as_array().unwrap() {
        let asked = replaced(call, "@TMP@", tmp);
        fs::write(directory.join("runs"), "").unwrap();
        if let Some(line) = asked["sh"].as_str() {
            let shell = std::process::Command::new("/bin/sh")
                .args(["-ec", line])
                .envs([("TMP", tmp), ("ROOT", ""), ("HOME", tmp)])
                .output()
                .unwrap();
            assert!(shell.status.success(), "{line}: {shell:?}");
            results.push(json!({}));
            continue;
        }
        let ret = as_recorded(&carry_out(&minion, &asked));
        let text = fs::read_to_string(directory.join("runs")).unwrap();
        let runs: Vec<Json> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let mut result = json!({"ret": ret, "runs": runs});
        if let Some(show) = scenario["show"].as_array() {
            let shown = |path: &Json| {
                let path = path.as_str().unwrap().to_owned();
                let text = fs::read_to_string(path.replace("@TMP@", tmp)).ok();
                (path, json!(text))
            };
            result["files"] = show.iter().map(shown).collect();
        }
        results.push(replaced(&result, tmp, "@TMP@"));
    }
    fs::write(
        directory.join("results.json"),
        Json::from(results).to_string(),
    )
    .unwrap();
}

/// Plays all transcripts of a crate, or for the recorder the scenario in the
/// directory that it names in `HALITE_PLAY`. Only those whose names begin with
/// `HALITE_SCENARIO`, if that is set. What came of the calls is written to the
/// directory `HALITE_TRANSCRIPT_RETURNS`, if that is set.
pub fn assert_transcripts(crate_dir: &str, registry: &'static Registry) {
    if let Some(directory) = std::env::var_os("HALITE_PLAY") {
        return play_for_recorder(directory.as_ref(), registry);
    }
    let only = std::env::var("HALITE_SCENARIO").ok();
    let mut paths: Vec<_> = fs::read_dir(Path::new(crate_dir).join("tests/transcripts"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .filter(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap();
            only.as_ref()
                .is_none_or(|only| name.starts_with(only.as_str()))
        })
        .collect();
    paths.sort();
    let (mut same, mut wrong) = (0, Vec::new());
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let transcript = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let (fine, bad) = play(&name, &transcript, registry);
        same += fine;
        wrong.extend(bad);
    }
    assert!(
        wrong.is_empty(),
        "{same} same, {} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
