//! Servers that die, and come back with their data.

use halite_proto::{Jid, Map, Value};
use halite_store::Saved;
use halite_test_services::{MariaDb, Postgres, Redis, Sentinel, Server, Wanted};

use crate::subject::{
    Subject, assert_stored, copy, drain, id, jid, job_with_returns, ret, until, wait_for, waits,
};

/// Kills the server, and brings it back after the master has been restarted.
fn check(url: &str, server: &Server) {
    let subject = Subject::on(url);
    let ids = [id("db1"), id("web1"), id("web2")];
    let store = subject.open();
    job_with_returns(&store, &jid(1), &ids);
    assert_eq!(waits(&store).count, 0);

    server.kill();
    let mut next = (2..).map(jid);
    let job = store.jobs.allocate(false, || next.next().unwrap()).unwrap();
    job_with_returns(&store, &job, &ids);
    let found = waits(&store);
    assert!(found.since.is_some() && found.bytes > 0, "{found:?}");
    // The id, what was published twice, and three returns.
    assert_eq!(found.count, 6);
    // It can be read here.
    assert_stored(&store, &job, &ids);
    assert!(store.jobs.knows(&job).unwrap() && store.jobs.has_load(&job).unwrap());
    let one = store.jobs.return_of(&job, &ids[1]).unwrap().unwrap();
    assert_eq!(one.ret(), &Value::from("web1"));
    // What was stored before cannot.
    store.jobs.returns(&jid(1)).unwrap_err();
    store.jobs.save_endtime(&job, "at noon").unwrap();

    // A minion was not heard, and says it again to the next process.
    drop(store);
    let store = subject.open();
    assert_eq!(waits(&store).count, 7);
    for (value, differs) in [("web1", false), ("other", true)] {
        let saved = store.jobs.save_return(&job, &ids[1], &ret(&job, value));
        assert_eq!(saved.unwrap(), Saved::Duplicate { differs });
    }
    assert_eq!(waits(&store).count, 7);

    server.start().unwrap();
    drain(&store);
    for store in [&store, &subject.other()] {
        assert_stored(store, &jid(1), &ids);
        assert_stored(store, &job, &ids);
        assert_eq!(store.jobs.endtime(&job).unwrap().unwrap(), "at noon");
    }
    let saved = store.jobs.save_return(&job, &ids[1], &ret(&job, "web1"));
    assert_eq!(saved.unwrap(), Saved::Duplicate { differs: false });
    // Nothing is left for the process after that.
    drop(store);
    assert_eq!(waits(&subject.open()).count, 0);
}

/// A job that begins while the server is dead waits as a whole.
fn check_begun(url: &str, server: &Server) {
    let subject = Subject::on(url);
    let store = subject.open();
    let meant = [id("web1"), id("web2")];
    let load = |_: &Jid| Map::from([("fun", "test.ping")]);
    let begin = |number| {
        let begun = store.jobs.begin(false, || jid(number), load, &meant);
        let begun = begun.unwrap();
        begun.stored.unwrap();
        begun.jid
    };
    let mut begun = vec![begin(1)];
    assert_eq!(waits(&store).count, 0);
    server.kill();
    begun.extend([begin(2), begin(3)]);
    // An id and a load each.
    assert_eq!(waits(&store).count, 4);
    assert!(store.jobs.has_load(&begun[1]).unwrap());
    server.start().unwrap();
    drain(&store);
    begun.push(begin(4));
    for job in &begun {
        let found = subject.other().jobs.load(job).unwrap().unwrap();
        assert!(found.get("Minions").is_some(), "{found:?}");
    }
}

#[test]
fn a_job_that_begins_without_its_redis_is_stored_later() {
    if let Some(redis) = Redis::for_test(&Wanted::default()) {
        check_begun(&redis.url(), &redis.server);
    }
}

#[test]
fn a_job_that_begins_without_its_postgres_is_stored_later() {
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        check_begun(&postgres.url("salt"), &postgres.server);
    }
}

#[test]
fn a_job_that_begins_without_its_mariadb_is_stored_later() {
    if let Some(mariadb) = MariaDb::for_test(&Wanted::default()) {
        check_begun(&mariadb.url("salt"), &mariadb.server);
    }
}

#[test]
fn what_a_dead_redis_misses_is_stored_when_it_is_back() {
    if let Some(redis) = Redis::for_test(&Wanted::default()) {
        check(&redis.url(), &redis.server);
    }
}

#[test]
fn what_a_dead_postgres_misses_is_stored_when_it_is_back() {
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        check(&postgres.url("salt"), &postgres.server);
    }
}

#[test]
fn what_a_dead_mariadb_misses_is_stored_when_it_is_back() {
    if let Some(mariadb) = MariaDb::for_test(&Wanted::default()) {
        check(&mariadb.url("salt"), &mariadb.server);
    }
}

/// A minion that is not heard brings a job of its own again and again.
#[test]
fn an_id_that_is_asked_for_again_leaves_nothing_behind() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let subject = Subject::on(&redis.url());
    let store = subject.open();
    let mut next = (1..).map(jid);
    let mut allocate = || store.jobs.allocate_now(false, || next.next().unwrap());
    allocate().unwrap();
    redis.server.kill();
    for _ in 0..3 {
        allocate().unwrap_err();
    }
    assert_eq!(waits(&store).count, 0);
}

/// Two workers have got the same return at once.
#[test]
fn a_return_that_comes_twice_at_once_waits_once() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let subject = Subject::on(&redis.url());
    let store = subject.open();
    job_with_returns(&store, &jid(1), &[id("web1")]);
    redis.server.kill();
    let begin = std::sync::Barrier::new(8);
    for (number, job) in (10..30).map(jid).enumerate() {
        let save = || {
            begin.wait();
            store
                .jobs
                .save_return(&job, &id("web1"), &ret(&job, 1))
                .unwrap()
        };
        let saved: Vec<Saved> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(save)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let stored = saved.iter().filter(|it| **it == Saved::Stored).count();
        assert_eq!(stored, 1, "{saved:?}");
        assert_eq!(waits(&store).count, number + 1);
    }
}

/// The backup does not know the job that minions still return to.
fn check_yesterday(url: &str, server: &Server, data: &str) {
    let subject = Subject::on(url);
    let (old, ids) = (jid(1), [id("web1"), id("web2")]);
    let store = subject.open();
    job_with_returns(&store, &old, &ids);
    server.stop();
    let live = server.dir().join(data);
    let backup = server.dir().join("backup");
    copy(&live, &backup);
    server.start().unwrap();
    let today = jid(2);
    // As soon as it is found.
    job_with_returns(&store, &today, &ids[..1]);
    drain(&store);

    server.kill();
    std::fs::remove_dir_all(&live).unwrap();
    copy(&backup, &live);
    let saved = store
        .jobs
        .save_return(&today, &ids[1], &ret(&today, "web2"));
    assert_eq!(saved.unwrap(), Saved::Stored);
    server.start().unwrap();
    drain(&store);
    wait_for(&store, |waits| waits.reason.is_none());
    assert_stored(&store, &old, &ids);
    let returns = store.jobs.returns(&today).unwrap();
    assert_eq!(returns.len(), 1, "{returns:?}");
    assert!(store.jobs.has_load(&today).unwrap());
}

#[test]
fn a_redis_with_the_data_of_yesterday_is_filled_again() {
    if let Some(redis) = Redis::for_test(&Wanted::default()) {
        check_yesterday(&redis.url(), &redis.server, "appendonlydir");
    }
}

#[test]
fn a_postgres_with_the_data_of_yesterday_is_filled_again() {
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        check_yesterday(&postgres.url("salt"), &postgres.server, "data");
    }
}

#[test]
fn a_mariadb_with_the_data_of_yesterday_is_filled_again() {
    if let Some(mariadb) = MariaDb::for_test(&Wanted::default()) {
        check_yesterday(&mariadb.url("salt"), &mariadb.server, "data");
    }
}

/// A master that is killed after the server has taken what waited, and before that is
/// noted, finds all of it again.
fn check_killed_before_noting(url: &str, server: &Server, returns: impl Fn() -> Option<String>) {
    let subject = Subject::on(url);
    let ids = [id("web1"), id("web2")];
    let store = subject.open();
    job_with_returns(&store, &jid(1), &ids);
    server.kill();
    job_with_returns(&store, &jid(2), &ids);
    store.jobs.save_endtime(&jid(2), "at noon").unwrap();
    let before = waits(&store).count;
    let left = tempfile::tempdir().unwrap();
    let left = left.path().join("left");
    copy(subject.dir(), &left);
    server.start().unwrap();
    drain(&store);
    drop(store);

    std::fs::remove_dir_all(subject.dir()).unwrap();
    server.kill();
    copy(&left, subject.dir());
    let store = subject.open();
    assert_eq!(waits(&store).count, before);
    server.start().unwrap();
    drain(&store);
    for job in [jid(1), jid(2)] {
        assert_stored(&subject.other(), &job, &ids);
    }
    if let Some(returns) = returns() {
        assert_eq!(returns.trim(), "4");
    }
}

#[test]
fn what_a_redis_has_taken_from_a_killed_master_is_stored_once() {
    if let Some(redis) = Redis::for_test(&Wanted::default()) {
        check_killed_before_noting(&redis.url(), &redis.server, || None);
    }
}

#[test]
fn what_a_postgres_has_taken_from_a_killed_master_is_stored_once() {
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        let count = || {
            Some(
                postgres
                    .sql("salt", "select count(*) from salt_returns")
                    .unwrap(),
            )
        };
        check_killed_before_noting(&postgres.url("salt"), &postgres.server, count);
    }
}

#[test]
fn what_a_mariadb_has_taken_from_a_killed_master_is_stored_once() {
    if let Some(mariadb) = MariaDb::for_test(&Wanted::default()) {
        let count = || {
            Some(
                mariadb
                    .sql("salt", "select count(*) from salt_returns")
                    .unwrap(),
            )
        };
        check_killed_before_noting(&mariadb.url("salt"), &mariadb.server, count);
    }
}

/// The Sentinel of a server with one replica makes that one the server.
#[test]
fn the_replica_that_a_sentinel_promotes_is_used() {
    let Some(main) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let (ip, port) = (
        main.address.ip().to_string(),
        main.address.port().to_string(),
    );
    // By itself it would be known by the address that it connects from.
    let args = ["--replicaof", &ip, &port, "--replica-announce-ip", &ip];
    let replica = Redis::start(&Wanted::default().args(&args)).unwrap();
    let sentinel = Sentinel::start(&main, "main").unwrap();
    // It must have heard of the replica, and that must have what is stored.
    let says =
        |redis: &Redis, word: &str| redis.cli(&["info", "replication"]).unwrap().contains(word);
    until("a replica", &|| says(&replica, "master_link_status:up"));
    until("the Sentinel knows", &|| {
        sentinel.server.log().contains("+slave ")
    });

    let subject = Subject::on(&format!("redis://{}/0?sentinel=main", sentinel.address));
    let store = subject.open();
    let ids = [id("web1"), id("web2")];
    job_with_returns(&store, &jid(1), &ids);
    until("it is replicated", &|| {
        replica
            .cli(&["exists", "ret:20260102030405000001"])
            .unwrap()
            .trim()
            == "1"
    });
    main.server.kill();
    job_with_returns(&store, &jid(2), &ids);
    drain(&store);
    assert!(says(&replica, "role:master"));
    assert_stored(&subject.other(), &jid(1), &ids);
    assert_stored(&subject.other(), &jid(2), &ids);
}
