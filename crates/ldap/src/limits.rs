//! Limits of requests to a directory.

use std::time::Duration;

/// How long a server may take to be connected; then the next one is tried.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// How long a login, or a look at computers, may take in all. Then it fails.
pub const ASK_TIME_MAX: Duration = Duration::from_secs(20);

/// Entries that a search may give: groups of a user, computers of a unit. The
/// directory stops there.
pub const ENTRIES_MAX: i32 = 10_000;

/// Longest name of a user. A longer one is refused.
pub const NAME_BYTES_MAX: usize = 256;

/// Longest password. A longer one is refused.
pub const PASSWORD_BYTES_MAX: usize = 4096;
