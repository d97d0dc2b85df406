//! Other keys in a Redis beside the requested values.

#![cfg(feature = "redis")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::time::{Duration, SystemTime};

use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::{BackendOptions, RedisOptions, Store, StoreOptions};
use halite_store_servers::Address;
use halite_test_services::RedisCluster;

const HOUR: Duration = Duration::from_secs(3600);

fn open(url: &str) -> Store {
    let address = Address::parse(url).unwrap();
    let options = BackendOptions::Redis(Box::new(RedisOptions::new(address, HOUR)));
    halite_store::open(&StoreOptions::all(options))
}

#[test]
fn the_index_forgets_jobs_that_are_removed() {
    let Some(redis) = halite_test_services::Redis::for_test(&Default::default()) else {
        return;
    };
    let jobs = open(&redis.url()).jobs;
    let load = Map::from([("fun", "test.ping")]);
    for jid in ["20260102030405000001", "20260102030405000002"] {
        let jid = Jid::parse(jid).unwrap();
        jobs.prepare(&jid, false).unwrap();
        jobs.save_load(&jid, &load, None).unwrap();
    }
    let count = || redis.cli(&["ZCARD", "halite:jobs"]).unwrap();
    assert_eq!(count().trim(), "2");
    let later = SystemTime::now() + HOUR * 2;
    assert_eq!(jobs.clean(HOUR, later).unwrap().removed, 2);
    assert_eq!(count().trim(), "0");
}

#[test]
fn a_return_that_comes_twice_does_not_set_the_last_job_back() {
    let Some(cluster) = RedisCluster::shared() else {
        return;
    };
    let jobs = open(&cluster.url()).jobs;
    let id = MinionId::parse("web1").unwrap();
    let save = |jid: &str| {
        let jid = Jid::parse(jid).unwrap();
        let fun = FunSpec::One("test.ping".to_owned());
        let ret = JobReturn::new(ReturnJid::Jid(jid.clone()), fun, vec![], Value::from(1), 0);
        jobs.save_return(&jid, &id, &ret).unwrap();
    };
    let (first, second) = ("20260102030405000001", "20260102030405000002");
    [first, second, first].iter().for_each(|jid| save(jid));
    let key = "web1:test.ping";
    let main = &cluster.mains[cluster.main_of(key).unwrap()];
    assert_eq!(main.cli(&["GET", key]).unwrap().trim(), second);
}

/// Who stores its first value may die before the bank is listed.
#[test]
fn a_bank_that_is_not_listed_in_a_cluster_is_flushed() {
    let Some(cluster) = RedisCluster::shared() else {
        return;
    };
    let banks = open(&cluster.url()).banks;
    banks.store("ours/bank", "key", &Value::from(1)).unwrap();
    let main = &cluster.mains[cluster.main_of("$BANKS_").unwrap()];
    let gone = main.cli(&["ZREM", "$BANKS_", "$KEYS_ours/bank/"]);
    assert_eq!(gone.unwrap().trim(), "1");
    assert!(banks.flush("ours/bank", None).unwrap());
    assert_eq!(banks.fetch("ours/bank", "key").unwrap(), None);
    assert!(!banks.flush("ours/bank", None).unwrap());
}
