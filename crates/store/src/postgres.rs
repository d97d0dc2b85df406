//! A PostgreSQL: jobs in the tables of Salt's returners `pgjsonb` and `postgres`,
//! everything else in tables of ours.
//!
//! Salt's tables hold JSON, which cannot hold everything that a minion returns, and
//! they cannot tell a repeated return from a new one. So a job and a return are
//! also kept unchanged, in `halite_jobs` and `halite_returns`. The rows of Salt's
//! tables are for Salt's programs, and we read them for jobs of Salt's masters.
//!
//! Invariant: an operation is one statement, or one transaction.

mod batches;
mod clean;
mod events;
mod jobs;
mod lookup;
mod returns;
mod search;

use halite_store_servers::Address;

pub(crate) use self::jobs::Jobs;
use crate::cache::{Banks, Cache, MinionData, Tokens};

/// A PostgreSQL, and which tables jobs have there.
#[derive(Clone, Debug, PartialEq)]
pub struct PostgresOptions {
    /// Where it is.
    pub address: Address,
    /// Which tables for jobs are created if they are missing.
    pub tables: JobTables,
}

impl PostgresOptions {
    /// The cache with banks and keys there.
    pub(crate) fn cache(&self) -> Cache {
        Cache::postgres(&self.address)
    }
}

/// The schemas of Salt's two returners. Rows are written alike into either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobTables {
    /// The tables of `pgjsonb`.
    #[default]
    Jsonb,
    /// The tables of `postgres`.
    Text,
}

/// A store on a PostgreSQL.
#[derive(Debug)]
pub(crate) struct Postgres {
    pub(crate) jobs: Jobs,
    pub(crate) data: MinionData,
    pub(crate) banks: Banks,
    pub(crate) tokens: Tokens,
}

impl Postgres {
    pub(crate) fn new(options: &PostgresOptions) -> Self {
        let cache = options.cache();
        Self {
            jobs: Jobs::new(options),
            data: MinionData::new(cache.clone()),
            banks: Banks::new(cache.clone()),
            tokens: Tokens::new(cache),
        }
    }
}
