//! Every limit of the core modules, and what happens when it is reached.

use std::time::Duration;

/// Steps of `test.collatz`; a longer sequence is an error.
pub(crate) const COLLATZ_STEPS_MAX: usize = 100_000;

/// Seconds that a login shell has to say what environment it sets; slower
/// logins do without.
pub(crate) const LOGIN_ENV_SECONDS_MAX: u64 = 10;

/// Seconds that a function waits for grains or pillar to be made new.
pub(crate) const REFRESH_SECONDS_MAX: u64 = 30;

/// Levels of a place within the grains that a value is put to; a deeper one is
/// refused.
pub(crate) const GRAIN_LEVELS_MAX: usize = 64;

/// Files that are looked at below a directory; what follows is left out.
pub(crate) const CACHED_FILES_MAX: usize = 1_000_000;

/// Bytes of the values that `data` keeps; a larger file counts as none.
pub(crate) const DATASTORE_BYTES_MAX: u64 = 64 << 20;

/// Bytes of a file of the `yaml` driver of `sdb`; a larger one is left out.
pub(crate) const SDB_FILE_BYTES_MAX: u64 = 16 << 20;

/// How long a file of `salt-cp` that is not whole is kept after its last piece.
pub(crate) const UNFINISHED_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
