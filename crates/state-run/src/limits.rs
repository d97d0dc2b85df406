//! Every limit of a run, and what happens when it is reached.

use std::time::Duration;

/// How often a run that waits for its turn, or is paused, looks again.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Bytes of a file that the run reads of itself (pauses, requests, caches of
/// high data); a larger one counts as missing.
pub(crate) const OWN_FILE_BYTES_MAX: u64 = 64 << 20;

/// Seconds of a paused run between two looks at its pause file, as in Salt.
pub(crate) const PAUSE_LOOK: Duration = Duration::from_secs(1);

/// Events of a run that wait for a slow master; then the run waits, too.
pub(crate) const EVENTS_WAITING_MAX: usize = 256;

/// Between two words of how far a run is.
pub(crate) const PROGRESS_PAUSE: Duration = Duration::from_millis(250);

/// Places of a run that wait to be told; one beyond them is left out.
pub(crate) const PLACES_WAITING_MAX: usize = 64;

/// How often a run gives back what its earlier states have needed. It takes a
/// millisecond.
pub(crate) const TIDY_EVERY: Duration = Duration::from_millis(50);

/// Bytes that an archive of `state.pkg` may unpack to; a larger one is refused.
pub(crate) const PACKAGE_BYTES_MAX: u64 = 1 << 30;

/// Bytes of the archive itself; a larger one is refused.
pub(crate) const PACKAGE_PACKED_BYTES_MAX: u64 = 1 << 30;

/// Bytes of its states, its pillar, its grains; larger ones are refused.
pub(crate) const PACKAGE_DATA_BYTES_MAX: u64 = 64 << 20;
