//! Limits of stored and served data.

use std::time::Duration;

/// Values of one label. Those that come later count as `other`.
pub(crate) const NAMES_MAX: usize = 512;

/// Values of one label that only minions have named. Those that come later count as
/// `other`.
pub(crate) const HEARD_NAMES_MAX: usize = 128;

/// Characters of a label's value; a longer one counts as `other`.
pub(crate) const NAME_CHARS_MAX: usize = 80;

/// Values of the label of a gauge that is read from elsewhere; further ones are left
/// out.
pub const SERIES_MAX: usize = 1000;

/// Boundaries of one histogram.
pub(crate) const BOUNDARIES_MAX: usize = 64;

/// Connections at once; one more takes the place of the oldest.
pub(crate) const CONNECTIONS_MAX: usize = 16;

/// Pages that are written at once; whoever asks for another one waits.
pub(crate) const PAGES_AT_ONCE_MAX: usize = 4;

/// How long one connection may take, from its first byte to its last.
pub(crate) const CONNECTION_WITHIN: Duration = Duration::from_secs(10);

/// Bytes of the head of a request.
pub(crate) const HEAD_BYTES_MAX: usize = 16 * 1024;

/// The pause after a connection could not be accepted.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
