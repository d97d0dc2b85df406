//! Custom execution modules with the name of one of ours: our states call them, as
//! Salt's states do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::Path;

use halite_proto::{Map, Value};
use serde_json::{Value as Json, json};

use crate::local_minion::LocalMinion;
use crate::local_minion::compare::as_json;

/// A crontab that writes down how it is called.
const CRON: &str = r#"
import json
CALLS = "@CALLS@"
def note(*args, **kwargs):
    with open(CALLS, "a") as file:
        kwargs = {key: kwargs[key] for key in kwargs if not key.startswith("__")}
        file.write(json.dumps([args, kwargs]) + "\n")
def list_tab(user):
    return {"pre": [], "env": [{"name": "A", "value": "1"}], "special": [
        {"spec": "@daily", "cmd": "tidy", "identifier": None, "comment": None, "commented": False}],
        "crons": [{"minute": "5", "hour": "*", "daymonth": "*", "month": "*", "dayweek": "*",
            "cmd": "known", "identifier": "known", "comment": None, "commented": False}]}
def set_job(**kwargs):
    note("set_job", **kwargs)
    return "new"
def set_special(**kwargs):
    note("set_special", **kwargs)
    return "updated"
def rm_job(*args, **kwargs):
    note("rm_job", *args, **kwargs)
    return "removed"
def rm_special(*args, **kwargs):
    note("rm_special", *args, **kwargs)
    return "absent"
def set_env(*args, **kwargs):
    note("set_env", *args, **kwargs)
    return "no room"
def rm_env(*args, **kwargs):
    note("rm_env", *args, **kwargs)
    return "removed"
def raw_cron(user):
    return "5 * * * * known\n"
def write_cron_file_verbose(user, path):
    with open(path) as file:
        note("write", user, file.read())
    return {"retcode": 0, "stdout": "", "stderr": ""}
"#;

const SLS: &str = "\
a: {cron.present: [{name: known}, {minute: 7}, {user: root}]}
b: {cron.present: [{name: x}, {special: '@daily'}, {comment: c}]}
c: {cron.absent: [{name: known}, {identifier: known}]}
d: {cron.absent: [{name: tidy}, {special: '@daily'}]}
e: {cron.env_present: [{name: A}, {value: 2}]}
f: {cron.env_absent: [{name: A}]}
g: {cron.file: [{name: 'salt://table'}]}
";

/// A minion without programs whose user has a module `cron`.
fn minion(root: &Path) -> LocalMinion {
    let (bin, own) = (root.join("bin"), root.join("own"));
    for dir in [&bin, &own] {
        std::fs::create_dir(dir).unwrap();
    }
    let cron = CRON.replace("@CALLS@", root.join("calls").to_str().unwrap());
    std::fs::write(own.join("cron.py"), cron).unwrap();
    let opts = Map::from([
        ("__host_path__", Value::from(bin.to_str().unwrap())),
        ("module_dirs", vec![own.to_str().unwrap().into()].into()),
        ("python_fallback", false.into()),
    ]);
    let minion = LocalMinion::laid_out_with(root, ("os_family", "Debian"), opts);
    std::fs::write(root.join("srv/jobs.sls"), SLS).unwrap();
    std::fs::write(root.join("srv/table"), "1 * * * * other\n").unwrap();
    minion
}

/// Comments of the states by their ids, with `None`, true or false.
fn results(ret: &Value) -> Vec<(String, Json, String)> {
    let states = ret.as_map().unwrap_or_else(|| panic!("{ret:?}"));
    let states = states.iter().map(|(tag, state)| {
        let id = tag.as_str().unwrap().split("_|-").nth(1).unwrap();
        let comment = state.get("comment").and_then(Value::as_str).unwrap();
        let result = as_json(state.get("result").unwrap());
        (id.to_owned(), result, comment.trim_end().to_owned())
    });
    states.collect()
}

fn assert_results(ret: &Value, wanted: &[(&str, Json, &str)]) {
    let found = results(ret);
    let found: Vec<_> = found
        .iter()
        .map(|(id, result, comment)| (id.as_str(), result.clone(), comment.as_str()))
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn states_of_cron_call_the_functions_of_users() {
    if !halite_test_support::have_programs(&["python3"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(dir.path());
    let ret = minion.call("state.apply", &["jobs"]).ret;
    assert_results(
        &ret,
        &[
            ("a", true.into(), "Cron known added to root's crontab"),
            ("b", true.into(), "Cron x updated"),
            ("c", true.into(), "Cron known removed from root's crontab"),
            ("d", true.into(), "Cron tidy already absent"),
            (
                "e",
                false.into(),
                "Cron env A for user root failed to commit with error \nno room",
            ),
            ("f", true.into(), "Cron env A removed from root's crontab"),
            ("g", true.into(), "Crontab for user root was updated"),
        ],
    );
    let calls = std::fs::read_to_string(dir.path().join("calls")).unwrap();
    let calls: Vec<Json> = calls
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let star = "*";
    let wanted = json!([
        [["set_job"], {"user": "root", "minute": 7, "hour": star, "daymonth": star, "month": star,
            "dayweek": star, "cmd": "known", "comment": null, "commented": false, "identifier": "known"}],
        [["set_special"], {"user": "root", "special": "@daily", "cmd": "x", "comment": "c",
            "commented": false, "identifier": "x"}],
        [["rm_job", "root", "known"], {"identifier": "known"}],
        [["rm_special", "root", "tidy"], {"special": "@daily", "identifier": "tidy"}],
        [["set_env", "root", "A"], {"value": 2}],
        [["rm_env", "root", "A"], {}],
        [["write", "root", "1 * * * * other\n"], {}],
    ]);
    assert_eq!(Json::Array(calls), wanted);
}

#[test]
fn test_mode_reads_the_crontab_of_users() {
    if !halite_test_support::have_programs(&["python3"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(dir.path());
    let ret = minion.call("state.apply", &["jobs", "test=True"]).ret;
    let comments: Vec<String> = results(&ret)
        .into_iter()
        .map(|(_, _, comment)| comment)
        .collect();
    assert_eq!(
        comments[..6],
        [
            "Cron known is set to be updated",
            "Cron x is set to be added",
            "Cron known is set to be removed",
            "Cron tidy is set to be removed",
            "Cron env A is set to be updated",
            "Cron env A is set to be removed",
        ]
    );
    assert!(!dir.path().join("calls").exists());
}

/// A minion with two environments, each with a module of its own.
fn of_environments(root: &Path) -> LocalMinion {
    for env in ["base", "dev"] {
        let modules = root.join(env).join("_modules");
        std::fs::create_dir_all(&modules).unwrap();
        std::fs::write(
            modules.join(format!("of_{env}.py")),
            "def f():\n    return 1\n",
        )
        .unwrap();
    }
    let place = root.display();
    let config = format!(
        "id: here\nroot_dir: {place}/root\nfile_roots:\n  base: [{place}/base]\n  \
         dev: [{place}/dev]\npillar_roots: {{base: [{place}/pillar]}}\nlog_level: quiet\n"
    );
    std::fs::write(root.join("minion"), config).unwrap();
    LocalMinion::new(root, Map::from([("id", "here")]))
}

/// As with Salt, the environments are those of the top file for this minion.
#[test]
fn modules_come_from_the_environments_of_the_top_file() {
    let dir = tempfile::tempdir().unwrap();
    let minion = of_environments(dir.path());
    let synced = |words: &[&str]| as_json(&minion.call("saltutil.sync_modules", words).ret);
    assert_eq!(synced(&[]), json!(["modules.of_base"]));
    let top = |text: &str| std::fs::write(dir.path().join("base/top.sls"), text).unwrap();
    top("dev: {here: [x]}\nprod: {other: [x]}\n");
    assert_eq!(synced(&[]), json!(["modules.of_dev"]));
    assert_eq!(synced(&["saltenv=base"]), json!(["modules.of_base"]));
    // Nobody is meant: as without a top file.
    top("dev: {other: [x]}\n");
    assert_eq!(synced(&[]), json!([]));
    top("dev: {here: [x]}\n");
    std::fs::create_dir_all(dir.path().join("pillar")).unwrap();
    std::fs::write(dir.path().join("pillar/top.sls"), "base: {'*': [none]}\n").unwrap();
    let all = minion.call("saltutil.sync_all", &["refresh=False"]).ret;
    assert_eq!(
        as_json(all.get("modules").unwrap()),
        json!(["modules.of_dev"])
    );
    top("{{ nothing.at.all }}\n");
    assert_eq!(synced(&[]), json!(["modules.of_base"]));
}
