//! Every bound of this crate, with what happens when it is reached.

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

/// Salt's default of `file_buffer_size` on a master.
pub const FILE_BUFFER_BYTES: usize = 1024 * 1024;

/// Salt's default of `file_recv_max_size`, in bytes.
pub const FILE_RECV_BYTES_MAX: u64 = 100 * 1024 * 1024;
