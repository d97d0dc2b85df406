//! The outcomes of jobs.

use halite_proto::request::{COMMITS, Commits};
use halite_proto::{Map, Value};

/// What became of a return that was to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// It is stored.
    Stored,
    /// The minion's return is there already. A minion repeats itself when an
    /// answer was lost; only a return that differs is worth a warning.
    Duplicate {
        /// Whether it differs from the stored one.
        differs: bool,
    },
    /// The job's returns are not to be kept.
    NoCache,
}

/// A minion's return in its stored form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReturn {
    /// `return`, and `retcode` and `success` if they were stored.
    pub data: Map,
    /// The outputter.
    pub out: Option<String>,
    /// The commits that its files came from.
    pub commits: Commits,
}

impl StoredReturn {
    /// A return, with the commits if it has any.
    pub fn new(mut data: Map, out: Option<String>) -> Self {
        let commits = data.remove(COMMITS);
        let commits = commits.as_ref().map(Commits::from_value);
        Self {
            data,
            out,
            commits: commits.unwrap_or_default(),
        }
    }

    /// The shown part of all fields that a minion has sent and Salt's tables hold.
    pub(crate) fn from_all(mut all: Map) -> Self {
        let out = all.remove("out");
        let mut data = Map::new();
        for name in ["return", "retcode", "success", COMMITS] {
            if let Some(value) = all.remove(name) {
                data.insert(name, value);
            }
        }
        let out = out.and_then(|out| out.as_str().map(str::to_owned));
        Self::new(data, out)
    }

    /// The value returned.
    pub fn ret(&self) -> &Value {
        self.data.get("return").unwrap_or(&Value::Nil)
    }

    /// As Salt's readers have it: with `out` among the data, and without commits.
    pub fn into_map(self) -> Map {
        let mut map = self.data;
        if let Some(out) = self.out {
            map.insert("out", out);
        }
        map
    }
}

/// What was published as a job, in one of the forms in which it is found.
#[derive(Debug, Clone, PartialEq)]
pub enum FoundLoad<'a> {
    /// Packed, as in its file; nobody has looked at it.
    Packed(&'a [u8]),
    /// As values.
    Unpacked(Map),
}

/// The result of a pass of the cleaner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Jobs looked at.
    pub seen: usize,
    /// Jobs removed.
    pub removed: usize,
    /// Jobs that should have been removed and could not.
    pub failed: usize,
}
