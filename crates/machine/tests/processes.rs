//! `ps.*` and `process.absent`: with artificial processes, which get no signal, and
//! with one that the test has started.
#![allow(clippy::unwrap_used)]

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use halite_call::{Module, Registry};
use halite_recorded::Machine;
use serde_json::{Value as Json, json};

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES, halite_machine::MODULES];
static STATES: &[&[Module]] = &[halite_machine::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

fn machine(made: Json) -> Machine {
    let scenario = json!({"grains": {}, "shims": [], "made": made});
    let shims = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims");
    Machine::new(shims, &scenario, &REGISTRY)
}

#[test]
fn processes_are_found_by_name_or_line() {
    let machine = machine(json!({
        "/proc/11/comm": "halited\n", "/proc/11/cmdline": "/usr/bin/halited\0-f\0",
        "/proc/12/comm": "sh\n", "/proc/12/cmdline": "sh\0-c\0halited\0",
        "/proc/13/comm": "a-very-long-nam\n", "/proc/13/cmdline": "/x/a-very-long-name\0",
    }));
    let call = |fun: &str, args: Json, kwargs: Json| {
        machine.play(&json!({"fun": fun, "args": args, "kwargs": kwargs}))["ret"].clone()
    };
    assert_eq!(call("ps.pgrep", json!(["halited"]), json!({})), json!([11]));
    let full = json!({"full": true});
    assert_eq!(call("ps.pgrep", json!(["halited"]), full), json!([11, 12]));
    assert_eq!(
        call("ps.pgrep", json!(["long-name"]), json!({})),
        json!([13])
    );
    assert_eq!(call("ps.pgrep", json!(["none"]), json!({})), Json::Null);
    let regex = json!({"pattern_is_regex": true});
    assert_eq!(call("ps.pgrep", json!(["^hal.*d$"]), regex), json!([11]));
    let state = |name: &str, test: bool| {
        let asked = json!({"state": "process.absent", "args": {"name": name}, "test": test});
        machine.play(&asked)["ret"].clone()
    };
    let ret = |result: Json, changes: Json, comment: &str, name: &str| json!({"name": name, "result": result, "changes": changes, "comment": comment});
    let will = "1 processes will be killed";
    assert_eq!(
        state("halited", true),
        ret(Json::Null, json!({}), will, "halited")
    );
    let none = "No matching processes running";
    assert_eq!(
        state("none", true),
        ret(Json::Null, json!({}), none, "none")
    );
    assert_eq!(
        state("none", false),
        ret(json!(true), json!({}), none, "none")
    );
    let killed = json!({"killed": [11, 12]});
    let done = "Killed 2 processes";
    assert_eq!(
        state("halited", false),
        ret(json!(true), killed, done, "halited")
    );
    let empty = call("ps.pkill", json!([""]), json!({}));
    assert_eq!(empty, "EXC SaltInvocationError: ps.pkill needs a pattern");
}

/// How long a child may take to begin.
const DEADLINE: Duration = Duration::from_secs(30);

/// Ends the child whatever becomes of the test.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_of_the_test_gets_the_signal() {
    use std::os::unix::process::ExitStatusExt;
    let mut machine = machine(json!({}));
    machine.minion.remove_opt("__host_root__");
    // A line that no other process has.
    let mark = format!("86{}.{:09}", std::process::id(), std::process::id());
    let mut child = Guard(Command::new("sleep").arg(&mark).spawn().unwrap());
    // A child that has just begun has no command line for a moment.
    let line = format!("/proc/{}/cmdline", child.0.id());
    let begun = Instant::now();
    while !std::fs::read_to_string(&line).is_ok_and(|line| line.contains(&mark)) {
        assert!(begun.elapsed() < DEADLINE, "the child did not begin");
        std::thread::yield_now();
    }
    let asked =
        json!({"state": "process.absent", "args": {"name": format!("sleep {mark}"), "signal": 9}});
    let ret = machine.play(&asked)["ret"].clone();
    assert_eq!(ret["changes"]["killed"], json!([child.0.id()]));
    assert_eq!(child.0.wait().unwrap().signal(), Some(9));
}
