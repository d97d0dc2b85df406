//! Lists that somebody has made longer than they are read: an error says so, little of
//! them is in memory, and the server is used as before.

#![cfg(all(
    feature = "etcd",
    feature = "mysql",
    feature = "postgres",
    feature = "redis"
))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::time::Duration;

use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::limits::{FILE_BYTES_MAX, JOBS_LISTED_MAX};
use halite_store::{
    BackendOptions, BankError, EtcdOptions, EtcdVersion, JobTables, MysqlOptions, PostgresOptions,
    RedisOptions, Store, StoreError, StoreOptions,
};
use halite_store_servers::limits::{ANSWER_BYTES_MAX, ETCD_ANSWER_BYTES_MAX};
use halite_store_servers::{Address, etcd_server, prefix_of};
use halite_test_services::{Etcd, MariaDb, Postgres, Redis, Wanted};

/// One entry more than are listed.
const MANY: usize = JOBS_LISTED_MAX + 1;

/// Minions whose returns are longer together than what is read.
const MINIONS: [&str; 3] = ["web1", "web2", "web3"];

/// Where a server is. It has time: the drivers of a debug build are slow.
fn address(url: &str) -> Address {
    let mut address = Address::parse(url).unwrap();
    address.limit = Duration::from_secs(180);
    address
}

/// The most that this process has had in memory, in KiB.
fn peak_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let digits = line.unwrap().split_whitespace().nth(1).unwrap();
    digits.parse().unwrap()
}

fn open(place: BackendOptions) -> Store {
    halite_store::open(&StoreOptions::all(place))
}

fn jid() -> Jid {
    Jid::parse("20260102030405000001").unwrap()
}

fn list(store: &Store, bank: &str) -> Result<Vec<String>, StoreError> {
    store.banks.list(bank).map_err(|error| match error {
        BankError::Store(error) => error,
        other => panic!("{other}"),
    })
}

/// The error names the limit, and the server is used as before.
fn check_refused<T>(store: &Store, listed: Result<T, StoreError>, limit: usize) {
    let error = listed.err().unwrap();
    assert!(error.to_string().contains(&limit.to_string()), "{error}");
    assert!(error.is_of_content(), "{error}");
    store.banks.store("short", "key", &Value::from(1)).unwrap();
    assert_eq!(store.banks.list("short").unwrap(), ["key"]);
}

/// `grow` makes the bank `many` and the list of minions of a job too many, and the returns
/// of the job too long.
fn check(place: BackendOptions, grow: impl FnOnce()) {
    let store = open(place);
    let load = Map::from([("fun", "test.ping")]);
    let ids = MINIONS.map(|id| MinionId::parse(id).unwrap());
    store.jobs.prepare(&jid(), false).unwrap();
    store.jobs.save_load(&jid(), &load, Some(&ids)).unwrap();
    for id in &ids {
        let fun = FunSpec::One("test.ping".to_owned());
        let ret = JobReturn::new(ReturnJid::Jid(jid()), fun, Vec::new(), true.into(), 0);
        store.jobs.save_return(&jid(), id, &ret).unwrap();
    }
    store.banks.store("many", "key", &Value::from(1)).unwrap();
    assert!(store.jobs.load(&jid()).unwrap().is_some());
    assert_eq!(store.jobs.returns(&jid()).unwrap().len(), ids.len());
    grow();
    let before = peak_kib();
    check_refused(&store, list(&store, "many"), JOBS_LISTED_MAX);
    check_refused(&store, store.jobs.load(&jid()), JOBS_LISTED_MAX);
    check_refused(&store, store.jobs.returns(&jid()), ANSWER_BYTES_MAX);
    // What was read until it was too long, and as much again while it was.
    let grown = peak_kib() - before;
    assert!(grown < 2 * ANSWER_BYTES_MAX / 1024, "{grown} KiB");
    assert_eq!(store.jobs.newest(10).unwrap(), [(jid(), load)]);
}

/// Values that are too long to come together come one by one.
fn check_parts(place: &BackendOptions) {
    let cache = place.cache().unwrap();
    let length = usize::try_from(FILE_BYTES_MAX).unwrap();
    let keys = MINIONS.map(str::to_owned);
    for key in &keys {
        cache.store("parts", key, vec![b'x'; length]).unwrap();
    }
    let together = cache.fetch_many("parts", &keys).unwrap_err();
    assert!(together.is_of_content(), "{together}");
    let mut lengths = [0; MINIONS.len()];
    cache
        .fetch_each("parts", &keys, &mut |number, value| {
            lengths[number] += value.unwrap().len();
        })
        .unwrap();
    assert_eq!(lengths, [length; MINIONS.len()]);
}

#[test]
fn long_lists_stay_on_a_postgres() {
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return;
    };
    let address = address(&postgres.url("salt"));
    let tables = JobTables::Jsonb;
    let options = PostgresOptions { address, tables };
    let place = BackendOptions::Postgres(Box::new(options));
    check(place.clone(), || {
        let statement = format!(
            "alter table halite_cache disable trigger user; \
             insert into halite_cache (bank, key, data, version) \
                 select 'many', n::text, '', 0 from generate_series(1, {MANY}) n; \
             update halite_jobs set minions = \
                 array(select n::text from generate_series(1, {MANY}) n); \
             update halite_returns set packed = decode(repeat('00', {FILE_BYTES_MAX}), 'hex')"
        );
        postgres.sql("salt", &statement).unwrap();
    });
    check_parts(&place);
    // Few names that are long.
    let store = open(place);
    let statement = "insert into halite_cache (bank, key, data, version) \
         select 'long', n::text || repeat('x', 100000), '', 0 from generate_series(1, 2800) n";
    postgres.sql("salt", statement).unwrap();
    check_refused(&store, list(&store, "long"), ANSWER_BYTES_MAX);
}

#[test]
fn long_lists_stay_on_a_mariadb() {
    let wanted = Wanted::default().args(&["--max-allowed-packet=512M"]);
    let Some(mariadb) = MariaDb::for_test(&wanted) else {
        return;
    };
    let address = address(&mariadb.url("salt"));
    let options = MysqlOptions::new(address);
    check(BackendOptions::Mysql(Box::new(options)), || {
        let statement = format!(
            "insert into salt (bank, etcd_key, data) \
                 select 'many', seq, '' from seq_1_to_{MANY}; \
             insert into halite_minions (jid, id) select '{}', seq from seq_1_to_{MANY}; \
             update halite_returns set packed = repeat('x', {FILE_BYTES_MAX})",
            jid()
        );
        mariadb.sql("salt", &statement).unwrap();
    });
}

#[test]
fn long_lists_stay_on_a_redis() {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return;
    };
    let address = address(&redis.url());
    let options = RedisOptions::new(address, Duration::ZERO);
    let place = BackendOptions::Redis(Box::new(options));
    let eval = |script: &str| {
        let script = format!("{script} return 'done'");
        assert_eq!(redis.cli(&["eval", &script, "0"]).unwrap().trim(), "done");
    };
    check(place.clone(), || {
        eval(&format!(
            "for n = 1, {MANY} do redis.call('HSET', '$KEYS_many/', n, '') end \
             for n = 1, {MANY} do redis.call('SADD', 'halite:minions:{jid}', n) end \
             local long = string.rep('x', {FILE_BYTES_MAX}) \
             for n = 1, 3 do redis.call('HSET', 'ret:{jid}', 'web' .. n, long) end",
            jid = jid()
        ));
    });
    check_parts(&place);
    // Few names that are long: these are read as far as the limit goes.
    let store = open(place);
    eval(
        "for n = 1, 300 do \
           redis.call('ZADD', '$BANKS_', 0, '$KEYS_long/' .. n .. string.rep('x', 1000000)) end",
    );
    check_refused(&store, list(&store, "long"), ANSWER_BYTES_MAX);
    // A page of the index of jobs is too long: half of it is not.
    eval(
        "local long = string.rep('x', 50000) \
         for n = 1, 6000 do \
           redis.call('ZADD', 'halite:jobs', 0, \
             string.format('20250102030405%06d {\"fun\": \"%s\"}', n, long)) end",
    );
    let newest = store.jobs.newest(10).unwrap();
    let jids: Vec<_> = newest.iter().map(|(jid, _)| jid).collect();
    assert_eq!(jids, [&jid()]);
    // The others have no load, and are taken out of the index.
    assert_eq!(redis.cli(&["zcard", "halite:jobs"]).unwrap().trim(), "1");
}

#[test]
fn long_lists_stay_on_an_etcd() {
    let Some(etcd) = Etcd::for_test(&Wanted::default()) else {
        return;
    };
    let address = address(&etcd.url());
    let prefix = prefix_of(&address);
    let server = etcd_server(&address);
    let version = EtcdVersion::V3;
    let store = open(BackendOptions::Etcd(Box::new(EtcdOptions {
        address,
        version,
    })));
    for number in 0..ETCD_ANSWER_BYTES_MAX / 1_000_000 {
        let key = format!("{prefix}/many/{number}{}", "x".repeat(1_000_000));
        server
            .run(async move |etcd| etcd.put(key.as_bytes(), b"").await)
            .unwrap();
    }
    check_refused(&store, list(&store, "many"), ETCD_ANSWER_BYTES_MAX);
}
