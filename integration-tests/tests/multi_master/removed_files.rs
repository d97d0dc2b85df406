//! Files of a minion that somebody removes while it runs.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::{SHORT, until};

use crate::support::{Several, plain_master, publish, wait_log, wait_stored};

/// What runs while both masters are dead, and everything in `cachedir` is
/// removed, is returned, and not run again after the minion was killed too.
#[test]
fn a_removed_cache_costs_no_result_and_repeats_no_job() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let gate = several.fleet.path().join("gate");
    let command = format!(
        "{}; while [ ! -e {} ]; do sleep 0.02; done; echo result",
        tokens.command("begun"),
        gate.display()
    );
    let (first, second, minion) = several.two()?;
    let jid = publish(first, "web1", &command)?;
    tokens.wait("begun")?;
    first.kill9()?;
    second.kill9()?;
    let cache = minion.dir().join("cache");
    ensure!(
        cache.join("claims").exists(),
        "no claims in {}",
        cache.display()
    );
    for entry in fs::read_dir(&cache)?.flatten() {
        let path = entry.path();
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(path)?,
            false => fs::remove_file(path)?,
        }
    }
    until("the claims", SHORT, || {
        let claims = fs::read_to_string(cache.join("claims")).unwrap_or_default();
        Ok(claims.contains(&jid).then_some(()))
    })?;
    fs::write(&gate, "")?;
    until("the return on disk", SHORT, || {
        let status = minion.status(&["--out=json"])?.json()?;
        let is_kept = status["returns_waiting"] == 1 && status["returns_on_disk"] == true;
        Ok(is_kept.then_some(()))
    })?;
    wait_log(
        minion.dir(),
        &["the record of jobs was removed; writing it again"],
    )?;
    minion.kill9()?;
    minion.start()?;
    first.start()?;
    second.start()?;
    let stored = wait_stored(first, &jid, "web1")?;
    ensure!(
        stored.as_str().is_some_and(|text| text.ends_with("result")),
        "{stored}"
    );
    assert_eq!(tokens.count("begun"), 1);
    Ok(())
}

/// The sockets of the event buses of a minion and a master come back.
#[test]
fn removed_event_sockets_come_back() -> Result<()> {
    let several = Several::with(1, 1, plain_master, crate::support::plain)?;
    let (master, minion) = (&several.masters[0], &several.minions[0]);
    for dir in [master.dir().join("run"), minion.dir().join("run")] {
        let mut removed = 0;
        for entry in fs::read_dir(&dir)?.flatten() {
            if entry.file_name().to_string_lossy().contains("_event_") {
                fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
        ensure!(removed > 0, "no sockets in {}", dir.display());
    }
    until("the status", SHORT, || {
        let status = minion.status(&["--out=json"])?;
        Ok(status.json().is_ok().then_some(()))
    })?;
    until("the event bus", SHORT, || {
        let output = master.salt(&["web1", "test.ping"])?;
        Ok(output.stdout.contains("True").then_some(()))
    })
}
