//! Every limit of calls, and what happens when it is reached.

use std::time::Duration;

/// How deep functions may call each other; deeper is a `RecursionError`.
pub(crate) const CALL_DEPTH_MAX: u32 = 64;

/// Bytes that one piece of a file may have after decompression; a larger one
/// is a malformed answer.
pub const FILE_PIECE_BYTES_MAX: u64 = 100 << 20;

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

/// Names of classes of exceptions of users' Python code that are kept; more
/// are shown as `Exception`.
pub(crate) const PYTHON_CLASSES_MAX: usize = 1000;

/// Notes that go with the return of a job; more are only in the log.
pub(crate) const NOTES_MAX: usize = 32;

/// Characters of a note; a longer one is cut.
pub(crate) const NOTE_CHARS_MAX: usize = 4000;

/// Questions and log messages of one engine that are answered in a second; one that asks
/// faster waits for each answer, and the log says so. Each question may be an event: a
/// subscriber of a bus that reads nothing has room for more than half a minute of them
/// (`BUS_EVENTS_MAX` of the transport), which is longer than any is known to stand still.
pub const ENGINE_MESSAGES_PER_S: u32 = 2000;

/// How long a pause of an engine counts: what it has not asked meanwhile, it may ask at
/// once.
pub const ENGINE_BURST: Duration = Duration::from_secs(2);

/// Bytes of the log that one engine may fill in a minute. What it logs beyond that is left
/// out, and the log says so. It is 15 MiB an hour.
pub const ENGINE_LOG_BYTES_PER_MINUTE_MAX: usize = 256 << 10;

/// What a message takes of the log beside its text.
pub const LOG_LINE_BYTES: usize = 100;

/// How long a daemon that ends waits for its engines, whose processes it has killed: what
/// they have asked for may still be under way, and one in the kernel may not die. Then it
/// ends without them.
pub const ENGINES_END_MAX: Duration = Duration::from_secs(2);
