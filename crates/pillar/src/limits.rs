//! Every limit of this crate, and what happens when it is reached.

use std::time::Duration;

/// Size of an SLS file of a pillar; a larger one is an error of the pillar.
pub const SLS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Files that include each other in a row; beyond it the pillar has an error.
pub const INCLUDE_DEPTH_MAX: usize = 100;

/// The same for the merging strategy `list`, with which each level doubles
/// what is below it.
pub const INCLUDE_DEPTH_OF_PAIRS_MAX: usize = 10;

/// Errors that one SLS tells, those of its includes counted; further ones are
/// left out. Each level of includes doubles them, as in Salt.
pub const ERRORS_MAX: usize = 256;

/// Entries of pillar roots that are listed for globs; what is beyond is left
/// out, with a warning.
pub const LIST_ENTRIES_MAX: usize = 200_000;

/// Directories below each other that are listed; deeper ones are left out.
pub const LIST_DEPTH_MAX: usize = 64;

/// How long a command of an external pillar may run before it is killed and
/// the pillar has an error.
pub const EXT_COMMAND_MAX: Duration = Duration::from_secs(300);

/// Bytes of all files that `file_tree` reads for one minion; beyond it the
/// pillar has an error.
pub const FILE_TREE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Files that `stack` reads for one minion; beyond it the pillar has an error.
pub const STACK_FILES_MAX: usize = 10_000;

/// How long after its start a master has pillars wait for the first fetch of a
/// remote that was never fetched. Beyond it they say what they lack.
pub const GIT_FIRST_FETCH_MAX: Duration = Duration::from_secs(20);

/// A minion without a master does not fetch a remote of pillars twice within this
/// time.
pub const GIT_FETCHED_AGAIN_AFTER: Duration = Duration::from_secs(1);
