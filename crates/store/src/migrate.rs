//! Copies data from one place to another, and compares both.
//!
//! Invariants: nothing is removed from the source. Existing data at the destination
//! is left as it is, so an interrupted copy can be started again and does the rest.
//! Copied data is read back and compared.

use halite_crypto::{HashType, hash_hex};
use halite_proto::json::{self, Style};
use halite_proto::{Value, python};

use crate::error::StoreError;

mod cache;
mod jobs;

pub use cache::{copy_bank, copy_data, copy_tokens};
pub use jobs::{JobsCopied, JobsCopy, copy_jobs};

/// Entries between two reports.
pub const STEP: usize = 200;

/// The hashes over all entries so far, where they come from and where they go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashes {
    /// The hash at the source.
    pub here: String,
    /// The hash at the destination.
    pub there: String,
}

impl Default for Hashes {
    fn default() -> Self {
        let nothing = hash_hex(HashType::Sha256, b"");
        Self {
            here: nothing.clone(),
            there: nothing,
        }
    }
}

impl Hashes {
    /// Adds the hashes of an entry.
    fn add(&mut self, here: &str, there: &str) {
        for (all, hash) in [(&mut self.here, here), (&mut self.there, there)] {
            *all = hash_hex(HashType::Sha256, format!("{all} {hash}").as_bytes());
        }
    }
}

/// The hash of a value's content: some stores only know JSON, and others reorder the keys
/// of maps.
///
/// # Errors
/// When it is nothing that JSON has.
pub fn hash_of(place: &str, value: &Value) -> Result<String, StoreError> {
    let style = Style {
        sort_keys: true,
        default: Some(python::str),
        ..Style::default()
    };
    let text = json::write(value, style);
    let text = text.map_err(|source| StoreError::Json {
        place: place.to_owned(),
        source,
    })?;
    Ok(hash_hex(HashType::Sha256, text.as_bytes()))
}

/// What became of the entries of a bank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Entries of the source.
    pub seen: usize,
    /// The number of copied entries.
    pub copied: usize,
    /// The number of entries that were there already.
    pub known: usize,
    /// Entries that differ at the destination, at most `DIFFERENT_MAX`.
    pub different: Vec<String>,
    /// The hashes over all of them.
    pub hashes: Hashes,
}

/// An entry on both sides.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its name in a report.
    pub name: &'a str,
    /// Its value at the source.
    pub here: &'a Value,
    /// Its value at the destination.
    pub there: Option<&'a Value>,
}

/// Names of differing entries that are reported.
pub const DIFFERENT_MAX: usize = 100;

impl Copied {
    /// Counts what became of one.
    ///
    /// # Errors
    /// When it is nothing that JSON has.
    pub fn count(&mut self, entry: Entry<'_>, outcome: Outcome) -> Result<(), StoreError> {
        self.seen += 1;
        match outcome {
            Outcome::Copied => self.copied += 1,
            Outcome::Known => self.known += 1,
            Outcome::Different if self.different.len() < DIFFERENT_MAX => {
                self.different.push(entry.name.to_owned());
            }
            Outcome::Different => {}
        }
        let hash = |value| hash_of(entry.name, value);
        let there = entry.there.map_or_else(|| Ok(String::new()), hash)?;
        self.hashes.add(&hash(entry.here)?, &there);
        Ok(())
    }
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was copied, or would have been.
    Copied,
    /// It was there already.
    Known,
    /// The destination has a different value.
    Different,
}
