//! The data that a master keeps: jobs and their returns, minion data, banks of any
//! data, tokens.
//!
//! Each is a role ([`Jobs`], [`MinionData`], [`Banks`], [`Tokens`]) in front of a
//! backend of its own, and every program opens them by [`open`]. The backends are
//! files and servers, in Salt's layouts, so that Salt's runners read what is
//! written here and a master of either make can continue where the other stopped.
//! Everything is synchronous: the caller decides on which thread to wait for a disk
//! or a server.
//!
//! Invariants: readers see an operation of a backend completely done or not at all,
//! and it can be tried again; no path leaves the crate, except in the text of an
//! error.

// What one kind of server needs, and others do not, is not told apart everywhere.
#![cfg_attr(
    not(all(
        feature = "etcd",
        feature = "mysql",
        feature = "postgres",
        feature = "redis"
    )),
    allow(
        dead_code,
        unreachable_code,
        unused_imports,
        unused_mut,
        unused_variables,
        unreachable_patterns
    )
)]

mod backend;
mod backlog;
pub mod banks;
mod cache;
pub mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod event_batch;
mod events;
#[cfg(feature = "test-backends")]
mod faulty;
mod job_filter;
pub mod jobs;
mod kept;
pub mod limits;
mod lines;
mod local_fs;
#[cfg(feature = "test-backends")]
mod memory_store;
pub mod migrate;
pub mod minion_data;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "mysql")]
mod mysql_tables;
mod open;
mod packing;
mod places;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod return_queue;
mod salt_json;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod sql;
mod sql_places;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod stored_jobs;
pub mod tokens;
mod waiting;

pub use backend::{BackendOptions, PlaceStatus, StoreOptions};
pub use backlog::Waits;
pub use banks::Banks;
pub use cache::Cache;
#[cfg(feature = "redis")]
pub use cache::CacheNames;
pub use error::StoreError;
#[cfg(feature = "etcd")]
pub use etcd::{EtcdOptions, EtcdVersion};
pub use events::{Events, StoredEvent};
#[cfg(feature = "test-backends")]
pub use faulty::Faults;
pub use job_filter::JobFilter;
pub use jobs::Jobs;
pub use kept::{Bank, BankError, Cleaned, FoundLoad, Parts, Saved, StoredReturn, TokenId};
pub use lines::append_lines;
#[cfg(feature = "test-backends")]
pub use memory_store::MemoryStore;
pub use minion_data::MinionData;
#[cfg(feature = "mysql")]
pub use mysql::MysqlOptions;
pub use open::{Store, open, open_with_spool};
pub use packing::load_of_return;
pub use places::{
    InTheClear, PlaceError, Places, cache_place, event_place, in_the_clear, is_own_job_cache,
    is_url, job_place, returner_place,
};
#[cfg(feature = "postgres")]
pub use postgres::{JobTables, PostgresOptions};
#[cfg(feature = "redis")]
pub use redis::RedisOptions;
pub use tokens::Tokens;
