//! The vocabulary of roles and backends: checked names, kinds, outcomes.

mod banks;
mod jobs;
mod minion_data;
mod tokens;

pub use banks::BankError;
pub(crate) use banks::{BankName, KeyName};
pub use jobs::{Cleaned, FoundLoad, Saved, StoredReturn};
pub use minion_data::{Bank, Parts};
pub use tokens::TokenId;
pub(crate) use tokens::is_over;
