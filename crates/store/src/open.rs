//! The one way to open a store.

use std::path::Path;
use std::sync::Arc;

use halite_spool::SpoolError;

use crate::backend::{Backend, BackendOptions, StoreOptions};
use crate::banks::Banks;
use crate::jobs::Jobs;
use crate::minion_data::MinionData;
use crate::tokens::Tokens;

/// The roles of one store.
#[derive(Clone, Debug)]
pub struct Store {
    /// Jobs and their returns.
    pub jobs: Jobs,
    /// Grains, pillar and mine of minions.
    pub data: MinionData,
    /// Banks of anything.
    pub banks: Banks,
    /// The tokens of users who have logged in.
    pub tokens: Tokens,
}

/// Opens a store. Nothing is read or made by that, and nothing can fail: a
/// backend is reached by the first operation, so that programs start, and say
/// what is wrong, while it is away.
pub fn open(options: &StoreOptions) -> Store {
    // Roles that are kept in the same place share what is remembered of it.
    let mut opened: Vec<(&BackendOptions, Arc<Backend>)> = Vec::new();
    let mut open = |place| {
        if let Some((_, backend)) = opened.iter().find(|(known, _)| *known == place) {
            return Arc::clone(backend);
        }
        let backend = Arc::new(Backend::new(place));
        opened.push((place, Arc::clone(&backend)));
        backend
    };
    Store {
        jobs: Jobs::new(open(&options.jobs)),
        data: MinionData::new(open(&options.data)),
        banks: Banks::new(open(&options.banks)),
        tokens: Tokens::new(open(&options.tokens)),
    }
}

/// As [`open`], for the one program that keeps what servers do not take: jobs and
/// returns wait in `dir` until their server has them.
///
/// # Errors
/// When the directory cannot be used.
pub fn open_with_spool(options: &StoreOptions, dir: &Path) -> Result<Store, SpoolError> {
    let mut store = open(options);
    if options.jobs.is_server() {
        let place = options.jobs.status().place;
        store.jobs = store.jobs.with_spool(&dir.join("jobs"), place)?;
    }
    Ok(store)
}
