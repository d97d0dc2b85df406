//! What lies in a Redis beside the values that are asked for.

#![cfg(feature = "redis")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::time::{Duration, SystemTime};

use halite_proto::{Jid, Map};
use halite_store::{BackendOptions, RedisOptions, StoreOptions};
use halite_store_servers::Address;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn the_index_forgets_jobs_that_are_removed() {
    let Some(redis) = halite_test_services::Redis::for_test(&Default::default()) else {
        return;
    };
    let address = Address::parse(&redis.url()).unwrap();
    let options = BackendOptions::Redis(Box::new(RedisOptions::new(address, HOUR)));
    let jobs = halite_store::open(&StoreOptions::all(options)).jobs;
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
