//! Every limit of this crate, and what happens when it is reached.

use std::time::Duration;

/// Longest path that is looked for, in bytes; longer ones are not found.
pub const PATH_BYTES_MAX: usize = 4096;

/// Files whose hashes are remembered. When full, the oldest half is forgotten.
pub const HASHES_MAX: usize = 8192;

/// Environments whose lists are remembered; the number matters only with
/// `__env__`, where minions name them. When full, all are forgotten.
pub const LISTS_MAX: usize = 32;

/// Entries of one environment's lists. What is beyond is left out, with a
/// warning.
pub const LIST_ENTRIES_MAX: usize = 2_000_000;

/// Largest file of times that is read; of a larger one nothing is known, and
/// all files count as new.
pub const TIMES_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Directories below each other that are listed. What is deeper is left out,
/// with a warning.
pub const LIST_DEPTH_MAX: usize = 128;

/// Links that are followed for one path, as in the kernel.
pub const LINKS_MAX: usize = 40;

/// Bytes read at once to hash a file.
pub const HASH_READ_BYTES: usize = 256 * 1024;

/// Largest chunk that is served, whatever `file_buffer_size` says.
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

/// How many times `file_recv_max_size` all pushed files of one minion may take.
/// What is more is refused until there are less.
pub const PUSHED_FILES_MAX: u64 = 100;

/// What a pushed file, or a directory of them, counts at least, in bytes.
pub const PUSHED_FILE_BYTES_MIN: u64 = 64 * 1024;

/// Names in the path of a pushed file: each may be a directory that is made.
pub const PUSHED_PATH_PARTS_MAX: usize = 64;

/// How often it is looked at what a minion that has no room left has pushed.
pub const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// How many times as long as a look has taken nobody looks again.
pub const LOOK_RESTS: u32 = 20;

/// Pushes that are remembered, by parts of them. When a part is full, the push
/// that was quiet for longest is forgotten: it goes on, but a file that becomes shorter on its way is not noticed then.
pub const PUSHES_AT_ONCE_MAX: usize = 1024;

/// How long a file that is not whole is kept after its last piece.
pub const UNFINISHED_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Earlier attempts of a push that are removed when it begins anew. Ours makes
/// three attempts.
pub const PUSH_ATTEMPTS_MAX: u64 = 8;

/// How often all minions' unfinished files are looked at for what is older.
pub const UNFINISHED_LOOK_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Different complaints about a git remote that are remembered, so that each is
/// in the log once.
pub(crate) const COMPLAINTS_MAX: usize = 64;

/// Environments of a remote that are named when an update has moved them; there
/// may be more.
pub const MOVED_ENVS_MAX: usize = 256;
