//! The limits of what the store did not take, and that waits for it in memory.

use std::time::Duration;

/// Bytes of what minions have told of themselves that the store did not take, and that
/// waits for it. What is beyond comes with their next refresh.
pub const UNKEPT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How often the store may refuse one of these although it takes others, before it is
/// given up.
pub const UNKEPT_REFUSALS_MAX: usize = 3;

/// How long they are stored in one go: other housekeeping waits meanwhile.
pub const UNKEPT_ROUND: Duration = Duration::from_millis(500);

/// Minions of which something is stored at once: what waited must not go over what came
/// since.
pub const UNKEPT_TURNS: usize = 64;

/// Bytes of results that the job cache did not take, of minions that bring each one once.
pub const UNKEPT_RETURNS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The same of one minion.
pub const UNKEPT_RETURNS_OF_MINION_MAX: usize = 8 * 1024 * 1024;

/// Results that the job cache does not take in a row before the others wait for the next
/// round.
pub const UNKEPT_RETURNS_FAILED_MAX: usize = 4;
