//! Remembers which of the master's files a call has read, so that the next such
//! call asks about all of them at once instead of one after the other.
//!
//! Invariant: a file counts as unchanged only when the master has said so of this
//! very content since the call began.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_proto::Value;
use halite_proto::request::HeldFile;

use crate::limits::RECALLED_CALLS_MAX;

/// The files of the last calls of different kinds.
#[derive(Debug, Default)]
pub struct Recall(Mutex<VecDeque<(CallKind, Vec<HeldFile>)>>);

/// Calls that most likely read the same files: of the same function with the
/// same arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallKind(u64);

impl CallKind {
    /// The kind of a call of `function`, for which a job has asked with `args`.
    pub(crate) fn new(function: &str, args: &Value) -> Self {
        let mut hasher = DefaultHasher::new();
        function.hash(&mut hasher);
        halite_proto::python::repr(args).hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl Recall {
    /// What the last call of this kind has read.
    pub(crate) fn files(&self, kind: CallKind) -> Vec<HeldFile> {
        let calls = self.lock();
        let call = calls.iter().find(|(known, _)| *known == kind);
        call.map(|(_, files)| files.clone()).unwrap_or_default()
    }

    /// Keeps what a call has read.
    pub(crate) fn keep(&self, kind: CallKind, files: Vec<HeldFile>) {
        let mut calls = self.lock();
        calls.retain(|(known, _)| *known != kind);
        calls.push_back((kind, files));
        if calls.len() > RECALLED_CALLS_MAX {
            calls.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(CallKind, Vec<HeldFile>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
