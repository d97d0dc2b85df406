//! A master with custom Python modules: external pillars, tops, returners of
//! events.

use std::fs;

use anyhow::Result;
use halite_integration_tests::{Fleet, Kind, START, until};
use serde_json::json;

const PILLAR: &str = "
def ext_pillar(minion_id, pillar, *args, **kwargs):
    return {'own': {'id': minion_id, 'args': list(args), 'has': sorted(pillar), 'role': __grains__.get('role')}}
";

const TOP: &str = "
def top(**kwargs):
    return {'base': ['from_top_' + kwargs['opts']['id'], __opts__['master_tops']['own']]}
";

const RETURNER: &str = "
def event_return(events):
    with open(__opts__['events_file'], 'a') as out:
        for event in events:
            out.write(event['tag'] + chr(10))
";

const WHEEL: &str = "
def go(where='there'):
    'Goes there.'
    return where
";

#[test]
fn a_master_uses_what_its_users_wrote() -> Result<()> {
    let fleet = Fleet::new("ownpy")?;
    let dir = fleet.path().join("m1");
    let told = dir.join("events-told");
    let nop = |name: &str| format!("{name}:\n  test.nop\n");
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("ext_pillar", json!([{ "own": ["a", 2] }]))
        .set("master_tops", json!({ "own": "conf_top" }))
        .set("event_return", "own")
        .set("events_file", told.display().to_string())
        .file("_pillar/own.py", PILLAR)
        .file("_tops/own.py", TOP)
        .file("_returners/own.py", RETURNER)
        .file("_wheel/own.py", WHEEL)
        .file("wheels/other.py", WHEEL)
        .set("wheel_dirs", dir.join("srv/wheels").display().to_string())
        .file("from_top_web1.sls", &nop("one"))
        .file("conf_top.sls", &nop("two"))
        .start()?;
    let tools = master.tools(Kind::Ours);
    // Before they are fetched the pillar says what it lacks.
    let pillar = tools.runner(&["pillar.show_pillar", "web1", "--out=json"])?;
    assert!(pillar.stdout.contains("there is no such external pillar"));
    for kind in ["pillar", "tops", "returners", "wheel"] {
        let synced = tools.runner(&[&format!("saltutil.sync_{kind}"), "--out=json"])?;
        let synced: serde_json::Value = serde_json::from_str(&synced.stdout)?;
        assert_eq!(synced, json!([format!("{kind}.own")]));
    }
    let docs = tools.runner(&["doc.wheel", "--out=json"])?.ok()?.json()?;
    for own in ["own.go", "other.go"] {
        assert_eq!(docs[own], "Goes there.", "{docs}");
    }
    assert!(docs["key.accept"].is_string());
    let _web1 = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .set("grains", json!({ "role": "web" }))
        .start()?;
    master.wait_minion("web1")?;
    let pillar = tools.salt(&["web1", "pillar.raw", "own", "--out=json", "--static"])?;
    let pillar: serde_json::Value = serde_json::from_str(&pillar.stdout)?;
    let own = json!({ "id": "web1", "args": ["a", 2], "has": [], "role": "web" });
    assert_eq!(pillar["web1"], own);
    let top = tools.salt(&["web1", "state.show_top", "--out=json", "--static"])?;
    let top: serde_json::Value = serde_json::from_str(&top.stdout)?;
    assert_eq!(
        top["web1"],
        json!({ "base": ["from_top_web1", "conf_top"] })
    );
    until("the events to be stored", START, || {
        let told = fs::read_to_string(&told).unwrap_or_default();
        Ok(told.contains("/ret/web1").then_some(()))
    })?;
    Ok(())
}

const LOGIN: &str = "
def auth(username, password):
    return password == 'open sesame'

def groups(username, **kwargs):
    return ['ops'] if username == 'fred' else []

def acl(username, **kwargs):
    if username == 'broken':
        raise ValueError('no rights')
    return ['test.version'] if username == 'said' else None
";

#[test]
fn users_code_says_who_may_log_in_and_what_they_may_do() -> Result<()> {
    let fleet = Fleet::new("ownauth")?;
    let own = fleet.path().join("own");
    fs::create_dir_all(own.join("auth"))?;
    fs::write(own.join("auth/door.py"), LOGIN)?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("module_dirs", json!([own]))
        .set(
            "external_auth",
            json!({ "door": { "ops%": ["test.ping"], "broken": ["test.*"] }, "gone": { "*": [".*"] } }),
        )
        .start()?;
    let _web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let tools = master.tools(Kind::Ours);
    let salt = |way: &str, name: &str, password: &str, fun: &str| {
        let login = ["-a", way, "--username", name, "--password", password];
        tools.salt(&[&login[..], &["web1", fun]].concat())
    };
    let right = "open sesame";
    salt("door", "fred", right, "test.ping")?.ok()?;
    salt("door", "said", right, "test.version")?.ok()?;
    for (name, fun) in [("fred", "test.version"), ("said", "test.ping")] {
        let denied = salt("door", name, right, fun)?.exit(1)?;
        assert_eq!(denied.stdout, "Authorization error occurred.\n", "{name}");
    }
    // Neither a wrong password, nor code that fails or is not there, lets in, nor
    // a right one of who may do nothing.
    for (way, name, password) in [
        ("door", "other", right),
        ("door", "fred", "wrong"),
        ("door", "broken", right),
        ("gone", "fred", right),
    ] {
        let denied = salt(way, name, password, "test.ping")?.exit(1)?;
        assert_eq!(
            denied.stdout, "Authentication error occurred.\n",
            "{way} {name}"
        );
    }
    let log = fs::read_to_string(master.dir().join("log"))?;
    assert!(!log.contains("sesame"), "a password is in the log");
    Ok(())
}

const ENGINE: &str = "
import os, time

def start(path, tag):
    with open(path, 'a') as out:
        out.write(str(os.getpid()) + chr(10))
    __salt__['event.send'](tag, {'role': __opts__['__role']})
    while True:
        time.sleep(60)
";

#[test]
fn engines_run_beside_daemons_and_end_with_them() -> Result<()> {
    let fleet = Fleet::new("engines")?;
    let own = fleet.path().join("own");
    fs::create_dir_all(own.join("engines"))?;
    fs::write(own.join("engines/clockwork.py"), ENGINE)?;
    let noted = |who: &str| fleet.path().join(format!("noted-{who}"));
    let engine = |who: &str| {
        let config = json!({ "path": noted(who), "tag": format!("own/{who}") });
        json!([{ "clockwork": config }, "nowhere"])
    };
    let pids = |who: &str| -> Vec<i32> {
        let text = fs::read_to_string(noted(who)).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    // One that nobody has asked how it ended is none.
    let lives = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("module_dirs", json!([own]))
        .set("engines", engine("master"))
        .start()?;
    let web1 = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .set("module_dirs", json!([own]))
        .set("engines", engine("minion"))
        .start()?;
    master.wait_minion("web1")?;
    for who in ["master", "minion"] {
        let first = until("an engine to start", START, || {
            Ok(pids(who).first().copied())
        })?;
        // One that dies is started again.
        let killed = std::process::Command::new("kill")
            .args(["-9", &first.to_string()])
            .status()?;
        assert!(killed.success());
        until("an engine to start again", START, || {
            Ok(pids(who).get(1).copied())
        })?;
    }
    drop(web1);
    drop(master);
    for who in ["master", "minion"] {
        until("the engines to end", START, || {
            Ok(pids(who).into_iter().all(|pid| !lives(pid)).then_some(()))
        })?;
    }
    Ok(())
}
