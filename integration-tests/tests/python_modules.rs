//! Custom Python code has the same effect in our minion as in real Salt's: both get
//! the same files, and the results are compared.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, START, until};
use serde_json::{Value, json};

/// The files, by where they are served.
macro_rules! files {
    ($($kind:literal: $($name:literal)+;)+) => {
        &[$($((
            concat!($kind, "/", $name, ".py"),
            include_str!(concat!("python_modules/", $name, ".py")),
        ),)+)+]
    };
}

const FILES: &[(&str, &str)] = files! {
    "_modules": "own" "own_odd" "refused" "silent" "broken" "own_syntax" "own_zero" "own_none"
        "own_raises" "own_init" "own_exits";
    "_utils": "own_utils";
    "_states": "own_state";
    "_grains": "own_grains";
    "_sdb": "own_sdb";
    "_beacons": "own_beacon";
    "_returners": "own_returner" "own_jobs";
    "_renderers": "own_render";
    "_executors": "own_around";
    "_serializers": "own_notation";
    "_matchers": "own_match";
    "_output": "own_out";
    "_runners": "own_runner";
    "_wheel": "own_wheel";
    "_queues": "own_queue";
};

/// States beside them.
const STATES: &[(&str, &str)] = &[
    (
        "rendered.sls",
        "#!own_render with words|yaml\nx:\n  test.nop:\n    - name: '@@'\n",
    ),
    (
        "piped.sls",
        "#!jinja|own_render|yaml\nx:\n  test.nop:\n    - name: '{{ 1 + 1 }}@@'\n",
    ),
    ("failing.sls", "#!own_render|yaml\n# fail\n"),
    (
        "own_top.sls",
        "base:\n  whoever:\n    - match: own\n    - rendered\n  nobody:\n    - match: own\n    - piped\n",
    ),
];

/// What is asked of both.
const COMMANDS: &[&[&str]] = &[
    &["theirs.set", "a"],
    &["theirs.set", "a", "b", "c", "d", "e=5"],
    &["theirs.set"],
    &["theirs.list_", "1"],
    &["theirs._hidden"],
    &["theirs.nosuch"],
    &["own.list"],
    &["theirs.dunders"],
    &["theirs.context"],
    &["own_odd.count"],
    &["own_odd.count"],
    &["own_odd.date"],
    &["own_odd.shown"],
    &["own_odd.join", "a", "b"],
    &["own_odd.hidden"],
    &["own_odd.inst"],
    &["own_odd.deep"],
    &["own_alias.shown"],
    &["own_syntax.run"],
    &["own_zero.run"],
    &["own_none.run"],
    &["own_raises.run"],
    &["own_init.run"],
    &["own_exits.run"],
    &["sys.list_functions", "own_odd"],
    &["slsutil.serialize", "own_notation", "{b: 1, a: 2}"],
    &["slsutil.deserialize", "own_notation", "some text"],
    &["slsutil.serialize", "own_nothing", "1"],
    &[
        "slsutil.renderer",
        "string=a: '@@'",
        "default_renderer=own_render x|yaml",
    ],
    &["state.show_sls", "rendered"],
    &["state.show_sls", "piped"],
    &["state.show_sls", "failing"],
    &["state.apply", "rendered"],
    &["state.top", "own_top.sls"],
    &["test.echo", "x", "--module-executors=own_around"],
    &[
        "test.echo",
        "not here",
        "--module-executors=[own_around, direct_call]",
    ],
    &["test.echo", "x", "--module-executors=no_such_executor"],
    &["theirs.fail", "command", "--module-executors=own_around"],
    &["theirs.fail", "command"],
    &["theirs.fail", "invocation"],
    &["theirs.fail", "type"],
    &["theirs.fail", "value"],
    &["theirs.fail", "zero"],
    &["theirs.missing"],
    &["theirs.shapes"],
    &["theirs.table"],
    &["refused.run"],
    &["silent.run"],
    &["broken.run"],
    &["sys.argspec", "theirs"],
    &["sys.list_functions", "theirs"],
    &["sys.list_functions", "refused"],
    &["sys.list_modules", "the*"],
    &["sys.list_state_functions", "theirs"],
    &["sys.list_state_modules", "the*"],
    &["sys.state_argspec", "theirs.present"],
    &["grains.get", "own_grain"],
    &["sdb.get", "sdb://own_profile/thing"],
    &["sdb.get", "sdb://own_profile/map"],
    &["sdb.set", "sdb://own_profile/thing", "x"],
    &["state.single", "theirs.present", "x", "value=4"],
    &[
        "state.single",
        "theirs.present",
        "x",
        "value=4",
        "test=True",
    ],
    &["state.single", "theirs.failed", "x"],
    &["state.single", "theirs.raising", "x"],
    &["state.single", "theirs.calls", "x"],
    &["state.single", "theirs.nosuch", "x"],
];

/// What is no one's fault: times, and the way to an exception.
fn comparable(value: Value, id: &str) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(key, _)| key != "duration" && key != "start_time")
            .map(|(key, value)| (key, comparable(value, id)))
            .collect(),
        Value::Array(items) => items.into_iter().map(|item| comparable(item, id)).collect(),
        Value::String(text) if text == id => "its id".into(),
        Value::String(text) => match text.split_once("Traceback (most recent call last):\n") {
            Some((before, trace)) => {
                let last = trace.trim_end().lines().next_back().unwrap_or_default();
                format!("{before}{last}").into()
            }
            None => text.into(),
        },
        other => other,
    }
}

/// What both minions return.
fn both(master: &Master, command: &[&str]) -> Result<[Value; 2]> {
    let mut words = vec!["*"];
    words.extend(command);
    words.extend(["--out=json", "--static"]);
    // What fails there is to fail here: the exit code is that of both.
    let output = master.salt(&words)?;
    let returned = output.json()?;
    let of = |id: &str| comparable(returned[id].clone(), id);
    Ok([of("web2"), of("web1")])
}

#[test]
fn users_files_are_to_us_what_they_are_to_salt() -> Result<()> {
    let fleet = Fleet::new("pymods")?;
    let mut plan = fleet.master("m1", Kind::Ours).auto_accept();
    for (path, text) in FILES.iter().chain(STATES) {
        plan = plan.file(path, text);
    }
    let master = plan.start()?;
    let told = |id: &str| fleet.path().join(format!("{id}-returned"));
    let minion = |id: &str, kind: Kind| {
        fleet
            .minion(id, kind)
            .of(&master)
            .set("own_profile", json!({ "driver": "own_sdb", "x": 1 }))
            .set("own_returned", told(id).display().to_string())
            .start()
    };
    let _minions = [minion("web1", Kind::Ours)?, minion("web2", Kind::Salt3008)?];
    master.wait_minion("web1")?;
    master.wait_minion("web2")?;
    // A minion may have fetched them as it started.
    master
        .salt(&["*", "saltutil.sync_all", "--out=json", "--static"])?
        .ok()?;

    let mut different = Vec::new();
    for command in COMMANDS {
        let [theirs, ours] = both(&master, command)?;
        if theirs != ours || theirs.is_null() {
            different.push(format!("{command:?}\n  theirs: {theirs}\n  ours:   {ours}"));
        }
    }
    ensure!(different.is_empty(), "{}", different.join("\n"));

    return_codes(&master)?;

    // A returner.
    master
        .salt(&["*", "theirs.list", "1", "--return", "own_returner"])?
        .ok()?;
    let returned = until("both returners to have written", START, || {
        let read = |id: &str| fs::read_to_string(told(id)).unwrap_or_default();
        let both = [read("web2"), read("web1")];
        Ok(both.iter().all(|text| text.ends_with('\n')).then_some(both))
    })?;
    for text in &returned {
        let lines: Vec<Value> = text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        ensure!(lines.len() == 1, "{returned:?}");
        assert_eq!(lines[0]["fun"], "theirs.list");
        assert_eq!(lines[0]["return"]["args"], json!([1]));
    }

    // A beacon.
    let events = master.events()?;
    let beacon = "[{\"text\": \"hello\"}, {\"interval\": 1}]";
    let refused = both(&master, &["beacons.add", "ticks", "[{\"interval\": 1}]"])?;
    assert_eq!(refused[0], refused[1]);
    let added = both(&master, &["beacons.add", "ticks", beacon])?;
    assert_eq!(added[0], added[1]);
    let heard = |id: &str| -> Result<Value> {
        let tag = format!("salt/beacon/{id}/ticks/one");
        let event = events.wait("the beacon to be heard", Duration::from_secs(60), |event| {
            event.tag.as_str() == tag
        })?;
        let mut data = event.data;
        if let Some(data) = data.as_object_mut() {
            data.remove("_stamp");
        }
        Ok(comparable(data, id))
    };
    assert_eq!(heard("web2")?, heard("web1")?);
    Ok(())
}

/// `__context__["retcode"]` is the code of both returns.
fn return_codes(master: &Master) -> Result<()> {
    let events = master.events()?;
    master.salt(&["*", "own_odd.retcode", "5", "--out=json", "--static"])?;
    for id in ["web1", "web2"] {
        let event = events.wait("the return", START, |event| {
            event.tag.ends_with(&format!("/ret/{id}")) && event.data["fun"] == "own_odd.retcode"
        })?;
        assert_eq!(event.data["retcode"], json!(5), "{id}");
        assert_eq!(event.data["success"], json!(false), "{id}");
    }
    Ok(())
}

/// What is asked of masters of both kinds, with their own programs.
const RUNNERS: &[&[&str]] = &[
    &["own_runner.tell", "words"],
    &["queue.insert", "q", "item", "backend=own_queue"],
    &["queue.pop", "q", "backend=own_queue"],
    &["queue.list_queues", "backend=own_queue"],
    &["queue.list_length", "q", "backend=own_queue"],
    &["jobs.list_jobs", "ext_source=own_jobs"],
];

#[test]
fn masters_run_what_users_wrote() -> Result<()> {
    let [ours, theirs] = [Kind::Ours, Kind::Salt3008].map(of_master);
    let (ours, theirs) = (ours?, theirs?);
    let different: Vec<String> = ours
        .iter()
        .zip(&theirs)
        .filter(|(ours, theirs)| ours != theirs)
        .map(|(ours, theirs)| format!("{}\n  theirs: {}\n  ours:   {}", ours.0, theirs.1, ours.1))
        .collect();
    ensure!(different.is_empty(), "{}", different.join("\n"));
    Ok(())
}

/// What a master of a kind says to each.
fn of_master(kind: Kind) -> Result<Vec<(String, String)>> {
    let fleet = Fleet::new("pymaster")?;
    let mut plan = fleet
        .master("m1", kind)
        .auto_accept()
        .set("master_job_cache", "own_jobs");
    for (path, text) in FILES {
        plan = plan.file(path, text);
    }
    // Before there are files to fetch, Salt needs the job cache.
    let modules = fleet.path().join("modules");
    let returners = modules.join("returners");
    fs::create_dir_all(&returners)?;
    fs::write(
        returners.join("own_jobs.py"),
        include_str!("python_modules/own_jobs.py"),
    )?;
    let master = plan
        .set("module_dirs", json!([modules.display().to_string()]))
        .start()?;
    let _minion = fleet.minion("web1", kind).of(&master).start()?;
    master.wait_minion("web1")?;
    let runner = |words: &[&str]| master.tools(kind).runner(words);
    runner(&["saltutil.sync_all", "--out=json"])?.ok()?;
    let mut said = Vec::new();
    for words in RUNNERS {
        let output = runner(&[words, ["--out=json"].as_slice()].concat())?;
        said.push((words.join(" "), output.stdout.clone()));
    }
    let shown = master
        .salt(&["*", "test.echo", "x", "--out=own_out"])?
        .ok()?;
    said.push(("--out".to_owned(), shown.stdout.clone()));

    // Its jobs are where its configuration says.
    let job = master.salt(&["*", "test.echo", "kept", "--async"])?.ok()?;
    let jid = job
        .stdout
        .split_whitespace()
        .next_back()
        .unwrap_or_default();
    let found = until("the job to be kept", START, || {
        let found = runner(&["jobs.lookup_jid", jid, "--out=json"])?;
        Ok(found
            .stdout
            .contains("kept")
            .then_some(found.stdout.clone()))
    })?;
    said.push(("jobs.lookup_jid".to_owned(), found));
    // Stamps of progress.
    let is_steady = |line: &&str| !line.contains("_stamp");
    for (_, text) in &mut said {
        *text = text
            .lines()
            .filter(is_steady)
            .collect::<Vec<_>>()
            .join("\n");
    }
    Ok(said)
}
