//! What comes of jobs.

use halite_proto::{Map, Value};

/// What became of a return that was to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// It is stored.
    Stored,
    /// The minion's return is there already. A minion repeats itself when an
    /// answer was lost; only a return that differs is worth a warning.
    Duplicate {
        /// Whether it says something else than the stored one.
        differs: bool,
    },
    /// The job's returns are not to be kept.
    NoCache,
}

/// A minion's return as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReturn {
    /// `return`, and `retcode` and `success` if they were stored.
    pub data: Map,
    /// The outputter.
    pub out: Option<String>,
}

impl StoredReturn {
    /// The value returned.
    pub fn ret(&self) -> &Value {
        self.data.get("return").unwrap_or(&Value::Nil)
    }

    /// As Salt's readers have it: with `out` among the data.
    pub fn into_map(self) -> Map {
        let mut map = self.data;
        if let Some(out) = self.out {
            map.insert("out", out);
        }
        map
    }
}

/// What a pass of the cleaner did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Jobs looked at.
    pub seen: usize,
    /// Jobs removed.
    pub removed: usize,
    /// Jobs that should have been removed and could not.
    pub failed: usize,
}
