//! A MySQL or MariaDB: minion data, banks and tokens in the table of Salt's cache
//! `mysql`, jobs in the tables of its returner `mysql`, and in our own tables what
//! those cannot hold.
//!
//! Invariant: an operation is one statement, or one transaction.

mod batches;
mod begin;
mod clean;
mod events;
mod jobs;
mod lookup;
mod returns;
mod search;

use halite_store_servers::Address;

pub(crate) use self::jobs::Jobs;
use crate::cache::{Banks, Cache, MinionData, Tokens};

/// The name of the cache's table if nothing else is said, as in Salt's code.
const CACHE_TABLE: &str = "salt";

/// A MySQL, and how things are named there.
#[derive(Clone, Debug, PartialEq)]
pub struct MysqlOptions {
    /// Where it is.
    pub address: Address,
    /// The table of the cache (Salt's `mysql.table_name`).
    pub cache_table: String,
}

impl MysqlOptions {
    /// A MySQL with Salt's names.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            cache_table: CACHE_TABLE.to_owned(),
        }
    }

    /// Salt's cache there.
    pub(crate) fn cache(&self) -> Cache {
        Cache::mysql(&self.address, &self.cache_table)
    }
}

/// A store on a MySQL.
#[derive(Debug)]
pub(crate) struct Mysql {
    pub(crate) jobs: Jobs,
    pub(crate) data: MinionData,
    pub(crate) banks: Banks,
    pub(crate) tokens: Tokens,
}

impl Mysql {
    pub(crate) fn new(options: &MysqlOptions) -> Self {
        let cache = options.cache();
        Self {
            jobs: Jobs::new(options),
            data: MinionData::new(cache.clone()),
            banks: Banks::new(cache.clone()),
            tokens: Tokens::new(cache),
        }
    }
}

/// `(?, ?), (?, ?)`: this many rows of this many columns.
fn marks(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    vec![row; rows].join(", ")
}
