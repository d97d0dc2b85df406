//! A store in the memory of the process, for tests: the second backend of the
//! conformance suite, and the reference for comparing a faulty store.

mod banks;
mod jobs;
mod minion_data;
mod tokens;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A store in memory. Opening the same one again gives the same data.
#[derive(Debug, Default)]
pub struct MemoryStore {
    pub(crate) jobs: jobs::Jobs,
    pub(crate) data: minion_data::MinionData,
    pub(crate) banks: banks::Banks,
    pub(crate) tokens: tokens::Tokens,
}

/// Named in errors.
const PLACE: &str = "memory";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Two are never the same by what is in them.
impl PartialEq for MemoryStore {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
