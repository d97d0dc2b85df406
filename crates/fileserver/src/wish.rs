//! The parameters of a requested update.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What of the remotes is to be updated, and when no more.
#[derive(Clone, Debug, Default)]
pub struct UpdateWish {
    /// The names or addresses of remotes; all where none is named.
    pub remotes: Vec<String>,
    /// Ends it soon when it is set.
    pub stop: Arc<AtomicBool>,
}
