//! Where the options of a master say that data is kept.
//!
//! `store` is a URL and names the place of everything; Salt's own options (`cache`,
//! `keys.cache_driver`, `eauth_tokens.cache_driver`, `master_job_cache`) name it
//! for one role, and win where they are set to something other than files.

#[cfg(feature = "etcd")]
mod etcd;
mod named;
mod redis;

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use halite_crypto::HashType;
use halite_proto::{Map, Value};
use halite_store_servers::{Address, AddressError, ServerKind};
use thiserror::Error;

pub use self::named::{cache_place, event_place, is_url, job_place, returner_place};
use crate::backend::{BackendOptions, StoreOptions};
use crate::cache::Cache;
#[cfg(feature = "etcd")]
use crate::etcd::{EtcdOptions, EtcdVersion};
#[cfg(feature = "mysql")]
use crate::mysql::MysqlOptions;
#[cfg(feature = "postgres")]
use crate::postgres::{JobTables, PostgresOptions};
#[cfg(feature = "redis")]
use crate::redis::RedisOptions;
use crate::sql_places;

/// Where things are kept.
#[derive(Clone, Debug)]
pub struct Places {
    /// The roles of the store.
    pub store: StoreOptions,
    /// The keys of minions; `None`: in files of the pki directory.
    pub keys: Option<BackendOptions>,
    /// What `store` names: the one place of all masters that share what they know.
    pub shared: Option<BackendOptions>,
}

/// Why an option names no place.
#[derive(Debug, Error)]
#[error("{why}")]
pub struct PlaceError {
    /// The option.
    pub option: &'static str,
    /// What is wrong with its value, and what to do.
    pub why: String,
}

/// The option that names the place of everything.
const STORE: &str = "store";

/// Names of returners that this build has itself.
const OWN_JOB_CACHES: &[&str] = &["redis", "redis_return"];

/// Whether a `master_job_cache` is kept by this program itself, not in Python.
pub fn is_own_job_cache(name: &str) -> bool {
    let is_redis = cfg!(feature = "redis") && OWN_JOB_CACHES.contains(&name);
    is_redis || sql_places::is_returner(name)
}

fn files(cachedir: &Path, hash_type: HashType) -> BackendOptions {
    BackendOptions::LocalFs {
        cachedir: cachedir.to_owned(),
        hash_type,
    }
}

impl Places {
    /// A store, with the keys of minions in files, and nothing that masters share.
    pub fn of(store: StoreOptions) -> Self {
        Self {
            store,
            keys: None,
            shared: None,
        }
    }

    /// The cache of the place that masters share; `None` if there is none.
    pub fn shared_cache(&self) -> Option<Cache> {
        self.shared.as_ref().and_then(BackendOptions::cache)
    }

    /// Reads the merged options of a master.
    ///
    /// # Errors
    /// When an option names a place that is not one, or that this build lacks.
    pub fn from_opts(opts: &Map, cachedir: &Path, hash_type: HashType) -> Result<Self, PlaceError> {
        let reader = Reader { opts };
        let all = reader.url()?;
        let files = files(cachedir, hash_type);
        let data = reader.cache("cache")?.or_else(|| all.clone());
        // As Salt: who names no other place for tokens has them in the cache.
        let tokens = reader.cache("eauth_tokens.cache_driver")?;
        reader.refuse_old_tokens()?;
        let jobs = reader.job_cache()?;
        let jobs = jobs.or_else(|| all.clone().filter(BackendOptions::keeps_jobs));
        let keys = reader.cache("keys.cache_driver")?.or_else(|| all.clone());
        let or_files = |place: Option<BackendOptions>| place.unwrap_or_else(|| files.clone());
        Ok(Self {
            store: StoreOptions {
                jobs: or_files(jobs),
                banks: or_files(data.clone()),
                tokens: or_files(tokens.or_else(|| data.clone())),
                data: or_files(data),
            },
            keys,
            shared: all,
        })
    }
}

struct Reader<'o> {
    opts: &'o Map,
}

impl Reader<'_> {
    fn text(&self, name: &str) -> Option<String> {
        let value = self.opts.get(name)?;
        let text = (!value.is_nil()).then(|| halite_proto::python::str(value))?;
        (!text.is_empty()).then_some(text)
    }

    fn url(&self) -> Result<Option<BackendOptions>, PlaceError> {
        let Some(url) = self.text(STORE) else {
            return Ok(None);
        };
        let address = Address::parse(&url).map_err(|source| PlaceError {
            option: STORE,
            why: format!("it names no place: {}", with_causes(&source)),
        })?;
        self.at(STORE, address).map(Some)
    }

    /// The place that a driver of Salt's cache is for; `None` for files.
    fn cache(&self, option: &'static str) -> Result<Option<BackendOptions>, PlaceError> {
        self.driver(option, &self.text(option).unwrap_or_default())
    }

    fn driver(
        &self,
        option: &'static str,
        name: &str,
    ) -> Result<Option<BackendOptions>, PlaceError> {
        match name {
            "" | "localfs" | "localfs_key" => Ok(None),
            "redis" | "redis_cache" => {
                let address = self.redis(option, "cache.redis", "localhost")?;
                self.at(option, address).map(Some)
            }
            #[cfg(feature = "mysql")]
            "mysql" | "mysql_cache" => {
                let found = sql_places::of_mysql_cache(&|name| self.text(name));
                found.map(Some).map_err(|why| wrong(option, why))
            }
            #[cfg(feature = "etcd")]
            "etcd" | "etcd_cache" => {
                // Nothing at all would be the root of all keys, in Salt.
                let prefix = self.opts.get("etcd.path_prefix").and_then(Value::as_str);
                if prefix.is_some_and(|prefix| prefix.trim_matches('/').is_empty()) {
                    let why = "etcd.path_prefix: it must not be empty".to_owned();
                    return Err(wrong(option, why));
                }
                let found = etcd::of_cache(&|name| self.text(name));
                found.map(Some).map_err(|why| wrong(option, why))
            }
            #[allow(unreachable_patterns, reason = "a build may have both")]
            "mysql" | "mysql_cache" | "etcd" | "etcd_cache" => Err(not_built(option, name)),
            "consul" => Err(wrong(
                option,
                "there is no cache consul here: it takes no value above 512 KiB, which a pillar \
                 exceeds; there are localfs, redis, mysql and etcd, and store: postgres://..."
                    .to_owned(),
            )),
            other => Err(wrong(
                option,
                format!("there is no cache {other} here; there are localfs, redis, mysql and etcd"),
            )),
        }
    }

    fn job_cache(&self) -> Result<Option<BackendOptions>, PlaceError> {
        const OPTION: &str = "master_job_cache";
        match self.text(OPTION) {
            Some(name) => self.returner(OPTION, &name),
            None => Ok(None),
        }
    }

    fn returner(
        &self,
        option: &'static str,
        name: &str,
    ) -> Result<Option<BackendOptions>, PlaceError> {
        if sql_places::is_returner(name) {
            let found = sql_places::of_returner(name, &|name| self.text(name));
            return found.map_err(|why| wrong(option, why));
        }
        match is_own_job_cache(name) {
            true => {
                let address = self.redis(option, "redis", "salt")?;
                self.at(option, address).map(Some)
            }
            false => Ok(None),
        }
    }

    /// Tokens of 3006 on a Redis cluster, which 3008 gives up too.
    fn refuse_old_tokens(&self) -> Result<(), PlaceError> {
        const OPTION: &str = "eauth_tokens";
        match self.text(OPTION).as_deref() {
            None | Some("localfs") => Ok(()),
            Some(_) => Err(wrong(
                OPTION,
                "tokens are in files or in a cache: set eauth_tokens.cache_driver".to_owned(),
            )),
        }
    }

    fn at(&self, option: &'static str, address: Address) -> Result<BackendOptions, PlaceError> {
        match address.kind {
            #[cfg(feature = "redis")]
            ServerKind::Redis => {
                let mut options = RedisOptions::new(address, self.keep_jobs());
                options.names = self.names(option)?;
                Ok(BackendOptions::Redis(Box::new(options)))
            }
            #[cfg(feature = "postgres")]
            ServerKind::Postgres => Ok(BackendOptions::Postgres(Box::new(PostgresOptions {
                address,
                tables: JobTables::Jsonb,
            }))),
            #[cfg(feature = "mysql")]
            ServerKind::Mysql => Ok(BackendOptions::Mysql(Box::new(MysqlOptions::new(address)))),
            #[cfg(feature = "etcd")]
            ServerKind::Etcd => Ok(BackendOptions::Etcd(Box::new(EtcdOptions {
                address,
                version: EtcdVersion::V3,
            }))),
            #[allow(unreachable_patterns, reason = "a build may have all kinds")]
            kind => Err(not_built(option, kind.scheme())),
        }
    }

    fn keep_jobs(&self) -> Duration {
        const DAY_S: i64 = 86_400;
        let seconds = self.opts.get("keep_jobs_seconds").and_then(Value::as_i64);
        Duration::from_secs(u64::try_from(seconds.unwrap_or(DAY_S)).unwrap_or(0))
    }
}

fn not_built(option: &'static str, kind: &str) -> PlaceError {
    wrong(option, format!("this build keeps nothing on {kind}"))
}

fn wrong(option: &'static str, why: String) -> PlaceError {
    PlaceError { option, why }
}

/// Who reports a wrong option has room for one text.
fn with_causes(error: &AddressError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(all(test, feature = "redis"))]
mod tests {
    use super::*;

    #[cfg(feature = "postgres")]
    #[test]
    fn events_go_to_the_database_of_everything() {
        let place = |url: &str| event_place("store", &Map::from([("store", url)]));
        let found = place("postgres://db.example/salt").unwrap().unwrap();
        assert!(matches!(found, BackendOptions::Postgres(_)));
        for (url, why) in [("redis://h", "keeps no events"), ("", "names no place")] {
            let error = place(url).unwrap_err();
            assert_eq!(error.option, "event_return");
            assert!(error.why.contains(why), "{error}");
        }
        let opts = Map::new();
        assert!(event_place("redis", &opts).unwrap().is_none());
        assert!(event_place("pgjsonb", &opts).unwrap().is_some());
        assert!(event_place("own", &opts).unwrap().is_none());
    }

    fn places(opts: &[(&str, &str)]) -> Result<Places, PlaceError> {
        let opts: Map = opts
            .iter()
            .map(|(name, text)| (Value::from(*name), Value::from(*text)))
            .collect();
        Places::from_opts(&opts, Path::new("/cache"), HashType::Sha256)
    }

    fn redis_of(place: &BackendOptions) -> Option<String> {
        match place {
            BackendOptions::Redis(options) => Some(options.address.to_string()),
            _ => None,
        }
    }

    #[test]
    fn files_are_the_default() {
        let places = places(&[("cache", "localfs"), ("keys.cache_driver", "localfs_key")]).unwrap();
        let store = &places.store;
        for place in [&store.jobs, &store.data, &store.banks, &store.tokens] {
            assert_eq!(redis_of(place), None);
        }
        assert!(places.keys.is_none());
    }

    #[test]
    fn one_url_sets_all_and_salts_options_win_for_theirs() {
        let url = ("store", "redis://one/1");
        let all = places(&[url]).unwrap();
        let store = &all.store;
        for place in [&store.jobs, &store.data, &store.banks, &store.tokens] {
            assert_eq!(redis_of(place).unwrap(), "redis://one:6379/1");
        }
        assert_eq!(redis_of(&all.keys.unwrap()).unwrap(), "redis://one:6379/1");
        let mixed = places(&[
            url,
            ("cache", "redis"),
            ("cache.redis.host", "two"),
            ("cache.redis.keys_prefix", "#K"),
            ("master_job_cache", "redis"),
            ("redis.host", "three"),
            ("redis.port", "6380"),
        ])
        .unwrap();
        assert_eq!(redis_of(&mixed.store.data).unwrap(), "redis://two:6379");
        assert_eq!(redis_of(&mixed.store.tokens).unwrap(), "redis://two:6379");
        assert_eq!(redis_of(&mixed.store.jobs).unwrap(), "redis://three:6380");
        let keys = redis_of(&mixed.keys.unwrap()).unwrap();
        assert_eq!(keys, "redis://one:6379/1");
        let BackendOptions::Redis(data) = &mixed.store.data else {
            panic!()
        };
        assert_eq!(data.names.keys, "#K_");
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn an_etcd_keeps_everything_but_jobs() {
        let all = places(&[("store", "etcd://one/fleet?members=two")]).unwrap();
        let store = &all.store;
        assert!(matches!(store.jobs, BackendOptions::LocalFs { .. }));
        let keys = all.keys.unwrap();
        for place in [&store.data, &store.banks, &store.tokens, &keys] {
            assert_eq!(place.status().place, "etcd://one:2379/fleet");
        }
    }

    #[test]
    fn what_is_not_there_is_refused_with_the_reason() {
        for (name, text, why) in [
            ("store", "sqlite:///x", "names no server"),
            ("store", "nonsense", "like redis://host"),
            ("cache", "consul", "512 KiB"),
            ("cache", "memcached", "there is no cache memcached"),
            (
                "eauth_tokens",
                "rediscluster",
                "set eauth_tokens.cache_driver",
            ),
        ] {
            let error = places(&[(name, text)]).unwrap_err();
            assert_eq!(error.option, name);
            assert!(error.to_string().contains(why), "{error}");
        }
        let error = places(&[("cache", "redis"), ("cache.redis.port", "x")]).unwrap_err();
        assert!(error.to_string().contains("is no port"), "{error}");
        let equal = [
            ("cache", "redis"),
            ("cache.redis.timestamp_prefix", "$KEYS"),
        ];
        let error = places(&equal).unwrap_err();
        assert!(error.to_string().contains("must differ"), "{error}");
        #[cfg(feature = "etcd")]
        {
            for prefix in ["", "/", "//"] {
                let error = places(&[("cache", "etcd"), ("etcd.path_prefix", prefix)]);
                let error = error.unwrap_err();
                assert!(error.to_string().contains("not be empty"), "{error}");
            }
        }
        let error = places(&[("store", "redis://h?password_file=/nowhere")]).unwrap_err();
        assert!(error.to_string().contains("/nowhere"), "{error}");
    }
}
