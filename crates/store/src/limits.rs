//! The named limits of this crate.

/// Most bytes of a cached file that is read, the most a message may have; a
/// larger one is an error.
pub const FILE_BYTES_MAX: u64 = halite_proto::limits::MESSAGE_BYTES_MAX as u64;

/// How often a new job id is tried when others take the same.
pub const JID_TRIES_MAX: usize = 5;

/// Most jobs that are remembered as prepared. The oldest is forgotten first;
/// returns of a forgotten job cost two more looks at the disk.
pub const JOBS_REMEMBERED_MAX: usize = 1024;

/// How old a job directory without its `jid` file must be to be removed as a
/// broken one: a younger one may just be in the making.
pub const BROKEN_JOB_AGE_S: u64 = 60;

/// How many ids after the one that a minion has given its own job are tried:
/// schedules of a fleet start at the same moment.
pub const OWN_JID_TRIES_MAX: u64 = 1000;

/// Names of grains, or of pillar, that are kept in memory for targets. Beyond
/// them those are kept that are asked for now.
pub const INDEX_KEYS_MAX: usize = 32;

/// A minion with more packed data than this is not targeted by it.
pub const INDEX_PACKED_BYTES_MAX: usize = 32 * 1024 * 1024;
