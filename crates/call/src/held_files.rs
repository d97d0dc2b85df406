//! What one call knows of the master's files, and what it learns of them.
//!
//! Invariant: a hash that is given here is one that the master has named since the
//! call began.

use std::collections::HashMap;

use halite_proto::Value;
use halite_proto::request::{Commits, HeldFile};

use crate::call::Call;
use crate::recall::{CallKind, Recall};

/// What one call knows and learns of files.
#[derive(Debug, Default)]
pub(crate) struct HeldFiles {
    /// Hashes that the master has now, by path and environment.
    now: HashMap<(String, String), String>,
    /// What was read, to be kept.
    read: Vec<HeldFile>,
}

impl HeldFiles {
    /// Asks about what the last call of this kind has read.
    pub(crate) fn ask(call: &Call<'_>, recall: &Recall) -> Self {
        let files = recall.files(kind(call));
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

    /// Keeps what was read for the next call of this kind.
    pub(crate) fn keep(self, call: &Call<'_>, recall: &Recall) {
        recall.keep(kind(call), self.read);
    }
}

fn kind(call: &Call<'_>) -> CallKind {
    let args = call.job.load.get("arg").unwrap_or(&Value::Nil);
    CallKind::new(call.function(), args)
}
