//! How much the masters of a cluster keep and take from each other.

use std::time::Duration;

/// How far a stamp may lie ahead of this master's clock. What is stamped further
/// ahead is refused: it would win over every decision until that time has come.
pub const CLOCK_LEAD_MAX: Duration = Duration::from_secs(60);

/// Masters of one cluster, with those that were removed from it.
pub const MEMBERS_MAX: usize = 256;

/// Ids of minions in the registers, deleted ones that some member may not have
/// heard of included. Beyond it new ids are refused, and nothing is forgotten.
pub const ENTRIES_MAX: usize = 200_000;

/// Longest text of a public key, in bytes.
pub const KEY_TEXT_BYTES_MAX: usize = 16 * 1024;

/// Longest address of a member, in bytes.
pub const ADDRESS_BYTES_MAX: usize = 255;

/// Groups of entries that digests compare. A group that differs is sent whole.
pub const BUCKETS: usize = 1024;

/// Bytes of entries after which a delta goes in another message. A group is not
/// divided, so that a message may be longer by one group.
pub const DELTA_BYTES_SOFT_MAX: usize = 1024 * 1024;

/// How often a master sends its digest to each peer. What it decides itself goes
/// at once.
pub const DIGEST_EVERY: Duration = Duration::from_secs(5);

/// Handshakes of joining masters that are under way at a time.
pub const JOINS_AT_ONCE_MAX: usize = 16;

/// Handshakes that fail in a minute, of all addresses together, before further
/// ones are refused unread.
pub const JOIN_FAILURES_PER_MINUTE_MAX: u32 = 30;
