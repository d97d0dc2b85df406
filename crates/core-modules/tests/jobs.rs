//! What holds for every call: failures, return codes, being ended from outside, and
//! functions about the minion itself.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_call::{CallError, Cancel, Failure, Job, run_function};
use halite_fake_minion::{FakeMinion, job, kwargs};
use halite_proto::{Map, Value};

#[test]
fn a_map_that_says_it_failed_is_a_failure() {
    let minion = FakeMinion::new();
    let run = |arg: Value| {
        let outcome = minion.run("test.outputter", &[arg]);
        (outcome.retcode, outcome.success)
    };
    let map = |key: &str, value: Value| Value::from(Map::from([(key, value)]));
    assert_eq!(run(map("result", false.into())), (1, false));
    assert_eq!(run(map("success", false.into())), (1, false));
    assert_eq!(run(map("result", Value::Nil)), (1, false));
    assert_eq!(run(map("result", true.into())), (0, true));
    assert_eq!(run(false.into()), (0, true));
}

#[test]
fn failures_say_their_kind() {
    let minion = FakeMinion::new();
    let failure = |fun: &str, args: &[Value]| minion.run(fun, args).failure.unwrap();
    assert!(
        matches!(failure("no.such", &[]), Failure::NotAvailable(text) if text == "'no.such' is not available.")
    );
    let Failure::Call { error, doc } = failure("test.echo", &[]) else {
        panic!("not a failed call");
    };
    assert!(matches!(error, CallError::Arguments(_)));
    assert!(doc.contains("salt '*' test.echo hello"), "{doc}");
    let Failure::Call { error, .. } =
        failure("cmd.run", &["x".into(), kwargs([("cwd", "/nope".into())])])
    else {
        panic!("not a failed call");
    };
    assert!(matches!(error, CallError::Command(_)));
}

#[test]
fn a_runner_on_a_minion_is_refused_with_what_to_use() {
    let minion = FakeMinion::new();
    let outcome = minion.run("saltutil.runner", &["test.arg".into()]);
    assert_eq!(outcome.retcode, 1);
    let text = outcome.ret.as_str().unwrap();
    assert!(text.contains("publish.runner"), "{text}");
    assert!(text.contains("salt-run"), "{text}");
}

#[test]
fn modules_can_be_switched_off() {
    let list = |name: &str| Value::List(vec![name.into()]);
    let minion = FakeMinion::new().with_opt("disable_modules", list("cmd"));
    assert_eq!(
        minion.run("cmd.run", &["id".into()]).ret,
        "'cmd.run' is not available.".into()
    );
    assert_eq!(minion.ret("test.ping", &[]), true.into());
    let minion = FakeMinion::new().with_opt("whitelist_modules", list("test"));
    assert_eq!(minion.run("cmd.run", &["id".into()]).retcode, 1);
    assert_eq!(minion.ret("test.ping", &[]), true.into());
}

#[test]
fn only_functions_that_take_anything_see_the_publication() {
    let minion = FakeMinion::new();
    let seen = minion.ret("test.kwarg", &["a=1".into()]);
    assert_eq!(seen.get("a"), Some(&1.into()));
    assert_eq!(seen.get("__pub_jid"), Some(&"20261120000000000000".into()));
    // What 3008 says of a publication that is for the minion itself.
    assert_eq!(
        seen.get("__pub_resource_targets"),
        Some(&Value::List(Vec::new()))
    );
    assert_eq!(seen.get("__pub_pure_resource_target"), Some(&false.into()));
    assert_eq!(seen.get("__pub_minion_is_target"), Some(&true.into()));
    assert_eq!(minion.ret("test.echo", &["text=x".into()]), "x".into());
}

#[test]
fn commands_go_through_the_shell_only_for_people() {
    let minion = FakeMinion::new().with_opt("cmd_safe", true);
    let line = Value::from("echo $((1+1))");
    assert_eq!(
        minion.ret("cmd.run", std::slice::from_ref(&line)),
        "2".into()
    );
    // Called from another function there is no publication.
    let outcome = run_function(
        &minion,
        "test.cross_test",
        &["cmd.run".into(), vec![line.clone()].into()],
        &Job::default(),
    );
    assert_eq!(outcome.ret, "$((1+1))".into());
    let open = FakeMinion::new().with_opt("cmd_safe", false);
    let outcome = run_function(&open, "cmd.run", &[line], &Job::default());
    assert_eq!(outcome.ret, "2".into());
}

/// Runs a function on a thread and ends it as soon as `started` is there.
fn end_when_started(
    fun: &'static str,
    args: Vec<Value>,
    started: &Path,
    signal: i32,
) -> (Value, Duration) {
    let cancel = Cancel::default();
    let job = Job {
        cancel: cancel.clone(),
        ..job(fun)
    };
    let minion = Arc::new(FakeMinion::new());
    let began = Instant::now();
    let runner = std::thread::spawn(move || run_function(&*minion, fun, &args, &job));
    while !started.exists() && !runner.is_finished() {
        std::thread::yield_now();
    }
    cancel.signal(signal);
    (runner.join().unwrap().ret, began.elapsed())
}

#[test]
fn a_killed_job_takes_its_commands_along() {
    let dir = tempfile::tempdir().unwrap();
    let started = dir.path().join("pid");
    let line = format!(
        "sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait",
        started.display()
    );
    let (ret, took) = end_when_started("cmd.run", vec![line.into()], &started, 9);
    assert_eq!(ret, "ERROR: the job was ended by signal 9".into());
    assert!(took < Duration::from_secs(60));
    let pid = fs::read_to_string(&started).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    let until = Instant::now() + Duration::from_secs(60);
    let alive = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    while alive() && Instant::now() < until {
        std::thread::yield_now();
    }
    assert!(!alive(), "the command lives on");
}

#[test]
fn a_sleeping_job_ends_at_once() {
    let (ret, took) = end_when_started("test.sleep", vec![600.into()], Path::new("/"), 15);
    assert_eq!(ret, "ERROR: the job was ended by signal 15".into());
    assert!(took < Duration::from_secs(60));
}

#[test]
fn an_ended_job_starts_nothing_more() {
    let minion = FakeMinion::new();
    let job = job("test.ping");
    job.cancel.signal(15);
    let outcome = run_function(&minion, "test.ping", &[], &job);
    assert_eq!(outcome.retcode, 1);
}

#[test]
fn jobs_are_found_and_signalled() {
    let entry = |jid: &str, fun: &str, pid: i64| {
        Map::from([
            ("jid", Value::from(jid)),
            ("fun", fun.into()),
            ("pid", pid.into()),
        ])
    };
    let running = vec![
        // Another master's command of the same id.
        entry("20261120000000000000", "test.sleep", 76),
        entry("20261120000000000001", "state.apply", 77),
        // The job that asks, whatever its function.
        Map::from([("jid", "20261120000000000000")]),
    ];
    let others = running[..2].to_vec();
    let other = Value::from(running[1].clone());
    let minion = FakeMinion::new().with_running(running);
    let ret = |fun: &str, args: &[Value]| minion.ret(fun, args);
    let others: Vec<Value> = others.into_iter().map(Value::from).collect();
    assert_eq!(ret("saltutil.running", &[]), others.into());
    assert_eq!(
        ret("saltutil.find_job", &["20261120000000000001".into()]),
        other
    );
    assert_eq!(
        ret("saltutil.find_job", &["20261120000000000009".into()]),
        Map::new().into()
    );
    assert_eq!(
        ret("saltutil.is_running", &["state.*".into()]),
        vec![other.clone()].into()
    );
    assert_eq!(
        ret("saltutil.is_running", &["saltutil.*".into()]),
        Vec::new().into()
    );
    assert_eq!(
        ret("saltutil.kill_job", &["20261120000000000001".into()]),
        "Signal 9 sent to job 20261120000000000001 at pid 77".into()
    );
    assert_eq!(
        ret("saltutil.term_all_jobs", &[]),
        vec![
            "Signal 15 sent to job 20261120000000000000 at pid 76".into(),
            "Signal 15 sent to job 20261120000000000001 at pid 77".into()
        ]
        .into()
    );
}

#[test]
fn refreshes_are_asked_for() {
    let minion = FakeMinion::new();
    minion.ret(
        "saltutil.refresh_pillar",
        &[kwargs([("wait", true.into()), ("timeout", 7.into())])],
    );
    minion.ret("saltutil.refresh_grains", &["refresh_pillar=False".into()]);
    minion.ret("saltutil.refresh_modules", &["async=False".into()]);
    assert_eq!(
        minion.take_record(),
        [
            "refresh Pillar { clean_cache: true } Some(7)",
            "refresh Grains None",
            "refresh Modules None",
        ]
    );
    let wrong = minion.run("saltutil.refresh_grains", &["nope=1".into()]);
    assert_eq!(
        wrong.ret,
        "ERROR executing 'saltutil.refresh_grains': The following keyword arguments are not valid: nope=1".into()
    );
}

#[test]
fn caches_go_and_the_rest_stays() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["files/base/x", "proc/2026", "extmods/y", "spool/z"] {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let minion = FakeMinion::new().with_opt("cachedir", dir.path().to_str().unwrap());
    assert_eq!(minion.ret("saltutil.clear_cache", &[]), true.into());
    let mut left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["proc", "spool"]);
}

#[test]
fn the_mine_is_filled_as_configured() {
    let pillar = Map::from([(
        "mine_functions",
        Map::from([(
            "alias",
            Value::List(vec![
                Map::from([("mine_function", "test.echo")]).into(),
                "hi".into(),
                Map::from([("allow_tgt", "web*")]).into(),
            ]),
        )]),
    )]);
    let functions = Map::from([("test.ping", Value::List(Vec::new()))]);
    let minion = FakeMinion::new()
        .with_opt("mine_functions", functions)
        .with_pillar(pillar)
        .with_master(|_| Ok(true.into()));
    assert_eq!(minion.ret("mine.update", &[]), true.into());
    let sent = minion.take_record().remove(0);
    assert!(sent.contains("\"_mine\""), "{sent}");
    for part in [
        "Str(\"test.ping\"): Bool(true)",
        "Str(\"__data__\"): Str(\"hi\")",
        "Str(\"__saltmine_acl__\"): Int(1)",
        "Str(\"allow_tgt\"): Str(\"web*\")",
    ] {
        assert!(sent.contains(part), "{part} in {sent}");
    }
    // A kind of target that nobody named is not told of.
    assert!(!sent.contains("allow_tgt_type"), "{sent}");
    let update = |functions: &str| {
        let given = format!("mine_functions={functions}");
        minion.ret("mine.update", &[given.into()])
    };
    assert_eq!(update("{al: nosuch}"), true.into());
    assert_eq!(update("text"), Value::Nil);
    assert!(minion.take_record().is_empty(), "nothing was to be sent");
    minion.ret(
        "mine.send",
        &["al".into(), "mine_function=test.echo".into(), "x".into()],
    );
    assert!(
        minion
            .take_record()
            .remove(0)
            .contains("Str(\"al\"): Str(\"x\")")
    );
    assert_eq!(minion.ret("mine.send", &["no.such".into()]), false.into());
    minion.ret("mine.get", &["*".into(), "al".into(), "compound".into()]);
    assert!(
        minion
            .take_record()
            .remove(0)
            .contains("compound_pillar_exact")
    );
}

#[test]
fn events_carry_what_was_asked_for() {
    let minion = FakeMinion::new().with_grains(Map::from([("os", "Debian"), ("x", "y")]));
    let args = [
        "my/tag".into(),
        Map::from([("a", 1)]).into(),
        kwargs([("with_grains", vec!["os".into()].into()), ("k", 2.into())]),
    ];
    assert_eq!(minion.ret("event.send", &args), true.into());
    let sent = minion.take_record().remove(0);
    assert!(sent.starts_with("master my/tag "), "{sent}");
    for part in [
        "Str(\"grains\"): Map({Str(\"os\"): Str(\"Debian\")})",
        "Str(\"k\"): Int(2)",
        "Str(\"a\"): Int(1)",
        "__pub_jid",
    ] {
        assert!(sent.contains(part), "{part} in {sent}");
    }
    assert_eq!(
        minion.ret("event.fire", &["no map".into(), "t".into()]),
        false.into()
    );
}

#[test]
fn fingerprints_are_of_the_keys_files() {
    let dir = tempfile::tempdir().unwrap();
    let minion = FakeMinion::new().with_opt("pki_dir", dir.path().to_str().unwrap());
    assert_eq!(minion.ret("key.finger", &[]), "".into());
    let pem = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    fs::write(dir.path().join("minion.pub"), pem).unwrap();
    let finger = minion.ret("key.finger", &["md5".into()]);
    assert_eq!(finger.as_str().unwrap().len(), 47);
}

#[test]
fn static_grains_are_written_as_yaml() {
    let dir = tempfile::tempdir().unwrap();
    let minion = FakeMinion::new().with_opt("config_dir", dir.path().to_str().unwrap());
    minion.ret(
        "grains.setval",
        &["b".into(), vec![1.into(), 2.into()].into()],
    );
    minion.ret("grains.setval", &["a".into(), "'1'".into()]);
    minion.ret("grains.append", &["b".into(), 3.into()]);
    let text = fs::read_to_string(dir.path().join("grains")).unwrap();
    assert_eq!(text, "a: '''1'''\nb:\n- 1\n- 2\n- 3\n");
    fs::write(dir.path().join("grains"), "a: [\n").unwrap();
    let broken = minion.run("grains.setval", &["c".into(), 1.into()]);
    assert_eq!(broken.retcode, 1);
    assert!(
        broken
            .ret
            .as_str()
            .unwrap()
            .contains("cannot be read as YAML"),
        "{:?}",
        broken.ret
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("grains")).unwrap(),
        "a: [\n"
    );
}

#[test]
fn another_user_has_another_home_and_name() {
    if !halite_test_support::have_root() {
        return;
    }
    let minion = FakeMinion::new();
    let run = |line: &str| {
        minion.ret(
            "cmd.run",
            &[line.into(), kwargs([("runas", "nobody".into())])],
        )
    };
    assert_eq!(run("id -un"), "nobody".into());
    assert_eq!(run("echo $USER $LOGNAME"), "nobody nobody".into());
    assert_eq!(run("pwd"), "/".into());
    let group = minion.ret(
        "cmd.run",
        &["id -gn".into(), kwargs([("group", "daemon".into())])],
    );
    assert_eq!(group, "daemon".into());
}

#[test]
fn every_documented_function_has_a_doc_with_an_example() {
    let minion = FakeMinion::new();
    let docs = minion.ret("sys.doc", &[]);
    let docs = docs.as_map().unwrap();
    assert_eq!(
        docs.len(),
        halite_core_modules::registry().functions().count()
    );
    for (name, doc) in docs {
        let name = name.as_str().unwrap();
        assert!(
            doc.as_str().unwrap().contains(&format!("salt '*' {name}")),
            "{name}"
        );
    }
}

#[test]
fn the_version_of_python_is_that_of_the_one_that_runs_modules() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("python");
    // Written by another process: what this one forks meanwhile would hold the
    // file open for writing, and it could not be run.
    let script = "printf '#!/bin/sh\necho Python 9.8.7\n' > \"$0\" && chmod 755 \"$0\"";
    let made = Command::new("sh").args(["-c", script]).arg(&path).status();
    assert!(made.unwrap().success());
    let path = path.to_str().unwrap();
    let minion = FakeMinion::new().with_opt("python_executable", path);
    let found = minion.ret("test.versions_information", &[]);
    let python = found.get("Python Version").and_then(|of| of.get("Python"));
    assert_eq!(python, Some(&"9.8.7".into()));
    let report = minion.ret("test.versions_report", &[]);
    assert!(report.as_str().unwrap().contains("Python: 9.8.7\n"));
}

#[test]
fn a_part_of_what_a_command_writes_can_be_its_success() {
    let minion = FakeMinion::new();
    let run = |line: &str, option: (&str, Value)| {
        let options = kwargs([("python_shell", true.into()), option]);
        let ran = minion.ret("cmd.run_all", &[line.into(), options]);
        ran.get("retcode").cloned().unwrap()
    };
    let texts = || Value::List(vec!["no".into(), "is done".into()]);
    let out = "echo all is done here; exit 3";
    assert_eq!(run(out, ("success_stdout", texts())), 0.into());
    assert_eq!(run(out, ("success_stderr", texts())), 3.into());
    let err = "echo all is done here >&2; exit 3";
    assert_eq!(run(err, ("success_stderr", "is done".into())), 0.into());
}
