//! How much data the masters of a cluster keep and accept from each other.

use std::time::Duration;

/// How far a stamp may be ahead of this master's clock. A decision with a later stamp is
/// refused, because it would win over every other one until that time.
pub const CLOCK_LEAD_MAX: Duration = Duration::from_secs(60);

/// How far this master's own stamps follow those of others that are ahead. It is less
/// than [`CLOCK_LEAD_MAX`], so that one master with a wrong clock does not cause others
/// to make stamps that a third one must refuse.
pub const CLOCK_ADOPTED_MAX: Duration = Duration::from_secs(30);

/// Masters of one cluster, including removed ones.
pub const MEMBERS_MAX: usize = 256;

/// Ids of minions in the registers, including deleted ones of which some member may not
/// know yet. Beyond it new ids are refused, and none is forgotten.
pub const ENTRIES_MAX: usize = 200_000;

/// The longest text of a public key, in bytes. The largest key that any master accepts,
/// with 16,384 bits, takes 2.9 KiB.
pub const KEY_TEXT_BYTES_MAX: usize = 8 * 1024;

/// Longest address of a member, in bytes.
pub const ADDRESS_BYTES_MAX: usize = 255;

/// Groups of entries that digests compare. A group that differs is sent whole.
pub const BUCKETS: usize = 1024;

/// Bytes of entries after which a delta continues in another message, or in another
/// record on disk. Messages do not divide a group, so a message may be longer by one
/// group; a record may be longer by one entry.
pub const DELTA_BYTES_SOFT_MAX: usize = 1024 * 1024;

/// Ids whose decisions are sent to the others at once. Further ones wait for the next
/// digest, as when a master with many keys founds a cluster.
pub const TOLD_AT_ONCE_MAX: usize = 1000;

/// How often a master sends its digest to each peer. It sends its own decisions at once.
pub const DIGEST_EVERY: Duration = Duration::from_secs(5);

/// How often a master compares its minion data with each peer. It announces changes at
/// once.
pub const DATA_DIGEST_EVERY: Duration = Duration::from_secs(10);

/// Versions of minion data that one message announces.
pub const DATA_VERSIONS_TOLD_MAX: usize = 2000;

/// Items of data that a master requests from a peer at once. Further requests wait until
/// these have arrived.
pub const DATA_ASKED_AT_ONCE_MAX: usize = 32;

/// How long a peer may take to send requested data. It is asked again after the next
/// comparison.
pub const DATA_ANSWER_MAX: Duration = Duration::from_secs(20);

/// Searches for data, for which somebody waits, at a time. Further ones are not begun.
pub const DATA_SOUGHT_MAX: usize = 32;

/// How long a peer that did not answer a search in time is not asked again, unless it
/// answers late or connects again.
pub const DATA_STALLED_FOR: Duration = Duration::from_secs(30);

/// Failed handshakes of joining masters from one address, or one /64 of IPv6, in a
/// minute. Beyond it, further ones from there are refused unread.
pub const JOIN_FAILURES_PER_ORIGIN_MAX: u32 = 10;

/// The same for all addresses together.
pub const JOIN_FAILURES_MAX: u32 = 300;

/// The longest path of a file below a root, in bytes.
pub const ROOT_PATH_BYTES_MAX: usize = 1024;

/// The parts that such a path may have.
pub const ROOT_PATH_PARTS_MAX: usize = 64;

/// The longest name of an environment, in bytes.
pub const ROOT_ENV_BYTES_MAX: usize = 255;

/// Files that a master asks another one about at once before it sends its own files to
/// it.
pub const ROOTS_ASKED_AT_ONCE_MAX: usize = 500;

/// Bytes of a piece of such a file.
pub const ROOT_PIECE_BYTES_MAX: usize = 256 * 1024;

/// The longest reason why a file was not accepted, in bytes.
pub const ROOTS_REFUSAL_BYTES_MAX: usize = 2048;

/// Runners and batches of one master that the others know about. Further ones are not
/// announced, and the log says so.
pub const WORKS_PER_MASTER_MAX: usize = 256;

/// Bytes of the data about all of them, for one master.
pub const WORK_BYTES_PER_MASTER_MAX: usize = 32 * 1024 * 1024;

/// How many ended ones are remembered; the oldest are forgotten.
pub const WORKS_OVER_KEPT_MAX: usize = 1024;

/// How long a master may be away, because it may be connecting again, before its runners
/// and batches count as abandoned.
pub const WORK_AWAY_AFTER: Duration = Duration::from_secs(1);
