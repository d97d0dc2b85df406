//! Limits of a remote: time, disk, memory, and the size of what is read.

use std::time::Duration;

/// How long a fetch may take.
pub const FETCH_TIME_MAX: Duration = Duration::from_secs(3600);

/// How long a fetch may neither read nor compute anything.
pub const FETCH_IDLE_MAX: Duration = Duration::from_secs(120);

/// The same if somebody waits for the fetch and could use the data of an earlier one.
pub const READER_IDLE_MAX: Duration = Duration::from_secs(10);

/// How often a running fetch is checked against its limits.
pub const FETCH_WATCH: Duration = Duration::from_millis(250);

/// How many times it is checked whether a fetch does anything within the time after which
/// it counts as idle. Each check looks at all processes of the machine.
pub const IDLE_LOOKS: u32 = 8;

/// How long git may take for an operation without a remote.
pub const LOCAL_TIME_MAX: Duration = Duration::from_secs(600);

/// The size of a repository on disk, in bytes. A fetch that exceeds it is killed.
pub const REPOSITORY_BYTES_MAX: u64 = 16 << 30;

/// How often the holder of a lock renews it.
pub const LOCK_RENEWED_EVERY: Duration = Duration::from_secs(20);

/// A lock of another machine that was not renewed for this time is taken over.
pub const LOCK_STALE_AFTER: Duration = Duration::from_secs(600);

/// How long to wait for somebody else's update, and how often to check whether it has
/// ended.
pub const LOCK_WAIT_MAX: Duration = Duration::from_secs(20);
/// See [`LOCK_WAIT_MAX`].
pub const LOCK_POLL: Duration = Duration::from_millis(100);

/// Packs that a repository may get while its objects are being read; git combines them
/// when there are more than fifty. Each costs time when reading ends, and the more, the
/// more threads the process has.
pub const PACKS_TO_COME: usize = 128;

/// Remotes that are updated at once.
pub const UPDATES_AT_ONCE: usize = 128;

/// The shortest time between two fetches of a remote.
pub const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// How long the first fetch of a remote that was fetched before the start may
/// wait.
pub const FIRST_DELAY_MAX: Duration = Duration::from_secs(10);

/// The pause before a remote is tried again that was never fetched and that somebody else
/// is fetching at the moment.
pub const LOCKED_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A file that is longer than this is not a lock.
pub const LOCK_BYTES_MAX: u64 = 4096;

/// How long the commits of earlier snapshots are kept, and how many of them.
pub const KEPT_FOR: Duration = Duration::from_secs(14 * 24 * 3600);
/// See [`KEPT_FOR`].
pub const KEPT_MAX: usize = 4096;

/// How long a reader may continue with the commit with which it began after the branch
/// has moved.
pub const EARLIER_FOR: Duration = Duration::from_secs(24 * 3600);

/// How long git may look for the branches that reach a commit.
pub const REACH_TIME_MAX: Duration = Duration::from_secs(30);

/// How long to wait for a git process that is looking for other commits, and how often to
/// check whether it has ended.
pub const REACH_WAIT_MAX: Duration = Duration::from_secs(5);
/// See [`REACH_WAIT_MAX`].
pub const REACH_POLL: Duration = Duration::from_millis(10);

/// The pause before git is asked again about a commit for which it had no answer.
pub const REACH_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Commits for which it is remembered whether a branch reaches them. When full, all are
/// forgotten.
pub const REACHED_MAX: usize = 4096;

/// How long the copy of a large file may take.
pub const COPY_TIME_MAX: Duration = Duration::from_secs(300);

/// How often to check whether such a copy is complete.
pub const COPY_POLL: Duration = Duration::from_millis(10);

/// Branches and tags of a remote; further ones are left out.
pub const REFS_MAX: usize = 200_000;

/// How deep directories with references may be nested.
pub const REFS_DEPTH_MAX: usize = 32;

/// The longest configuration of a repository that is read without git, in bytes.
pub const REPOSITORY_CONFIG_BYTES_MAX: u64 = 64 << 10;

/// How long it is remembered that something is not signed. Then it is checked again,
/// because a program may have been missing.
pub const REFUSED_FOR: Duration = Duration::from_secs(3600);

/// A file that is larger than this is not a public key.
pub const SIGNER_BYTES_MAX: u64 = 1 << 20;

/// Environments of a remote that are held at a commit, or were within
/// [`EARLIER_FOR`].
pub const PROMOTED_MAX: usize = 256;

/// How many earlier commits are remembered for each held environment.
pub const PROMOTED_BEFORE_MAX: usize = 64;

/// A file about held environments that is longer than this is not read.
pub const PROMOTIONS_BYTES_MAX: u64 = 1 << 20;

/// A snapshot that is longer than this is not read.
pub const SNAPSHOT_BYTES_MAX: u64 = 64 << 20;

/// The largest commit, tag or tree that is read, in bytes.
pub const OBJECT_BYTES_MAX: usize = 64 << 20;

/// The largest file that is read into memory, in bytes. A larger one is copied
/// to a file first.
pub const BLOB_IN_MEMORY_BYTES_MAX: u64 = 1 << 20;

/// The largest file that is served, in bytes.
pub const BLOB_BYTES_MAX: u64 = 4 << 30;

/// How long the copy of a remote that the options no longer name must be without an
/// update before it is removed: when a master starts, and when somebody asks for it.
/// Another master may share the cache.
pub const UNUSED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// See [`UNUSED_FOR`].
pub const UNUSED_FOR_IF_ASKED: Duration = Duration::from_secs(24 * 3600);

/// The size of all copies of large files of one remote on disk, in bytes.
pub const COPIES_BYTES_MAX: u64 = 8 << 30;

/// The longest target of a link, in bytes.
pub const LINK_BYTES_MAX: u64 = 4096;

/// Links that are followed on the way to a file, as in Salt.
pub const LINKS_MAX: usize = 100;

/// How deep directories may be nested.
pub const TREE_DEPTH_MAX: usize = 128;

/// Entries of a tree and of all trees below it; further ones are left out.
pub const TREE_ENTRIES_MAX: usize = 1_000_000;

/// The longest path in a list, in bytes; longer ones are left out.
pub const PATH_BYTES_MAX: usize = 4096;

/// All paths of a list together, in bytes; further ones are left out.
pub const PATHS_BYTES_MAX: usize = 256 << 20;

/// Tags that point to each other before a commit.
pub const TAGS_MAX: usize = 16;

/// The shortest beginning of a commit id that names the commit.
pub const ABBREVIATED_MIN: usize = 7;

/// How much of git's error messages is kept, in characters.
pub const COMPLAINT_CHARS_MAX: usize = 600;

/// What a fetch may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long it may take.
    pub time: Duration,
    /// How long it may neither read nor compute anything.
    pub idle: Duration,
    /// The same if there is the data of an earlier fetch.
    pub idle_with_copy: Duration,
    /// How large the repository may be on disk, in bytes.
    pub repository_bytes: u64,
}

impl Limits {
    /// The limits for a reader that waits for the fetch: the data of an earlier fetch is
    /// better than waiting for a silent remote.
    pub fn for_readers() -> Self {
        Self {
            idle_with_copy: READER_IDLE_MAX,
            ..Self::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: FETCH_TIME_MAX,
            idle: FETCH_IDLE_MAX,
            idle_with_copy: FETCH_IDLE_MAX,
            repository_bytes: REPOSITORY_BYTES_MAX,
        }
    }
}
