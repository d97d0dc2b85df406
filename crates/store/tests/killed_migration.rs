//! Jobs that are moved by a process that is killed in the middle: a second run
//! completes the move, and each return is there once.

#![cfg(all(feature = "postgres", feature = "redis"))]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and its child reports"
)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use halite_crypto::HashType;
use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::migrate::{JobsCopy, copy_jobs};
use halite_store::{BackendOptions, JobTables, PostgresOptions, RedisOptions, Store, StoreOptions};
use halite_store_servers::{Address, ServerKind};
use halite_test_services::{Postgres, Redis, Wanted};

const JOBS: u64 = 800;

const MINIONS: [&str; 2] = ["web1", "web2"];

/// Set for the process that is killed: from where and to where it copies.
const CHILD: &str = "HALITE_TEST_MIGRATION";

fn jid(number: u64) -> Jid {
    Jid::parse(format!("20260102030405{number:06}")).unwrap()
}

fn in_files(dir: &Path) -> Store {
    halite_store::open(&StoreOptions::local_fs(dir, HashType::Sha256))
}

/// A URL, or a directory.
fn place(text: &str) -> Store {
    let Ok(address) = Address::parse(text) else {
        return in_files(Path::new(text));
    };
    let options = match address.kind {
        ServerKind::Redis => {
            let keep = Duration::from_secs(24 * 3600);
            BackendOptions::Redis(Box::new(RedisOptions::new(address, keep)))
        }
        _ => BackendOptions::Postgres(Box::new(PostgresOptions {
            address,
            tables: JobTables::Jsonb,
        })),
    };
    halite_store::open(&StoreOptions::all(options))
}

fn fill(store: &Store) {
    let minions = MINIONS.map(|id| MinionId::parse(id).unwrap());
    for job in (0..JOBS).map(jid) {
        let load = Map::from([("fun", "test.ping"), ("user", "alice"), ("tgt", "*")]);
        store.jobs.prepare(&job, false).unwrap();
        store.jobs.save_load(&job, &load, Some(&minions)).unwrap();
        for id in &minions {
            let fun = FunSpec::One("test.ping".to_owned());
            let of = ReturnJid::Jid(job.clone());
            let ret = JobReturn::new(of, fun, Vec::new(), Value::from(id), 0);
            store.jobs.save_return(&job, id, &ret).unwrap();
        }
    }
}

/// Copies until it is killed.
fn copy_until_killed(places: &str) {
    let (from, to) = places.split_once(' ').unwrap();
    let (from, to) = (place(from), place(to));
    let report = |done: usize, _| {
        println!("\ndone {done}");
        true
    };
    copy_jobs(&from.jobs, &to.jobs, JobsCopy::new(false), report).unwrap();
}

/// Kills a process that has copied some jobs and copies others.
fn kill_one_in_the_middle(test: &str, from: &Path, to: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", test])
        .env(CHILD, format!("{} {to}", from.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut done = lines.filter_map(|line| {
        let done = line.unwrap().strip_prefix("done ")?.parse::<u64>();
        Some(done.unwrap())
    });
    assert!(done.any(|done| done > 0), "it has ended");
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
}

fn check(test: &str, to: &str) {
    if let Ok(places) = std::env::var(CHILD) {
        return copy_until_killed(&places);
    }
    let dir = tempfile::tempdir().unwrap();
    let files = in_files(dir.path());
    fill(&files);
    kill_one_in_the_middle(test, dir.path(), to);

    let there = place(to);
    let all = usize::try_from(JOBS).unwrap();
    let mut steps = Vec::new();
    let copied = copy_jobs(&files.jobs, &there.jobs, JobsCopy::new(false), |done, _| {
        steps.push(done);
        true
    });
    let copied = copied.unwrap();
    assert!(copied.known > 0 && copied.copied > 0, "{copied:?}");
    assert_eq!((copied.jobs, copied.known + copied.copied), (all, all));
    assert_eq!(copied.returns, all * MINIONS.len());
    assert_eq!(copied.hash, copied.hash_there);
    assert!(copied.different.is_empty(), "{copied:?}");
    assert_eq!(there.jobs.newest(usize::MAX).unwrap().len(), all);
    // Nothing is left to do.
    let again = copy_jobs(&files.jobs, &there.jobs, JobsCopy::new(false), |_, _| true).unwrap();
    assert_eq!((again.known, again.copied), (all, 0));
}

/// The child has the place from its parent and starts no server.
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

#[test]
fn to_files() {
    let to = tempfile::tempdir().unwrap();
    check("to_files", &to.path().display().to_string());
}

#[test]
fn to_a_redis() {
    if is_child() {
        return check("", "");
    }
    if let Some(redis) = Redis::for_test(&Wanted::default()) {
        check("to_a_redis", &redis.url());
    }
}

#[test]
fn to_a_postgres() {
    if is_child() {
        return check("", "");
    }
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        check("to_a_postgres", &postgres.url("salt"));
        let returns = postgres.sql("salt", "select count(*) from salt_returns");
        assert_eq!(returns.unwrap().trim(), "1600");
    }
}
