//! The returns and files of real Salt 3008.5 for the same calls (`real/*.jsonl`:
//! stories of steps in an empty directory `@W@`). `HALITE_REAL=<file>` compares
//! with another recording, `HALITE_STORY=<name>` runs one story only.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::common::{minion, to_json, work};
use halite_call::{CallError, Failure, Job, run_function};
use halite_fake_minion::{FakeMinion, from_json};
use halite_proto::Value;
use serde_json::{Value as Json, json};

/// Puts things where a story wants them.
fn prepare(work: &Path, step: &Json) {
    let text = |key: &str| step[key].as_str();
    let at = |name: &str| work.join(name);
    let mode = |default: &str| u32::from_str_radix(text("mode").unwrap_or(default), 8).unwrap();
    let full = |text: &str| text.replace("@W@", work.to_str().unwrap());
    if let Some(name) = text("put") {
        let path = at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        let bytes = match text("hex") {
            Some(hex) => (0..hex.len() / 2)
                .map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap())
                .collect(),
            None => full(text("text").unwrap()).into_bytes(),
        };
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode("644"))).unwrap();
        if let Some(seconds) = step["mtime"].as_u64() {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            let times = fs::FileTimes::new().set_accessed(time).set_modified(time);
            fs::File::open(&path).unwrap().set_times(times).unwrap();
        }
    } else if let Some(name) = text("dir") {
        fs::create_dir_all(at(name)).unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode("755"))).unwrap();
    } else if let Some(name) = text("link") {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(full(text("to").unwrap()), at(name)).unwrap();
    } else if let Some(name) = text("hard") {
        fs::hard_link(at(text("to").unwrap()), at(name)).unwrap();
    } else if let Some(script) = text("sh") {
        let done = Command::new("sh")
            .args(["-c", &full(script)])
            .current_dir(work)
            .status();
        assert!(done.unwrap().success());
    }
}

/// What lies in the directory, without what belongs to the minion.
fn tree(work: &Path) -> Json {
    let mut all = BTreeMap::new();
    let mut left = vec![work.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(work)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if ["srv", "srv-dev", "cache"].contains(&name.as_str()) {
                continue;
            }
            let data = fs::symlink_metadata(&path).unwrap();
            let mode = format!("{:o}", data.permissions().mode() & 0o7777);
            let item = if data.is_symlink() {
                let target = fs::read_link(&path).unwrap().to_str().unwrap().to_owned();
                json!(["l", target])
            } else if data.is_dir() {
                left.push(path.clone());
                json!(["d", mode])
            } else if data.is_file() {
                let content = match String::from_utf8(fs::read(&path).unwrap_or_default()) {
                    Ok(text) => json!(text),
                    Err(error) => {
                        let hex: String = error
                            .as_bytes()
                            .iter()
                            .map(|byte| format!("{byte:02x}"))
                            .collect();
                        json!({"hex": hex})
                    }
                };
                json!(["f", mode, content])
            } else {
                json!(["p", mode])
            };
            let mut item = item;
            if (data.uid(), data.gid()) != (0, 0) && nix::unistd::geteuid().is_root() {
                item.as_array_mut()
                    .unwrap()
                    .push(json!([data.uid(), data.gid()]));
            }
            all.insert(name, item);
        }
    }
    json!(all)
}

/// Makes comparable what differs from run to run.
fn settle(json: &Json, work: &str) -> Json {
    match json {
        Json::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let packed = [".gz", ".tgz", ".zip"].iter().any(|end| key.ends_with(end));
                let value = match key.as_str() {
                    "pid" => json!("PID"),
                    _ if packed && value[0] == "f" => json!("an archive"),
                    _ => settle(value, work),
                };
                (stamped(&settle_text(key, work)), value)
            })
            .collect(),
        Json::Array(items) => {
            let mut items: Vec<Json> = items.iter().map(|item| settle(item, work)).collect();
            if items.len() > 1
                && items
                    .iter()
                    .all(|item| item.as_str().is_some_and(|text| text.len() > 1))
            {
                items.sort_by_key(ToString::to_string);
            }
            json!(items)
        }
        Json::String(text) => json!(settle_text(text, work)),
        other => other.clone(),
    }
}

/// Backups of `file.line` have the time in their names.
fn stamped(name: &str) -> String {
    match name.split_once(".20") {
        Some((base, rest)) if rest.len() == 17 && rest.contains('-') => format!("{base}.TIME"),
        _ => name.to_owned(),
    }
}

fn settle_text(text: &str, work: &str) -> String {
    let mut text = text
        .replace(work, "@W@")
        .replace("salt.exceptions.", "")
        .replace("re.error:", "error:");
    while let Some(at) = text.find("/tmp/__salt.tmp.") {
        let end = text[at + 5..]
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
            .map_or(text.len(), |length| at + 5 + length);
        text.replace_range(at..end, "TEMPORARY");
    }
    if text.starts_with("The following files will be changed") || text.starts_with("#### ") {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        return lines.join("\n");
    }
    text
}

fn error_text(error: &CallError) -> String {
    match error {
        CallError::Command(text) => format!("CommandExecutionError: {text}"),
        CallError::Invocation(text) => format!("SaltInvocationError: {text}"),
        CallError::NotFound(text) => format!("CommandNotFoundError: {text}"),
        CallError::Arguments(text) => format!("TypeError: {text}"),
        other => other.to_string(),
    }
}

fn ours(minion: &FakeMinion, work: &Path, step: &Json) -> Json {
    let place = |json: &Json| -> Value {
        let text = json.to_string().replace("@W@", work.to_str().unwrap());
        from_json(&serde_json::from_str(&text).unwrap())
    };
    let kwargs = place(&step["kwargs"]).as_map().unwrap().clone();
    if let Some(fun) = step["state"].as_str() {
        let test = step["test"].as_bool().unwrap();
        return match minion.run_state(fun, &kwargs, test) {
            Ok(ret) => to_json(&ret),
            Err(error) => {
                let text = error_text(&error);
                json!({"EXC": text.trim().lines().last().unwrap()})
            }
        };
    }
    let fun = step["call"].as_str().unwrap();
    let mut args = place(&step["args"]).as_list().unwrap().to_vec();
    if !kwargs.is_empty() {
        let mut kwargs = kwargs;
        kwargs.insert("__kwarg__", true);
        args.push(kwargs.into());
    }
    let job = Job {
        state: Some(Arc::default()),
        ..Job::default()
    };
    let outcome = run_function(minion, fun, &args, &job);
    match outcome.failure {
        Some(Failure::Call { error, .. }) => json!({"EXC": error_text(&error)}),
        Some(Failure::NotAvailable(text)) => json!({"EXC": text}),
        None => to_json(&outcome.ret),
    }
}

/// Tells a story and collects where ours goes another way.
fn tell(story: &Json, different: &mut Vec<String>) -> usize {
    let (_guard, work) = work();
    let minion = minion(&work);
    let name = work.to_str().unwrap().to_owned();
    let mut expected = json!({});
    let mut same = 0;
    let mut before_call = true;
    for step in story["steps"].as_array().unwrap() {
        if step.get("ret").is_none() {
            prepare(&work, step);
            before_call = true;
            continue;
        }
        if before_call {
            expected = tree(&work);
            before_call = false;
        }
        if let Some(tree) = step.get("tree") {
            expected = tree.clone();
        }
        let got = ours(&minion, &work, step);
        let what = json!({"fun": step.get("call").or_else(|| step.get("state")), "args": step.get("args"),
            "kwargs": step["kwargs"], "test": step.get("test")});
        let (got, want) = (settle(&got, &name), settle(&step["ret"], &name));
        let mut good = true;
        if got != want && !(step.get("any").is_some() && got["result"] == want["result"]) {
            different.push(format!(
                "{} {what}\n  ours   {got}\n  theirs {want}",
                story["name"]
            ));
            good = false;
        }
        let (now, want) = (settle(&tree(&work), &name), settle(&expected, &name));
        if now != want {
            let (mut now, mut want) = (now, want);
            expected = tree(&work);
            let (a, b) = (now.as_object_mut().unwrap(), want.as_object_mut().unwrap());
            let same: Vec<String> = a
                .iter()
                .filter(|(key, value)| b.get(*key) == Some(value))
                .map(|(key, _)| key.clone())
                .collect();
            for key in same {
                a.remove(&key);
                b.remove(&key);
            }
            different.push(format!(
                "{} TREE {what}\n  ours   {now}\n  theirs {want}",
                story["name"]
            ));
            good = false;
        }
        same += usize::from(good);
    }
    same
}

/// What a story needs of the machine it is told on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Root,
    Tools,
}

impl Needs {
    fn of(story: &Json) -> Self {
        if story.get("root").is_some() {
            Self::Root
        } else if story.get("tools").is_some() {
            Self::Tools
        } else {
            Self::Nothing
        }
    }
}

/// The programs of the stories with `tools`.
const TOOLS: [&str; 6] = ["tar", "gzip", "bzip2", "xz", "zip", "unzip"];

#[test]
fn calls_do_what_salts_do() {
    assert_told_alike(Needs::Nothing);
}

#[test]
fn calls_as_root_do_what_salts_do() {
    if halite_test_support::have_root() && halite_test_support::have_programs(&TOOLS) {
        assert_told_alike(Needs::Root);
    }
}

#[test]
fn calls_of_archivers_do_what_salts_do() {
    if halite_test_support::have_programs(&TOOLS) {
        assert_told_alike(Needs::Tools);
    }
}

fn assert_told_alike(needs: Needs) {
    let files = match std::env::var("HALITE_REAL") {
        Ok(file) => vec![fs::read_to_string(file).unwrap()],
        Err(_) => RECORDINGS.iter().map(|text| (*text).to_owned()).collect(),
    };
    let only = std::env::var("HALITE_STORY").ok();
    let (mut same, mut different) = (0, Vec::new());
    for line in files.iter().flat_map(|file| file.lines()) {
        let story: Json = serde_json::from_str(line).unwrap();
        if only.as_deref().is_some_and(|only| story["name"] != only) || Needs::of(&story) != needs {
            continue;
        }
        same += tell(&story, &mut different);
    }
    assert!(
        different.is_empty(),
        "{same} same, {} different\n{}",
        different.len(),
        different.join("\n")
    );
}

const RECORDINGS: &[&str] = &[
    include_str!("../real/archive.jsonl"),
    include_str!("../real/exec.jsonl"),
    include_str!("../real/line.jsonl"),
    include_str!("../real/more.jsonl"),
    include_str!("../real/state.jsonl"),
];
