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

/// Bytes of a job's load (what was published) up to which a page of jobs includes it. A
/// longer load is read by itself, up to [`FILE_BYTES_MAX`].
pub const LISTED_LOAD_BYTES_MAX: usize = 64 * 1024;

/// Most jobs in a list. If there are more, the oldest are left out. Any other list from
/// a server (keys, banks, minions of a job) that is longer is an error.
pub const JOBS_LISTED_MAX: usize = halite_store_servers::limits::LISTED_MAX;

/// Rows that a database is asked for where [`JOBS_LISTED_MAX`] are allowed: one more,
/// which shows that there are too many. Databases take a signed number for `limit`.
pub const LISTED_ROWS_MAX: i64 = JOBS_LISTED_MAX as i64 + 1;

/// Batches that are listed as active. The number is reached only if batches never end.
pub const ACTIVE_BATCHES_MAX: i64 = JOBS_LISTED_MAX as i64;

/// Most jobs of a database that one search looks at. More is an error.
pub const JOBS_SEARCHED_MAX: usize = 10_000_000;

/// Old jobs that a Redis is asked for at a time, to remove them.
pub const OLD_JOBS_AT_ONCE: usize = 5000;

/// Most jobs in files that are kept in memory for lists. With more, each list reads
/// them all from disk.
pub const INDEXED_JOBS_MAX: usize = 250_000;

/// Most bytes of the load of a job in that index. A longer load is read from disk for
/// each list.
pub const INDEXED_LOAD_BYTES_MAX: usize = 16 * 1024;

/// Bytes of all loads in that index together. Loads beyond it are read from disk for
/// each list.
pub const INDEXED_LOADS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of the file that lists rewritten loads. When it is full, it starts again from
/// empty.
pub const REWRITES_BYTES_MAX: u64 = 64 * 1024;

/// Loads that are read before the lock is released for others that list jobs.
pub const LOADS_READ_AT_ONCE: usize = 500;

/// Age from which a job directory without a `jid` file counts as broken and is removed.
/// A younger one may still be being written.
pub const BROKEN_JOB_AGE_S: u64 = 60;

/// How many ids after the one that a minion has given its own job are tried:
/// schedules of a fleet start at the same moment.
pub const OWN_JID_TRIES_MAX: u64 = 1000;

/// Names of grains, or of pillar keys, that are kept in memory for targets. Beyond it
/// only the names of the present question are kept.
pub const INDEX_KEYS_MAX: usize = 32;

/// A minion with more packed data than this is not targeted by it.
pub const INDEX_PACKED_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Most packed bytes of a minion's grains, and of all its mine functions together.
/// Larger data are not stored, because reading them would hold up others.
pub const MINION_DATA_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Pillars that are kept for one minion besides that of its own environment, one for
/// each environment that it asks for. Those of further environments are not kept.
pub const PILLAR_ENVS_MAX: usize = 32;

/// Most bytes of a token that are read. A larger token counts as damaged.
pub const TOKEN_BYTES_MAX: u64 = 256 * 1024;

/// Most bytes of a file that says which minion published a job.
pub const PUBLISHER_BYTES_MAX: u64 = 1024;

/// Longest file name in the data cache, in bytes: the limit of file systems, less room
/// for the suffix of a temporary name.
pub const FILE_NAME_BYTES_MAX: usize = 200;

/// Locks that are shared by jobs whose first return makes them known. So many are
/// written at once; the others wait.
pub const FIRST_LOCKS: usize = 16;

/// How often a change to a mine is tried when other masters change it too.
pub const MINE_TRIES_MAX: usize = 32;

/// Values that a server is asked for at once.
pub const FETCHED_AT_ONCE_MAX: usize = 500;

/// Seconds after which a file time with whole seconds is safe to compare: later changes
/// get another time.
pub const STAMP_SETTLED_S: i64 = 2;

/// Most bytes that wait on disk for one unavailable server. Beyond it nothing is
/// accepted: minions keep their returns, and commands are sent without being stored.
pub const WAITING_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Most bytes of writes that a server refused and that were set aside. Up to this limit
/// they do not count towards [`WAITING_BYTES_MAX`].
pub const WAITING_REFUSED_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Most writes that wait on disk for one server. Each also has an entry in memory.
pub const WAITING_COUNT_MAX: usize = 500_000;

/// Waiting writes that a server is given at once.
pub const WAITING_AT_ONCE_MAX: usize = 64;

/// Bytes of a batch of waiting writes from which no further write joins it.
pub const WAITING_AT_ONCE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Batches that go to the server before a write that it has not answered is tried
/// again.
pub const WAITING_BATCHES_MAX: usize = 8;

/// Threads that send waiting returns to a server.
pub const WAITING_THREADS: usize = 32;

/// Time limit of one waiting write. It is long because no caller waits for it.
pub const WAITING_OPERATION_TIME: Duration = Duration::from_secs(30);

/// The first pause after a server has accepted no waiting write. Each further pause is
/// twice as long.
pub const WAITING_PAUSE_FIRST: Duration = Duration::from_millis(100);

/// The longest such pause.
pub const WAITING_PAUSE_MAX: Duration = Duration::from_secs(5);

/// How often the log says that writes still wait.
pub const WAITING_TOLD_EVERY: Duration = Duration::from_secs(60);

/// How often a write may be refused, or stay unanswered, while others are accepted,
/// before it is set aside.
pub const WAITING_REFUSALS_MAX: usize = 3;

/// How long a write is set aside before it is tried again.
pub const WAITING_REFUSED_PAUSE: Duration = Duration::from_secs(3600);

/// Most events that are stored in one statement.
pub const EVENTS_AT_ONCE_MAX: usize = 500;

/// Most bytes of event data in one statement. A larger event goes by itself. MariaDB
/// accepts 16 MiB by default.
pub const EVENTS_BYTES_AT_ONCE_MAX: usize = 4 * 1024 * 1024;

/// How long a stopping master waits for a server that still takes waiting writes.
pub const WAITING_END_MAX: Duration = Duration::from_secs(3);

/// Keys that an etcd is asked for at once, without their values.
pub const ETCD_KEYS_AT_ONCE_MAX: usize = 5000;

/// Values that an etcd is asked for in one transaction. etcd allows 128 operations, and
/// the answer must stay within its size limit.
pub const ETCD_VALUES_AT_ONCE_MAX: usize = 32;
