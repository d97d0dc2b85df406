//! A Redis, in Salt's layouts: that of its cache `redis` (3008), and that of its
//! returner `redis` for jobs. What Salt does not keep has keys that begin with
//! `halite:`.
//!
//! Invariant: changes that belong together are one transaction or one script, so
//! that nobody sees half of them. In a cluster that holds within one slot, and
//! `by_slot` defines the order for the rest.

mod batches;
mod begin;
mod by_slot;
mod clean;
mod job_index;
mod jobs;
mod keys;
mod lookup;
mod returns;

use std::time::Duration;

use halite_process::clock::unix_timestamp as now_s;
use halite_store_servers::Address;

use crate::cache::{Banks, Cache, CacheNames, MinionData, Tokens};

/// A Redis, and how things are named there.
#[derive(Clone, Debug, PartialEq)]
pub struct RedisOptions {
    /// Where it is.
    pub address: Address,
    /// Names of what the cache keeps.
    pub names: CacheNames,
    /// How long jobs are kept; zero means without a limit.
    pub keep_jobs: Duration,
}

impl RedisOptions {
    /// A Redis with Salt's names, where jobs are kept for a while.
    pub fn new(address: Address, keep_jobs: Duration) -> Self {
        Self {
            address,
            names: CacheNames::default(),
            keep_jobs,
        }
    }

    /// Salt's cache there.
    pub(crate) fn cache(&self) -> Cache {
        Cache::redis(&self.address, &self.names)
    }
}

/// A store on a Redis.
#[derive(Debug)]
pub(crate) struct Redis {
    pub(crate) jobs: jobs::Jobs,
    pub(crate) data: MinionData,
    pub(crate) banks: Banks,
    pub(crate) tokens: Tokens,
}

impl Redis {
    pub(crate) fn new(options: &RedisOptions) -> Self {
        let cache = options.cache();
        Self {
            jobs: jobs::Jobs::new(options),
            data: MinionData::new(cache.clone()),
            banks: Banks::new(cache.clone()),
            tokens: Tokens::new(cache),
        }
    }
}
