//! Real Salt on the same server: it reads the keys and tokens that are stored here,
//! and its decisions count here.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use halite_crypto::{HashType, PrivateKey};
use halite_key::{KeyState, KeyStore};
use halite_proto::{Map, MinionId, Value, json};
use halite_store::{StoreOptions, TokenId};
use halite_test_services::{Etcd, MariaDb, Redis, Salt, Wanted};

use crate::servers::Place;

/// The release whose keys are in a cache; in 3006 they are files alone.
const RELEASE: &str = "3008.5";

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

fn state(store: &KeyStore, name: &str) -> Option<KeyState> {
    store.lookup(&id(name)).unwrap().map(|key| key.state)
}

struct Both {
    salt: Salt,
    opts: String,
}

impl Both {
    /// What real Salt answers to a call.
    fn call(&self, function: &str, args: &str) -> Value {
        let call = format!(r#"[["{function}", {args}]]"#);
        let answers = self.salt.call(&self.opts, &call).unwrap();
        json::read(&answers[0]).unwrap()
    }

    /// The state in which it finds a key: its own lists of states need what no driver for
    /// a server has.
    fn state(&self, name: &str) -> Option<String> {
        let found = self.record(name);
        Some(found.get("state")?.as_str()?.to_owned())
    }

    fn record(&self, name: &str) -> Value {
        self.call("cache.fetch", &format!(r#"["keys", "{name}"]"#))
    }

    /// Changes the state of a key as `salt-key` does: the rest of the record stays.
    fn decide(&self, name: &str, state: &str) {
        let Value::Map(mut record) = self.record(name) else {
            panic!("no record of {name}")
        };
        record.insert("state", state);
        let record = written(&record.into());
        let args = format!(r#"["keys", "{name}", {record}]"#);
        self.call("cache.store", &args);
    }

    fn listed(&self, bank: &str) -> Vec<String> {
        let listed = self.call("cache.list", &format!(r#"["{bank}"]"#));
        let ids = listed.as_list().unwrap().iter();
        let mut ids: Vec<String> = ids.map(|id| id.as_str().unwrap().to_owned()).collect();
        ids.sort_unstable();
        ids
    }
}

fn check(place: &Place, driver: &str, opts: &str) {
    let Some(salt) = Salt::for_test(RELEASE) else {
        return;
    };
    let opts = format!(
        r#"{{"cache": "{driver}", "keys.cache_driver": "{driver}",
            "eauth_tokens.cache_driver": "{driver}", "__role": "master", {opts}}}"#
    );
    let both = Both { salt, opts };
    let dir = tempfile::tempdir().unwrap();
    let store = place.master(dir.path());
    let pem = || {
        let key = PrivateKey::generate(1024).unwrap().public().unwrap();
        key.to_pem().unwrap().trim().to_owned()
    };
    keys_are_read_both_ways(&both, place, &store, pem);
    tokens_are_read_both_ways(&both, place);
}

fn keys_are_read_both_ways(both: &Both, place: &Place, store: &KeyStore, pem: impl Fn() -> String) {
    let key = pem();
    store.put(&id("good"), KeyState::Accepted, &key).unwrap();
    store.put(&id("bad"), KeyState::Pending, &key).unwrap();
    store.reject(&id("bad"), &[KeyState::Pending]).unwrap();
    store.put(&id("new"), KeyState::Pending, &key).unwrap();
    let other = pem();
    store.put(&id("good"), KeyState::Denied, &other).unwrap();
    assert_eq!(
        both.listed("keys"),
        ["bad", "good", "new"],
        "{}",
        place.name
    );
    for (name, state) in [
        ("good", "accepted"),
        ("bad", "rejected"),
        ("new", "pending"),
    ] {
        assert_eq!(both.state(name).as_deref(), Some(state), "{name}");
        assert_eq!(both.record(name).get("pub"), Some(&key.as_str().into()));
    }
    assert_eq!(both.listed("denied_keys"), ["good"]);
    let denied = both.call("cache.fetch", r#"["denied_keys", "good"]"#);
    assert_eq!(denied, Value::List(vec![other.as_str().into()]));

    // What it decides, on records of ours.
    both.decide("new", "accepted");
    both.decide("good", "rejected");
    assert_eq!(state(store, "new"), Some(KeyState::Accepted));
    assert_eq!(state(store, "good"), Some(KeyState::Rejected));
    both.decide("good", "accepted");
    assert_eq!(state(store, "good"), Some(KeyState::Accepted));
    // Ours has rejected it before: nothing that it accepts then is taken for old.
    store
        .reject(&id("good"), &[KeyState::Accepted])
        .unwrap()
        .unwrap();
    assert_eq!(both.state("good").as_deref(), Some("rejected"));
    both.decide("good", "accepted");
    assert_eq!(state(store, "good"), Some(KeyState::Accepted));

    // Records of its own, and denied keys.
    let theirs = Map::from([("state", "pending"), ("pub", key.as_str())]);
    let theirs = format!(r#"["keys", "theirs", {}]"#, written(&theirs.into()));
    both.call("cache.store", &theirs);
    assert_eq!(store.list(KeyState::Pending).unwrap(), [id("theirs")]);
    store
        .accept(&id("theirs"), &[KeyState::Pending])
        .unwrap()
        .unwrap();
    assert_eq!(both.state("theirs").as_deref(), Some("accepted"));
    both.call(
        "cache.store",
        r#"["denied_keys", "theirs", ["first", "second"]]"#,
    );
    let found = store.get(KeyState::Denied, &id("theirs")).unwrap();
    assert_eq!(found.as_deref(), Some("first"));
    store.delete(&id("theirs")).unwrap();
    assert_eq!(both.listed("keys"), ["bad", "good", "new"]);
    assert_eq!(both.listed("denied_keys"), ["good"]);
}

fn tokens_are_read_both_ways(both: &Both, place: &Place) {
    let tokens = halite_store::open(&StoreOptions::all(place.options.clone())).tokens;
    let (ours, theirs) = (
        TokenId::generate(HashType::Sha256),
        TokenId::generate(HashType::Sha256),
    );
    let data = Map::from([
        ("name", Value::from("alice")),
        ("eauth", "pam".into()),
        ("expire", Value::Float(4e9)),
    ]);
    tokens.put(&ours, &data, 4_000_000_000).unwrap();
    let found = both.call(
        "cache.fetch",
        &format!(r#"["tokens", "{}"]"#, ours.expose()),
    );
    assert_eq!(found.get("name"), Some(&"alice".into()), "{}", place.name);
    // As Salt's `mk_token` does, with the time when it is over.
    let store = format!(
        r#"["tokens", "{}", {{"name": "bob", "eauth": "pam", "expire": 4000000000.5}}, 4000000000]"#,
        theirs.expose()
    );
    both.call("cache.store", &store);
    let found = tokens.get(&theirs, 1).unwrap().unwrap();
    assert_eq!(found.get("name"), Some(&"bob".into()), "{}", place.name);
    assert_eq!(tokens.list().unwrap().len(), 2);
}

fn written(value: &Value) -> String {
    json::write(value, json::Style::default()).unwrap()
}

#[test]
fn keys_in_a_redis_are_read_both_ways() {
    if let Some(redis) = Redis::for_test(&Wanted::default()) {
        let opts = format!(
            r#""cache.redis.host": "{}", "cache.redis.port": {}"#,
            redis.address.ip(),
            redis.address.port()
        );
        check(&Place::redis("redis", &redis.url()), "redis", &opts);
    }
}

#[test]
fn keys_in_a_mysql_are_read_both_ways() {
    if let Some(mariadb) = MariaDb::for_test(&Wanted::default().password("salt")) {
        let opts = format!(
            r#""mysql.host": "{}", "mysql.port": {}, "mysql.user": "salt",
               "mysql.password": "salt", "mysql.database": "salt""#,
            mariadb.address.ip(),
            mariadb.address.port()
        );
        check(&Place::mariadb(&mariadb.url("salt")), "mysql", &opts);
    }
}

/// In version 2 of its interface, which alone 3008 speaks.
#[test]
fn keys_in_an_etcd_are_read_both_ways() {
    if let Some(etcd) = Etcd::for_test(&Wanted::default()) {
        let opts = format!(
            r#""etcd.host": "{}", "etcd.port": {}"#,
            etcd.address.ip(),
            etcd.address.port()
        );
        check(&Place::etcd_of_salt(&etcd.url()), "etcd", &opts);
    }
}
