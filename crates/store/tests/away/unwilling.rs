//! Servers that are available and do not do what they are asked.

use std::collections::BTreeSet;

use halite_proto::{Map, Value};
use halite_store::{Bank, Saved, Waits};
use halite_test_services::{MariaDb, Postgres, Redis, SmallDisk, Wanted};

use crate::subject::{
    Subject, assert_stored, drain, id, jid, job_with_returns, ret, wait_for, waits,
};

/// Lets a server refuse all writes for a while.
fn check(url: &str, refuse: impl FnOnce(), relent: impl FnOnce()) {
    let subject = Subject::on(url);
    let ids = [id("web1"), id("web2")];
    let store = subject.open();
    job_with_returns(&store, &jid(1), &ids);
    refuse();
    job_with_returns(&store, &jid(2), &ids);
    let is_refused = |waits: &Waits| {
        waits
            .reason
            .as_ref()
            .is_some_and(|it| it.contains("refused"))
    };
    wait_for(&store, is_refused);
    let found = waits(&store);
    assert_eq!((found.count, found.refused), (4, 0), "{found:?}");
    // It can be read all the while.
    assert_stored(&store, &jid(1), &ids);
    assert_stored(&store, &jid(2), &ids);
    assert!(!subject.other().jobs.has_load(&jid(2)).unwrap());
    relent();
    drain(&store);
    assert_stored(&subject.other(), &jid(2), &ids);
}

#[test]
fn a_full_redis_is_waited_for() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let set = |bytes: &str| {
        redis
            .cli(&["config", "set", "maxmemory-policy", "noeviction"])
            .unwrap();
        redis.cli(&["config", "set", "maxmemory", bytes]).unwrap();
    };
    check(&redis.url(), || set("1"), || set("0"));
}

/// Stores large returns on a server that is full until they wait, and makes room.
fn check_full(url: &str, fill: impl FnOnce(), make_room: impl FnOnce()) {
    let subject = Subject::on(url);
    let web = id("web1");
    let store = subject.open();
    job_with_returns(&store, &jid(1), std::slice::from_ref(&web));
    fill();
    // Random, so that no server packs it.
    let bytes = halite_crypto::random_bytes::<{ 64 * 1024 }>();
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut number = 1;
    while waits(&store).count == 0 {
        number += 1;
        assert!(number < 100, "it is never full");
        let job = jid(number);
        store.jobs.prepare(&job, false).unwrap();
        let saved = store
            .jobs
            .save_return(&job, &web, &ret(&job, text.as_str()));
        assert_eq!(saved.unwrap(), Saved::Stored);
    }
    let is_refused = |waits: &Waits| {
        let reason = waits.reason.as_ref();
        reason.is_some_and(|it| it.contains("refused"))
    };
    wait_for(&store, is_refused);
    // What is there can be read, and nothing is away.
    assert_stored(&store, &jid(1), std::slice::from_ref(&web));
    make_room();
    drain(&store);
    let other = subject.other();
    for number in 2..=number {
        let stored = other.jobs.return_of(&jid(number), &web).unwrap().unwrap();
        assert_eq!(stored.ret(), &Value::from(text.as_str()), "{number}");
    }
}

#[test]
fn a_postgres_whose_disk_is_full_is_waited_for() {
    let Some(disk) = SmallDisk::for_test(64) else {
        return;
    };
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return;
    };
    let url = postgres.url(disk.database_on(&postgres).unwrap());
    check_full(&url, || disk.fill().unwrap(), || disk.make_room().unwrap());
}

/// It refuses at first, and ends itself when it cannot undo either. Whoever runs it makes
/// room and starts it again.
#[test]
fn a_mariadb_whose_disk_is_full_is_waited_for() {
    let Some(disk) = SmallDisk::for_test(260) else {
        return;
    };
    let wanted = Wanted::default().below(&disk.path());
    let Some(mariadb) = MariaDb::for_test(&wanted) else {
        return;
    };
    let subject = Subject::on(&mariadb.url("salt"));
    let ids = [id("web1"), id("web2")];
    let store = subject.open();
    job_with_returns(&store, &jid(1), &ids);
    disk.fill().unwrap();
    let text = "x".repeat(256 * 1024);
    let mut number = 1;
    while waits(&store).count == 0 {
        number += 1;
        assert!(number < 200, "it is never full");
        let job = jid(number);
        store.jobs.prepare(&job, false).unwrap();
        let saved = store
            .jobs
            .save_return(&job, &ids[0], &ret(&job, text.as_str()));
        assert_eq!(saved.unwrap(), Saved::Stored);
    }
    disk.make_room().unwrap();
    mariadb.server.kill();
    mariadb.server.start().unwrap();
    drain(&store);
    let other = subject.other();
    assert_stored(&other, &jid(1), &ids);
    for number in 2..=number {
        let stored = other
            .jobs
            .return_of(&jid(number), &ids[0])
            .unwrap()
            .unwrap();
        assert_eq!(stored.ret(), &Value::from(text.as_str()), "{number}");
    }
}

#[test]
fn a_redis_that_became_a_replica_is_waited_for() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let follow = |whom: [&str; 2]| {
        redis.cli(&["replicaof", whom[0], whom[1]]).unwrap();
    };
    check(
        &redis.url(),
        || follow(["127.0.0.1", "1"]),
        || follow(["no", "one"]),
    );
}

#[test]
fn a_postgres_that_is_read_only_is_waited_for() {
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return;
    };
    let set = |value: &str| {
        let statement = format!(
            "alter database salt set default_transaction_read_only = {value}; \
             select pg_terminate_backend(pid) from pg_stat_activity where datname = 'salt'"
        );
        postgres.sql("postgres", &statement).unwrap();
    };
    check(&postgres.url("salt"), || set("on"), || set("off"));
}

#[test]
fn a_mariadb_that_is_read_only_is_waited_for() {
    let Some(mariadb) = MariaDb::for_test(&Wanted::default()) else {
        return;
    };
    // Whoever has this privilege writes all the same.
    let revoke = "revoke read_only admin on *.* from salt@'%'";
    mariadb.sql("", revoke).unwrap();
    let set = |value: &str| {
        let statement = format!("set global read_only = {value}");
        mariadb.sql("", &statement).unwrap();
    };
    let url = mariadb.url("salt");
    check(&url, || set("on"), || set("off"));
    // A process that begins while it is read-only finds the tables.
    set("on");
    let again = mariadb.url("salt") + "?timeout=7";
    assert_stored(
        &Subject::on(&again).other(),
        &jid(1),
        &[id("web1"), id("web2")],
    );
}

/// What a server never takes does not hold up the rest.
#[test]
fn one_return_that_is_refused_is_set_aside() {
    let args = ["--max-allowed-packet=1M"];
    let Some(mariadb) = MariaDb::for_test(&Wanted::default().args(&args)) else {
        return;
    };
    let subject = Subject::on(&mariadb.url("salt"));
    let store = subject.open();
    let job = jid(1);
    let large = ret(&job, Value::from("x".repeat(17 << 20)));
    let saved = store.jobs.save_return(&job, &id("large"), &large);
    assert_eq!(saved.unwrap(), Saved::Stored);
    for number in 0.. {
        if waits(&store).refused == 1 {
            break;
        }
        assert!(number < 1000, "{:?}", waits(&store));
        let id = id(&format!("web{number}"));
        store.jobs.save_return(&job, &id, &ret(&job, 1)).unwrap();
        wait_for(&store, |waits| waits.count == 1);
    }
    // From now on nothing waits.
    let saved = store.jobs.save_return(&job, &id("last"), &ret(&job, 1));
    assert_eq!(saved.unwrap(), Saved::Stored);
    assert_eq!(waits(&store).count, 1);
    let found = subject.other().jobs.return_of(&job, &id("last")).unwrap();
    assert!(found.is_some());
}

/// Targets go on by what was known last.
#[test]
fn grains_that_were_asked_for_are_known_while_the_server_is_dead() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let subject = Subject::on(&redis.url());
    let data = subject.open().data;
    let ids = [id("db1"), id("web1")];
    for id in &ids {
        let grains = Map::from([("os", id.as_str()), ("kernel", "Linux")]);
        data.put(Bank::Grains, id, &grains).unwrap();
    }
    let os = |name: &str| BTreeSet::from([name.to_owned()]);
    let known = data.parts(Bank::Grains, &ids, &os("os")).unwrap().unwrap();
    assert_eq!(known.len(), 2);
    // Another name is kept beside the first.
    data.parts(Bank::Grains, &ids, &os("kernel")).unwrap();
    redis.server.kill();
    let known = data.parts(Bank::Grains, &ids, &os("os")).unwrap().unwrap();
    assert_eq!(known.get(&ids[1]).unwrap().get("os"), Some(&"web1".into()));
    data.parts(Bank::Grains, &ids, &os("never")).unwrap_err();
    data.parts(Bank::Pillar, &ids, &os("os")).unwrap_err();
}
