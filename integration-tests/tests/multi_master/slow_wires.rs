//! Large returns over wires that are slow, stand still, or are cut.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{Kind, SHORT, until};

use crate::support::{Several, plain_master, publish, wait_ping, wait_stored};
use halite_integration_tests::proxy::{Cable, Proxy};

/// More than the wire carries, and the buffers of the system hold, in twice the
/// time that a delivery may stand still.
const RETURN_BYTES: usize = 30_000_000;

const BYTES_PER_S: usize = 2_500_000;

/// A command whose result is as long as that.
fn large() -> String {
    format!("head -c {RETURN_BYTES} /dev/zero | tr '\\0' x")
}

/// A master, and a minion behind a cable.
fn behind_a_cable() -> Result<(Several, Proxy)> {
    let mut several = Several::without_minions(1, plain_master)?;
    let proxy = Proxy::before(&several.masters[0])?;
    let master = proxy.request().to_string();
    several.add_minions(1, |plan| {
        plan.set("master", serde_json::json!([master]))
            .set("return_retry_timer", 1)
            .set("return_retry_timer_max", 1)
    })?;
    several.masters[0].wait_minion("web1")?;
    Ok((several, proxy))
}

fn check_whole(several: &Several, jid: &str) -> Result<()> {
    let stored = wait_stored(&several.masters[0], jid, "web1")?;
    let length = stored.as_str().map(str::len);
    ensure!(length == Some(RETURN_BYTES), "{length:?} bytes are stored");
    Ok(())
}

#[test]
fn a_large_return_arrives_over_a_slow_wire_and_holds_up_no_other() -> Result<()> {
    let (several, proxy) = behind_a_cable()?;
    let master = &several.masters[0];
    proxy.set_pace(BYTES_PER_S);
    let before = proxy.passed_to_master();
    let jid = publish(master, "web1", &large())?;
    until("a part of the return", SHORT, || {
        Ok((proxy.passed_to_master() > before + BYTES_PER_S).then_some(()))
    })?;
    let begun = Instant::now();
    wait_ping(master, "web1")?;
    let took = begun.elapsed();
    ensure!(took < Duration::from_secs(5), "a ping took {took:?}");
    ensure!(
        proxy.passed_to_master() < before + RETURN_BYTES,
        "the return was there before the ping"
    );
    check_whole(&several, &jid)?;
    let passed = proxy.passed_to_master() - before;
    ensure!(passed < RETURN_BYTES * 5 / 4, "{passed} bytes were sent");
    Ok(())
}

#[test]
fn a_large_return_goes_on_where_the_wire_was_cut() -> Result<()> {
    let (several, proxy) = behind_a_cable()?;
    let master = &several.masters[0];
    proxy.set_pace(BYTES_PER_S);
    let before = proxy.passed_to_master();
    let jid = publish(master, "web1", &large())?;
    for part in 1..=3 {
        until("a part of the return", SHORT, || {
            let wanted = before + RETURN_BYTES * part / 5;
            Ok((proxy.passed_to_master() > wanted).then_some(()))
        })?;
        proxy.set(Cable::Cut);
        proxy.set(Cable::Whole);
    }
    check_whole(&several, &jid)?;
    let passed = proxy.passed_to_master() - before;
    ensure!(passed < RETURN_BYTES * 2, "{passed} bytes were sent");
    Ok(())
}

/// One that no request can carry is cut, which it says, and arrives.
#[test]
fn an_output_that_no_request_can_carry_is_cut_and_says_so() -> Result<()> {
    let several = Several::start(1, 1)?;
    let master = &several.masters[0];
    let jid = publish(master, "web1", "head -c 110000000 /dev/zero | tr '\\0' x")?;
    let stored = wait_stored(master, &jid, "web1")?;
    let text = stored.as_str().unwrap_or_default();
    ensure!(
        text.len() > 90_000_000 && text.ends_with("more than a return can carry]"),
        "{} bytes are stored",
        text.len()
    );
    until("the spool to be empty", SHORT, || {
        let status = several.minions[0].status(&["--out=json"])?.json()?;
        Ok((status["returns_waiting"] == 0).then_some(()))
    })
}

/// What is too large for an event is shown whole by all that is asked for it.
#[test]
fn runners_show_values_that_are_too_large_for_an_event() -> Result<()> {
    let several = Several::with(
        1,
        1,
        |plan| plan.set("max_event_size", 4000),
        crate::support::plain,
    )?;
    let master = &several.masters[0];
    let command = "head -c 9000 /dev/zero | tr '\\0' x";
    let jid = publish(master, "web1", command)?;
    wait_stored(master, &jid, "web1")?;
    let long = "x".repeat(9000);
    for args in [
        &["jobs.lookup_jid", &jid, "--out=json"][..],
        &["jobs.print_job", &jid, "--out=json"],
        &["salt.execute", "web1", "cmd.run", command, "--out=json"],
    ] {
        let shown = master.tools(Kind::Ours).runner(args)?.ok()?;
        ensure!(
            shown.stdout.contains(&long) && !shown.stdout.contains("VALUE_TRIMMED"),
            "{args:?}: {} bytes",
            shown.stdout.len()
        );
    }
    Ok(())
}
