//! The one way to open a store.

use std::sync::Arc;

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
