//! Who is meant: the target language of Salt.
//!
//! Everything here is pure: patterns and data in, yes or no out. The master
//! predicts with it who will answer; the minion decides with it whether it is
//! meant.
//!
//! Invariant: a pattern from a request never panics and never runs without a
//! bound, whatever it says.

mod compound;
pub mod data;
pub mod error;
pub mod glob;
pub mod ipcidr;
pub mod limits;
pub mod list;
pub mod nodegroup;
pub mod pcre;
pub mod range;
mod target;
mod wanted;

pub use error::TargetError;
pub use range::Ranges;
pub use target::{DEFAULT_DELIMITER, Reading, Subject, Target};
pub use wanted::{Names, Wanted};
