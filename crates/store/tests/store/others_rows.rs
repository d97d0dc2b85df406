//! Unreadable data that another program has written into a store hides nothing
//! else.

#![cfg(all(feature = "etcd", feature = "mysql", feature = "postgres"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use halite_proto::{Jid, Map};
use halite_store::{
    BackendOptions, Cache, EtcdOptions, EtcdVersion, JobFilter, JobTables, MysqlOptions,
    PostgresOptions, StoreOptions,
};
use halite_store_servers::{Address, etcd_v2_server, prefix_of};
use halite_test_services::{Etcd, MariaDb, Postgres};

/// The values of a bank in which `broken` is nothing.
fn check_the_others(cache: &Cache) {
    let names = ["broken", "whole"].map(str::to_owned);
    let found = cache.fetch_many("bank", &names).unwrap();
    assert_eq!(found, [None, Some(b"value".to_vec())]);
}

#[test]
fn a_row_without_a_value_hides_no_other_one() {
    let Some(server) = MariaDb::shared() else {
        return;
    };
    let database = server.database().unwrap();
    let address = Address::parse(&server.url(&database)).unwrap();
    let options = BackendOptions::Mysql(Box::new(MysqlOptions::new(address)));
    let cache = options.cache().unwrap();
    cache.store("bank", "whole", b"value".to_vec()).unwrap();
    let table = server.sql(&database, "show tables").unwrap();
    let broken = format!(
        "insert into `{}` (bank, etcd_key, data) values ('bank', 'broken', null)",
        table.trim()
    );
    server.sql(&database, &broken).unwrap();
    check_the_others(&cache);
    assert_eq!(cache.fetch("bank", "broken").unwrap(), None);
}

#[test]
fn a_value_that_is_not_base64_hides_no_other_one() {
    let Some(server) = Etcd::shared() else { return };
    let address = Address::parse(&server.new_url()).unwrap();
    let place = format!("{}/bank/broken", prefix_of(&address));
    let etcd = etcd_v2_server(&address);
    let options = EtcdOptions {
        address,
        version: EtcdVersion::salts(),
    };
    let cache = BackendOptions::Etcd(Box::new(options)).cache().unwrap();
    // More than are asked for at once.
    let names: Vec<String> = (0..70).map(|number| format!("n{number}")).collect();
    for name in &names {
        cache.store("bank", name, b"value".to_vec()).unwrap();
    }
    cache.store("bank", "whole", b"value".to_vec()).unwrap();
    let written = etcd.run(async move |etcd| {
        let done = etcd.set_v2(&place, "%").await?;
        Ok(done.is_ok())
    });
    assert!(written.unwrap());
    check_the_others(&cache);
    let found = cache.fetch_many("bank", &names).unwrap();
    assert!(found.iter().all(Option::is_some) && found.len() == names.len());
    let error = cache.fetch("bank", "broken").unwrap_err();
    assert!(error.is_of_content(), "{error}");
}

/// A Python master keeps what JSON has as text, and a database has JSON without it.
#[test]
fn a_load_that_the_database_cannot_read_hides_no_other_one() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let database = server.database().unwrap();
    let options = PostgresOptions {
        address: Address::parse(&server.url(&database)).unwrap(),
        tables: JobTables::Text,
    };
    let options = BackendOptions::Postgres(Box::new(options));
    let jobs = halite_store::open(&StoreOptions::all(options)).jobs;
    let jid = |number: u64| Jid::parse(format!("2026010203040500000{number}")).unwrap();
    for number in [1, 3] {
        let load = Map::from([("fun", "test.ping"), ("user", "ada"), ("tgt", "*")]);
        jobs.prepare(&jid(number), false).unwrap();
        jobs.save_load(&jid(number), &load, None).unwrap();
    }
    for (number, load) in [
        (
            2,
            r#"{"fun": "test.echo", "user": "ada", "tgt": "*", "arg": ["\u0000"]}"#,
        ),
        (
            4,
            r#"{"fun": "test.ping", "user": "ada", "tgt": "*", "arg": [NaN]}"#,
        ),
        (5, "no JSON at all"),
    ] {
        let insert = format!("insert into jids values ('{}', '{load}')", jid(number));
        server.sql(&database, &insert).unwrap();
    }
    let found = |filter: &JobFilter| -> Vec<Jid> {
        let found = jobs.newest_picked(10, filter, |jid, _| Some(jid)).unwrap();
        assert_eq!(found.first().map(|jid| jid.as_str().len()), Some(20));
        found
    };
    let of_ada = JobFilter {
        user: Some("ada".to_owned()),
        ..JobFilter::default()
    };
    let pings = JobFilter {
        functions: vec!["test.p*".to_owned()],
        not_function: Some("runner.jobs.list_jobs".to_owned()),
        ..of_ada.clone()
    };
    assert_eq!(found(&of_ada), [jid(4), jid(3), jid(2), jid(1)]);
    assert_eq!(found(&pings), [jid(4), jid(3), jid(1)]);
}
