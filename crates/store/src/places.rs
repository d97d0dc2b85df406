//! Where the options of a master say that data is kept.
//!
//! `store` is a URL and names the place of everything; Salt's own options (`cache`,
//! `keys.cache_driver`, `eauth_tokens.cache_driver`, `master_job_cache`) name it
//! for one role, and win there, also where they name files.

#[cfg(feature = "etcd")]
mod etcd;
mod in_the_clear;
mod named;
mod redis;

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use halite_crypto::HashType;
use halite_proto::{Map, Value};
use halite_store_servers::{Address, AddressError, ServerKind};
use thiserror::Error;

pub use self::in_the_clear::{InTheClear, in_the_clear};
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

/// Options whose default in Salt is files.
const FILES_BY_DEFAULT: &[&str] = &["cache", "keys.cache_driver", "master_job_cache"];

/// Merged options say here which of these somebody has set.
const NAMED_PLACES: &str = "halite_named_places";

/// The returner of Salt that keeps jobs in files.
const JOBS_IN_FILES: &str = "local_cache";

/// Names of returners that this build has itself.
const OWN_JOB_CACHES: &[&str] = &["redis", "redis_return"];

/// Whether a `master_job_cache` is kept by this program itself, not in Python.
pub fn is_own_job_cache(name: &str) -> bool {
    let is_redis = cfg!(feature = "redis") && OWN_JOB_CACHES.contains(&name);
    is_redis || sql_places::is_returner(name)
}

/// What one of Salt's options says about the place of its role.
enum Choice {
    /// Nothing, or it is the default: the role follows what is set for more than it.
    Unset,
    /// Files, as Salt does by itself.
    Files,
    /// A server.
    Server(BackendOptions),
}

impl Choice {
    /// The place, `None` for files. A role whose option is not set follows `otherwise`.
    fn or(self, otherwise: Option<&BackendOptions>) -> Option<BackendOptions> {
        match self {
            Self::Unset => otherwise.cloned(),
            Self::Files => None,
            Self::Server(place) => Some(place),
        }
    }
}

fn files(cachedir: &Path, hash_type: HashType, copies_for_3006: bool) -> BackendOptions {
    BackendOptions::LocalFs {
        cachedir: cachedir.to_owned(),
        hash_type,
        copies_for_3006,
    }
}

/// The option that asks for copies of minion data in another layout.
const LAYOUT: &str = "minion_data_layout";

/// The release before 3008 whose layout there is; 3007 has the same.
const OLD_RELEASE: &str = "3006";

impl Places {
    /// A store, with the keys of minions in files, and nothing that masters share.
    pub fn of(store: StoreOptions) -> Self {
        Self {
            store,
            keys: None,
            shared: None,
        }
    }

    /// The cache that masters share, if there is one.
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
        let data = reader.cache("cache")?.or(all.as_ref());
        let copies_for_3006 = reader.copies_for_3006(data.as_ref())?;
        let files = files(cachedir, hash_type, copies_for_3006);
        // As Salt: who names no other place for tokens has them in the cache.
        let tokens = reader.cache("eauth_tokens.cache_driver")?.or(data.as_ref());
        reader.refuse_old_tokens()?;
        let for_jobs = all.as_ref().filter(|place| place.keeps_jobs());
        let jobs = reader.job_cache()?.or(for_jobs);
        let keys = reader.cache("keys.cache_driver")?.or(all.as_ref());
        let or_files = |place: Option<BackendOptions>| place.unwrap_or_else(|| files.clone());
        Ok(Self {
            store: StoreOptions {
                jobs: or_files(jobs),
                banks: or_files(data.clone()),
                tokens: or_files(tokens),
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
            why: format!("not a valid store URL: {}", with_causes(&source)),
        })?;
        self.at(STORE, address).map(Some)
    }

    /// Whether programs of older releases find minions' data too: in files, which is
    /// where they look.
    fn copies_for_3006(&self, data: Option<&BackendOptions>) -> Result<bool, PlaceError> {
        let is_wanted = self.text(LAYOUT).as_deref() == Some(OLD_RELEASE);
        match data {
            Some(place) if is_wanted => Err(wrong(
                LAYOUT,
                format!(
                    "programs of Salt 3006 and 3007 look for grains, pillar and mine in files, but \
                     this master keeps them at {}: remove the option, or keep them in files",
                    place.status().place
                ),
            )),
            _ => Ok(is_wanted),
        }
    }

    /// The place of the driver that an option of Salt's cache names.
    fn cache(&self, option: &'static str) -> Result<Choice, PlaceError> {
        let Some(name) = self.text(option) else {
            return Ok(Choice::Unset);
        };
        let place = self.driver(option, &name)?;
        Ok(place.map_or_else(|| self.files(option), Choice::Server))
    }

    /// What files mean as the value of an option: merged options have Salt's defaults, too.
    fn files(&self, option: &str) -> Choice {
        let named = self.opts.get(NAMED_PLACES).and_then(Value::as_list);
        let mut named = named.unwrap_or_default().iter();
        let is_named = named.any(|name| name.as_str() == Some(option));
        match is_named || !FILES_BY_DEFAULT.contains(&option) {
            true => Choice::Files,
            false => Choice::Unset,
        }
    }

    /// The place that a driver of Salt's cache is for; `None` for files.
    fn driver(
        &self,
        option: &'static str,
        name: &str,
    ) -> Result<Option<BackendOptions>, PlaceError> {
        match name {
            "localfs" | "localfs_key" => Ok(None),
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
                "the cache consul is not supported, as it stores no value above 512 KiB and \
                 pillars can be larger; use localfs, redis, mysql or etcd, or store: postgres://..."
                    .to_owned(),
            )),
            other => Err(wrong(
                option,
                format!("unknown cache {other}; use localfs, redis, mysql or etcd"),
            )),
        }
    }

    /// The place that `master_job_cache` names. A returner in Python gets copies of the
    /// jobs, and says nothing about where the master keeps them itself.
    fn job_cache(&self) -> Result<Choice, PlaceError> {
        const OPTION: &str = "master_job_cache";
        let name = self.text(OPTION);
        match name.as_deref() {
            None => Ok(Choice::Unset),
            Some(JOBS_IN_FILES) => Ok(self.files(OPTION)),
            Some(name) => {
                let place = self.returner(OPTION, name)?;
                Ok(place.map_or(Choice::Unset, Choice::Server))
            }
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

    /// Refuses tokens of 3006 on a Redis cluster, which Salt 3008 no longer supports
    /// either.
    fn refuse_old_tokens(&self) -> Result<(), PlaceError> {
        const OPTION: &str = "eauth_tokens";
        match self.text(OPTION).as_deref() {
            None | Some("localfs") => Ok(()),
            Some(_) => Err(wrong(
                OPTION,
                "tokens are kept in files or in a cache: set eauth_tokens.cache_driver".to_owned(),
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
    wrong(option, format!("this build does not support {kind}"))
}

fn wrong(option: &'static str, why: String) -> PlaceError {
    PlaceError { option, why }
}

/// The error with its causes in one text.
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
mod tests;
