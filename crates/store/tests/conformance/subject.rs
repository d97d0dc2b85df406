//! Empty stores for the checks, and names for their content.

use std::any::Any;

use halite_crypto::HashType;
use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::{BackendOptions, Store, StoreOptions};

/// A store that can be opened several times.
pub(crate) struct Subject {
    options: StoreOptions,
    /// The directory or the server, which goes with the test.
    _place: Box<dyn Any>,
}

impl Subject {
    /// Opens the store, as one more program does.
    pub(crate) fn open(&self) -> Store {
        halite_store::open(&self.options)
    }
}

pub(crate) fn local_fs() -> Subject {
    let dir = tempfile::tempdir().unwrap();
    Subject {
        options: StoreOptions::local_fs(dir.path(), HashType::Sha256),
        _place: Box::new(dir),
    }
}

#[cfg(feature = "etcd")]
pub(crate) fn etcd() -> Option<Subject> {
    in_etcd(halite_store::EtcdVersion::V3)
}

#[cfg(feature = "etcd")]
pub(crate) fn etcd_v2() -> Option<Subject> {
    in_etcd(halite_store::EtcdVersion::salts())
}

#[cfg(feature = "etcd")]
fn in_etcd(version: halite_store::EtcdVersion) -> Option<Subject> {
    let server = halite_test_services::Etcd::shared()?;
    let address = halite_store_servers::Address::parse(&server.new_url()).unwrap();
    let options = halite_store::EtcdOptions { address, version };
    Some(Subject {
        options: StoreOptions::all(BackendOptions::Etcd(Box::new(options))),
        _place: Box::new(()),
    })
}

#[cfg(feature = "mysql")]
pub(crate) fn mysql() -> Option<Subject> {
    let server = halite_test_services::MariaDb::shared()?;
    let url = server.url(&server.database().unwrap());
    let address = halite_store_servers::Address::parse(&url).unwrap();
    let options = halite_store::MysqlOptions::new(address);
    Some(Subject {
        options: StoreOptions::all(BackendOptions::Mysql(Box::new(options))),
        _place: Box::new(()),
    })
}

#[cfg(feature = "postgres")]
pub(crate) fn postgres() -> Option<Subject> {
    in_postgres(halite_store::JobTables::Jsonb)
}

#[cfg(feature = "postgres")]
pub(crate) fn postgres_text() -> Option<Subject> {
    in_postgres(halite_store::JobTables::Text)
}

#[cfg(feature = "postgres")]
fn in_postgres(tables: halite_store::JobTables) -> Option<Subject> {
    let server = halite_test_services::Postgres::shared()?;
    let url = server.url(&server.database().unwrap());
    let address = halite_store_servers::Address::parse(&url).unwrap();
    let options = halite_store::PostgresOptions { address, tables };
    Some(Subject {
        options: StoreOptions::all(BackendOptions::Postgres(Box::new(options))),
        _place: Box::new(()),
    })
}

#[cfg(feature = "redis")]
pub(crate) fn redis() -> Option<Subject> {
    let server = halite_test_services::Redis::for_test(&Default::default())?;
    Some(on_redis(&server.url(), Box::new(server)))
}

#[cfg(feature = "redis")]
pub(crate) fn redis_cluster() -> Option<Subject> {
    let cluster = halite_test_services::RedisCluster::shared()?;
    Some(on_redis(&cluster.url(), Box::new(cluster)))
}

#[cfg(feature = "redis")]
fn on_redis(url: &str, place: Box<dyn Any>) -> Subject {
    let address = halite_store_servers::Address::parse(url).unwrap();
    let keep = std::time::Duration::from_secs(24 * 3600);
    let options = halite_store::RedisOptions::new(address, keep);
    Subject {
        options: StoreOptions::all(BackendOptions::Redis(Box::new(options))),
        _place: place,
    }
}

pub(crate) fn memory_store() -> Subject {
    Subject {
        options: StoreOptions::all(BackendOptions::MemoryStore(std::sync::Arc::default())),
        _place: Box::new(()),
    }
}

pub(crate) fn faulty() -> Subject {
    let faults = halite_store::Faults::new(0, 1, std::time::Duration::ZERO);
    faults.set(false);
    with_faults(faults)
}

pub(crate) fn with_faults(faults: halite_store::Faults) -> Subject {
    let dir = tempfile::tempdir().unwrap();
    Subject {
        options: StoreOptions::all(BackendOptions::Faulty {
            cachedir: dir.path().to_owned(),
            faults,
        }),
        _place: Box::new(dir),
    }
}

/// A job id; later numbers are later jobs.
pub(crate) fn jid(number: u64) -> Jid {
    Jid::parse(format!("202402291234567{number:05}")).unwrap()
}

pub(crate) fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

pub(crate) fn map(key: &str, value: impl Into<Value>) -> Map {
    Map::from([(key, value.into())])
}

pub(crate) fn ping(jid: &Jid, ret: impl Into<Value>) -> JobReturn {
    let fun = FunSpec::One("test.ping".to_owned());
    JobReturn::new(ReturnJid::Jid(jid.clone()), fun, Vec::new(), ret.into(), 0)
}
