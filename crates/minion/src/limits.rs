//! The limits of everything that could grow, and what happens when one is reached.

use std::time::Duration;

use halite_proto::limits::MESSAGE_BYTES_MAX;

/// Jobs that run at the same time when `process_count_max` sets no bound. More
/// wait in order; functions that look after jobs (`saltutil.find_job` ...) run
/// beside them.
pub const JOBS_RUNNING_MAX: usize = 64;

/// How often a running job is checked for having been killed.
pub const JOB_KILLED_LOOK: Duration = Duration::from_secs(1);

/// How long a killed job may still run. After that it is abandoned: it has a return
/// that says so, its place is free, and the next state run does not wait for it.
pub const JOB_KILLED_GOES_ON_MAX: Duration = Duration::from_secs(10);

/// Jobs that wait for a place. Further ones get an error return at once, so that the
/// caller does not wait.
pub const JOBS_WAITING_MAX: usize = 10_000;

/// Functions of one job. One with more is answered with an error return.
pub const FUNCTIONS_PER_JOB_MAX: usize = 256;

/// Publish keys of one master whose serial numbers are remembered, and masters of a
/// cluster that share a publish key. The least recently used is forgotten; a
/// publication sealed with so old a key cannot be opened any more.
pub const PUBLISH_KEYS_MAX: usize = 64;

/// How far the clocks of a cluster's masters may differ. Masters refuse each other's
/// messages that are further ahead, and a minion refuses publications of other masters
/// that are so much older than its sign-in.
pub const CLUSTER_CLOCKS_APART_MAX: Duration = Duration::from_secs(60);

/// Publications of one link that wait for new credentials because they did not
/// open with the present ones. The oldest is dropped.
pub const PUBLICATIONS_HELD_MAX: usize = 64;

/// Messages that wait for a link's task. When full, senders wait.
pub const LINK_INPUTS_MAX: usize = 64;

/// How long a job waits for the first pillar of the master that sent it.
pub const FIRST_PILLAR_WAIT: Duration = Duration::from_secs(60);

/// How long a request waits for its link to be signed in (again).
pub const SIGNED_IN_WAIT: Duration = Duration::from_secs(30);

/// How long a stopping minion waits for its jobs.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);

/// How long a stopping minion then waits for returns in transit; events of beacons have
/// this time from the beginning of the stop. Returns are on disk, so a master that does
/// not accept them now gets them after the next start.
pub const DRAIN_RETURNS_TIMEOUT: Duration = Duration::from_secs(1);

/// Least number of job ids that are remembered, whatever `minion_jid_queue_hwm` says: a
/// master may send everything again that it has published within its
/// `job_replay_window`.
pub const JIDS_REMEMBERED_MIN: usize = 4096;

/// Job ids in one file of claims; the file before it is kept too.
pub const CLAIMS_PER_FILE_MAX: usize = 4096;

/// How long after a reconnect a master is asked for missed jobs once more: a
/// subscription takes effect a moment after the connection stands.
pub const REPLAY_AGAIN: Duration = Duration::from_secs(2);

/// How often a master that is ready is asked for missed jobs, unless
/// `master_alive_interval` asks for more: a subscription may be dead without
/// either end having heard of it. Well within the default replay window.
pub const REPLAY_INTERVAL: Duration = Duration::from_secs(20);

/// The same where the master answers signs of life, so that the subscription is alive, and
/// says that no job is open. This minion may be several machines, of which only one is
/// answered: the others ask as often as ever.
pub const REPLAY_INTERVAL_MAX: Duration = Duration::from_secs(300);

/// How often a master is asked to answer a sign of life, unless it wants them less often.
/// An answer costs it as much as a sign.
pub const SIGN_ANSWER_INTERVAL: Duration = Duration::from_secs(10);

/// How long after [`REPLAY_INTERVAL`] an answer may come that saves a question: with
/// 10,000 minions there is one every 20 s. Together they are less than the default replay
/// window.
pub const SIGN_ANSWER_LATE: Duration = Duration::from_secs(3);

/// How long a job that the master reports as not yet returned may still be in transit
/// on the subscription.
pub const PUBLICATION_UNDER_WAY: Duration = Duration::from_secs(2);

/// How long `salt-call` waits for masters that it is still signing in to, when it has a
/// message for all masters.
pub const OTHERS_SIGN_IN_WAIT: Duration = Duration::from_millis(500);

/// How long the other masters may take to answer such a message once one master has
/// answered.
pub const OTHERS_ANSWER_WAIT: Duration = Duration::from_secs(2);

/// Threads that run jobs and blocking work, at most.
pub const THREADS_MAX: usize = JOBS_RUNNING_MAX * 2;

/// Returns in transit to one master at a time. Further ones wait in the spool.
pub const DELIVERIES_MAX: usize = 32;

/// How often `salt-call` looks for another master that takes its result, while none is
/// linked: for [`LINK_GONE_AFTER`].
pub const OTHER_LOOKED_FOR_EVERY: Duration = Duration::from_millis(50);

/// How long the link to a job's master must be down before another master is asked for
/// files and pillar.
pub const LINK_GONE_AFTER: Duration = Duration::from_secs(3);

/// How long a return may make no progress on its way to a master before it is tried
/// again. The whole delivery has no time limit.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest return, in bytes; the difference to a message is room for the request and
/// the spool around it. A larger return is cut, and says so.
pub const RETURN_BYTES_MAX: usize = MESSAGE_BYTES_MAX - 1024 * 1024;

/// Size, in bytes, above which returns are sent to each master one at a time, and to
/// Halite masters in pieces, so that smaller ones are not held up.
pub const SMALL_RETURN_BYTES_MAX: usize = 512 * 1024;

/// Bytes of the first piece of a return. The size of later pieces follows the speed of
/// the connection.
pub const RETURN_PIECE_BYTES: usize = 256 * 1024;

/// Smallest piece of a return, in bytes.
pub const RETURN_PIECE_BYTES_MIN: usize = 16 * 1024;

/// Largest piece of a return, in bytes.
pub const RETURN_PIECE_BYTES_MAX: usize = 1024 * 1024;

/// A piece that is acknowledged sooner is followed by a larger one.
pub const RETURN_PIECE_QUICK: Duration = Duration::from_millis(250);

/// A piece that is acknowledged later is followed by a smaller one.
pub const RETURN_PIECE_SLOW: Duration = Duration::from_secs(1);

/// How often a master may lose pieces that it had before, until the delivery is stopped
/// and tried again later.
pub const RETURN_PIECES_LOST_MAX: usize = 3;

/// How long a return is sent again to a Salt master that fails to store it. Halite
/// masters fail only for reasons that pass, so they are tried until the return is too
/// old.
pub const NOT_STORED_PATIENCE: Duration = Duration::from_secs(10 * 60);

/// How long a master that did not acknowledge in time is avoided while there are
/// others.
pub const DOUBT_LASTS: Duration = Duration::from_secs(5);

/// How often the minion checks whether its files have been removed.
pub const REMOVED_CHECK: Duration = Duration::from_secs(1);

/// How long a new return may stay in the system's write cache before it is flushed to
/// the disk.
pub const SPOOL_SYNC_INTERVAL: Duration = Duration::from_millis(50);

/// Bytes of returns that may wait for a master (`return_spool_bytes`); the
/// oldest are dropped.
pub const SPOOL_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How long a return, or an event of a beacon, may wait for a master
/// (`return_spool_age`).
pub const SPOOL_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of returns that wait in memory while they cannot be written to the disk. The
/// oldest are dropped, which is logged.
pub const UNSPOOLED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Results delivered to other masters that are reported to a returning master. The oldest
/// are forgotten.
pub const WHEREABOUTS_MAX: usize = 1000;

/// Shortest interval of beacons (`loop_interval`).
pub const BEACON_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Bytes of events of beacons that wait in memory for a master; the oldest are
/// dropped, which is logged.
pub const BEACON_EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of such events that go to a master in one request. The events of one check
/// stay together even if they are more.
pub const BEACON_REQUEST_BYTES_MAX: usize = 256 * 1024;

/// Bytes of a log that the beacon `log` reads in one check. It reads the rest in the
/// next.
pub const BEACON_LOG_BYTES_MAX: u64 = 4 << 20;

/// Lines of a program that a beacon listens to and has not read yet. Further ones are
/// dropped, which is logged.
pub const BEACON_LINES_WAITING_MAX: usize = 10_000;

/// Bytes of such a line; longer ones are cut.
pub const BEACON_LINE_BYTES_MAX: u64 = 1 << 20;

/// Shells that the beacon `sh` watches at a time, each with a process.
pub const BEACON_SHELLS_MAX: usize = 64;

/// Records that `btmp` and `wtmp` read in one check. They read the rest in the next.
pub const BEACON_LOGINS_MAX: usize = 1000;

/// Changes of files that the beacon `inotify` reads in one check. The rest waits in the
/// kernel.
pub const BEACON_CHANGES_MAX: usize = 10_000;

/// Directories below one path that the beacon `inotify` watches. More are left
/// out, which is logged.
pub const BEACON_WATCHES_MAX: usize = 100_000;
