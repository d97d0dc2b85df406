//! Servers behind a proxy that makes them slow, or answers in their place.

use std::time::{Duration, Instant};

use halite_store::Saved;
use halite_test_services::{MariaDb, Mode, Postgres, Proxy, Redis, Wanted};

use crate::subject::{Subject, drain, id, jid, job_with_returns, ret, waits};

/// By how much each answer is late.
const LATE: Duration = Duration::from_secs(2);

/// Far below what a write may take for which nobody waits.
const LET_GO_WITHIN: Duration = Duration::from_secs(20);

#[test]
fn a_slow_server_is_not_away() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let proxy = Proxy::before(redis.address);
    let subject = Subject::on(&format!("redis://{}", proxy.address));
    let store = subject.open();
    let job = jid(1);
    job_with_returns(&store, &job, &[id("web1")]);
    proxy.set(Mode::Late(LATE));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (store, job) = (&store, &job);
            scope.spawn(move || {
                let id = id(&format!("slow{number}"));
                let saved = store.jobs.save_return(job, &id, &ret(job, 1));
                assert_eq!(saved.unwrap(), Saved::Stored);
            });
        }
    });
    // Side by side: one after another they take 2 s each at least.
    let took = begun.elapsed();
    assert!((LATE..Duration::from_secs(15)).contains(&took), "{took:?}");
    assert!(!subject.is_away());
    assert_eq!(waits(&store).count, 0);
    proxy.set(Mode::Faithful);
    drain(&store);
    assert_eq!(subject.other().jobs.returns(&job).unwrap().len(), 9);
}

/// Each answer is late, and a write asks several: whoever waits is let go in time,
/// and nothing is lost.
fn check_slow(server: std::net::SocketAddr, url: impl Fn(std::net::SocketAddr) -> String) {
    let proxy = Proxy::before(server);
    let subject = Subject::on(&url(proxy.address));
    let store = subject.open();
    let job = jid(1);
    job_with_returns(&store, &job, &[id("web1")]);
    proxy.set(Mode::Late(LATE));
    let slow_since = Instant::now();
    for number in 0..3 {
        let begun = Instant::now();
        let id = id(&format!("slow{number}"));
        let saved = store.jobs.save_return(&job, &id, &ret(&job, 1));
        assert_eq!(saved.unwrap(), Saved::Stored);
        let took = begun.elapsed();
        assert!(took < LET_GO_WITHIN, "{took:?}");
    }
    let took = slow_since.elapsed();
    assert!(took >= LATE, "the answers were not late: {took:?}");
    proxy.set(Mode::Faithful);
    drain(&store);
    assert_eq!(subject.other().jobs.returns(&job).unwrap().len(), 4);
}

#[test]
fn a_slow_postgres_loses_nothing() {
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        let url = |address| format!("postgres://salt@{address}/salt");
        check_slow(postgres.address, url);
    }
}

#[test]
fn a_slow_mariadb_loses_nothing() {
    if let Some(mariadb) = MariaDb::for_test(&Wanted::default()) {
        let url = |address| format!("mysql://salt@{address}/salt");
        check_slow(mariadb.address, url);
    }
}

/// What takes longer than a worker waits is stored by who has more time.
#[test]
fn a_write_that_takes_long_is_stored_all_the_same() {
    let Some(mariadb) = MariaDb::for_test(&Wanted::default()) else {
        return;
    };
    let separator = if mariadb.url("salt").contains('?') {
        '&'
    } else {
        '?'
    };
    let subject = Subject::on(&format!("{}{separator}timeout=1", mariadb.url("salt")));
    let store = subject.open();
    let job = jid(1);
    job_with_returns(&store, &job, &[id("web1")]);
    let slow = "create trigger slow before insert on salt_returns for each row set @x = sleep(6)";
    mariadb.sql("salt", slow).unwrap();
    let saved = store.jobs.save_return(&job, &id("web2"), &ret(&job, 1));
    assert_eq!(saved.unwrap(), Saved::Stored);
    assert_eq!(waits(&store).count, 1);
    drain(&store);
    assert_eq!(subject.other().jobs.returns(&job).unwrap().len(), 2);
}

#[test]
fn an_answer_to_another_question_is_not_believed() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let proxy = Proxy::before(redis.address);
    let subject = Subject::on(&format!("redis://{}", proxy.address));
    let store = subject.open();
    let ids = [id("web1"), id("web2")];
    for (number, wrong) in [b":7\r\n".as_slice(), b"HTTP/1.1 200 OK\r\n\r\n"]
        .into_iter()
        .enumerate()
    {
        let job = jid(number as u64);
        proxy.set(Mode::Instead(wrong));
        for id in &ids {
            let saved = store.jobs.save_return(&job, id, &ret(&job, id.as_str()));
            assert_eq!(saved.unwrap(), Saved::Stored);
        }
        assert_eq!(waits(&store).count, 2);
        proxy.set(Mode::Faithful);
        drain(&store);
        assert_eq!(subject.other().jobs.returns(&job).unwrap().len(), 2);
    }
}

/// Answers that are none of its protocol.
fn check_wrong(server: std::net::SocketAddr, url: impl Fn(std::net::SocketAddr) -> String) {
    let proxy = Proxy::before(server);
    let subject = Subject::on(&url(proxy.address));
    let store = subject.open();
    let job = jid(1);
    job_with_returns(&store, &job, &[id("web1")]);
    proxy.set(Mode::Instead(b"HTTP/1.1 200 OK\r\n\r\n"));
    for id in [id("web2"), id("web3")] {
        let saved = store.jobs.save_return(&job, &id, &ret(&job, id.as_str()));
        assert_eq!(saved.unwrap(), Saved::Stored);
    }
    assert_eq!(waits(&store).count, 2);
    proxy.set(Mode::Faithful);
    drain(&store);
    let ids = ["web1", "web2", "web3"].map(id);
    let returns = subject.other().jobs.returns(&job).unwrap();
    let found: Vec<_> = returns.into_iter().map(|(id, _)| id).collect();
    assert_eq!(found, ids);
}

#[test]
fn a_postgres_that_answers_wrongly_is_waited_for() {
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        let url = |address| format!("postgres://salt@{address}/salt");
        check_wrong(postgres.address, url);
    }
}

#[test]
fn a_mariadb_that_answers_wrongly_is_waited_for() {
    if let Some(mariadb) = MariaDb::for_test(&Wanted::default()) {
        let url = |address| format!("mysql://salt@{address}/salt");
        check_wrong(mariadb.address, url);
    }
}
