//! The named limits of this crate.

use std::time::Duration;

/// Most bytes of a cached file that is read, the most a message may have; a
/// larger one is an error.
pub const FILE_BYTES_MAX: u64 = halite_proto::limits::MESSAGE_BYTES_MAX as u64;

/// How often a new job id is tried when others take the same.
pub const JID_TRIES_MAX: usize = 5;

/// Most jobs that are remembered as prepared. The oldest is forgotten first;
/// returns of a forgotten job cost two more looks at the disk.
pub const JOBS_REMEMBERED_MAX: usize = 1024;

/// Jobs of other masters whose lists of minions grow at the same time. The list of
/// the oldest is written before another begins.
pub const GROWING_LISTS_MAX: usize = 64;

/// Bytes of what was published as a job that are asked for in a page of many. What is more
/// is read alone, one after the other, up to [`FILE_BYTES_MAX`].
pub const LISTED_LOAD_BYTES_MAX: usize = 64 * 1024;

/// Most jobs that are listed at once. Of more the oldest are left out. Of other lists of a
/// server (keys, banks, minions of a job) more is an error.
pub const JOBS_LISTED_MAX: usize = halite_store_servers::limits::LISTED_MAX;

/// Rows that a database is asked for where a list may have [`JOBS_LISTED_MAX`] entries: one
/// more, so that it is seen that there are more. It is signed, as is what a database takes
/// for `limit`.
pub const LISTED_ROWS_MAX: i64 = JOBS_LISTED_MAX as i64 + 1;

/// Batches that are given as active. There are as many only if batches are never ended.
pub const ACTIVE_BATCHES_MAX: i64 = JOBS_LISTED_MAX as i64;

/// Most jobs of a database that one search looks at. More is an error.
pub const JOBS_SEARCHED_MAX: usize = 10_000_000;

/// Old jobs that are asked of a Redis at once, to be removed.
pub const OLD_JOBS_AT_ONCE: usize = 5000;

/// Most jobs in files that are kept in memory for lists. With more, each list reads
/// them all from disk.
pub const INDEXED_JOBS_MAX: usize = 250_000;

/// Most bytes of what was published as one of them that are kept with it. More is
/// read each time.
pub const INDEXED_LOAD_BYTES_MAX: usize = 16 * 1024;

/// Bytes of this of all of them together. What finds no room is read each time.
pub const INDEXED_LOADS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of the file that says which loads have been written anew, before it begins
/// again.
pub const REWRITES_BYTES_MAX: u64 = 64 * 1024;

/// How many of them are read before somebody who lists jobs is let in between.
pub const LOADS_READ_AT_ONCE: usize = 500;

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

/// Most bytes of what a minion tells of itself, packed: its grains, and all its
/// mine together. What is more is not kept: others wait while it is read.
pub const MINION_DATA_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Pillars of one minion that are kept besides that of its own environment, one
/// for each that it asks for. Those of further environments are not kept.
pub const PILLAR_ENVS_MAX: usize = 32;

/// Most bytes of what is read of a token; one that has more is damaged.
pub const TOKEN_BYTES_MAX: u64 = 256 * 1024;

/// Most bytes of a file that says which minion published a job.
pub const PUBLISHER_BYTES_MAX: u64 = 1024;

/// Longest name of a file of the data cache, in bytes: what a file system takes,
/// without what a file is called while it is written.
pub const FILE_NAME_BYTES_MAX: usize = 200;

/// Locks that jobs share while they become known by their first returns: as
/// many are written at once, the others wait.
pub const FIRST_LOCKS: usize = 16;

/// How often a change to a mine is tried when other masters change it too.
pub const MINE_TRIES_MAX: usize = 32;

/// Values that are asked of a server at once.
pub const FETCHED_AT_ONCE_MAX: usize = 500;

/// Seconds after which a time of whole seconds tells what was stored apart from
/// what is stored next.
pub const STAMP_SETTLED_S: i64 = 2;

/// Most bytes of what waits on disk for one server that is away. What is more is
/// not taken: minions keep their returns, and commands are sent without being
/// kept.
pub const WAITING_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Most bytes of what a server refuses, and was set aside, that take no room from what
/// comes: beyond them it counts as what waits.
pub const WAITING_REFUSED_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Most entries of what waits so: each is also known in memory.
pub const WAITING_COUNT_MAX: usize = 500_000;

/// Writes that have waited and are given to a server at once.
pub const WAITING_AT_ONCE_MAX: usize = 64;

/// Bytes of these, but for one that has more alone.
pub const WAITING_AT_ONCE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Batches between two writes that the server has not answered.
pub const WAITING_BATCHES_MAX: usize = 8;

/// Threads that give a server returns that have waited.
pub const WAITING_THREADS: usize = 32;

/// How long a server may take for one write that has waited: nobody waits for it.
pub const WAITING_OPERATION_TIME: Duration = Duration::from_secs(30);

/// The first pause after a server has taken nothing of what waits; each further
/// one is twice as long.
pub const WAITING_PAUSE_FIRST: Duration = Duration::from_millis(100);

/// The longest such pause.
pub const WAITING_PAUSE_MAX: Duration = Duration::from_secs(5);

/// How often something is refused, or not answered, although others were taken since
/// the time before, until it is set aside.
pub const WAITING_REFUSALS_MAX: usize = 3;

/// After how long what was set aside is tried again.
pub const WAITING_REFUSED_PAUSE: Duration = Duration::from_secs(3600);

/// Most events that are stored in one statement.
pub const EVENTS_AT_ONCE_MAX: usize = 500;

/// Most bytes of their data, but for an event that has more alone. A MariaDB takes
/// 16 MiB by itself.
pub const EVENTS_BYTES_AT_ONCE_MAX: usize = 4 * 1024 * 1024;

/// How long the end of a master waits for a server that is given what has waited.
pub const WAITING_END_MAX: Duration = Duration::from_secs(3);

/// Keys that are asked of an etcd at once, without their values.
pub const ETCD_KEYS_AT_ONCE_MAX: usize = 5000;

/// Values that are asked of an etcd in one transaction: 128 are what it allows, and
/// the answer must stay within its limit.
pub const ETCD_VALUES_AT_ONCE_MAX: usize = 32;
