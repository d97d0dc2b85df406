//! A cable that is cut silently: connections stand, and nothing passes.

use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Result, ensure};
use halite_integration_tests::{Daemon, Kind, Master, MinionPlan, Program, SHORT, until};
use serde_json::{Value, json};

use crate::support::{
    NEVER, Several, allowed, between, moment, publish, starts, wait_log, wait_ping, wait_stored,
};
use halite_integration_tests::proxy::{Cable, Proxy};

/// How soon a master knows, by its own time stamps.
const KNOWN_WITHIN: Duration = Duration::from_secs(2);

/// The time of the day in UTC, as events are stamped.
fn time_of_day() -> Result<Duration> {
    let since_1970 = UNIX_EPOCH.elapsed()?;
    Ok(since_1970.saturating_sub(Duration::from_secs(since_1970.as_secs() / 86_400 * 86_400)))
}

fn named(list: &Value, id: &str) -> bool {
    list.as_array()
        .is_some_and(|ids| ids.iter().any(|name| name == id))
}

/// A plan of the proxies' ends in place of the masters'.
fn behind<'a>(plan: MinionPlan<'a>, proxies: &[Proxy]) -> MinionPlan<'a> {
    let masters = proxies.iter().map(|proxy| proxy.request().to_string());
    plan.set("master", json!(masters.collect::<Vec<_>>()))
}

pub(crate) fn returned(master: &Master, args: &[&str]) -> Result<Value> {
    let mut args = args.to_vec();
    args.push("--out=json");
    let output = master.tools(Kind::Ours).runner(&args)?;
    output.ok()?.json()
}

/// #39439 and the 2 s of presence: the cable of one of two masters is cut; that
/// one says so at once, the other serves as before.
#[test]
fn a_cut_cable_is_known_at_once_and_a_whole_one_too() -> Result<()> {
    let mut several = Several::without_minions(2, |plan| {
        plan.set("presence_events", true).set("loop_interval", 600)
    })?;
    let proxies: Vec<Proxy> = several
        .masters
        .iter()
        .map(Proxy::before)
        .collect::<Result<_>>()?;
    several.add_minions(1, |plan| behind(plan, &proxies))?;
    for master in &several.masters {
        master.wait_minion("web1")?;
    }
    let (first, second, _) = several.two()?;
    let mark = first.events()?.mark();
    let cut = time_of_day()?;
    proxies[0].set(Cable::Nowhere);
    let lost = first
        .events()?
        .wait_after(mark, "the loss", SHORT, |event| {
            event.tag == "salt/presence/change" && named(&event.data["lost"], "web1")
        })?;
    let took = between(cut, moment(&lost)?);
    let within = allowed(second, KNOWN_WITHIN)?;
    ensure!(took < within, "known after {took:?}");
    assert_eq!(returned(first, &["manage.present"])?, json!([]));
    assert_eq!(returned(first, &["manage.down"])?, json!(["web1"]));
    assert_eq!(returned(second, &["manage.present"])?, json!(["web1"]));
    wait_ping(second, "web1")?;
    let silent = first.salt(&["-t", "60", "web1", "test.ping"])?.exit(1)?;
    ensure!(
        silent
            .stdout
            .contains("It has no connection to this master since"),
        "{silent}"
    );
    let mark = first.events()?.mark();
    proxies[0].set(Cable::Whole);
    first
        .events()?
        .wait_after(mark, "its return", SHORT, |event| {
            event.tag == "salt/presence/change" && named(&event.data["new"], "web1")
        })?;
    assert_eq!(returned(first, &["manage.present"])?, json!(["web1"]));
    wait_ping(first, "web1")?;
    Ok(())
}

/// A minion that is well is never taken for away, however idle it is.
#[test]
fn an_idle_minion_stays_present() -> Result<()> {
    let several = Several::with(
        1,
        1,
        |plan| plan.set("presence_events", true).set("loop_interval", 1),
        crate::support::plain,
    )?;
    let events = several.masters[0].events()?;
    let mark = events.mark();
    let present = |_: usize| {
        events.wait_after(mark, "presence", SHORT, |event| {
            event.tag == "salt/presence/present" && named(&event.data["present"], "web1")
        })
    };
    present(0)?;
    until("six looks at who is there", SHORT, || {
        let looks = events.events();
        let looks = looks.iter().skip(mark);
        let looks = looks.filter(|event| event.tag == "salt/presence/present");
        Ok((looks.count() >= 6).then_some(()))
    })?;
    let lost: Vec<_> = events
        .events()
        .into_iter()
        .filter(|event| event.tag == "salt/presence/change" && named(&event.data["lost"], "web1"))
        .collect();
    ensure!(lost.is_empty(), "{lost:?}");
    assert_eq!(starts(&several.masters[0], "web1")?, 1);
    Ok(())
}

/// #55907 #11847: the cable is cut while a job runs, its result goes to the
/// other master, and who waits for it at the first is told so.
#[test]
fn who_waits_is_told_which_master_has_the_result() -> Result<()> {
    let mut several = Several::without_minions(2, crate::support::plain_master)?;
    let proxies: Vec<Proxy> = several
        .masters
        .iter()
        .map(Proxy::before)
        .collect::<Result<_>>()?;
    several.add_minions(1, |plan| {
        behind(plan, &proxies)
            .set("return_retry_timer", 1)
            .set("return_retry_timer_max", 1)
    })?;
    for master in &several.masters {
        master.wait_minion("web1")?;
    }
    let tokens = several.tokens();
    let gate = several.fleet.path().join("gate");
    let command = format!(
        "echo begun >> {}; while [ ! -e {} ]; do sleep 0.02; done; echo result",
        tokens.0.display(),
        gate.display()
    );
    let log = several.fleet.path().join("salt.out");
    let (first, second, _) = several.two()?;
    let second_name = proxies[1].request().to_string();
    let args = ["-t", "60", "web1", "cmd.run", &command];
    let recipe = first.tools(Kind::Ours).recipe(Program::Salt, &args)?;
    let mut salt = Daemon::new(recipe, log);
    salt.start()?;
    tokens.wait("begun")?;
    proxies[0].set(Cable::Cut);
    std::fs::write(&gate, "")?;
    let jid = until("the result at the other master", SHORT, || {
        let events = second.events()?.events();
        let mut jids = events.iter().filter_map(|event| {
            let tag = event.tag.strip_prefix("salt/job/")?;
            tag.strip_suffix("/ret/web1").map(str::to_owned)
        });
        Ok(jids.next())
    })?;
    assert_eq!(wait_stored(second, &jid, "web1")?, "result");
    proxies[0].set(Cable::Whole);
    assert_eq!(salt.wait_exit(SHORT)?, 1, "{}", salt.said());
    let said = salt.said();
    for part in ["[Result at another master]", &second_name, &jid] {
        ensure!(said.contains(part), "no {part} in {said}");
    }
    Ok(())
}

/// The acknowledgement of a scheduled job's return is lost: it is given again,
/// and is the same one.
#[test]
fn a_scheduled_return_that_comes_twice_is_kept_and_told_of_once() -> Result<()> {
    let mut several = Several::without_minions(2, crate::support::plain_master)?;
    let proxies: Vec<Proxy> = several
        .masters
        .iter()
        .map(Proxy::before)
        .collect::<Result<_>>()?;
    several.add_minions(1, |plan| {
        behind(plan, &proxies)
            .set("return_retry_timer", 1)
            .set("return_retry_timer_max", 1)
            .set(
                "schedule",
                json!({ "job": { "function": "test.echo", "args": ["mark"], "when": NEVER } }),
            )
    })?;
    for master in &several.masters {
        master.wait_minion("web1")?;
    }
    let told = |master: &Master| -> Result<Vec<String>> {
        let events = master.events()?.events();
        let of_job = events.into_iter().filter(|event| {
            event.tag.ends_with("/ret/web1") && event.data.get("schedule") == Some(&json!("job"))
        });
        Ok(of_job.map(|event| event.tag).collect())
    };
    let (first, second, minion) = several.two()?;
    // From now on the first master is heard, and does not hear that it is not.
    proxies[0].set(Cable::Mute);
    second.returns(&["web1", "schedule.run_job", "job"])?;
    for master in [&*first, &*second] {
        until("the return of the scheduled job", SHORT, || {
            Ok((!told(master)?.is_empty()).then_some(()))
        })?;
    }
    proxies[0].set(Cable::Cut);
    proxies[0].set(Cable::Whole);
    wait_log(minion.dir(), &["could not deliver a return"])?;
    until("every return to have arrived", SHORT, || {
        let status = minion.status(&["--out=json"])?.json()?;
        Ok((status["returns_waiting"] == 0).then_some(()))
    })?;
    // What came after it came over the same link.
    wait_ping(first, "web1")?;
    let first_told = told(first)?;
    assert_eq!(first_told.len(), 1, "{first_told:?}");
    assert_eq!(first_told, told(second)?, "one job id for one run");
    let jid = first_told[0].split('/').nth(2).unwrap_or_default();
    assert_eq!(wait_stored(first, jid, "web1")?, "mark");
    Ok(())
}

/// `salt` while its master is killed: it says so at once, and not with 0.
#[test]
fn salt_says_that_its_master_was_killed() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let command = format!("{}; sleep 60", tokens.command("begun"));
    let log = several.fleet.path().join("salt.out");
    let (first, second, _) = several.two()?;
    let args = ["-t", "60", "web1", "cmd.run", &command];
    let recipe = first.tools(Kind::Ours).recipe(Program::Salt, &args)?;
    let mut salt = Daemon::new(recipe, log);
    salt.start()?;
    tokens.wait("begun")?;
    first.kill9()?;
    let begun = Instant::now();
    assert_eq!(salt.wait_exit(SHORT)?, 1);
    let took = begun.elapsed();
    ensure!(took < Duration::from_secs(15), "took {took:?}");
    let said = salt.said();
    ensure!(said.contains("The salt master went away"), "{said}");
    ensure!(said.contains("salt-run jobs.lookup_jid"), "{said}");
    publish(second, "web1", "true")?;
    Ok(())
}
