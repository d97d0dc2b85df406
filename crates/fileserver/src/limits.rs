//! Every limit of this crate, and what happens when it is reached.

use std::time::Duration;

/// The longest path that is looked for, in bytes; longer ones are not found.
pub const PATH_BYTES_MAX: usize = 4096;

/// Files whose hashes are remembered. When full, the oldest half is forgotten.
pub const HASHES_MAX: usize = 8192;

/// Environments whose lists are remembered. The limit matters only with `__env__`, where
/// minions choose the names. When full, all are forgotten.
pub const LISTS_MAX: usize = 32;

/// Entries of one environment's lists. Further ones are left out, with a warning.
pub const LIST_ENTRIES_MAX: usize = 2_000_000;

/// The largest file of times that is read. A larger one is ignored, so that all files
/// count as new.
pub const TIMES_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// How deep listed directories may be nested. Deeper ones are left out, with a warning.
pub const LIST_DEPTH_MAX: usize = 128;

/// Links that are followed for one path, as in the kernel.
pub const LINKS_MAX: usize = 40;

/// Bytes that are read at once to hash a file.
pub const HASH_READ_BYTES: usize = 256 * 1024;

/// The largest chunk that is served, whatever `file_buffer_size` says.
pub const CHUNK_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A file or directory that changed less than this ago may change again
/// without its time stamp showing it, so nothing is remembered about it.
pub const STAMP_SETTLES: Duration = Duration::from_secs(2);

/// The largest file that the master itself reads at once, such as one with
/// reactions, in bytes. A larger one is refused.
pub const WHOLE_FILE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Salt's default of `file_buffer_size` on a master.
pub const FILE_BUFFER_BYTES: usize = 1024 * 1024;

/// Salt's default of `file_recv_max_size`, in bytes.
pub const FILE_RECV_BYTES_MAX: u64 = 100 * 1024 * 1024;

/// All pushed files of one minion may take so many times `file_recv_max_size`. More is
/// refused until some were removed.
pub const PUSHED_FILES_MAX: u64 = 100;

/// The least size that a pushed file, or a directory of them, counts with, in bytes.
pub const PUSHED_FILE_BYTES_MIN: u64 = 64 * 1024;

/// Names in the path of a pushed file. Each may be a directory that must be made.
pub const PUSHED_PATH_PARTS_MAX: usize = 64;

/// How often the files of a minion without room are measured again.
pub const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// The pause after such a measurement is at least so many times as long as the
/// measurement.
pub const LOOK_RESTS: u32 = 20;

/// Pushes that are remembered, in a table of equal parts. When a part is full, the push
/// that was quiet for the longest time is forgotten. It can continue, but then nobody
/// notices if its file becomes shorter meanwhile.
pub const PUSHES_AT_ONCE_MAX: usize = 1024;

/// How long an incomplete file is kept after its last piece.
pub const UNFINISHED_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Earlier attempts of a push that are removed when it begins again. Halite's minion
/// makes three attempts.
pub const PUSH_ATTEMPTS_MAX: u64 = 8;

/// How often the unfinished files of all minions are searched for older ones.
pub const UNFINISHED_LOOK_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Different complaints about a git remote that are remembered, so that the log has each
/// only once.
pub(crate) const COMPLAINTS_MAX: usize = 64;

/// Environments of a remote that are listed after an update has moved them. There may be
/// more.
pub const MOVED_ENVS_MAX: usize = 256;
