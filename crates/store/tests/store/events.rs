//! Events in the tables of Salt's returners: as Salt writes them, and once even if
//! the database dies meanwhile.

#![cfg(all(feature = "mysql", feature = "postgres"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::time::{Duration, Instant, SystemTime};

use halite_proto::{Map, Value, json};
use halite_store::{BackendOptions, Events, StoredEvent, returner_place};
use halite_test_services::{MariaDb, Postgres, Salt, Wanted};

const PATIENCE: Duration = Duration::from_secs(60);

/// The options of a returner whose database needs no password.
fn options(returner: &str, host: std::net::SocketAddr, database: &str) -> Map {
    let family = match returner {
        "mysql" => returner.to_owned(),
        _ => format!("returner.{returner}"),
    };
    let name = |option: &str| Value::from(format!("{family}.{option}"));
    let port = u64::from(host.port());
    [
        (name("host"), Value::from(host.ip().to_string())),
        (name("port"), Value::from(port)),
        (name("db"), database.into()),
        ("id".into(), "m1_master".into()),
    ]
    .into_iter()
    .collect()
}

fn place(returner: &str, options: &Map) -> BackendOptions {
    let found = returner_place("event_return", returner, options);
    found.unwrap().unwrap()
}

fn event(number: i64) -> StoredEvent {
    let data = Map::from([
        ("n", Value::from(number)),
        ("text", "é \"quoted\"\n".into()),
        (
            "list",
            Value::List(vec![Value::Nil, true.into(), 1.5.into()]),
        ),
        ("_stamp", "2026-01-02T03:04:05.000006".into()),
    ]);
    StoredEvent {
        tag: format!("my/tag/{number}"),
        data,
        at: SystemTime::now(),
    }
}

/// The same as Salt gets it.
fn salts_call(returner: &str, event: &StoredEvent) -> String {
    let record = Map::from([
        ("tag", Value::from(event.tag.as_str())),
        ("data", event.data.clone().into()),
    ]);
    let style = json::Style::default();
    let record = json::write(&record.into(), style).unwrap();
    format!(r#"[["{returner}.event_return", [[{record}]]]]"#)
}

/// What stands in a column; MariaDB's client escapes it.
fn unescaped(shown: &str) -> String {
    shown.replace("\\\\", "\\")
}

/// Stores one event by each, and compares what is in the table.
fn check_like_salt(release: &str, returner: &str, options: &Map, sql: impl Fn(&str) -> String) {
    let Some(salt) = Salt::for_test(release) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let place = place(returner, options);
    let events = Events::open(&place, dir.path(), "m1_master")
        .unwrap()
        .unwrap();
    events.save(&[event(7)]).unwrap();
    assert_eq!(events.waits().reason, None);
    assert_eq!(events.waits().count, 0);
    let opts = json::write(&options.clone().into(), json::Style::default()).unwrap();
    salt.call(&opts, &salts_call(returner, &event(7))).unwrap();
    let rows = sql("select tag, master_id, data from salt_events order by id");
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    // Salt leaves letters beyond ASCII as they are; as JSON both are the same.
    let row = |row: &str| {
        let (names, data) = row.split_at(row.find('{').unwrap());
        (names.to_owned(), json::read(&unescaped(data)).unwrap())
    };
    assert_eq!(row(rows[0]), row(rows[1]), "{returner} of {release}");
    assert!(rows[0].contains("my/tag/7") && rows[0].contains("m1_master"));
    let old =
        sql("select count(*) from salt_events where alter_time < now() - interval '60' second");
    assert_eq!(old.trim(), "0");
}

#[test]
fn rows_in_a_postgres_are_those_that_salt_writes() {
    for (release, returner) in [
        ("3008.5", "pgjsonb"),
        ("3006.30", "pgjsonb"),
        ("3006.30", "postgres"),
    ] {
        let Some(postgres) = Postgres::shared() else {
            return;
        };
        let database = postgres.database().unwrap();
        let options = options(returner, postgres.address, &database);
        check_like_salt(release, returner, &options, |statement| {
            postgres.sql(&database, statement).unwrap()
        });
    }
}

#[test]
fn rows_in_a_mariadb_are_those_that_salt_writes() {
    let Some(mariadb) = MariaDb::for_test(&Wanted::default().password("salt")) else {
        return;
    };
    let database = mariadb.database().unwrap();
    let options = options("mysql", mariadb.address, &database);
    check_like_salt("3006.30", "mysql", &options, |statement| {
        mariadb.sql(&database, statement).unwrap()
    });
}

/// Kills the database between events; `sql` reads the tags in their order.
fn check_once(
    place: &BackendOptions,
    server: &halite_test_services::Server,
    tags: impl Fn() -> String,
) {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        Events::open(place, dir.path(), "m1_master")
            .unwrap()
            .unwrap()
    };
    let events = open();
    events.save(&[event(1), event(2)]).unwrap();
    assert_eq!(events.waits().reason, None);
    server.kill();
    for number in 3..6 {
        events.save(&[event(number)]).unwrap();
    }
    // A process of PostgreSQL may still serve when the first one is dead.
    assert!(
        (2..=3).contains(&events.waits().count),
        "{:?}",
        events.waits()
    );
    drop(events);
    let events = open();
    server.start().unwrap();
    events.save(&[event(6)]).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while events.waits().count > 0 {
        assert!(Instant::now() < deadline, "{:?}", events.waits());
        std::thread::sleep(Duration::from_millis(10));
    }
    events.save(&[event(7)]).unwrap();
    let wanted: Vec<String> = (1..8).map(|number| event(number).tag).collect();
    assert_eq!(tags().lines().collect::<Vec<_>>(), wanted);
}

#[test]
fn events_that_a_postgres_misses_are_stored_once() {
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return;
    };
    let options = options("pgjsonb", postgres.address, "salt");
    check_once(&place("pgjsonb", &options), &postgres.server, || {
        postgres
            .sql("salt", "select tag from salt_events order by id")
            .unwrap()
    });
}

#[test]
fn events_that_a_mariadb_misses_are_stored_once() {
    let Some(mariadb) = MariaDb::for_test(&Wanted::default().password("salt")) else {
        return;
    };
    let options = options("mysql", mariadb.address, "salt");
    check_once(&place("mysql", &options), &mariadb.server, || {
        mariadb
            .sql("salt", "select tag from salt_events order by id")
            .unwrap()
    });
}

/// An answer was lost, and the batch comes again.
#[test]
fn a_batch_that_the_database_has_is_not_stored_again() {
    let Some(postgres) = Postgres::shared() else {
        return;
    };
    let database = postgres.database().unwrap();
    let options = options("pgjsonb", postgres.address, &database);
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        Events::open(&place("pgjsonb", &options), dir.path(), "m1")
            .unwrap()
            .unwrap()
    };
    let events = open();
    let count = || {
        let rows = postgres.sql(&database, "select count(*) from salt_events");
        rows.unwrap().trim().to_owned()
    };
    events.save(&[event(1)]).unwrap();
    // Refused, so that it waits; a copy of the spool is what is left of a master
    // that died before it could note that the batch is stored.
    let refuse = "create function refuse() returns trigger language plpgsql as \
                  $$ begin raise exception 'not now'; end $$; \
                  create trigger refuse before insert on salt_events execute function refuse()";
    postgres.sql(&database, refuse).unwrap();
    events.save(&[event(2)]).unwrap();
    assert_eq!(events.waits().count, 1);
    let copy = tempfile::tempdir().unwrap();
    let cp = |from: &std::path::Path, to: &std::path::Path| {
        let files = format!("{}/.", from.display());
        let done = std::process::Command::new("cp")
            .args(["-a", &files])
            .arg(to)
            .status();
        assert!(done.unwrap().success());
    };
    cp(dir.path(), copy.path());
    postgres
        .sql(&database, "drop trigger refuse on salt_events")
        .unwrap();
    let wait = |events: &Events| {
        let deadline = Instant::now() + PATIENCE;
        while events.waits().count > 0 {
            assert!(Instant::now() < deadline, "{:?}", events.waits());
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait(&events);
    let stored = count();
    drop(events);
    let again = Events::open(&place("pgjsonb", &options), copy.path(), "m1")
        .unwrap()
        .unwrap();
    wait(&again);
    assert_eq!(count(), stored);
}
