//! How fast each kind of store takes returns, finds jobs and tells grains, on servers of its
//! own on this machine, beside Salt's own returner.
//!
//!     cargo run --release -p halite-store --example store_figures [KIND]
//!
//! `HALITE_FIGURES_JOBS` is how many jobs are searched, 100,000 by default.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program to measure with"
)]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use halite_crypto::HashType;
use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::{
    BackendOptions, Bank, EtcdOptions, EtcdVersion, JobFilter, JobTables, MysqlOptions,
    PostgresOptions, RedisOptions, Store, StoreOptions,
};
use halite_store_servers::Address;
use halite_test_services::{Etcd, MariaDb, Postgres, Redis, Salt, Wanted};

/// Sets one condition of a filter.
type Narrow = fn(&mut JobFilter);

const MINIONS: usize = 10_000;
const RETURNS: usize = 40_000;
const THREADS: usize = 32;
const SALTS_RETURNS: usize = 1_000;

fn main() {
    let only = std::env::args().nth(1);
    let is_wanted = |kind: &str| only.as_deref().is_none_or(|only| only == kind);
    let dir = tempfile::tempdir().unwrap();
    if is_wanted("localfs") {
        measure(
            "localfs",
            &StoreOptions::local_fs(dir.path(), HashType::Sha256),
        );
    }
    if is_wanted("redis") {
        let redis = Redis::start(&Wanted::default()).unwrap();
        let address = Address::parse(&redis.url()).unwrap();
        let options = RedisOptions::new(address, Duration::from_secs(86_400));
        measure(
            "redis",
            &StoreOptions::all(BackendOptions::Redis(Box::new(options))),
        );
    }
    if is_wanted("etcd") {
        let etcd = Etcd::start(&Wanted::default()).unwrap();
        for (kind, version) in [("etcd", EtcdVersion::V3), ("etcd v2", EtcdVersion::salts())] {
            let address = Address::parse(&etcd.url()).unwrap();
            let options = EtcdOptions { address, version };
            let place = BackendOptions::Etcd(Box::new(options));
            look_for_grains(kind, &halite_store::open(&StoreOptions::all(place)));
        }
    }
    if is_wanted("mysql") {
        let mariadb = MariaDb::start(&Wanted::default()).unwrap();
        let address = Address::parse(&mariadb.url("salt")).unwrap();
        let options = BackendOptions::Mysql(Box::new(MysqlOptions::new(address)));
        measure("mysql", &StoreOptions::all(options));
    }
    if is_wanted("postgres") {
        let postgres = Postgres::start(&Wanted::default()).unwrap();
        let address = Address::parse(&postgres.url("salt")).unwrap();
        let tables = JobTables::Jsonb;
        let options = BackendOptions::Postgres(Box::new(PostgresOptions { address, tables }));
        measure("postgres", &StoreOptions::all(options));
        salts_own(&postgres);
    }
}

fn jid(number: usize) -> Jid {
    Jid::parse(format!("20260102030{number:09}")).unwrap()
}

fn ret(jid: &Jid) -> JobReturn {
    let fun = FunSpec::One("test.ping".to_owned());
    JobReturn::new(ReturnJid::Jid(jid.clone()), fun, Vec::new(), true.into(), 0)
}

/// How long it takes to read one grain of all minions, as a compound target does.
fn look_for_grains(kind: &str, store: &Store) {
    let ids: Vec<MinionId> = (0..MINIONS)
        .map(|number| MinionId::parse(format!("minion{number}")).unwrap())
        .collect();
    let grains = |number: usize| {
        let mut grains = Map::from([("os", ["Debian", "RedHat"][number % 2])]);
        grains.insert("much", "x".repeat(4000));
        grains
    };
    std::thread::scope(|scope| {
        for part in ids.chunks(MINIONS / THREADS) {
            scope.spawn(move || {
                for (number, id) in part.iter().enumerate() {
                    store.data.put(Bank::Grains, id, &grains(number)).unwrap();
                }
            });
        }
    });
    // What was stored within the last seconds is read again where times are whole ones.
    std::thread::sleep(Duration::from_secs(3));
    let keys = BTreeSet::from(["os".to_owned()]);
    for time in ["the first time", "the second time", "the third time"] {
        let began = Instant::now();
        let found = store
            .data
            .parts(Bank::Grains, &ids, &keys)
            .unwrap()
            .unwrap();
        assert_eq!(found.len(), MINIONS);
        println!(
            "{kind:<9} {:>7.0} ms for a grain of {MINIONS} minions, {time}",
            millis(began)
        );
    }
}

fn measure(kind: &str, options: &StoreOptions) {
    let store = halite_store::open(options);
    look_for_grains(kind, &store);
    let job = jid(1);
    store.jobs.prepare(&job, false).unwrap();
    let load = Map::from([("fun", "test.ping"), ("tgt", "*"), ("user", "root")]);
    store.jobs.save_load(&job, &load, None).unwrap();
    let next = AtomicUsize::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let ret = ret(&job);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= RETURNS {
                        return;
                    }
                    let id = MinionId::parse(format!("minion{number}")).unwrap();
                    store.jobs.save_return(&job, &id, &ret).unwrap();
                }
            });
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let rate = RETURNS as f64 / seconds;
    println!("{kind:<9} {rate:>7.0} returns/s");
    let began = Instant::now();
    let all = store.jobs.returns(&job).unwrap();
    assert_eq!(all.len(), RETURNS);
    println!("{kind:<9} {:>7.0} ms to read all of them", millis(began));
    search(kind, &store);
}

fn search(kind: &str, store: &Store) {
    let jobs = std::env::var("HALITE_FIGURES_JOBS").map_or(100_000, |text| text.parse().unwrap());
    let next = AtomicUsize::new(2);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number > jobs {
                        return;
                    }
                    let load = Map::from([
                        ("fun", Value::from(["state.apply", "test.ping"][number % 2])),
                        ("tgt", format!("web{}", number % 1000).into()),
                        ("user", format!("user{}", number % 100).into()),
                        ("arg", Value::List(vec!["x".into()])),
                    ]);
                    store.jobs.prepare(&jid(number), false).unwrap();
                    store.jobs.save_load(&jid(number), &load, None).unwrap();
                }
            });
        }
    });
    let filters: [(&str, Narrow); 4] = [
        ("user", |filter| filter.user = Some("user7".to_owned())),
        ("function", |filter| {
            filter.functions = vec!["state.*".to_owned()]
        }),
        ("target", |filter| filter.targets = vec!["web77".to_owned()]),
        ("time", |filter| {
            filter.since = Some(jid(90_000).to_string())
        }),
    ];
    for (name, set) in filters {
        let mut filter = JobFilter::default();
        set(&mut filter);
        let began = Instant::now();
        let pick = |jid, load| Some((jid, load));
        let found = store.jobs.newest_picked(1000, &filter, pick).unwrap();
        println!(
            "{kind:<9} {:>7.0} ms for {} of {jobs} jobs by {name}",
            millis(began),
            found.len()
        );
    }
}

/// The same returns through Salt's returner, one connection each as it does.
fn salts_own(postgres: &Postgres) {
    let Some(salt) = Salt::for_test("3008.5") else {
        return;
    };
    let opts = format!(
        r#"{{"returner.pgjsonb.host": "{}", "returner.pgjsonb.port": {}}}"#,
        postgres.address.ip(),
        postgres.address.port()
    );
    let calls = |returns: usize| {
        let call = |number: usize| {
            format!(
                r#"["pgjsonb.returner", [{{"jid": "20260102030999999999", "id": "python{number}",
                    "fun": "test.ping", "fun_args": [], "return": true, "retcode": 0,
                    "success": true}}]]"#
            )
        };
        let all: Vec<String> = (0..returns).map(call).collect();
        format!("[{}]", all.join(", "))
    };
    let took = |returns: usize| {
        let began = Instant::now();
        let answers = salt.call(&opts, &calls(returns)).unwrap();
        assert_eq!(answers.len(), returns);
        began.elapsed().as_secs_f64()
    };
    let seconds = took(SALTS_RETURNS + 1) - took(1);
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let rate = SALTS_RETURNS as f64 / seconds;
    println!("pgjsonb of Salt 3008.5, one process: {rate:.0} returns/s");
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
