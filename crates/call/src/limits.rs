//! Every limit of calls, and what happens when it is reached.

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
