//! Salt's cache on a server: values under a bank and a key.
//!
//! Each server has a layout of its own, Salt's where there is one. The content is
//! the same everywhere, so the roles `data`, `banks` and `tokens` of all servers
//! are here, and the crate `key` keeps minion keys in it.
//!
//! Invariant: banks and keys are built from checked names only, and the answers of
//! a server are checked before they are used.

mod banks;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "etcd")]
mod etcd_v2;
mod minion_data;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(not(any(
    feature = "etcd",
    feature = "mysql",
    feature = "postgres",
    feature = "redis"
)))]
mod no_server;
mod parts;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
pub(crate) mod redis;
mod tokens;

use std::fmt::Display;

use halite_proto::Value;
use halite_proto::msgpack::{pack_modern, unpack_modern};
#[cfg(any(
    feature = "etcd",
    feature = "mysql",
    feature = "postgres",
    feature = "redis"
))]
use halite_store_servers::Address;
#[cfg(feature = "etcd")]
use halite_store_servers::limits::ANSWER_BYTES_MAX;
use halite_store_servers::{Failure, ServerError};

use crate::error::StoreError;
use crate::limits::{FILE_BYTES_MAX, JOBS_LISTED_MAX};

pub(crate) use banks::Banks;
#[cfg(feature = "etcd")]
use etcd::EtcdCache;
#[cfg(feature = "etcd")]
use etcd_v2::EtcdV2Cache;
pub(crate) use minion_data::MinionData;
#[cfg(feature = "mysql")]
use mysql::MysqlCache;
#[cfg(not(any(
    feature = "etcd",
    feature = "mysql",
    feature = "postgres",
    feature = "redis"
)))]
use no_server::NoServer;
#[cfg(feature = "postgres")]
use postgres::PostgresCache;
#[cfg(feature = "redis")]
pub use redis::CacheNames;
#[cfg(feature = "redis")]
use redis::RedisCache;
pub(crate) use tokens::Tokens;

/// The cache of a server. Each variant has the same operations.
#[derive(Clone, Debug)]
pub struct Cache(Driver);

/// A value as a driver has found it.
#[derive(Debug)]
pub(crate) enum Found {
    Bytes(Vec<u8>),
    /// So many bytes that the server was not asked for them.
    TooLarge(usize),
}

impl Found {
    /// A value that the server leaves out where it is longer than is read, with its length.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    fn of_length<L: TryInto<usize>>(bytes: Option<Vec<u8>>, length: L) -> Self {
        match bytes {
            Some(bytes) => Self::Bytes(bytes),
            None => Self::TooLarge(length.try_into().unwrap_or(usize::MAX)),
        }
    }
}

/// Values that are read one after the other must not be longer together than one answer
/// may be.
#[cfg(feature = "etcd")]
fn check_bytes(server: &Address, values: &[Option<Found>]) -> Result<(), StoreError> {
    let length = |found: &Found| match found {
        Found::Bytes(bytes) => bytes.len(),
        Found::TooLarge(_) => 0,
    };
    let bytes: usize = values.iter().flatten().map(length).sum();
    match bytes > ANSWER_BYTES_MAX {
        false => Ok(()),
        true => Err(StoreError::Server(ServerError {
            server: server.to_string(),
            failure: Failure::answer_too_long(),
        })),
    }
}

#[derive(Clone, Debug)]
enum Driver {
    #[cfg(feature = "etcd")]
    Etcd(EtcdCache),
    #[cfg(feature = "etcd")]
    EtcdV2(EtcdV2Cache),
    #[cfg(feature = "mysql")]
    Mysql(MysqlCache),
    #[cfg(feature = "postgres")]
    Postgres(PostgresCache),
    #[cfg(feature = "redis")]
    Redis(RedisCache),
    #[cfg(not(any(
        feature = "etcd",
        feature = "mysql",
        feature = "postgres",
        feature = "redis"
    )))]
    NoServer(NoServer),
}

/// Calls an operation of whichever driver there is.
macro_rules! drive {
    ($cache:expr, $operation:ident($($argument:expr),*)) => {
        match &$cache.0 {
            #[cfg(feature = "etcd")]
            Driver::Etcd(etcd) => etcd.$operation($($argument),*),
            #[cfg(feature = "etcd")]
            Driver::EtcdV2(etcd) => etcd.$operation($($argument),*),
            #[cfg(feature = "mysql")]
            Driver::Mysql(mysql) => mysql.$operation($($argument),*),
            #[cfg(feature = "postgres")]
            Driver::Postgres(postgres) => postgres.$operation($($argument),*),
            #[cfg(feature = "redis")]
            Driver::Redis(redis) => redis.$operation($($argument),*),
            #[cfg(not(any(
                feature = "etcd",
                feature = "mysql",
                feature = "postgres",
                feature = "redis"
            )))]
            Driver::NoServer(none) => none.$operation($($argument),*),
        }
    };
}

impl Cache {
    /// The cache of an etcd.
    #[cfg(feature = "etcd")]
    pub(crate) fn etcd(address: &Address) -> Self {
        Self(Driver::Etcd(EtcdCache::new(address)))
    }

    /// Salt's cache in version 2 of an etcd.
    #[cfg(feature = "etcd")]
    pub(crate) fn etcd_v2(address: &Address, stamp_suffix: &str) -> Self {
        Self(Driver::EtcdV2(EtcdV2Cache::new(address, stamp_suffix)))
    }

    /// The cache in a table of a MySQL.
    #[cfg(feature = "mysql")]
    pub(crate) fn mysql(address: &Address, table: &str) -> Self {
        Self(Driver::Mysql(MysqlCache::new(address, table)))
    }

    /// The cache of a PostgreSQL.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(address: &Address) -> Self {
        Self(Driver::Postgres(PostgresCache::new(address)))
    }

    #[cfg(feature = "redis")]
    pub(crate) fn redis(address: &Address, names: &CacheNames) -> Self {
        Self(Driver::Redis(RedisCache::new(address, names)))
    }

    /// The value under a key.
    ///
    /// # Errors
    /// When the server cannot be asked, or the value is too large.
    pub fn fetch(&self, bank: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = drive!(self, fetch(bank, key))?;
        found
            .map(|found| self.checked(bank, key, found))
            .transpose()
    }

    /// Calls `take` with the value under each of several keys and the number of the key.
    /// Values that are too long to be read together are read in parts.
    ///
    /// # Errors
    /// When the server cannot be asked: then some may have been given.
    pub fn fetch_each(
        &self,
        bank: &str,
        keys: &[String],
        take: &mut dyn FnMut(usize, Option<Vec<u8>>),
    ) -> Result<(), StoreError> {
        // The first key of each, and the one after its last.
        let mut parts = vec![(0, keys.len())];
        while let Some((first, after)) = parts.pop() {
            let some = keys.get(first..after).unwrap_or_default();
            match self.fetch_many(bank, some) {
                Err(error) if error.is_too_long() && some.len() > 1 => {
                    let middle = first + some.len() / 2;
                    parts.extend([(middle, after), (first, middle)]);
                }
                found => {
                    let numbered = found?.into_iter().enumerate();
                    numbered.for_each(|(number, bytes)| take(first + number, bytes));
                }
            }
        }
        Ok(())
    }

    /// The values under several keys. A value that is too large is left out with a
    /// warning.
    ///
    /// # Errors
    /// When the server cannot be asked, or they are too long together.
    pub fn fetch_many(
        &self,
        bank: &str,
        keys: &[String],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let found = drive!(self, fetch_many(bank, keys))?;
        let checked = |(key, found): (&String, Option<Found>)| {
            let checked = self.checked(bank, key, found?);
            checked
                .inspect_err(
                    |error| tracing::warn!(%error, "skipping an entry that cannot be read"),
                )
                .ok()
        };
        Ok(keys.iter().zip(found).map(checked).collect())
    }

    /// Stores a value.
    ///
    /// # Errors
    /// When the server cannot be asked, or refuses.
    pub fn store(&self, bank: &str, key: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let done = drive!(self, store(bank, key, bytes));
        self.note_write(done.as_ref().map(|()| true));
        done
    }

    /// Stores a value if the present one is as expected (`None`: there is none);
    /// otherwise returns false and changes nothing.
    ///
    /// # Errors
    /// When the server cannot be asked, or refuses.
    pub fn replace(
        &self,
        bank: &str,
        key: &str,
        expected: Option<Vec<u8>>,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let done = drive!(self, replace(bank, key, expected, bytes));
        self.note_write(done.as_ref().copied());
        done
    }

    /// Records whether the server accepts writes. A removal does not count, because a
    /// full server does that too.
    fn note_write(&self, done: Result<bool, &StoreError>) {
        match done {
            Ok(true) => drive!(self, note_write(None)),
            Err(StoreError::Server(error)) if matches!(error.failure, Failure::Refused(_)) => {
                drive!(self, note_write(Some(&error.failure)));
            }
            _ => {}
        }
    }

    /// Removes a key; false if it does not exist.
    ///
    /// # Errors
    /// When the server cannot be asked, or refuses.
    pub fn flush_key(&self, bank: &str, key: &str) -> Result<bool, StoreError> {
        drive!(self, flush_key(bank, key))
    }

    /// Removes a bank with the banks below it; false if there is nothing.
    ///
    /// # Errors
    /// When the server cannot be asked, or refuses.
    pub fn flush_bank(&self, bank: &str) -> Result<bool, StoreError> {
        drive!(self, flush_bank(bank))
    }

    /// The keys of a bank, in any order.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub fn keys(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let keys = drive!(self, keys(bank))?;
        self.check_count(bank, keys.len())?;
        Ok(keys)
    }

    /// The last parts of the names of the banks right below a bank, in any
    /// order.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub fn banks_below(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let banks = drive!(self, banks_below(bank))?;
        self.check_count(bank, banks.len())?;
        Ok(banks)
    }

    /// When each key of a bank was stored last, in seconds since 1970. A key without a
    /// usable time is left out.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub fn stamps(&self, bank: &str) -> Result<Vec<(String, i64)>, StoreError> {
        let stamps = drive!(self, stamps(bank))?;
        self.check_count(bank, stamps.len())?;
        Ok(stamps)
    }

    /// Where a key is, for messages.
    pub fn place(&self, bank: &str, key: &str) -> String {
        format!("{}: {bank}/{key}", drive!(self, server()))
    }

    /// The value under a key.
    pub(crate) fn value(&self, bank: &str, key: &str) -> Result<Option<Value>, StoreError> {
        let Some(bytes) = self.fetch(bank, key)? else {
            return Ok(None);
        };
        unpack_modern(&bytes)
            .map(Some)
            .map_err(|source| StoreError::damaged(self.place(bank, key), source))
    }

    fn checked(&self, bank: &str, key: &str, found: Found) -> Result<Vec<u8>, StoreError> {
        let max = usize::try_from(FILE_BYTES_MAX).unwrap_or(usize::MAX);
        let bytes = match found {
            Found::Bytes(bytes) if bytes.len() <= max => return Ok(bytes),
            Found::Bytes(bytes) => bytes.len(),
            Found::TooLarge(bytes) => bytes,
        };
        Err(StoreError::TooLarge {
            place: self.place(bank, key),
            bytes,
            max,
        })
    }

    fn check_count(&self, bank: &str, count: usize) -> Result<(), StoreError> {
        match count > JOBS_LISTED_MAX {
            false => Ok(()),
            true => Err(StoreError::TooMany {
                place: format!("{}: {bank}", drive!(self, server())),
                max: JOBS_LISTED_MAX,
            }),
        }
    }
}

pub(crate) fn pack(place: impl Display, value: &Value) -> Result<Vec<u8>, StoreError> {
    pack_modern(value).map_err(|source| StoreError::pack(place, source))
}
