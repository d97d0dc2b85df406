//! Options of several masters that have no file of their own.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, MinionPlan, SHORT, START, Signal, until};
use serde_json::{Value, json};

use crate::support::{
    Several, allowed, plain_master, publish, set_masters, starts, stored, wait_log, wait_ping,
    wait_stored,
};

/// `salt-minion status` tells how it is with each master, and its exit code
/// whether all is well.
#[test]
fn the_status_says_what_is_wrong_with_which_master() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let (first, second, minion) = several.two()?;
    let (one, two) = (
        first.address().request().to_string(),
        second.address().request().to_string(),
    );
    let status = minion.status(&["--out=json"])?.exit(0)?.json()?;
    assert_eq!(status["id"], "web1");
    let of = |status: &Value, name: &str| -> Result<Value> {
        let masters = status["masters"].as_array().context("no masters")?.clone();
        let found = masters.into_iter().find(|master| master["master"] == name);
        found.context("no such master")
    };
    for name in [&one, &two] {
        let master = of(&status, name)?;
        assert_eq!(master["state"], "ready");
        ensure!(
            master["round_trip_ms"].as_f64().is_some_and(|ms| ms > 0.0),
            "{master}"
        );
        assert_eq!(master["last_error"], Value::Null);
    }
    first.kill9()?;
    let lost = until("the loss to show", SHORT, || {
        let output = minion.status(&["--out=json"])?;
        let status = output.json()?;
        let master = of(&status, &one)?;
        let is_lost = master["state"] != "ready" && !master["last_error"].is_null();
        // It may not have heard of it yet.
        is_lost.then(|| output.exit(1).map(|_| status)).transpose()
    })?;
    assert_eq!(of(&lost, &two)?["state"], "ready");
    let table = minion.status(&[])?.exit(1)?.stdout;
    ensure!(table.contains("MASTER") && table.contains(&one), "{table}");
    minion.stop()?;
    let said = minion.status(&[])?.exit(1)?;
    ensure!(said.stderr.contains("no minion runs here"), "{said}");
    Ok(())
}

/// `random_master` spreads minions over failover masters.
#[test]
fn random_master_spreads_minions_over_masters() -> Result<()> {
    const MINIONS: usize = 8;
    let mut several = Several::without_minions(2, plain_master)?;
    several.add_minions(MINIONS, |plan| {
        plan.set("master_type", "failover")
            .set("random_master", true)
    })?;
    let count = |several: &Several| -> Result<Vec<usize>> {
        several
            .masters
            .iter()
            .map(|master| {
                let all = several.minions.iter();
                all.map(|minion| starts(master, minion.id())).sum()
            })
            .collect()
    };
    until("every minion to be served by one", SHORT, || {
        let counts = count(&several)?;
        Ok((counts.iter().sum::<usize>() == MINIONS).then_some(()))
    })?;
    // All on one side would be chance once in 128 times; nobody is nowhere.
    let counts = count(&several)?;
    assert_eq!(counts.iter().sum::<usize>(), MINIONS, "{counts:?}");
    Ok(())
}

/// A bound of tries ends `salt-call`, never the daemon.
#[test]
fn master_tries_ends_salt_call_and_never_the_daemon() -> Result<()> {
    let mut several = Several::without_minions(2, plain_master)?;
    for master in &mut several.masters {
        master.kill9()?;
    }
    several.add_minions(1, |plan| {
        plan.set("master_type", "failover")
            .set("master_tries", 1)
            .set("auth_tries", 1)
            .set("auth_timeout", 1)
    })?;
    let minion = several.minions[0].dir().to_path_buf();
    wait_log(&minion, &["No master could be reached"])?;
    let begun = Instant::now();
    several.minions[0].call(&["test.ping"])?.exit(1)?;
    let took = begun.elapsed();
    let within = allowed(&several.masters[0], Duration::from_secs(10))?;
    ensure!(took < within, "it tried on and on: {took:?}");
    several.minions[0].daemon().check_runs()?;
    several.masters[1].start()?;
    wait_ping(&several.masters[1], "web1")?;
    Ok(())
}

/// `master_type: func`: a Python function names the masters.
#[test]
fn a_function_names_the_masters() -> Result<()> {
    let mut several = Several::without_minions(2, plain_master)?;
    let modules = several.fleet.path().join("modules");
    fs::create_dir_all(&modules)?;
    let masters: Vec<String> = several
        .masters
        .iter()
        .map(|master| master.address().request().to_string())
        .collect();
    let text = format!("def pick():\n    return {}\n", json!(masters));
    fs::write(modules.join("my_masters.py"), text)?;
    let dirs = json!([modules]);
    let minion = plan_func(several.fleet.minion("web1", Kind::Ours), &dirs).start()?;
    for master in &several.masters {
        master.wait_minion("web1")?;
        master.check_ping(&["web1"])?;
    }
    several.minions.push(minion);
    fs::write(modules.join("my_masters.py"), "def pick():\n    return 7\n")?;
    let plan = plan_func(several.fleet.minion("web2", Kind::Ours), &json!([modules]));
    let mut wrong = plan.start()?;
    assert_eq!(wrong.daemon().wait_exit(START)?, 1);
    ensure!(
        wrong
            .daemon()
            .said()
            .contains("returns neither a string nor a list"),
        "{}",
        wrong.daemon().said()
    );
    Ok(())
}

fn plan_func<'a>(plan: MinionPlan<'a>, dirs: &Value) -> MinionPlan<'a> {
    plan.set("master", "my_masters.pick")
        .set("master_type", "func")
        .set("module_dirs", dirs.clone())
}

/// #60440: the list of masters gets shorter; the result that was owed to the
/// one that is gone goes to the one that is left.
#[test]
fn the_list_of_masters_gets_shorter() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let (first, second, minion) = several.two()?;
    let at = |name: &str| first.dir().join(name);
    let (begun, gate, ran) = (at("begun"), at("gate"), at("ran"));
    let command = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.02; done; touch {}; echo owed",
        begun.display(),
        gate.display(),
        ran.display()
    );
    let jid = publish(first, "web1", &command)?;
    until("the job to begin", SHORT, || {
        Ok(begun.exists().then_some(()))
    })?;
    for master in [&mut *first, &mut *second] {
        master.daemon().signal(Signal::SIGKILL)?;
        master.kill9()?;
    }
    fs::write(&gate, "")?;
    until("the job to end", SHORT, || Ok(ran.exists().then_some(())))?;
    minion.stop()?;
    set_masters(minion, &[second.address().request().to_string()])?;
    second.start()?;
    minion.start()?;
    second.wait_minion("web1")?;
    second.check_ping(&["web1"])?;
    assert_eq!(wait_stored(second, &jid, "web1")?, "owed");
    minion.daemon().check_runs()
}

/// #65042 #65301: a result goes to the master that asked, and to no other.
#[test]
fn a_result_goes_to_the_master_that_asked_only() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let (first, second, _) = several.two()?;
    let jid = publish(first, "web1", "echo mine")?;
    wait_stored(first, &jid, "web1")?;
    second.check_ping(&["web1"])?;
    assert_eq!(stored(second, &jid, "web1")?, None);
    assert_eq!(
        crate::support::count_return_events(second, &jid, "web1")?,
        0
    );
    Ok(())
}

/// `max_minions`: one master is full, the other serves; when there is room
/// again both do.
#[test]
fn a_full_master_does_not_hold_the_other_up() -> Result<()> {
    let fleet = Fleet::new("full")?;
    let first = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("max_minions", 1)
        .start()?;
    let second = fleet
        .master("m2", Kind::Ours)
        .auto_accept()
        .key_pair_of(&first)
        .start()?;
    let start = |id: &str| fleet.minion(id, Kind::Ours).of(&first).of(&second).start();
    // As in Salt, a master is full when there are more than that.
    let (mut web1, web2) = (start("web1")?, start("web2")?);
    first.wait_minion("web1")?;
    first.wait_minion("web2")?;
    let web3 = start("web3")?;
    second.wait_minion("web3")?;
    wait_log(web3.dir(), &["the master is full"])?;
    second.check_ping(&["web1", "web2", "web3"])?;
    web1.stop()?;
    wait_ping(&first, "web3")?;
    drop(web2);
    Ok(())
}

/// `minion_sign_messages` with a master that demands it.
#[test]
fn signed_messages_satisfy_a_master_that_demands_them() -> Result<()> {
    let several = Several::with(
        2,
        1,
        |plan| {
            plan.set("require_minion_sign_messages", true)
                .set("drop_messages_signature_fail", true)
        },
        |plan| {
            plan.set("minion_sign_messages", true)
                .set("source_interface_name", "lo")
        },
    )?;
    for master in &several.masters {
        master.check_ping(&["web1"])?;
    }
    Ok(())
}

/// `startup_states` once, whatever the number of masters.
#[test]
fn states_at_the_start_are_applied_once() -> Result<()> {
    let mut several = Several::without_minions(2, |plan| {
        plan.file("begin.sls", "begun:\n  test.succeed_with_changes: []\n")
    })?;
    several.add_minions(1, |plan| {
        plan.set("startup_states", "sls")
            .set("sls_list", json!(["begin"]))
    })?;
    let applied = |several: &Several| -> Result<usize> {
        let mut count = 0;
        for master in &several.masters {
            let events = master.events()?.events();
            let is_it = |data: &Value| data.get("fun") == Some(&json!("state.sls"));
            count += events
                .iter()
                .filter(|event| event.tag.contains("/ret/web1") && is_it(&event.data))
                .count();
        }
        Ok(count)
    };
    until("the states at the start", SHORT, || {
        Ok((applied(&several)? > 0).then_some(()))
    })?;
    for master in &several.masters {
        master.wait_minion("web1")?;
        master.check_ping(&["web1"])?;
    }
    assert_eq!(applied(&several)?, 1);
    Ok(())
}
