//! Copying what is kept from one place to another, and comparing both.
//!
//! Invariants: nothing is removed from where it comes from; what is there already
//! is left as it is, so that a copy that was broken off is begun again, and does
//! what is left; what was copied is read back and compared.

mod cache;
mod jobs;

pub use cache::{copy_bank, copy_data, copy_tokens};
pub use jobs::{JobsCopied, JobsCopy, copy_jobs};

/// What became of the entries of a bank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Entries of the source.
    pub seen: usize,
    /// Those that were copied.
    pub copied: usize,
    /// Those that were there already.
    pub known: usize,
    /// Those that are there and say something else, at most `DIFFERENT_MAX`.
    pub different: Vec<String>,
}

/// Names of different entries that are told.
pub const DIFFERENT_MAX: usize = 100;

impl Copied {
    /// Counts what became of one.
    pub fn count(&mut self, name: impl FnOnce() -> String, outcome: Outcome) {
        self.seen += 1;
        match outcome {
            Outcome::Copied => self.copied += 1,
            Outcome::Known => self.known += 1,
            Outcome::Different if self.different.len() < DIFFERENT_MAX => {
                self.different.push(name());
            }
            Outcome::Different => {}
        }
    }
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was copied, or would have been.
    Copied,
    /// It was there already.
    Known,
    /// It is there, and says something else.
    Different,
}
