//! Salt's cache, in the layout of 3008 (`salt/cache/redis_cache.py`): a sorted
//! set of the banks, and of each bank a hash of its values and a hash of their
//! times.

mod by_slot;
pub(crate) mod values;

use std::sync::{Arc, LazyLock};

use halite_process::clock::unix_timestamp;
use halite_proto::Value;
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_store_servers::{Address, Failure, RedisServer, redis_server};
use redis::Script;

use super::Found;
use crate::error::StoreError;
use crate::limits::JOBS_LISTED_MAX;

/// The prefixes of the cache's keys, with the separator (Salt's
/// `cache.redis.banks_prefix` and so on).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheNames {
    /// The sorted set of all banks.
    pub banks: String,
    /// The hash of a bank.
    pub keys: String,
    /// The hash with the times of a bank's keys.
    pub stamps: String,
}

impl Default for CacheNames {
    fn default() -> Self {
        Self {
            banks: "$BANKS_".to_owned(),
            keys: "$KEYS_".to_owned(),
            stamps: "$TSTAMP_".to_owned(),
        }
    }
}

/// The cache of a Redis.
#[derive(Clone, Debug)]
pub(crate) struct RedisCache {
    server: Arc<RedisServer>,
    names: CacheNames,
}

/// The names of one bank.
struct Names {
    all: String,
    bank: String,
    stamps: String,
}

static REPLACE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local known = redis.call('HGET', KEYS[2], ARGV[1]) \
         if (ARGV[2] == '') ~= (known == false) then return 0 end \
         if known and known ~= ARGV[3] then return 0 end \
         redis.call('ZADD', KEYS[1], 0, KEYS[2]) \
         redis.call('HSET', KEYS[2], ARGV[1], ARGV[4]) \
         redis.call('HSET', KEYS[3], ARGV[1], ARGV[5]) \
         return 1",
    )
});

static FLUSH_KEY: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local gone = redis.call('HDEL', KEYS[2], ARGV[1]) \
         redis.call('HDEL', KEYS[3], ARGV[1]) \
         if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('ZREM', KEYS[1], KEYS[2]) end \
         return gone",
    )
});

impl RedisCache {
    pub(super) fn new(address: &Address, names: &CacheNames) -> Self {
        Self {
            server: redis_server(address),
            names: names.clone(),
        }
    }

    pub(crate) fn server(&self) -> &Address {
        self.server.address()
    }

    pub(crate) fn note_write(&self, refused: Option<&Failure>) {
        self.server.note_write(refused);
    }

    fn is_cluster(&self) -> bool {
        self.server().cluster.is_some()
    }

    fn names(&self, bank: &str) -> Names {
        Names {
            all: self.names.banks.clone(),
            bank: format!("{}{bank}/", self.names.keys),
            stamps: format!("{}{bank}/", self.names.stamps),
        }
    }

    pub(crate) fn fetch(&self, bank: &str, key: &str) -> Result<Option<Found>, StoreError> {
        let (names, key) = (self.names(bank), key.to_owned());
        Ok(self
            .server
            .run(async move |redis| Ok(values::field(redis, &names.bank, key).await?))?)
    }

    pub(crate) fn fetch_many(
        &self,
        bank: &str,
        keys: &[String],
    ) -> Result<Vec<Option<Found>>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let (names, keys) = (self.names(bank), keys.to_vec());
        Ok(self
            .server
            .run(async move |redis| Ok(values::fields(redis, &names.bank, &keys).await?))?)
    }

    pub(crate) fn store(&self, bank: &str, key: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let (names, key) = (self.names(bank), key.to_owned());
        let is_cluster = self.is_cluster();
        Ok(self.server.run(async move |redis| {
            if is_cluster {
                let () = by_slot::note_time(&names, &key).query_async(redis).await?;
            }
            let mut all = redis::pipe();
            all.atomic();
            all.cmd("HSET")
                .arg(&names.bank)
                .arg(&key)
                .arg(bytes)
                .ignore();
            all.cmd("ZADD")
                .arg(names.all)
                .arg(0)
                .arg(names.bank)
                .ignore();
            all.cmd("HSET")
                .arg(names.stamps)
                .arg(key)
                .arg(stamp())
                .ignore();
            Ok(all.query_async(redis).await?)
        })?)
    }

    pub(crate) fn replace(
        &self,
        bank: &str,
        key: &str,
        expected: Option<Vec<u8>>,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let (names, key) = (self.names(bank), key.to_owned());
        let is_cluster = self.is_cluster();
        Ok(self.server.run(async move |redis| {
            if is_cluster {
                return Ok(by_slot::replace(redis, &names, &key, expected, bytes).await?);
            }
            let mut script = REPLACE.prepare_invoke();
            script
                .key(names.all)
                .key(names.bank)
                .key(names.stamps)
                .arg(key);
            script.arg(if expected.is_some() { "1" } else { "" });
            script
                .arg(expected.unwrap_or_default())
                .arg(bytes)
                .arg(stamp());
            Ok(script.invoke_async(redis).await?)
        })?)
    }

    pub(crate) fn flush_key(&self, bank: &str, key: &str) -> Result<bool, StoreError> {
        let (names, key) = (self.names(bank), key.to_owned());
        let is_cluster = self.is_cluster();
        Ok(self.server.run(async move |redis| {
            if is_cluster {
                return Ok(by_slot::flush_key(redis, &names, &key).await?);
            }
            let mut script = FLUSH_KEY.prepare_invoke();
            script
                .key(names.all)
                .key(names.bank)
                .key(names.stamps)
                .arg(key);
            Ok(script.invoke_async(redis).await?)
        })?)
    }

    pub(crate) fn flush_bank(&self, bank: &str) -> Result<bool, StoreError> {
        let names = self.names(bank);
        let keys = self.names.keys.clone();
        let stamps = self.names.stamps.clone();
        let is_cluster = self.is_cluster();
        Ok(self.server.run(async move |redis| {
            let mut banks: Vec<String> = below(&names).query_async(redis).await?;
            if is_cluster && !banks.contains(&names.bank) {
                // Who stored its first value may have died before it was listed.
                banks.push(names.bank);
            }
            if banks.is_empty() {
                return Ok(false);
            }
            let times = banks.iter().filter_map(|bank| bank.strip_prefix(&keys));
            let times: Vec<String> = times.map(|bank| format!("{stamps}{bank}")).collect();
            if is_cluster {
                return Ok(by_slot::flush_banks(redis, &names.all, &banks, &times).await?);
            }
            let mut all = redis::pipe();
            all.atomic();
            all.cmd("ZREM").arg(names.all).arg(&banks).ignore();
            all.cmd("UNLINK").arg(banks).arg(times).ignore();
            let () = all.query_async(redis).await?;
            Ok(true)
        })?)
    }

    pub(crate) fn keys(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let names = self.names(bank);
        Ok(self.server.run(async move |redis| {
            let keys: Vec<Vec<u8>> = values::all(redis, "HKEYS", &names.bank).await?;
            // A name that is not text is none of ours and none of Salt's.
            Ok(keys
                .into_iter()
                .filter_map(|key| String::from_utf8(key).ok())
                .collect())
        })?)
    }

    pub(crate) fn banks_below(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let names = self.names(bank);
        Ok(self.server.run(async move |redis| {
            let banks: Vec<String> = below(&names).query_async(redis).await?;
            let inner = |found: &String| {
                let rest = found.strip_prefix(&names.bank)?.split('/').next()?;
                (!rest.is_empty()).then(|| rest.to_owned())
            };
            Ok(banks.iter().filter_map(inner).collect())
        })?)
    }

    pub(crate) fn stamps(&self, bank: &str) -> Result<Vec<(String, i64)>, StoreError> {
        let names = self.names(bank);
        Ok(self.server.run(async move |redis| {
            let all: Vec<(Vec<u8>, Vec<u8>)> = values::all(redis, "HGETALL", &names.stamps).await?;
            let known = all.into_iter().filter_map(|(key, stamp)| {
                Some((
                    String::from_utf8(key).ok()?,
                    unpack_modern(&stamp).ok()?.as_i64()?,
                ))
            });
            Ok(known.collect())
        })?)
    }
}

/// Asks for the names of a bank and of those below it.
fn below(names: &Names) -> redis::Cmd {
    let first = format!("[{}", names.bank);
    // What follows the slash in ASCII.
    let after = format!("({}0", names.bank.trim_end_matches('/'));
    let mut ask = redis::cmd("ZRANGEBYLEX");
    ask.arg(&names.all).arg(first).arg(after);
    // One more than are listed.
    ask.arg("LIMIT").arg(0).arg(JOBS_LISTED_MAX + 1);
    ask
}

/// The time, as Salt packs it.
fn stamp() -> Vec<u8> {
    pack_modern(&Value::from(unix_timestamp())).unwrap_or_default()
}
