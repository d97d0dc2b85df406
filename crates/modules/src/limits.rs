//! Every limit of the modules, with what happens at it.

use std::time::Duration;

/// How deep functions may call each other; deeper is a `RecursionError`.
pub(crate) const CALL_DEPTH_MAX: u32 = 64;

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

/// Bytes that one piece of a file may have after decompression; a larger one
/// is a malformed answer.
pub(crate) const FILE_PIECE_BYTES_MAX: u64 = 100 << 20;

/// Bytes of a piece that a Halite master is asked for: large enough that what
/// a request costs does not count, small enough for the processor's cache.
pub(crate) const FILE_PIECE_BYTES: u64 = 256 << 10;

/// Pieces on their way at the same time. Each needs a connection of its own, of
/// which others want one too.
pub(crate) const FILE_PIECES_AHEAD: usize = 3;

/// Kinds of calls whose files are remembered; the oldest is forgotten.
pub(crate) const RECALLED_CALLS_MAX: usize = 4;

/// Bytes of a file that comes along when its hash is asked for.
pub(crate) const SMALL_FILE_BYTES: u64 = 64 << 10;

/// How often a file is begun anew that changes on its way; after that it is
/// taken as it comes, as Salt does.
pub(crate) const FILE_CHANGES_MAX: u32 = 3;

/// Bytes of a file whose hash is made to see that it is whole; a larger one is
/// asked for until nothing comes, as Salt does.
pub(crate) const HASHED_BYTES_MAX: u64 = 1 << 20;

/// How often a piece is asked for when the answer makes no sense.
pub(crate) const FILE_REPLY_TRIES: u32 = 3;

/// Files that are looked at below a directory; what follows is left out.
pub(crate) const CACHED_FILES_MAX: usize = 1_000_000;

/// Names of classes of exceptions of users' Python code that are kept; more
/// are shown as `Exception`.
pub(crate) const PYTHON_CLASSES_MAX: usize = 1000;

/// Notes that go with the return of a job; more are only in the log.
pub(crate) const NOTES_MAX: usize = 32;

/// Characters of a note; a longer one is cut.
pub(crate) const NOTE_CHARS_MAX: usize = 4000;

/// Bytes of the values that `data` keeps; a larger file counts as none.
pub(crate) const DATASTORE_BYTES_MAX: u64 = 64 << 20;

/// Bytes of a file of the `yaml` driver of `sdb`; a larger one is left out.
pub(crate) const SDB_FILE_BYTES_MAX: u64 = 16 << 20;

/// How long a file of `salt-cp` that is not whole is kept after its last piece.
pub(crate) const UNFINISHED_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
