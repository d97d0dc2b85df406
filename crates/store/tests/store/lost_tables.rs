//! A database that is restored from a backup, or made again, while masters run.

#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::time::{Duration, Instant};

use halite_proto::{Jid, Map};
use halite_store::{BackendOptions, JobTables, PostgresOptions, Store, StoreError, StoreOptions};
use halite_store_servers::Address;
use halite_test_services::{Postgres, Wanted};

/// How long a server may be thought to be away.
const PATIENCE: Duration = Duration::from_secs(20);

fn store(postgres: &Postgres, database: &str) -> Store {
    let address = Address::parse(&postgres.url(database)).unwrap();
    let tables = JobTables::Jsonb;
    let options = BackendOptions::Postgres(Box::new(PostgresOptions { address, tables }));
    halite_store::open(&StoreOptions::all(options))
}

/// Tries until it works: a server that was away is found again after a pause.
fn soon<T>(mut attempt: impl FnMut() -> Result<T, StoreError>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(error) if Instant::now() > deadline => panic!("{error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn tables_that_are_gone_are_made_again() {
    let Some(postgres) = Postgres::shared() else {
        return;
    };
    let name = postgres.database().unwrap();
    let store = store(postgres, &name);
    let job = Jid::parse("20260102030405000001").unwrap();
    let load = Map::from([("fun", "test.ping")]);
    store.jobs.save_load(&job, &load, None).unwrap();
    postgres
        .sql(&name, "drop schema public cascade; create schema public")
        .unwrap();
    soon(|| store.jobs.save_load(&job, &load, None));
    assert!(soon(|| store.jobs.has_load(&job)));
}

#[test]
fn a_server_that_died_is_used_again() {
    let Some(postgres) = Postgres::for_test(&Wanted::default().password("secret").tls()) else {
        return;
    };
    let ca = &postgres.tls.as_ref().unwrap().ca;
    let url = format!("salt?ca={}", ca.display());
    let store = store(&postgres, &url);
    let job = Jid::parse("20260102030405000001").unwrap();
    let load = Map::from([("fun", "test.ping")]);
    store.jobs.save_load(&job, &load, None).unwrap();
    postgres.server.kill();
    let error = store.jobs.has_load(&job).unwrap_err();
    assert!(error.is_of_server(), "{error}");
    postgres.server.start().unwrap();
    assert!(soon(|| store.jobs.has_load(&job)));
}

#[test]
fn a_server_with_another_certificate_is_not_spoken_to() {
    let Some(postgres) = Postgres::for_test(&Wanted::default().password("secret").tls()) else {
        return;
    };
    // The system's authorities did not sign it.
    let store = store(&postgres, "salt?tls=yes");
    let job = Jid::parse("20260102030405000001").unwrap();
    let error = store.jobs.has_load(&job).unwrap_err();
    assert!(error.is_of_server(), "{error}");
}
