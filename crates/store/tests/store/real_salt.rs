//! Real Salt on the same database: it reads what is written here, and its data is
//! read here.

#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value, json};
use halite_store::{BackendOptions, Bank, JobTables, PostgresOptions, Saved, Store, StoreOptions};
use halite_store_servers::Address;
use halite_test_services::{Postgres, Salt, Wanted};

const RELEASES: [&str; 2] = ["3006.30", "3008.5"];

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

fn state_return(jid: &Jid) -> JobReturn {
    let fun = FunSpec::One("state.apply".to_owned());
    let ret = Map::from([("pkg_|-vim_|-vim_|-installed", Value::from(true))]);
    let mut ret = JobReturn::new(ReturnJid::Jid(jid.clone()), fun, Vec::new(), ret.into(), 0);
    ret.out = Some("highstate".to_owned());
    ret
}

fn read(answer: &str) -> Value {
    json::read(answer).unwrap()
}

/// What both directions need, for one of Salt's returners.
struct Both {
    store: Store,
    salt: Salt,
    returner: &'static str,
    opts: String,
}

impl Both {
    fn begin(
        release: &str,
        returner: &'static str,
        place: BackendOptions,
        opts: String,
    ) -> Option<Self> {
        Some(Self {
            store: halite_store::open(&StoreOptions::all(place)),
            salt: Salt::for_test(release)?,
            returner,
            opts,
        })
    }

    fn on_postgres(release: &str, returner: &'static str, tables: JobTables) -> Option<Self> {
        let postgres = Postgres::shared()?;
        let name = postgres.database().unwrap();
        let address = Address::parse(&postgres.url(&name)).unwrap();
        let opts = format!(
            r#"{{"returner.{returner}.host": "{}", "returner.{returner}.port": {},
                "returner.{returner}.db": "{name}", "id": "python-master"}}"#,
            postgres.address.ip(),
            postgres.address.port()
        );
        let place = BackendOptions::Postgres(Box::new(PostgresOptions { address, tables }));
        Self::begin(release, returner, place, opts)
    }

    fn check(&self) {
        salt_reads_ours(self);
        ours_is_read_from_salts(self);
    }

    fn salt(&self, function: &str, args: &str) -> Value {
        let call = format!(r#"[["{}.{function}", {args}]]"#, self.returner);
        read(&self.salt.call(&self.opts, &call).unwrap()[0])
    }
}

fn salt_reads_ours(both: &Both) {
    let jobs = &both.store.jobs;
    let job = Jid::parse("20260102030405000001").unwrap();
    let load = Map::from([
        ("fun", Value::from("state.apply")),
        ("tgt", "web*".into()),
        ("user", "alice".into()),
        ("arg", Value::List(vec!["web".into()])),
    ]);
    jobs.save_load(&job, &load, Some(&[id("web1")])).unwrap();
    let saved = jobs.save_return(&job, &id("web1"), &state_return(&job));
    assert_eq!(saved.unwrap(), Saved::Stored);

    let found = both.salt("get_load", r#"["20260102030405000001"]"#);
    assert_eq!(found.get("fun"), Some(&"state.apply".into()));
    assert_eq!(found.get("user"), Some(&"alice".into()));
    let found = both.salt("get_jid", r#"["20260102030405000001"]"#);
    let found = found.get("web1").unwrap();
    assert_eq!(found.get("out"), Some(&"highstate".into()));
    assert_eq!(found.get("success"), Some(&true.into()));
    let state = found.get("return").unwrap().as_map().unwrap();
    assert!(state.contains_key("pkg_|-vim_|-vim_|-installed"));
    let all = both.salt("get_jids", "[]");
    let listed = all.get("20260102030405000001").unwrap();
    assert_eq!(listed.get("Function"), Some(&"state.apply".into()));
    assert_eq!(listed.get("Target"), Some(&"web*".into()));
    assert_eq!(
        both.salt("get_minions", "[]"),
        Value::List(vec!["web1".into()])
    );
}

fn ours_is_read_from_salts(both: &Both) {
    both.salt(
        "save_load",
        r#"["20260102030405000002", {"fun": "test.ping", "tgt": "*", "user": "bob"}]"#,
    );
    both.salt(
        "returner",
        r#"[{"jid": "20260102030405000002", "id": "db1", "fun": "test.ping", "fun_args": [],
             "return": {"a": [1, null, "x"]}, "retcode": 0, "success": true, "out": "nested"}]"#,
    );
    let jobs = &both.store.jobs;
    let job = Jid::parse("20260102030405000002").unwrap();
    assert!(jobs.knows(&job).unwrap() && jobs.has_load(&job).unwrap());
    let load = jobs.load(&job).unwrap().unwrap();
    assert_eq!(load.get("user"), Some(&"bob".into()));
    let returns = jobs.returns(&job).unwrap();
    let [(minion, ret)] = returns.as_slice() else {
        panic!("{returns:?}")
    };
    assert_eq!(*minion, id("db1"));
    let wanted = Value::List(vec![1.into(), Value::Nil, "x".into()]);
    assert_eq!(ret.ret(), &Map::from([("a", wanted)]).into());
    assert_eq!(ret.out.as_deref(), Some("nested"));
    assert_eq!(
        jobs.return_of(&job, &id("db1")).unwrap().as_ref(),
        Some(ret)
    );
    let newest = jobs.newest(1).unwrap();
    assert_eq!(newest[0].0, job);
    // The minion returned to the Python master; its repetition to us is none.
    let fun = FunSpec::One("test.ping".to_owned());
    let again = JobReturn::new(
        ReturnJid::Jid(job.clone()),
        fun,
        Vec::new(),
        ret.ret().clone(),
        0,
    );
    assert_eq!(
        jobs.save_return(&job, &id("db1"), &again).unwrap(),
        Saved::Duplicate { differs: false }
    );
    // Nobody else may take the id.
    assert!(jobs.allocate(false, || job.clone()).is_err());
}

#[test]
fn pgjsonb_is_read_both_ways() {
    for release in RELEASES {
        if let Some(both) = Both::on_postgres(release, "pgjsonb", JobTables::Jsonb) {
            both.check();
        }
    }
}

#[test]
fn postgres_is_read_both_ways() {
    for release in RELEASES {
        if let Some(both) = Both::on_postgres(release, "postgres", JobTables::Text) {
            both.check();
        }
    }
}

/// Releases after 3006 have these two as extensions.
#[cfg(feature = "mysql")]
#[test]
fn mysql_is_read_both_ways() {
    let wanted = Wanted::default().password("salt");
    let Some(mariadb) = halite_test_services::MariaDb::for_test(&wanted) else {
        return;
    };
    let address = Address::parse(&mariadb.url("salt")).unwrap();
    let place = halite_store::MysqlOptions::new(address);
    let opts = format!(
        r#"{{"mysql.host": "{}", "mysql.port": {}, "id": "python-master"}}"#,
        mariadb.address.ip(),
        mariadb.address.port()
    );
    let place = BackendOptions::Mysql(Box::new(place));
    if let Some(both) = Both::begin("3006.30", "mysql", place, opts) {
        both.check();
    }
}

#[cfg(feature = "redis")]
#[test]
fn redis_is_read_both_ways() {
    let Some(redis) = halite_test_services::Redis::for_test(&Wanted::default()) else {
        return;
    };
    let address = Address::parse(&redis.url()).unwrap();
    let keep = std::time::Duration::from_secs(24 * 3600);
    let place = halite_store::RedisOptions::new(address, keep);
    let opts = format!(
        r#"{{"redis.host": "{}", "redis.port": {}, "id": "python-master"}}"#,
        redis.address.ip(),
        redis.address.port()
    );
    let place = BackendOptions::Redis(Box::new(place));
    if let Some(both) = Both::begin("3006.30", "redis", place, opts) {
        both.check();
    }
}

/// Grains that each has stored, read by the other.
fn check_cache(place: BackendOptions, opts: &str, releases: &[&str]) {
    let data = halite_store::open(&StoreOptions::all(place)).data;
    for release in releases {
        let Some(salt) = Salt::for_test(release) else {
            return;
        };
        let (ours, theirs) = (id("ours"), id("theirs"));
        let grains = Map::from([("os", Value::from("Debian")), ("num_cpus", 2.into())]);
        data.put(Bank::Grains, &ours, &grains).unwrap();
        let calls = r#"[["cache.store", ["grains", "theirs", {"os": "RedHat"}]],
                        ["cache.fetch", ["grains", "ours"]],
                        ["cache.contains", ["grains", "ours"]],
                        ["cache.list", ["grains"]]]"#;
        let answers = salt.call(opts, calls).unwrap();
        assert_eq!(read(&answers[1]), grains.into(), "{release}");
        assert_eq!(read(&answers[2]), true.into(), "{release}");
        let listed = read(&answers[3]);
        let mut listed = listed.as_list().unwrap().to_vec();
        listed.sort_by_key(|id| id.as_str().map(str::to_owned));
        assert_eq!(listed, [Value::from("ours"), "theirs".into()], "{release}");
        let found = data.get(Bank::Grains, &theirs).unwrap().unwrap();
        assert_eq!(found, Map::from([("os", "RedHat")]), "{release}");
        assert_eq!(data.ids(Bank::Grains).unwrap(), [ours, theirs]);
    }
}

#[cfg(feature = "redis")]
#[test]
fn the_cache_of_a_redis_is_read_both_ways() {
    let Some(redis) = halite_test_services::Redis::for_test(&Wanted::default()) else {
        return;
    };
    let address = Address::parse(&redis.url()).unwrap();
    let place = halite_store::RedisOptions::new(address, std::time::Duration::ZERO);
    let opts = format!(
        r#"{{"cache": "redis", "cache.redis.host": "{}", "cache.redis.port": {}}}"#,
        redis.address.ip(),
        redis.address.port()
    );
    // 3006 has another layout.
    check_cache(BackendOptions::Redis(Box::new(place)), &opts, &["3008.5"]);
}

#[cfg(feature = "mysql")]
#[test]
fn the_cache_of_a_mysql_is_read_both_ways() {
    let wanted = Wanted::default().password("salt");
    let Some(mariadb) = halite_test_services::MariaDb::for_test(&wanted) else {
        return;
    };
    let address = Address::parse(&mariadb.url("salt")).unwrap();
    let place = halite_store::MysqlOptions::new(address);
    let opts = format!(
        r#"{{"cache": "mysql", "mysql.host": "{}", "mysql.port": {}, "mysql.user": "salt",
            "mysql.password": "salt", "mysql.database": "salt"}}"#,
        mariadb.address.ip(),
        mariadb.address.port()
    );
    check_cache(BackendOptions::Mysql(Box::new(place)), &opts, &["3008.5"]);
}

/// Both releases have the same driver, which speaks version 2 of etcd alone.
#[cfg(feature = "etcd")]
#[test]
fn the_cache_of_an_etcd_is_read_both_ways() {
    let Some(etcd) = halite_test_services::Etcd::for_test(&Wanted::default()) else {
        return;
    };
    let address = Address::parse(&etcd.url()).unwrap();
    let version = halite_store::EtcdVersion::salts();
    let place = halite_store::EtcdOptions { address, version };
    let place = BackendOptions::Etcd(Box::new(place));
    let opts = format!(
        r#"{{"cache": "etcd", "etcd.host": "{}", "etcd.port": {}}}"#,
        etcd.address.ip(),
        etcd.address.port()
    );
    check_cache(place.clone(), &opts, &RELEASES);
    let data = halite_store::open(&StoreOptions::all(place)).data;
    let Some(salt) = Salt::for_test("3008.5") else {
        return;
    };
    // The time is beside the value, and goes with it.
    let calls = r#"[["cache.updated", ["grains", "ours"]]]"#;
    let stored_s = read(&salt.call(&opts, calls).unwrap()[0]);
    assert!(stored_s.as_i64().unwrap() > 1_700_000_000, "{stored_s:?}");
    assert!(data.forget(Bank::Grains, &id("ours")).unwrap());
    let calls = r#"[["cache.updated", ["grains", "ours"]], ["cache.flush", ["grains", "theirs"]],
                    ["cache.fetch", ["grains", "ours"]]]"#;
    let answers = salt.call(&opts, calls).unwrap();
    assert_eq!(read(&answers[0]), Value::Nil);
    assert_eq!(read(&answers[2]), Map::new().into());
    assert!(data.ids(Bank::Grains).unwrap().is_empty());
}
