//! How much data the masters of a cluster keep and accept from each other.

use std::time::Duration;

/// How far a stamp may lie ahead of this master's clock. What is stamped further
/// ahead is refused: it would win over every decision until that time has come.
pub const CLOCK_LEAD_MAX: Duration = Duration::from_secs(60);

/// How far this master's own clock follows stamps of others that lie ahead. It is
/// less than [`CLOCK_LEAD_MAX`], so that one master with a wrong clock does not
/// have all the others stamp what a third one has to refuse.
pub const CLOCK_ADOPTED_MAX: Duration = Duration::from_secs(30);

/// Masters of one cluster, with those that were removed from it.
pub const MEMBERS_MAX: usize = 256;

/// Ids of minions in the registers, deleted ones that some member may not have
/// heard of included. Beyond it new ids are refused, and nothing is forgotten.
pub const ENTRIES_MAX: usize = 200_000;

/// Longest text of a public key, in bytes. One of 16,384 bits, the largest that
/// signs in anywhere, takes 2.9 KiB.
pub const KEY_TEXT_BYTES_MAX: usize = 8 * 1024;

/// Longest address of a member, in bytes.
pub const ADDRESS_BYTES_MAX: usize = 255;

/// Groups of entries that digests compare. A group that differs is sent whole.
pub const BUCKETS: usize = 1024;

/// Bytes of entries after which a delta goes in another message, or in another
/// record on disk. A group is not divided in messages, so that one may be longer
/// by a group; a record may be longer by an entry.
pub const DELTA_BYTES_SOFT_MAX: usize = 1024 * 1024;

/// Ids of which others are told as soon as something is decided. More of them, as
/// when a master with many keys founds a cluster, wait for the next digest.
pub const TOLD_AT_ONCE_MAX: usize = 1000;

/// How often a master sends its digest to each peer. What it decides itself goes
/// at once.
pub const DIGEST_EVERY: Duration = Duration::from_secs(5);

/// How often a master compares with each peer what it knows of minions. What has
/// changed is named at once.
pub const DATA_DIGEST_EVERY: Duration = Duration::from_secs(10);

/// Names of what is known of minions in one message.
pub const DATA_VERSIONS_TOLD_MAX: usize = 2000;

/// Data that a master asks a peer for at once. More waits until these have come.
pub const DATA_ASKED_AT_ONCE_MAX: usize = 32;

/// How long a peer may take to give what it was asked for. It is asked again after
/// the next comparison.
pub const DATA_ANSWER_MAX: Duration = Duration::from_secs(20);

/// Data that somebody waits for at a time. More is not sought.
pub const DATA_SOUGHT_MAX: usize = 32;

/// How long a peer that has not answered in time to a search is not asked again, unless
/// it answers late or is linked anew.
pub const DATA_STALLED_FOR: Duration = Duration::from_secs(30);

/// Handshakes of joining masters from one address, or one /64 of IPv6, that fail in a
/// minute before further ones from there are refused unread.
pub const JOIN_FAILURES_PER_ORIGIN_MAX: u32 = 10;

/// The same of all addresses together.
pub const JOIN_FAILURES_MAX: u32 = 300;

/// Bytes of the path of a file below a root.
pub const ROOT_PATH_BYTES_MAX: usize = 1024;

/// Its parts.
pub const ROOT_PATH_PARTS_MAX: usize = 64;

/// Bytes of the name of an environment.
pub const ROOT_ENV_BYTES_MAX: usize = 255;

/// Files that a master is asked about at once, when another one gives it its own.
pub const ROOTS_ASKED_AT_ONCE_MAX: usize = 500;

/// Bytes of a piece of such a file.
pub const ROOT_PIECE_BYTES_MAX: usize = 256 * 1024;

/// Bytes of the reason why a file is not taken.
pub const ROOTS_REFUSAL_BYTES_MAX: usize = 2048;

/// Runners and jobs in batches of one master that the others know of. Of further ones they
/// do not hear, which the log says.
pub const WORKS_PER_MASTER_MAX: usize = 256;

/// Bytes of what is known of them, all of one master together.
pub const WORK_BYTES_PER_MASTER_MAX: usize = 32 * 1024 * 1024;

/// How many of those that are over are remembered; the oldest are forgotten.
pub const WORKS_OVER_KEPT_MAX: usize = 1024;

/// How long a master may be away before what it did is lost: it may be connecting again.
pub const WORK_AWAY_AFTER: Duration = Duration::from_secs(1);
