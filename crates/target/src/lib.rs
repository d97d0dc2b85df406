//! Targets: Salt's language for selecting minions.
//!
//! Everything here is pure: patterns and data in, yes or no out. The master uses it
//! to predict which minions will answer, the minion to decide whether it matches.
//!
//! Invariant: a pattern from a request never panics and never runs without a
//! bound, whatever it says.

mod compound;
pub mod data;
mod data_needed;
pub mod error;
mod exposure;
pub mod glob;
pub mod ipcidr;
pub mod limits;
pub mod list;
pub mod nodegroup;
pub mod pcre;
pub mod range;
mod target;

pub use data_needed::{DataNeeded, Names};
pub use error::TargetError;
pub use exposure::Exposure;
pub use range::Ranges;
pub use target::{DEFAULT_DELIMITER, Reading, Subject, Target};
