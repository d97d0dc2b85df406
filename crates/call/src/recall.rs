//! Remembers which of the master's files a call has read, so that the next such
//! call asks about all of them at once instead of one after the other.
//!
//! Invariant: a file counts as unchanged only when the master has said so of this
//! very content since the call began.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_proto::Value;
use halite_proto::request::{Commits, HeldFile};

use crate::call::Call;
use crate::limits::RECALLED_CALLS_MAX;

/// The files of the last calls of different kinds.
#[derive(Debug, Default)]
pub struct Recall(Mutex<VecDeque<(CallKind, Vec<HeldFile>)>>);

/// Calls that most likely read the same files: of the same function with the
/// same arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallKind(u64);

impl CallKind {
    pub(crate) fn of(call: &Call<'_>) -> Self {
        let mut hasher = DefaultHasher::new();
        call.function().hash(&mut hasher);
        let args = call.job.load.get("arg").unwrap_or(&Value::Nil);
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

/// What one call knows and learns of files.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Hashes that the master has now, by path and environment.
    now: HashMap<(String, String), String>,
    /// What was read, to be kept.
    read: Vec<HeldFile>,
}

impl Held {
    /// Asks about what the last call of this kind has read.
    pub(crate) fn ask(call: &Call<'_>, recall: &Recall) -> Self {
        let files = recall.files(CallKind::of(call));
        let answers = call
            .ctx
            .files()
            .held(&files, &Commits::default())
            .unwrap_or_default();
        let held = files.into_iter().zip(answers).filter(|(_, held)| *held);
        let entry = |file: HeldFile| ((file.path, file.saltenv.as_str().to_owned()), file.hsum);
        Self {
            now: held.map(|(file, _)| entry(file)).collect(),
            read: Vec::new(),
        }
    }

    /// The hash that the master has of a file, if it was asked.
    pub(crate) fn hash(&self, file: &(String, String)) -> Option<&str> {
        self.now.get(file).map(String::as_str)
    }

    /// Notes a file that was read.
    pub(crate) fn record_read(&mut self, file: HeldFile) {
        if self.read.len() < halite_proto::request::HELD_FILES_MAX {
            self.read.push(file);
        }
    }

    /// What was read.
    pub(crate) fn into_read(self) -> Vec<HeldFile> {
        self.read
    }
}
