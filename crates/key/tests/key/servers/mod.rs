//! Every server that keys can be kept on.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;
use std::time::Duration;

use halite_key::KeyStore;
use halite_store::{
    BackendOptions, EtcdOptions, EtcdVersion, JobTables, MysqlOptions, PostgresOptions,
    RedisOptions,
};
use halite_store_servers::Address;
use halite_test_services::{Etcd, MariaDb, Postgres, Redis, RedisCluster};

/// A server, with the name that a test says.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) options: BackendOptions,
}

impl Place {
    pub(crate) fn redis(name: &'static str, url: &str) -> Self {
        let options = RedisOptions::new(Address::parse(url).unwrap(), Duration::ZERO);
        Self {
            name,
            options: BackendOptions::Redis(Box::new(options)),
        }
    }

    pub(crate) fn postgres(url: &str) -> Self {
        let address = Address::parse(url).unwrap();
        let tables = JobTables::Jsonb;
        Self {
            name: "postgres",
            options: BackendOptions::Postgres(Box::new(PostgresOptions { address, tables })),
        }
    }

    pub(crate) fn mariadb(url: &str) -> Self {
        let options = MysqlOptions::new(Address::parse(url).unwrap());
        Self {
            name: "mariadb",
            options: BackendOptions::Mysql(Box::new(options)),
        }
    }

    pub(crate) fn etcd3(url: &str) -> Self {
        Self::etcd("etcd", url, EtcdVersion::V3)
    }

    pub(crate) fn etcd_of_salt(url: &str) -> Self {
        Self::etcd("etcd of Salt", url, EtcdVersion::salts())
    }

    fn etcd(name: &'static str, url: &str, version: EtcdVersion) -> Self {
        let address = Address::parse(url).unwrap();
        Self {
            name,
            options: BackendOptions::Etcd(Box::new(EtcdOptions { address, version })),
        }
    }

    /// A master whose files are in a directory.
    pub(crate) fn master(&self, dir: &Path) -> KeyStore {
        let mirror = dir.join("mirror");
        KeyStore::open_at(dir.join("pki"), None, Some(&self.options), Some(&mirror)).unwrap()
    }
}

/// Runs a test on each server that is installed; what is not is reported.
pub(crate) fn on_each_server(test: impl Fn(&Place)) {
    if let Some(redis) = Redis::for_test(&Default::default()) {
        test(&Place::redis("redis", &redis.url()));
    }
    if let Some(cluster) = RedisCluster::shared() {
        test(&Place::redis("redis cluster", &cluster.url()));
    }
    if let Some(postgres) = Postgres::shared() {
        test(&Place::postgres(
            &postgres.url(&postgres.database().unwrap()),
        ));
    }
    if let Some(mariadb) = MariaDb::shared() {
        test(&Place::mariadb(&mariadb.url(&mariadb.database().unwrap())));
    }
    if let Some(etcd) = Etcd::shared() {
        test(&Place::etcd3(&etcd.new_url()));
        test(&Place::etcd_of_salt(&etcd.new_url()));
    }
}
