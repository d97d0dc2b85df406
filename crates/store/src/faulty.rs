//! A local store that fails, stalls and answers late, for tests.
//!
//! Invariant: the fate of the n-th operation depends on the seed only.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use halite_crypto::files::FileError;

use crate::error::StoreError;
use crate::local_fs::LocalFs;

/// What happens to the operations of a faulty store. Clones share their state.
#[derive(Clone, Debug)]
pub struct Faults(Arc<State>);

#[derive(Debug)]
struct State {
    seed: u64,
    one_in: u64,
    pause: Duration,
    is_on: AtomicBool,
    operations: AtomicU64,
    failed: AtomicU64,
}

/// What happens to one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is not done, and fails at once.
    Refused,
    /// It is not done, and fails after a pause.
    Stalled,
    /// It is done, and fails: the answer is lost.
    AnswerLost,
    /// It is done, after a pause.
    Late,
}

impl PartialEq for Faults {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Faults {
    /// Faults that hit one of `one_in` operations, and last for `pause` where
    /// the store stalls or is late. They are on.
    pub fn new(seed: u64, one_in: u64, pause: Duration) -> Self {
        Self(Arc::new(State {
            seed,
            one_in: one_in.max(1),
            pause,
            is_on: AtomicBool::new(true),
            operations: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }))
    }

    /// Begins or ends the faults. Operations without faults are not counted.
    pub fn set(&self, is_on: bool) {
        self.0.is_on.store(is_on, Ordering::Relaxed);
    }

    /// How many operations have met a fault, also one that is under way.
    pub fn met(&self) -> u64 {
        self.0.operations.load(Ordering::Relaxed)
    }

    /// How many operations have failed.
    pub fn failed(&self) -> u64 {
        self.0.failed.load(Ordering::Relaxed)
    }

    fn next(&self) -> Option<Fault> {
        if !self.0.is_on.load(Ordering::Relaxed) {
            return None;
        }
        let number = self.0.operations.fetch_add(1, Ordering::Relaxed);
        let drawn = mixed(self.0.seed ^ mixed(number));
        if !drawn.is_multiple_of(self.0.one_in) {
            return None;
        }
        Some(match mixed(drawn) % 4 {
            0 => Fault::Refused,
            1 => Fault::Stalled,
            2 => Fault::AnswerLost,
            _ => Fault::Late,
        })
    }

    fn failure(&self, kind: io::ErrorKind) -> StoreError {
        self.0.failed.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from("the faulty store");
        let source = kind.into();
        FileError::Write { path, source }.into()
    }
}

/// A local store with faults.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) files: LocalFs,
    faults: Faults,
}

impl Faulty {
    pub(crate) fn new(files: LocalFs, faults: Faults) -> Self {
        Self { files, faults }
    }

    /// Does an operation, or what a fault makes of it.
    pub(crate) fn around<T>(
        &self,
        operation: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.faults.next() {
            None => operation(),
            Some(Fault::Refused) => Err(self.faults.failure(io::ErrorKind::StorageFull)),
            Some(Fault::Stalled) => {
                thread::sleep(self.faults.0.pause);
                Err(self.faults.failure(io::ErrorKind::TimedOut))
            }
            Some(Fault::AnswerLost) => {
                operation()?;
                Err(self.faults.failure(io::ErrorKind::ConnectionReset))
            }
            Some(Fault::Late) => {
                thread::sleep(self.faults.0.pause);
                operation()
            }
        }
    }
}

/// Spreads the bits of a number (the finishing step of SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_brings_the_same_faults_and_each_kind_comes() {
        let drawn = |seed| {
            let faults = Faults::new(seed, 4, Duration::ZERO);
            (0..400).map(|_| faults.next()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        for fault in [
            Fault::Refused,
            Fault::Stalled,
            Fault::AnswerLost,
            Fault::Late,
        ] {
            assert!(drawn(1).contains(&Some(fault)), "{fault:?}");
        }
        assert!(drawn(1).contains(&None));
    }
}
