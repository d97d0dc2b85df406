//! An etcd: minion data, banks, tokens and minion keys. It keeps no jobs: it holds
//! all data in memory, 8 GiB at most, and takes no value above 1.5 MiB.

use std::fmt;
use std::sync::Arc;

use halite_store_servers::{Address, EtcdServer, etcd_server, etcd_v2_server};

use crate::cache::{Banks, Cache, MinionData, Tokens};
use crate::error::StoreError;

/// The suffix of a time's key in Salt's layout.
const STAMP_SUFFIX: &str = ".tstamp";

/// An etcd, and how it is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdOptions {
    /// Where it is. Its database is what all keys begin with.
    pub address: Address,
    /// The version of its interface.
    pub version: EtcdVersion,
}

/// The versions of etcd's interface: data stored through one is invisible to the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EtcdVersion {
    /// The version of Salt's cache `etcd`, which etcd 3.6 no longer has.
    V2 {
        /// The suffix of a time's key (Salt's `etcd.timestamp_suffix`).
        stamp_suffix: String,
    },
    /// The present version.
    V3,
}

impl EtcdVersion {
    /// Salt's, with its names.
    pub fn salts() -> Self {
        Self::V2 {
            stamp_suffix: STAMP_SUFFIX.to_owned(),
        }
    }
}

impl EtcdOptions {
    /// Salt's cache there.
    pub(crate) fn cache(&self) -> Cache {
        match &self.version {
            EtcdVersion::V2 { stamp_suffix } => Cache::etcd_v2(&self.address, stamp_suffix),
            EtcdVersion::V3 => Cache::etcd(&self.address),
        }
    }

    pub(crate) fn server(&self) -> Arc<EtcdServer> {
        match &self.version {
            EtcdVersion::V2 { .. } => etcd_v2_server(&self.address),
            EtcdVersion::V3 => etcd_server(&self.address),
        }
    }
}

impl fmt::Display for EtcdOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            EtcdVersion::V2 { .. } => write!(f, "{} (version 2)", self.address),
            EtcdVersion::V3 => write!(f, "{}", self.address),
        }
    }
}

/// A store on an etcd.
#[derive(Debug)]
pub(crate) struct Etcd {
    place: String,
    pub(crate) data: MinionData,
    pub(crate) banks: Banks,
    pub(crate) tokens: Tokens,
}

impl Etcd {
    pub(crate) fn new(options: &EtcdOptions) -> Self {
        let cache = options.cache();
        Self {
            place: options.to_string(),
            data: MinionData::new(cache.clone()),
            banks: Banks::new(cache.clone()),
            tokens: Tokens::new(cache),
        }
    }

    /// The error for requests for jobs.
    pub(crate) fn no_jobs(&self) -> StoreError {
        StoreError::NoJobs {
            place: self.place.clone(),
        }
    }
}
