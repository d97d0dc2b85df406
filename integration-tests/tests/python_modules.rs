//! What users write in Python is to our minion what it is to real Salt's:
//! the same files are given to both, and what comes of them is compared.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, START, until};
use serde_json::{Value, json};

/// The files, by where they are served.
const FILES: &[(&str, &str)] = &[
    ("_modules/own.py", include_str!("python_modules/own.py")),
    (
        "_modules/refused.py",
        include_str!("python_modules/refused.py"),
    ),
    (
        "_modules/silent.py",
        include_str!("python_modules/silent.py"),
    ),
    (
        "_modules/broken.py",
        include_str!("python_modules/broken.py"),
    ),
    (
        "_utils/own_utils.py",
        include_str!("python_modules/own_utils.py"),
    ),
    (
        "_states/own_state.py",
        include_str!("python_modules/own_state.py"),
    ),
    (
        "_grains/own_grains.py",
        include_str!("python_modules/own_grains.py"),
    ),
    ("_sdb/own_sdb.py", include_str!("python_modules/own_sdb.py")),
    (
        "_beacons/own_beacon.py",
        include_str!("python_modules/own_beacon.py"),
    ),
    (
        "_returners/own_returner.py",
        include_str!("python_modules/own_returner.py"),
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
    for (path, text) in FILES {
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
