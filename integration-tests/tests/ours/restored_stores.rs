//! What `salt-key` shows after a database was put back to yesterday's copy.

use std::fs::File;
use std::process::Command;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, START, until};
use halite_test_services::{Etcd, MariaDb, Postgres, Redis, Wanted, find_program};
use serde_json::{Value, json};

const MINIONS: [&str; 3] = ["deleted", "good", "rejected"];

/// The ids that `salt-key -L` shows: accepted, waiting, rejected.
fn listed(master: &Master) -> Result<[Value; 3]> {
    let all = master.key(&["-L", "--out=json"])?.ok()?.json()?;
    Ok(["minions", "minions_pre", "minions_rejected"].map(|state| all[state].clone()))
}

fn is_listed(master: &Master, wanted: &[Value; 3]) -> Result<()> {
    until(&format!("the keys {wanted:?}"), START, || {
        Ok((listed(master)? == *wanted).then_some(()))
    })
}

/// Of three minions that were accepted yesterday, one is rejected today and one deleted.
fn check(
    name: &str,
    url: &str,
    save: impl Fn() -> Result<()>,
    restore: impl Fn() -> Result<()>,
) -> Result<()> {
    let fleet = Fleet::new(name)?;
    let plan = |name: &str| fleet.master(name, Kind::Ours).set("store", url);
    let mut master = plan("m1").start()?;
    let mut stranger = plan("m2").key_pair_of(&master).lay()?;
    for id in MINIONS {
        let mut minion = fleet.minion(id, Kind::Ours).of(&master).start()?;
        until(&format!("{id} to wait"), START, || {
            let [_, waiting, _] = listed(&master)?;
            Ok((waiting == json!([id])).then_some(()))
        })?;
        minion.stop()?;
        master.key(&["-y", "-a", id])?.ok()?;
    }
    is_listed(&master, &[json!(MINIONS), json!([]), json!([])])?;
    save()?;
    master
        .key(&["-y", "-r", "rejected", "--include-accepted"])?
        .ok()?;
    master.key(&["-y", "-d", "deleted"])?.ok()?;
    let today = [json!(["good"]), json!([]), json!(["rejected"])];
    is_listed(&master, &today)?;
    // The master looks once a second, and keeps it.
    let ended = master.dir().join("cache/mirrored_keys/ended");
    until("the master to hear of it", START, || {
        let is_kept = |id: &str| ended.join(id).exists();
        Ok((is_kept("deleted") && is_kept("rejected")).then_some(()))
    })?;
    master.stop()?;
    restore()?;
    // A program beside a master that does not run has its files, too.
    ensure!(listed(&master)? == today, "{:?}", listed(&master)?);
    master.start()?;
    ensure!(listed(&master)? == today, "{:?}", listed(&master)?);
    let said = "the store lists as accepted a key that was rejected";
    until("the master to say it", START, || {
        Ok(master.daemon().said().contains(said).then_some(()))
    })?;
    // Who did not run has heard of nothing, as docs/stores.md says.
    stranger.start()?;
    let yesterday = [json!(MINIONS), json!([]), json!([])];
    ensure!(listed(&stranger)? == yesterday);
    // A new acceptance counts at once, wherever it is made.
    stranger
        .key(&["-y", "-r", "good", "--include-accepted"])?
        .ok()?;
    is_listed(
        &master,
        &[json!([]), json!([]), json!(["good", "rejected"])],
    )?;
    master
        .key(&["-y", "-a", "rejected", "--include-rejected"])?
        .ok()?;
    is_listed(&master, &[json!(["rejected"]), json!([]), json!(["good"])])?;
    let there = [json!(["deleted", "rejected"]), json!([]), json!(["good"])];
    is_listed(&stranger, &there)
}

fn run(program: &str, args: &[&str]) -> Result<()> {
    let status = Command::new(program).args(args).status()?;
    ensure!(status.success(), "{program} {args:?}: {status}");
    Ok(())
}

#[test]
fn decisions_of_today_are_shown_on_a_postgres_of_yesterday() -> Result<()> {
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("salt.dump").display().to_string();
    let (ip, port) = (postgres.address.ip(), postgres.address.port());
    let place = [ip.to_string(), port.to_string()];
    let tool = |name: &str, args: &[&str]| {
        let server = ["-h", &place[0], "-p", &place[1], "-U", "salt"];
        let program = find_program(name).map(|path| path.display().to_string());
        run(
            program.as_deref().unwrap_or(name),
            &[&server[..], args].concat(),
        )
    };
    let save = || tool("pg_dump", &["--format=custom", "--file", &file, "salt"]);
    let restore = || {
        let how = ["--clean", "--if-exists", "--single-transaction"];
        tool(
            "pg_restore",
            &[&how[..], &["--dbname", "salt", &file]].concat(),
        )
    };
    check("yesterdaypg", &postgres.url("salt"), save, restore)
}

#[test]
fn decisions_of_today_are_shown_on_a_mariadb_of_yesterday() -> Result<()> {
    let Some(mariadb) = MariaDb::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let socket = format!("--socket={}", mariadb.server.dir().join("socket").display());
    let file = mariadb.server.dir().join("yesterday.sql");
    let tool = |name: &str| {
        let program = find_program(name).unwrap_or_else(|| name.into());
        let mut command = Command::new(program);
        command.args(["--no-defaults", "--user=root", &socket]);
        command
    };
    let save = || {
        let mut dump = tool("mariadb-dump");
        dump.args(["--single-transaction", "--hex-blob", "salt"]);
        let status = dump.stdout(File::create(&file)?).status()?;
        ensure!(status.success(), "mariadb-dump: {status}");
        Ok(())
    };
    let restore = || {
        let mut fill = tool("mariadb");
        let status = fill.arg("salt").stdin(File::open(&file)?).status()?;
        ensure!(status.success(), "mariadb: {status}");
        Ok(())
    };
    check("yesterdaymy", &mariadb.url("salt"), save, restore)
}

#[test]
fn decisions_of_today_are_shown_on_an_etcd_of_yesterday() -> Result<()> {
    let Some(etcd) = Etcd::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let path = |name: &str| etcd.server.dir().join(name).display().to_string();
    let (data, copy) = (path("data"), path("yesterday.db"));
    let save = || etcd.ctl(&["snapshot", "save", &copy]).map(drop);
    let restore = || {
        etcd.server.kill();
        run("rm", &["-r", &data])?;
        etcd.ctl(&["snapshot", "restore", &copy, "--data-dir", &data])?;
        etcd.server.start()
    };
    check("yesterdayetcd", &etcd.url(), save, restore)
}

/// Its log, in which every change is before it is answered.
#[test]
fn decisions_of_today_are_shown_on_a_redis_of_yesterday() -> Result<()> {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let path = |name: &str| redis.server.dir().join(name).display().to_string();
    let (log, copy) = (path("appendonlydir"), path("yesterday"));
    let save = || run("cp", &["-a", &log, &copy]);
    let restore = || {
        redis.server.kill();
        run("rm", &["-r", &log])?;
        run("cp", &["-a", &copy, &log])?;
        redis.server.start()
    };
    check("yesterdayredis", &redis.url(), save, restore)
}
