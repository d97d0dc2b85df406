//! Limits of a remote: time, disk, memory, and the size of what is read.

use std::time::Duration;

/// How long a fetch may take.
pub const FETCH_TIME_MAX: Duration = Duration::from_secs(3600);

/// How long a fetch may neither read nor compute anything.
pub const FETCH_IDLE_MAX: Duration = Duration::from_secs(120);

/// The same where somebody waits for the fetch who could read what was fetched before.
pub const READER_IDLE_MAX: Duration = Duration::from_secs(10);

/// How often a fetch is looked at.
pub const FETCH_WATCH: Duration = Duration::from_millis(250);

/// How many times it is looked whether a fetch does anything before it counts as idle.
pub const IDLE_LOOKS: u32 = 8;

/// How long git may take for what it does without a remote.
pub const LOCAL_TIME_MAX: Duration = Duration::from_secs(600);

/// What a repository may have on disk. A fetch that brings more is killed.
pub const REPOSITORY_BYTES_MAX: u64 = 16 << 30;

/// How often the holder of a lock renews it.
pub const LOCK_RENEWED_EVERY: Duration = Duration::from_secs(20);

/// After this time without being renewed, a lock that another machine holds is
/// taken over.
pub const LOCK_STALE_AFTER: Duration = Duration::from_secs(600);

/// How long somebody else's update is waited for, and how often it is looked at.
pub const LOCK_WAIT_MAX: Duration = Duration::from_secs(20);
/// See [`LOCK_WAIT_MAX`].
pub const LOCK_POLL: Duration = Duration::from_millis(100);

/// Packs that a repository may get while its objects are read: git puts them together
/// when they are more than fifty. Each costs time when reading ends, the more of it the
/// more threads the process has.
pub const PACKS_TO_COME: usize = 128;

/// Remotes that are updated at once.
pub const UPDATES_AT_ONCE: usize = 128;

/// The shortest time between two fetches of a remote.
pub const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// How long the first fetch of a remote that was fetched before the start may
/// wait.
pub const FIRST_DELAY_MAX: Duration = Duration::from_secs(10);

/// When a remote is tried again that was never fetched, and that somebody else
/// fetches.
pub const LOCKED_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A longer file is not a lock.
pub const LOCK_BYTES_MAX: u64 = 4096;

/// How long the commits of earlier snapshots are kept, and how many of them.
pub const KEPT_FOR: Duration = Duration::from_secs(14 * 24 * 3600);
/// See [`KEPT_FOR`].
pub const KEPT_MAX: usize = 4096;

/// How long whoever began with a commit may go on with it when its branch has
/// moved.
pub const EARLIER_FOR: Duration = Duration::from_secs(24 * 3600);

/// How long git may look for the branches that reach a commit.
pub const REACH_TIME_MAX: Duration = Duration::from_secs(30);

/// How long is waited for a git that looks for other commits, and how often it
/// is looked at.
pub const REACH_WAIT_MAX: Duration = Duration::from_secs(5);
/// See [`REACH_WAIT_MAX`].
pub const REACH_POLL: Duration = Duration::from_millis(10);

/// When git is asked again that could not say.
pub const REACH_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Commits of which it is remembered whether a branch reaches them. When full,
/// all are forgotten.
pub const REACHED_MAX: usize = 4096;

/// How long the copy of a large file may take.
pub const COPY_TIME_MAX: Duration = Duration::from_secs(300);

/// How often such a copy is looked at.
pub const COPY_POLL: Duration = Duration::from_millis(10);

/// Branches and tags of a remote; what is beyond is left out.
pub const REFS_MAX: usize = 200_000;

/// Directories within each other in which references are looked for.
pub const REFS_DEPTH_MAX: usize = 32;

/// A longer configuration of a repository is left to git, in bytes.
pub const REPOSITORY_CONFIG_BYTES_MAX: u64 = 64 << 10;

/// When it is looked at anew whether something is signed that was not: a program
/// may have been missing.
pub const REFUSED_FOR: Duration = Duration::from_secs(3600);

/// A larger file is no public key.
pub const SIGNER_BYTES_MAX: u64 = 1 << 20;

/// Environments of a remote that are held at a commit, or were within
/// [`EARLIER_FOR`].
pub const PROMOTED_MAX: usize = 256;

/// The last commits that each of them was held at.
pub const PROMOTED_BEFORE_MAX: usize = 64;

/// A longer file about them is not read.
pub const PROMOTIONS_BYTES_MAX: u64 = 1 << 20;

/// A longer snapshot is not read.
pub const SNAPSHOT_BYTES_MAX: u64 = 64 << 20;

/// The largest commit, tag or tree that is read, in bytes.
pub const OBJECT_BYTES_MAX: usize = 64 << 20;

/// The largest file that is read into memory, in bytes. A larger one is copied
/// to a file first.
pub const BLOB_IN_MEMORY_BYTES_MAX: u64 = 1 << 20;

/// The largest file that is served, in bytes.
pub const BLOB_BYTES_MAX: u64 = 4 << 30;

/// For how long nobody must have updated the copy of a remote that the options name no
/// more, before it is removed: by a master that starts, and where somebody asks for it.
/// Another master may share the cache.
pub const UNUSED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// See [`UNUSED_FOR`].
pub const UNUSED_FOR_IF_ASKED: Duration = Duration::from_secs(24 * 3600);

/// What copies of large files may have on disk for each remote, in bytes.
pub const COPIES_BYTES_MAX: u64 = 8 << 30;

/// The longest target of a link, in bytes.
pub const LINK_BYTES_MAX: u64 = 4096;

/// Links that are followed on the way to a file, as in Salt.
pub const LINKS_MAX: usize = 100;

/// Directories within each other.
pub const TREE_DEPTH_MAX: usize = 128;

/// Entries of a tree with all that is below it; what is beyond is left out.
pub const TREE_ENTRIES_MAX: usize = 1_000_000;

/// A longer path is left out of a list, in bytes.
pub const PATH_BYTES_MAX: usize = 4096;

/// The paths of a list together, in bytes; what is beyond is left out.
pub const PATHS_BYTES_MAX: usize = 256 << 20;

/// Tags that point to each other before a commit.
pub const TAGS_MAX: usize = 16;

/// The shortest beginning of a commit id that names the commit.
pub const ABBREVIATED_MIN: usize = 7;

/// What is kept of the complaints of git, in characters.
pub const COMPLAINT_CHARS_MAX: usize = 600;

/// What a fetch may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long it may take.
    pub time: Duration,
    /// How long it may neither read nor compute anything.
    pub idle: Duration,
    /// The same where there is what was fetched before.
    pub idle_with_copy: Duration,
    /// What the repository may have on disk.
    pub repository_bytes: u64,
}

impl Limits {
    /// Those of somebody who waits for the fetch before reading: what was fetched
    /// before is better than a remote that says nothing.
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
