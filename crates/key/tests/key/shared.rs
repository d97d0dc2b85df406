//! Two masters whose keys are on one server: none undoes what the other did, and
//! restoring the server to an earlier state undoes no decision.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::cell::RefCell;
use std::process::Command;

use halite_key::{KeyState, KeyStore};
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, MinionId, Value};
use halite_test_services::{MariaDb, Postgres, find_program};
use tempfile::TempDir;

use crate::servers::{Place, on_each_server};

const BANK: &str = "keys";

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

fn state(store: &KeyStore, id: &MinionId) -> Option<KeyState> {
    store.lookup(id).unwrap().map(|key| key.state)
}

/// Two masters with files of their own.
fn two(place: &Place) -> ([KeyStore; 2], [TempDir; 2]) {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let stores = [0, 1].map(|number: usize| place.master(dirs[number].path()));
    (stores, dirs)
}

#[test]
fn of_two_masters_none_undoes_what_the_other_did() {
    on_each_server(|place| {
        let ([one, two], _dirs) = two(place);
        for number in 0..20 {
            let web = id(&format!("web{number}"));
            one.put(&web, KeyState::Pending, "key").unwrap();
            let (accepted, rejected) = std::thread::scope(|scope| {
                let accept = scope.spawn(|| one.accept(&web, &[KeyState::Pending]).unwrap());
                let reject = scope.spawn(|| two.reject(&web, &[KeyState::Pending]).unwrap());
                (accept.join().unwrap(), reject.join().unwrap())
            });
            let name = place.name;
            assert!(
                accepted.is_some() != rejected.is_some(),
                "{name}: both or none"
            );
            let wanted = match accepted {
                Some(_) => KeyState::Accepted,
                None => KeyState::Rejected,
            };
            assert_eq!(state(&one, &web), Some(wanted), "{name}");
            assert_eq!(state(&two, &web), Some(wanted), "{name}");
        }
    });
}

/// Of many masters to which a new minion comes at once, one files its key.
#[test]
fn of_masters_that_file_a_new_key_at_once_one_does() {
    on_each_server(|place| {
        let ([one, two], _dirs) = two(place);
        for number in 0..20 {
            let web = id(&format!("web{number}"));
            let file = |store: &KeyStore, pem| {
                let filed = store.put_over(&web, None, KeyState::Pending, pem);
                filed.unwrap()
            };
            let (first, second) = std::thread::scope(|scope| {
                let first = scope.spawn(|| file(&one, "first"));
                let second = scope.spawn(|| file(&two, "second"));
                (first.join().unwrap(), second.join().unwrap())
            });
            assert!(first != second, "{}: both or none", place.name);
            let wanted = if first { "first" } else { "second" };
            for store in [&one, &two] {
                assert_eq!(store.lookup(&web).unwrap().unwrap().pem, wanted);
            }
        }
    });
}

/// What lies on the server, to be put back.
fn yesterday(place: &Place, names: &[&str]) -> Vec<(String, Vec<u8>)> {
    let cache = place.options.cache().unwrap();
    let fetch = |name: &&str| {
        let bytes = cache.fetch(BANK, name).unwrap().unwrap();
        ((*name).to_owned(), bytes)
    };
    names.iter().map(fetch).collect()
}

fn put_back(place: &Place, copy: &[(String, Vec<u8>)]) {
    let cache = place.options.cache().unwrap();
    for (name, bytes) in copy {
        cache.store(BANK, name, bytes.clone()).unwrap();
    }
}

/// What was rejected or deleted today is accepted in yesterday's copy: the master that
/// decided and the one that saw it do not believe it, also after a restart, and a new
/// acceptance counts wherever it is made.
#[test]
fn a_key_of_yesterday_is_accepted_again_by_somebody_alone() {
    on_each_server(|place| {
        let ([one, two], dirs) = two(place);
        let name = place.name;
        let names = ["rejected", "deleted", "good"];
        for minion in names {
            one.put(&id(minion), KeyState::Accepted, "key").unwrap();
        }
        assert_eq!(two.list(KeyState::Accepted).unwrap().len(), 3, "{name}");
        let copy = yesterday(place, &names);
        one.reject(&id("rejected"), &[KeyState::Accepted]).unwrap();
        assert_eq!(one.delete(&id("deleted")).unwrap().len(), 1);
        // The other one sees what the first one did.
        assert_eq!(
            two.list(KeyState::Accepted).unwrap(),
            [id("good")],
            "{name}"
        );
        put_back(place, &copy);
        // A master that starts anew, and a program beside it, know it too.
        let again = place.master(dirs[1].path());
        let beside = KeyStore::open_existing_at(dirs[1].path().join("pki"), Some(&place.options));
        let beside = beside.unwrap().as_seen_by(&dirs[1].path().join("mirror"));
        for store in [&one, &two, &again, &beside] {
            assert_eq!(
                store.list(KeyState::Accepted).unwrap(),
                [id("good")],
                "{name}"
            );
            let known = ["rejected", "deleted"].map(|minion| state(store, &id(minion)));
            assert_eq!(known, [Some(KeyState::Rejected), None], "{name}");
            assert_eq!(store.get(KeyState::Accepted, &id("deleted")).unwrap(), None);
        }
        // Who has heard nothing of it believes the server; docs/stores.md says so.
        let stranger = tempfile::tempdir().unwrap();
        let stranger = place.master(stranger.path());
        assert_eq!(
            stranger.list(KeyState::Accepted).unwrap().len(),
            3,
            "{name}"
        );

        // The minion comes again, and is accepted.
        let is_filed = one.put_over(&id("deleted"), None, KeyState::Pending, "key");
        assert!(is_filed.unwrap(), "{name}");
        let accepted = two.accept(&id("deleted"), &[KeyState::Pending]).unwrap();
        assert!(accepted.is_some(), "{name}");
        stranger
            .put(&id("rejected"), KeyState::Accepted, "key")
            .unwrap();
        for store in [&one, &two, &again] {
            assert_eq!(store.list(KeyState::Accepted).unwrap().len(), 3, "{name}");
            assert_eq!(
                state(store, &id("deleted")),
                Some(KeyState::Accepted),
                "{name}"
            );
        }
    });
}

/// Somebody who restores a copy empties the server first: that decides nothing.
#[test]
fn keys_that_were_gone_for_a_while_are_accepted_as_before() {
    on_each_server(|place| {
        let ([one, two], _dirs) = two(place);
        one.put(&id("web1"), KeyState::Accepted, "key").unwrap();
        let copy = yesterday(place, &["web1"]);
        assert_eq!(state(&two, &id("web1")), Some(KeyState::Accepted));
        let cache = place.options.cache().unwrap();
        cache.flush_key(BANK, "web1").unwrap();
        for store in [&one, &two] {
            assert_eq!(
                store.list(KeyState::Accepted).unwrap(),
                [],
                "{}",
                place.name
            );
        }
        put_back(place, &copy);
        for store in [&one, &two] {
            let found = store.list(KeyState::Accepted).unwrap();
            assert_eq!(found, [id("web1")], "{}", place.name);
        }
    });
}

/// A Python master changes the state and leaves the rest of the record: what it has
/// accepted counts, although it has no mark of its own.
#[test]
fn what_a_python_master_accepts_counts() {
    on_each_server(|place| {
        let ([one, two], _dirs) = two(place);
        let web = id("web1");
        let cache = place.options.cache().unwrap();
        let salt_says = |state: &str| {
            let bytes = cache.fetch(BANK, "web1").unwrap().unwrap();
            let Value::Map(mut record) = unpack_modern(&bytes).unwrap() else {
                panic!("{bytes:?}")
            };
            record.insert("state", state);
            let bytes = pack_modern(&record.into()).unwrap();
            cache.store(BANK, "web1", bytes).unwrap();
        };
        one.put(&web, KeyState::Accepted, "key").unwrap();
        for word in ["rejected", "accepted", "rejected", "accepted"] {
            salt_says(word);
            for store in [&one, &two] {
                let found = store.lookup(&web).unwrap().unwrap();
                assert_eq!(found.state.word(), word, "{}", place.name);
            }
        }
        // Whoever has decided before it.
        one.reject(&web, &[KeyState::Accepted]).unwrap().unwrap();
        assert_eq!(state(&two, &web), Some(KeyState::Rejected));
        salt_says("accepted");
        one.delete(&web).unwrap();
        assert_eq!(state(&two, &web), None);
        let plain = Map::from([("state", "accepted"), ("pub", "key")]);
        let plain = pack_modern(&plain.into()).unwrap();
        cache.store(BANK, "web1", plain).unwrap();
        for store in [&one, &two] {
            assert_eq!(
                state(store, &web),
                Some(KeyState::Accepted),
                "{}",
                place.name
            );
        }
    });
}

/// With the databases' own programs, as docs/stores.md has it.
fn restored(place: &Place, save: impl Fn(), restore: impl Fn()) {
    let ([one, two], _dirs) = two(place);
    for minion in ["rejected", "deleted", "good"] {
        one.put(&id(minion), KeyState::Accepted, "key").unwrap();
    }
    assert_eq!(two.list(KeyState::Accepted).unwrap().len(), 3);
    save();
    one.reject(&id("rejected"), &[KeyState::Accepted]).unwrap();
    one.delete(&id("deleted")).unwrap();
    one.delete(&id("good")).unwrap();
    one.put(&id("good"), KeyState::Accepted, "key").unwrap();
    assert_eq!(two.list(KeyState::Accepted).unwrap(), [id("good")]);
    restore();
    for store in [&one, &two] {
        // The same key was accepted again since.
        assert_eq!(store.list(KeyState::Accepted).unwrap(), [id("good")]);
        assert_eq!(state(store, &id("rejected")), Some(KeyState::Rejected));
        assert_eq!(state(store, &id("deleted")), None);
    }
}

/// What a program says.
fn run(program: &str, args: &[&str]) -> String {
    let ran = Command::new(find_program(program).unwrap())
        .args(args)
        .output();
    let ran = ran.unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_postgres_of_yesterday() {
    let Some(postgres) = Postgres::shared() else {
        return;
    };
    let database = postgres.database().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("salt.dump").display().to_string();
    let (ip, port) = (
        postgres.address.ip().to_string(),
        postgres.address.port().to_string(),
    );
    let server = ["-h", &ip, "-p", &port, "-U", "salt"];
    let save = || {
        let args = ["--format=custom", "--file", &file, &database];
        run("pg_dump", &[&server[..], &args].concat());
    };
    let restore = || {
        let how = ["--clean", "--if-exists", "--single-transaction"];
        let args = ["--dbname", &database, &file];
        run("pg_restore", &[&server[..], &how, &args].concat());
    };
    restored(&Place::postgres(&postgres.url(&database)), save, restore);
}

#[test]
fn a_mariadb_of_yesterday() {
    let Some(mariadb) = MariaDb::shared() else {
        return;
    };
    let database = mariadb.database().unwrap();
    let socket = format!("--socket={}", mariadb.server.dir().join("socket").display());
    let dump = RefCell::new(String::new());
    let save = || {
        let who = ["--no-defaults", &socket, "-u", "root"];
        // Bytes that are no text do not survive every client otherwise.
        let what = ["--single-transaction", "--hex-blob", &database];
        *dump.borrow_mut() = run("mariadb-dump", &[&who[..], &what].concat());
    };
    let restore = || drop(mariadb.sql(&database, &dump.borrow()).unwrap());
    restored(&Place::mariadb(&mariadb.url(&database)), save, restore);
}
