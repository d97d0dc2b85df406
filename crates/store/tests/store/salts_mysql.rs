//! Tables of a MySQL made by others: the cache as Salt makes it, jobs as an earlier
//! version of ours did.

#![cfg(feature = "mysql")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::atomic::{AtomicU64, Ordering};

use halite_proto::{Jid, Map, MinionId};
use halite_store::{BackendOptions, Cache, MysqlOptions, Store, StoreOptions};
use halite_store_servers::Address;
use halite_test_services::{MariaDb, Wanted};

/// A cache whose table takes capitals for small letters.
fn cache() -> Option<Cache> {
    let mariadb = MariaDb::shared()?;
    let name = mariadb.database().unwrap();
    let table = "create table cache (bank char(255), etcd_key char(255), data mediumblob, \
                 last_update timestamp not null default current_timestamp \
                 on update current_timestamp, primary key (bank, etcd_key)) \
                 engine=innodb default charset utf8mb4 collate utf8mb4_general_ci";
    mariadb.sql(&name, table).unwrap();
    let address = Address::parse(&mariadb.url(&name)).unwrap();
    let mut options = MysqlOptions::new(address);
    options.cache_table = "cache".to_owned();
    BackendOptions::Mysql(Box::new(options)).cache()
}

#[test]
fn names_are_told_apart_by_every_letter() {
    let Some(cache) = cache() else { return };
    cache.store("keys", "web1", b"its key".to_vec()).unwrap();
    cache
        .store("keys", "web1", b"its new key".to_vec())
        .unwrap();
    for (bank, key) in [("keys", "WEB1"), ("KEYS", "web1"), ("keys ", "web1")] {
        assert_eq!(cache.fetch(bank, key).unwrap(), None, "{bank}/{key}");
        let error = cache.store(bank, key, b"another".to_vec()).unwrap_err();
        assert!(error.to_string().contains("utf8mb4_bin"), "{error}");
        assert!(!cache.flush_key(bank, key).unwrap(), "{bank}/{key}");
        let old = Some(b"its new key".to_vec());
        let is_done = cache.replace(bank, key, old, b"another".to_vec()).unwrap();
        assert!(!is_done, "{bank}/{key}");
        let is_done = cache.replace(bank, key, None, b"another".to_vec()).unwrap();
        assert!(!is_done, "{bank}/{key}");
    }
    let many = cache.fetch_many("keys", &["WEB1".to_owned()]).unwrap();
    assert_eq!(many, [None]);
    assert!(cache.keys("KEYS").unwrap().is_empty());
    assert!(!cache.flush_bank("KEYS").unwrap());
    let found = cache.fetch("keys", "web1").unwrap();
    assert_eq!(found.as_deref(), Some(&b"its new key"[..]));
    assert!(cache.flush_key("keys", "web1").unwrap());
}

/// A server whose packets are too small is not one that is away.
#[test]
fn what_is_too_large_is_refused_and_the_rest_goes_on() {
    let Some(cache) = cache() else { return };
    let large = vec![b'x'; 65 * 1024 * 1024];
    let error = cache.store("a", "k", large).unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
    cache.store("a", "k", b"small".to_vec()).unwrap();
    assert!(cache.fetch("a", "k").unwrap().is_some());
}

#[test]
fn a_table_of_an_earlier_version_is_brought_up_to_date() {
    let Some(mariadb) = MariaDb::shared() else {
        return;
    };
    let name = mariadb.database().unwrap();
    let old = "create table halite_jobs (jid varchar(64) not null primary key, \
               prepared bigint not null, nocache bool not null default false, \
               owner varchar(255), `load` longblob, from_returns bool not null default false, \
               endtime text, batch longblob, batch_is_active bool not null default false) \
               engine=innodb default charset utf8mb4 collate utf8mb4_bin; \
               insert into halite_jobs (jid, prepared, owner) values ('20260102030405000001', 1, 'me')";
    mariadb.sql(&name, old).unwrap();
    let address = Address::parse(&mariadb.url(&name)).unwrap();
    let place = BackendOptions::Mysql(Box::new(MysqlOptions::new(address)));
    let store = halite_store::open(&StoreOptions::all(place));
    let job = Jid::parse("20260102030405000002").unwrap();
    store.jobs.prepare(&job, false).unwrap();
    let ask = "select character_maximum_length, collation_name from information_schema.columns \
               where table_schema = database() and table_name = 'halite_jobs' \
               and column_name = 'owner'; select owner from halite_jobs where owner is not null";
    assert_eq!(mariadb.sql(&name, ask).unwrap(), "512\tutf8mb4_bin\nme\n");
}

/// An account that may use tables and not change them can do all that it could before.
#[test]
fn a_table_that_may_not_be_changed_is_used_as_it_is() {
    let Some(mariadb) = MariaDb::for_test(&Wanted::default()) else {
        return;
    };
    let account = |name: &str, privileges: &str| {
        let statement = format!(
            "create user {name}@'%'; grant {privileges} on salt.* to {name}@'%'; flush privileges"
        );
        mariadb.sql("", &statement).unwrap();
        let url = format!("mysql://{name}@{}/salt", mariadb.address);
        let address = Address::parse(&url).unwrap();
        let place = BackendOptions::Mysql(Box::new(MysqlOptions::new(address)));
        halite_store::open(&StoreOptions::all(place))
    };
    let job = |number: u64| Jid::parse(format!("20260102030405{number:06}")).unwrap();
    let may_all = account("owner", "all");
    may_all.jobs.prepare(&job(1), false).unwrap();
    let narrow = "alter table halite_jobs modify owner varchar(255)";
    mariadb.sql("salt", narrow).unwrap();
    for (number, privileges) in [
        (2, "select, insert, update, delete, create"),
        (3, "select, insert, update, delete"),
    ] {
        let store = account(&format!("user{number}"), privileges);
        for _ in 0..2 {
            store.jobs.prepare(&job(number), false).unwrap();
            assert!(store.jobs.knows(&job(1)).unwrap());
        }
    }
}

/// A database of jobs: its name, how it is asked, and the store on it.
fn jobs() -> Option<(&'static MariaDb, String, Store)> {
    let mariadb = MariaDb::shared()?;
    let name = mariadb.database().unwrap();
    let address = Address::parse(&mariadb.url(&name)).unwrap();
    let place = BackendOptions::Mysql(Box::new(MysqlOptions::new(address)));
    Some((mariadb, name, halite_store::open(&StoreOptions::all(place))))
}

fn job(number: u64) -> Jid {
    Jid::parse(format!("20260102030405{number:06}")).unwrap()
}

fn load(_: &Jid) -> Map {
    Map::from([("fun", "test.ping")])
}

#[test]
fn an_id_that_salt_has_given_is_not_given_again() {
    let Some((mariadb, name, store)) = jobs() else {
        return;
    };
    store.jobs.prepare(&job(1), false).unwrap();
    let given = "insert into jids values ('20260102030405000002', '{}')";
    mariadb.sql(&name, given).unwrap();
    let mut next = (1..).map(job);
    let begun = store
        .jobs
        .begin(false, || next.next().unwrap(), load, &[])
        .unwrap();
    begun.stored.unwrap();
    assert_eq!(begun.jid, job(3));
    let ask = "select jid from halite_jobs order by jid; \
               select `load` from jids where jid = '20260102030405000002'";
    let found = mariadb.sql(&name, ask).unwrap();
    assert_eq!(
        found, "20260102030405000001\n20260102030405000003\n{}\n",
        "the id of Salt's job is left alone"
    );
}

#[test]
fn jobs_that_begin_at_once_do_not_lock_each_other_out() {
    const THREADS: u64 = 8;
    const JOBS: u64 = 25;
    let Some((mariadb, name, store)) = jobs() else {
        return;
    };
    let number = AtomicU64::new(0);
    let web1 = [MinionId::parse("web1").unwrap()];
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..JOBS {
                    let next = || job(number.fetch_add(1, Ordering::Relaxed));
                    let begun = store.jobs.begin(false, next, load, &web1).unwrap();
                    begun.stored.unwrap();
                }
            });
        }
    });
    // What was refused would wait on disk, or be stored with another id.
    assert_eq!(number.into_inner(), THREADS * JOBS);
    let ask = "select count(*) from halite_jobs join jids using (jid) \
               join halite_minions using (jid) where jids.`load` like '%test.ping%'";
    assert_eq!(mariadb.sql(&name, ask).unwrap(), "200\n");
}
