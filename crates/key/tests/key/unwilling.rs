//! Keys and minion data on servers that are full, read-only, slow, or answer
//! wrongly: known data is used, wrong answers are not believed, and nothing is half
//! changed.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may fail")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use halite_key::{KeyState, KeyStore};
use halite_proto::{Map, MinionId};
use halite_store::{Bank, MinionData, StoreOptions};
use halite_test_services::{Etcd, MariaDb, Mode, Postgres, Proxy, Redis, SmallDisk, Wanted};
use tempfile::TempDir;

use crate::servers::Place;

/// No operation that somebody waits for takes longer, on a busy machine either.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

/// Values that are stored until a full server has refused one: they are more than 20 MB.
const FILLERS_MAX: usize = 20_000;

/// How long a server that is back may stay away for us.
const PATIENCE: Duration = Duration::from_secs(60);

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

fn grains(os: &str) -> Map {
    Map::from([("os", os)])
}

/// A master on a server, with two minions: `web1` is accepted, `web2` waits.
struct Subject {
    keys: KeyStore,
    data: MinionData,
    _dir: TempDir,
}

impl Subject {
    fn on(place: &Place) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let keys = place.master(dir.path());
        let data = halite_store::open(&StoreOptions::all(place.options.clone())).data;
        let this = Self {
            keys,
            data,
            _dir: dir,
        };
        this.keys
            .put(&id("web1"), KeyState::Accepted, "key")
            .unwrap();
        this.keys
            .put(&id("web2"), KeyState::Pending, "key")
            .unwrap();
        this.data
            .put(Bank::Grains, &id("web1"), &grains("Debian"))
            .unwrap();
        this.assert_known();
        this
    }

    /// The keys are as they were.
    fn assert_known(&self) {
        for (name, state) in [("web1", KeyState::Accepted), ("web2", KeyState::Pending)] {
            let found = self.keys.lookup(&id(name)).unwrap().unwrap();
            assert_eq!((found.state, found.pem.as_str()), (state, "key"), "{name}");
            assert_eq!(self.keys.list(state).unwrap(), [id(name)], "{name}");
        }
    }

    fn assert_data(&self) {
        let found = self.data.get(Bank::Grains, &id("web1")).unwrap();
        assert_eq!(found, Some(grains("Debian")));
    }

    /// What is answered wrongly is an error, or the key is as it was.
    fn assert_not_misled(&self) {
        for (name, state) in [("web1", KeyState::Accepted), ("web2", KeyState::Pending)] {
            if let Ok(found) = self.keys.lookup(&id(name)) {
                assert_eq!(found.map(|key| key.state), Some(state), "{name}");
            }
            if let Ok(found) = self.keys.list(state) {
                assert_eq!(found, [id(name)]);
            }
        }
        self.data.get(Bank::Grains, &id("web1")).unwrap_err();
    }

    /// Nothing can be changed. What is answered wrongly may have been done: of the data
    /// that is what is there.
    fn assert_unchangeable(&self) {
        let accepts = [KeyState::Pending];
        self.keys
            .put(&id("new"), KeyState::Pending, "key")
            .unwrap_err();
        self.keys.accept(&id("web2"), &accepts).unwrap_err();
        self.keys
            .reject(&id("web1"), &[KeyState::Accepted])
            .unwrap_err();
        let put = self.data.put(Bank::Grains, &id("web1"), &grains("Debian"));
        assert!(put.unwrap_err().is_of_server());
    }

    /// All of it can be done, once the server takes it again.
    fn assert_changeable(&self) {
        let begun = Instant::now();
        while let Err(error) = self.keys.accept(&id("web2"), &[KeyState::Pending]) {
            assert!(begun.elapsed() < PATIENCE, "{error}");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.keys
            .reject(&id("web1"), &[KeyState::Accepted])
            .unwrap()
            .unwrap();
        assert_eq!(self.keys.list(KeyState::Accepted).unwrap(), [id("web2")]);
        assert_eq!(self.keys.list(KeyState::Rejected).unwrap(), [id("web1")]);
        assert_eq!(self.keys.list(KeyState::Pending).unwrap(), []);
        self.assert_data();
        self.data
            .put(Bank::Grains, &id("web1"), &grains("Arch"))
            .unwrap();
        let found = self.data.get(Bank::Grains, &id("web1")).unwrap();
        assert_eq!(found, Some(grains("Arch")));
    }
}

/// A server that takes nothing for a while, and can be read.
fn check_refusing(place: &Place, refuse: impl FnOnce(), relent: impl FnOnce()) {
    let subject = Subject::on(place);
    refuse();
    subject.assert_known();
    subject.assert_unchangeable();
    subject.assert_known();
    subject.assert_data();
    relent();
    subject.assert_changeable();
}

/// A server whose disk is full. Its tables may have room for some more, and it may end.
fn check_full(place: &Place, fill: impl FnOnce(), make_room: impl FnOnce()) {
    let subject = Subject::on(place);
    fill();
    let cache = place.options.cache().unwrap();
    let store = |number: usize| {
        let random = halite_crypto::random_bytes::<1500>();
        cache.store("filler", &format!("key{number}"), random.to_vec())
    };
    let refused = (0..FILLERS_MAX).find_map(|number| store(number).err());
    let refused = refused.expect("it is never full");
    assert!(refused.is_of_server(), "{refused}");
    let status = place.options.status();
    assert!(status.refuses.is_some() || status.away_since.is_some());
    subject.assert_known();
    let filed = subject.keys.put(&id("new"), KeyState::Pending, "key");
    let found = subject.keys.lookup(&id("new")).unwrap();
    assert_eq!(found.is_some(), filed.is_ok(), "{filed:?}");
    make_room();
    let begun = Instant::now();
    while let Err(error) = cache.flush_bank("filler").and_then(|_| store(0)) {
        assert!(begun.elapsed() < PATIENCE, "{error}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(place.options.status().refuses, None);
    subject.keys.delete(&id("new")).unwrap();
    subject.assert_changeable();
}

/// Each answer takes two seconds.
fn check_slow(server: SocketAddr, place: impl Fn(SocketAddr) -> Place) {
    const LATE: Duration = Duration::from_secs(2);
    let proxy = Proxy::before(server);
    let place = place(proxy.address);
    let subject = Subject::on(&place);
    proxy.set(Mode::Late(LATE));
    let slow_since = Instant::now();
    let timely = |what: &str, ask: &dyn Fn()| {
        let begun = Instant::now();
        ask();
        let took = begun.elapsed();
        assert!(took < ANSWERED_WITHIN, "{what}: {took:?}");
    };
    timely("a lookup", &|| {
        let found = subject.keys.lookup(&id("web1")).unwrap().unwrap();
        assert_eq!(found.state, KeyState::Accepted);
    });
    timely("a list", &|| {
        assert_eq!(subject.keys.list(KeyState::Accepted).unwrap(), [id("web1")]);
    });
    // It is done, or it is said that it is not.
    timely(
        "data",
        &|| match subject.data.get(Bank::Grains, &id("web1")) {
            Ok(found) => assert_eq!(found, Some(grains("Debian"))),
            Err(error) => assert!(error.is_of_server(), "{error}"),
        },
    );
    let took = slow_since.elapsed();
    assert!(took >= LATE, "the answers were not late: {took:?}");
    assert_eq!(place.options.status().away_since, None);
    proxy.set(Mode::Faithful);
    subject.assert_changeable();
}

/// Something else answers in place of the server.
fn check_wrong(server: SocketAddr, place: impl Fn(SocketAddr) -> Place, wrong: &[&'static [u8]]) {
    for wrong in wrong {
        let proxy = Proxy::before(server);
        let place = place(proxy.address);
        let subject = Subject::on(&place);
        proxy.set(Mode::Instead(wrong));
        subject.assert_not_misled();
        subject.assert_unchangeable();
        subject.assert_not_misled();
        proxy.set(Mode::Faithful);
        subject.assert_changeable();
        for name in ["web1", "web2"] {
            subject.keys.delete(&id(name)).unwrap();
        }
    }
}

const HTTP: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";

fn redis(address: SocketAddr) -> Place {
    Place::redis("redis", &format!("redis://{address}"))
}

fn postgres(address: SocketAddr) -> Place {
    Place::postgres(&format!("postgres://salt@{address}/salt"))
}

fn mariadb(address: SocketAddr) -> Place {
    Place::mariadb(&format!("mysql://salt@{address}/salt"))
}

fn etcd(address: SocketAddr) -> Place {
    Place::etcd3(&format!("etcd://{address}/salt"))
}

#[test]
fn a_redis_that_is_full_or_a_replica() {
    let Some(server) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let cli = |command: &[&str]| drop(server.cli(command).unwrap());
    let room = |bytes: &str| {
        cli(&["config", "set", "maxmemory-policy", "noeviction"]);
        cli(&["config", "set", "maxmemory", bytes]);
    };
    let place = redis(server.address);
    check_refusing(&place, || room("1"), || room("0"));
    cli(&["flushall"]);
    let follow = |whom: [&str; 2]| cli(&["replicaof", whom[0], whom[1]]);
    check_refusing(
        &place,
        || follow(["127.0.0.1", "1"]),
        || follow(["no", "one"]),
    );
}

#[test]
fn a_postgres_that_is_read_only() {
    let Some(server) = Postgres::for_test(&Wanted::default()) else {
        return;
    };
    let set = |value: &str| {
        let statement = format!(
            "alter database salt set default_transaction_read_only = {value}; \
             select pg_terminate_backend(pid) from pg_stat_activity where datname = 'salt'"
        );
        server.sql("postgres", &statement).unwrap();
    };
    check_refusing(&postgres(server.address), || set("on"), || set("off"));
}

#[test]
fn a_postgres_whose_disk_is_full() {
    let Some(disk) = SmallDisk::for_test(64) else {
        return;
    };
    let Some(server) = Postgres::for_test(&Wanted::default()) else {
        return;
    };
    let url = server.url(disk.database_on(&server).unwrap());
    let make_room = || disk.make_room().unwrap();
    check_full(&Place::postgres(&url), || disk.fill().unwrap(), make_room);
}

#[test]
fn a_mariadb_whose_disk_is_full() {
    let Some(disk) = SmallDisk::for_test(260) else {
        return;
    };
    let wanted = Wanted::default().below(&disk.path());
    let Some(server) = MariaDb::for_test(&wanted) else {
        return;
    };
    let make_room = || {
        disk.make_room().unwrap();
        server.server.kill();
        server.server.start().unwrap();
    };
    let place = mariadb(server.address);
    check_full(&place, || disk.fill().unwrap(), make_room);
}

#[test]
fn a_mariadb_that_is_read_only() {
    let Some(server) = MariaDb::for_test(&Wanted::default()) else {
        return;
    };
    // Whoever has this privilege writes all the same.
    let revoke = "revoke read_only admin on *.* from salt@'%'";
    server.sql("", revoke).unwrap();
    let set = |value: &str| {
        let statement = format!("set global read_only = {value}");
        server.sql("", &statement).unwrap();
    };
    check_refusing(&mariadb(server.address), || set("on"), || set("off"));
}

#[test]
fn an_etcd_that_is_full() {
    let wanted = Wanted::default().args(&["--quota-backend-bytes=4000000"]);
    let Some(server) = Etcd::for_test(&wanted) else {
        return;
    };
    let fill = || {
        let cache = etcd(server.address).options.cache().unwrap();
        let full = (0..100).find(|number| {
            let stored = cache.store("filler", &format!("key{number}"), vec![7; 300_000]);
            stored.is_err()
        });
        assert!(full.is_some(), "it is never full");
    };
    let make_room = || {
        let cache = etcd(server.address).options.cache().unwrap();
        cache.flush_bank("filler").unwrap();
        let status = server.ctl(&["endpoint", "status", "--write-out=json"]);
        let status = status.unwrap();
        let digits = status.split("\"revision\":").nth(1).unwrap();
        let revision: String = digits.chars().take_while(char::is_ascii_digit).collect();
        server.ctl(&["compact", &revision]).unwrap();
        server.ctl(&["defrag"]).unwrap();
        server.ctl(&["alarm", "disarm"]).unwrap();
    };
    check_refusing(&etcd(server.address), fill, make_room);
}

#[test]
fn a_slow_redis() {
    if let Some(server) = Redis::for_test(&Wanted::default()) {
        check_slow(server.address, redis);
    }
}

#[test]
fn a_slow_postgres() {
    if let Some(server) = Postgres::for_test(&Wanted::default()) {
        check_slow(server.address, postgres);
    }
}

#[test]
fn a_slow_mariadb() {
    if let Some(server) = MariaDb::for_test(&Wanted::default()) {
        check_slow(server.address, mariadb);
    }
}

#[test]
fn a_slow_etcd() {
    if let Some(server) = Etcd::for_test(&Wanted::default()) {
        check_slow(server.address, etcd);
    }
}

#[test]
fn a_redis_that_answers_wrongly() {
    if let Some(server) = Redis::for_test(&Wanted::default()) {
        check_wrong(server.address, redis, &[HTTP, b":7\r\n"]);
    }
}

#[test]
fn a_postgres_that_answers_wrongly() {
    if let Some(server) = Postgres::for_test(&Wanted::default()) {
        check_wrong(server.address, postgres, &[HTTP]);
    }
}

#[test]
fn a_mariadb_that_answers_wrongly() {
    if let Some(server) = MariaDb::for_test(&Wanted::default()) {
        check_wrong(server.address, mariadb, &[HTTP]);
    }
}

/// An answer that has nothing in it does not mean that nothing is there.
#[test]
fn an_etcd_that_answers_wrongly() {
    if let Some(server) = Etcd::for_test(&Wanted::default()) {
        let empty = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        let page = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n<a/>";
        check_wrong(server.address, etcd, &[empty, page]);
    }
}
