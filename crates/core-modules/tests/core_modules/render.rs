//! Texts, SLS files and functions of templates, compared with the results of real
//! Salt. `render/make.py` recorded them; intended differences are in
//! `render/differences.json` with our answer and the reason.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

use std::path::{Path, PathBuf};

use halite_call::{CallError, ContextError, Failure, MinionContext as _, run_function};
use halite_fake_minion::{FakeMinion, from_json, job, kwargs, to_json};
use halite_proto::{Map, Value};
use halite_test_support::differences::Differences;
use serde_json::{Value as Json, json};

/// A minion whose master has the files of the corpus.
fn minion(corpus: &Json, more: &Json, root: &Path) -> FakeMinion {
    let map = |name: &str| match from_json(&corpus[name]) {
        Value::Map(map) => map,
        _ => panic!("{name} is no map"),
    };
    let roots = Map::from([("base", vec![Value::from("/srv")])]);
    let more = from_json(more).as_map().cloned().unwrap_or_default();
    let files = map("files");
    FakeMinion::new()
        .with_opts(map("opts"))
        .with_opt("id", "web01")
        .with_opt("file_client", "local")
        .with_opt("renderer", "jinja|yaml")
        .with_opt("cachedir", root.join("cache").to_str().unwrap())
        .with_opt("file_roots", roots)
        .with_opts(more)
        .with_grains(map("grains"))
        .with_pillar(map("pillar"))
        .with_master(move |load| serve(&files, load))
}

/// The file server.
fn serve(files: &Map, load: &Map) -> Result<Value, ContextError> {
    let text = |name: &str| load.get(name).and_then(Value::as_str).unwrap_or_default();
    let content = files.get(text("path")).and_then(Value::as_str);
    Ok(match text("cmd") {
        "_file_hash_and_stat" => match content {
            Some(content) => {
                let sum =
                    halite_crypto::hash_hex(halite_crypto::HashType::Sha256, content.as_bytes());
                let hash = Map::from([("hash_type", Value::from("sha256")), ("hsum", sum.into())]);
                vec![hash.into(), Value::Nil].into()
            }
            None => vec![Map::new().into(), Value::Nil].into(),
        },
        "_serve_file" => {
            let at = load.get("loc").and_then(Value::as_i64).unwrap_or_default();
            let data = if at == 0 {
                content.unwrap_or_default()
            } else {
                ""
            };
            Map::from([("data", data), ("dest", text("path"))]).into()
        }
        "_file_list" => files.keys().cloned().collect::<Vec<_>>().into(),
        "_dir_list" => {
            let mut dirs = vec![".".to_owned()];
            for name in files.keys().filter_map(Value::as_str) {
                let mut name = name;
                while let Some((dir, _)) = name.rsplit_once('/') {
                    dirs.push(dir.to_owned());
                    name = dir;
                }
            }
            dirs.into_iter().map(Value::from).collect::<Vec<_>>().into()
        }
        other => return Err(ContextError::Other(format!("no {other} here"))),
    })
}

/// What ours does with a case: the data, or the error's class and text.
fn ours(case: &Json, corpus: &Json, root: &Path) -> Result<Json, (String, String)> {
    let minion = minion(corpus, &case["opts"], root);
    let text = case["text"].as_str().unwrap();
    let args = match case["sls"].as_str() {
        Some(sls) => {
            let name = sls.replace('.', "/");
            let file = if matches!(sls, "f" | "f.deep.er") {
                format!("{name}/init.sls")
            } else {
                format!("{name}.sls")
            };
            let path: PathBuf = root.join("cache/files/base").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            let renderer = minion.opts().get("renderer").cloned().unwrap();
            kwargs([
                ("path", path.to_str().unwrap().into()),
                ("sls", sls.into()),
                ("saltenv", "base".into()),
                ("default_renderer", renderer),
                ("context", from_json(&case["context"])),
            ])
        }
        None => kwargs([
            ("string", text.into()),
            ("default_renderer", "jinja".into()),
        ]),
    };
    let fun = "slsutil.renderer";
    let outcome = run_function(&minion, fun, &[args], &job(fun));
    match outcome.failure {
        None => Ok(to_json(&outcome.ret)),
        Some(Failure::Call { error, .. }) => {
            let (class, text) = match error {
                CallError::Exception { kind, message, .. } => {
                    (kind.rsplit('.').next().unwrap_or(kind).to_owned(), message)
                }
                CallError::Invocation(text) => ("SaltInvocationError".to_owned(), text),
                CallError::Command(text) => ("CommandExecutionError".to_owned(), text),
                other => (format!("{other:?}"), other.to_string()),
            };
            let text = text.replace(root.to_str().unwrap(), "@ROOT@");
            let text = text
                .split("Traceback (most recent")
                .next()
                .unwrap_or_default();
            Err((class, text.to_owned()))
        }
        Some(other) => panic!("{other:?}"),
    }
}

/// What came of a case, as the list of differences keeps it.
fn as_json(result: &Result<Json, (String, String)>) -> Json {
    match result {
        Ok(result) => json!({"result": result}),
        Err((class, text)) => json!({"error": class, "text_of_error": text}),
    }
}

fn difference(case: &Json, got: &Result<Json, (String, String)>) -> Option<String> {
    let wanted = match case.get("result") {
        Some(result) => Ok(result.clone()),
        None => Err((
            case["error"].as_str().unwrap().to_owned(),
            case["text_of_error"].as_str().unwrap().to_owned(),
        )),
    };
    (*got != wanted).then(|| format!("\nwanted {wanted:?}\n   got {got:?}"))
}

/// Cases that show the time of a machine that is in UTC, as the one was where
/// they were recorded.
const IN_UTC: [&str; 2] = [
    "{{ 1040814000 | strftime('%Y-%m-%d %H:%M') }}",
    "{{ 0 | date_format('%d/%m/%y %j %U %w %a %A %b %B %p %I %-d') }}",
];

/// Whether this machine was in UTC at the times of those cases.
fn is_in_utc() -> bool {
    ["@0", "@1040814000"].iter().all(|stamp| {
        let date = std::process::Command::new("date")
            .args(["-d", stamp, "+%z"])
            .output();
        date.is_ok_and(|output| output.stdout.starts_with(b"+0000"))
    })
}

/// What the cases of a group need of the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    /// Nothing.
    Plain,
    /// A `python3`: SLS files in Python.
    Python,
    /// The time zone UTC.
    Utc,
}

impl Group {
    fn of(name: &str) -> Self {
        if name.starts_with("py_") {
            Self::Python
        } else if IN_UTC.contains(&name) {
            Self::Utc
        } else {
            Self::Plain
        }
    }
}

/// Compares the cases of one group. The list of differences is that of all groups:
/// `HALITE_UPDATE_DIFFERENCES` needs `--test-threads=1`.
fn compare(group: Group) {
    let corpus: Json = serde_json::from_str(include_str!("../render/golden.json")).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/render/differences.json");
    let mut differences = Differences::open(path);
    let root = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for case in corpus["cases"].as_array().unwrap() {
        let name = case["sls"]
            .as_str()
            .or_else(|| case["text"].as_str())
            .unwrap();
        if Group::of(name) != group {
            differences.skip(name);
            continue;
        }
        let got = ours(case, &corpus, root.path());
        differences.check(name, as_json(&got), difference(case, &got));
        compared += 1;
    }
    assert!(compared > 0, "no case of the group is recorded");
    differences.finish(true);
}

#[test]
fn what_salt_renders_we_render() {
    compare(Group::Plain);
}

#[test]
fn what_salt_renders_in_python_we_render() {
    if halite_test_support::have_programs(&["python3"]) {
        compare(Group::Python);
    }
}

#[test]
fn times_that_salt_renders_in_utc_we_render() {
    if is_in_utc() {
        compare(Group::Utc);
    } else {
        halite_test_support::not_run("the time zone of this machine is not UTC");
    }
}
