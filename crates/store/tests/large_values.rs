//! Values that are longer than the limit stay on the server: nothing of them is in
//! memory here.

#![cfg(all(feature = "mysql", feature = "postgres", feature = "redis"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::time::Duration;

use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId};
use halite_store::limits::{FILE_BYTES_MAX, LISTED_LOAD_BYTES_MAX};
use halite_store::{
    BackendOptions, Bank, JobFilter, JobTables, MysqlOptions, PostgresOptions, RedisOptions, Store,
    StoreError, StoreOptions,
};
use halite_store_servers::Address;
use halite_test_services::{MariaDb, Postgres, Redis, Wanted};

/// How much more this process may take for a while. A value is longer.
const GROWS_MAX_KIB: u64 = 50 * 1024;

/// The most that this process has had in memory, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let digits = line.unwrap().split_whitespace().nth(1).unwrap();
    digits.parse().unwrap()
}

fn jid(number: u64) -> Jid {
    Jid::parse(format!("2026010203040500000{number}")).unwrap()
}

/// Publishes a job with an argument of some length.
fn publish(store: &Store, number: u64, length: usize) {
    let load = Map::from([("fun", "test.echo"), ("arg", "y".repeat(length).as_str())]);
    store.jobs.prepare(&jid(number), false).unwrap();
    store.jobs.save_load(&jid(number), &load, None).unwrap();
}

/// The jobs that are listed, with the lengths of their arguments.
fn listed(store: &Store) -> Vec<(Jid, usize)> {
    let length = |load: &Map| {
        load.get("arg")
            .and_then(|arg| arg.as_str())
            .map_or(0, str::len)
    };
    let found = store
        .jobs
        .newest_picked(10, &JobFilter::default(), |jid, load| {
            Some((jid, length(&load)))
        });
    found.unwrap()
}

/// `grow` makes the value of a minion's grains, a return, and the load of the job 2 longer
/// than is read.
fn check(place: BackendOptions, grow: impl FnOnce()) {
    let store = halite_store::open(&StoreOptions::all(place.clone()));
    let [web1, web2] = ["web1", "web2"].map(|id| MinionId::parse(id).unwrap());
    let grains = Map::from([("os", "Debian")]);
    let job = jid(1);
    publish(&store, 1, 1);
    publish(&store, 2, 1);
    publish(&store, 3, 2 * LISTED_LOAD_BYTES_MAX);
    assert_eq!(listed(&store).len(), 3);
    for id in [&web1, &web2] {
        store.data.put(Bank::Grains, id, &grains).unwrap();
        let fun = FunSpec::One("test.ping".to_owned());
        let of = ReturnJid::Jid(job.clone());
        let ret = JobReturn::new(of, fun, Vec::new(), true.into(), 0);
        store.jobs.save_return(&job, id, &ret).unwrap();
    }
    grow();
    let before = peak_kib();
    let cache = place.cache().unwrap();
    let names = ["web1", "web2"].map(str::to_owned);
    let found = cache.fetch_many("grains", &names).unwrap();
    assert!(found[0].is_none() && found[1].is_some());
    let refused = cache.fetch("grains", "web1").unwrap_err();
    let length = usize::try_from(FILE_BYTES_MAX).unwrap() + 1;
    assert!(
        matches!(refused, StoreError::TooLarge { bytes, .. } if bytes == length),
        "{refused}"
    );
    let returns = store.jobs.returns(&job).unwrap();
    assert_eq!(returns.len(), 1);
    assert_eq!(returns[0].0, web2);
    assert_eq!(store.jobs.return_of(&job, &web1).unwrap(), None);
    assert_eq!(store.jobs.load(&jid(2)).unwrap(), None);
    // Neither is what is too long for a page of many: that is read alone.
    let wanted = [(jid(3), 2 * LISTED_LOAD_BYTES_MAX), (jid(1), 1)];
    assert_eq!(listed(&store), wanted);
    let grown = peak_kib() - before;
    assert!(grown < GROWS_MAX_KIB, "{grown} KiB");
}

#[test]
fn what_is_longer_than_is_read_stays_on_the_server() {
    let length = FILE_BYTES_MAX + 1;
    if let Some(postgres) = Postgres::for_test(&Wanted::default()) {
        let address = Address::parse(&postgres.url("salt")).unwrap();
        let tables = JobTables::Jsonb;
        let options = PostgresOptions { address, tables };
        check(BackendOptions::Postgres(Box::new(options)), || {
            let long = format!("decode(repeat('00', {length}), 'hex')");
            let statement = format!(
                "update halite_cache set data = {long} where key = 'web1'; \
                 update halite_returns set packed = {long} where id = 'web1'; \
                 update halite_jobs set load = {long} where jid = '{}'",
                jid(2)
            );
            postgres.sql("salt", &statement).unwrap();
        });
    }
    let wanted = Wanted::default().args(&["--max-allowed-packet=256M"]);
    if let Some(mariadb) = MariaDb::for_test(&wanted) {
        let address = Address::parse(&mariadb.url("salt")).unwrap();
        let options = MysqlOptions::new(address);
        check(BackendOptions::Mysql(Box::new(options)), || {
            let long = format!("repeat('x', {length})");
            let statement = format!(
                "alter table salt modify data longblob; \
                 update salt set data = {long} where etcd_key = 'web1'; \
                 update halite_returns set packed = {long} where id = 'web1'; \
                 update halite_jobs set `load` = {long} where jid = '{}'",
                jid(2)
            );
            mariadb.sql("salt", &statement).unwrap();
        });
    }
    if let Some(redis) = Redis::for_test(&Wanted::default()) {
        let address = Address::parse(&redis.url()).unwrap();
        let options = RedisOptions::new(address, Duration::ZERO);
        check(BackendOptions::Redis(Box::new(options)), || {
            let script = format!(
                "local long = string.rep('x', {length}) \
                 redis.call('HSET', '$KEYS_grains/', 'web1', long) \
                 redis.call('HSET', 'ret:{}', 'web1', long) \
                 redis.call('SET', 'load:{}', long) return 'done'",
                jid(1),
                jid(2)
            );
            assert_eq!(redis.cli(&["eval", &script, "0"]).unwrap().trim(), "done");
        });
    }
}
