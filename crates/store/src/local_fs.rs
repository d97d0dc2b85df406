//! Files below a cache directory, in Salt's layout (its `localfs` and
//! `local_cache`).
//!
//! Invariants: a path is built only from checked names. A reader sees a file whole
//! or not at all: a file, or a whole job that was not known before, is put in place
//! by a rename, as Salt does, and like Salt without waiting for the disk. Minions
//! and users can send again what a power cut takes away.

mod atomic;
mod banks;
mod batches;
mod clean;
mod held_load;
mod index;
mod job_index;
mod jobs;
mod lookup;
mod minion_data;
mod old_layout;
mod publishers;
mod recent;
mod rewrites;
mod seen_minions;
mod staged;
mod stamp;
mod tokens;

use std::path::Path;

use halite_crypto::HashType;

pub(crate) use self::jobs::Jobs;

/// The files of one cache directory.
#[derive(Debug)]
pub(crate) struct LocalFs {
    pub(crate) jobs: Jobs,
    pub(crate) data: minion_data::MinionData,
    pub(crate) banks: banks::Banks,
    pub(crate) tokens: tokens::Tokens,
}

impl LocalFs {
    pub(crate) fn new(cachedir: &Path, hash_type: HashType, copies_for_3006: bool) -> Self {
        Self {
            jobs: Jobs::new(cachedir, hash_type),
            data: minion_data::MinionData::new(cachedir, copies_for_3006),
            banks: banks::Banks::new(cachedir),
            tokens: tokens::Tokens::new(cachedir),
        }
    }
}
