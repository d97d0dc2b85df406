//! The limits of what the store did not take, and that waits for it in memory.

use std::time::Duration;

/// Bytes of minion data that the store did not accept and that wait for it. Data beyond
/// it come again with the minion's next refresh.
pub const UNKEPT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How often the store may refuse such data while it accepts others, before they are
/// dropped.
pub const UNKEPT_REFUSALS_MAX: usize = 3;

/// How long such data are stored in one go, while other housekeeping waits.
pub const UNKEPT_ROUND: Duration = Duration::from_millis(500);

/// Locks that minions share while their data are stored, so that older data never
/// overwrite newer ones.
pub const UNKEPT_TURNS: usize = 64;

/// Bytes of results that the job cache did not accept, from minions that send each one
/// only once.
pub const UNKEPT_RETURNS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The same for one minion.
pub const UNKEPT_RETURNS_OF_MINION_MAX: usize = 8 * 1024 * 1024;

/// Results that the job cache may refuse in a row before the others wait for the next
/// round.
pub const UNKEPT_RETURNS_FAILED_MAX: usize = 4;
