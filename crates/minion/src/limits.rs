//! The limits of everything that could grow, and what happens when one is reached.

use std::time::Duration;

use halite_proto::limits::MESSAGE_BYTES_MAX;

/// Jobs that run at the same time when `process_count_max` sets no bound. More
/// wait in order; functions that look after jobs (`saltutil.find_job` ...) run
/// beside them.
pub const JOBS_RUNNING_MAX: usize = 64;

/// How often it is looked whether a running job was killed.
pub const JOB_KILLED_LOOK: Duration = Duration::from_secs(1);

/// How long a job that was killed may go on. After that it is given up: it has a
/// return that says so, its place is free, and the next state run does not wait
/// for it.
pub const JOB_KILLED_GOES_ON_MAX: Duration = Duration::from_secs(10);

/// Jobs that wait for a place. More are answered at once with an error return,
/// so that nobody waits for them.
pub const JOBS_WAITING_MAX: usize = 10_000;

/// Functions of one job. One with more is answered with an error return.
pub const FUNCTIONS_PER_JOB_MAX: usize = 256;

/// Publish keys of one master whose numbers are remembered, and masters of a cluster
/// with one key. What was used last is kept: what was published under a key of long
/// ago no longer opens.
pub const PUBLISH_KEYS_MAX: usize = 64;

/// How far the clocks of a cluster's masters may differ; its masters refuse what is
/// further ahead. What another one than that of the sign-in has published longer
/// before it is not taken from the wire.
pub const CLUSTER_CLOCKS_APART_MAX: Duration = Duration::from_secs(60);

/// Publications of one link that wait for new credentials because they did not
/// open with the present ones. The oldest is dropped.
pub const PUBLICATIONS_HELD_MAX: usize = 64;

/// Messages to a link's task that may wait. Senders wait.
pub const LINK_INPUTS_MAX: usize = 64;

/// How long a job waits for the first pillar of the master that sent it.
pub const FIRST_PILLAR_WAIT: Duration = Duration::from_secs(60);

/// How long a request waits for its link to be signed in (again).
pub const SIGNED_IN_WAIT: Duration = Duration::from_secs(30);

/// How long the minion waits for its jobs when it is told to stop.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);

/// How long it waits after that for returns on their way, and from the beginning
/// for events of beacons. Returns are on disk: a master that does not take them
/// now gets them after the next start.
pub const DRAIN_RETURNS_TIMEOUT: Duration = Duration::from_secs(1);

/// Job ids remembered at least, whatever `minion_jid_queue_hwm` says: a master
/// may offer again what it has published within its `job_replay_window`.
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

/// How long a job that the master holds for open may be on its way through
/// the subscription.
pub const PUBLICATION_UNDER_WAY: Duration = Duration::from_secs(2);

/// How long `salt-call` waits for masters that are just signing it in when it
/// has something to tell to each of them.
pub const OTHERS_SIGN_IN_WAIT: Duration = Duration::from_millis(500);

/// How long those that are told the same thing may take once one has answered.
pub const OTHERS_ANSWER_WAIT: Duration = Duration::from_secs(2);

/// Threads that run jobs and blocking work, at most.
pub const THREADS_MAX: usize = JOBS_RUNNING_MAX * 2;

/// Returns on their way to one master at the same time. More wait in the spool.
pub const DELIVERIES_MAX: usize = 32;

/// How long the link to a job's master is down before another master is asked
/// for files and pillar.
pub const LINK_GONE_AFTER: Duration = Duration::from_secs(3);

/// How long a return may stand still on its way to a master before another try;
/// how long it takes in all has no limit.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a return at most, with room for what is around it in a request and
/// in the spool. What is longer is cut, which the return says.
pub const RETURN_BYTES_MAX: usize = MESSAGE_BYTES_MAX - 1024 * 1024;

/// Larger returns, in bytes, go one at a time to each master, and to ours piece
/// by piece: what is smaller is not held up.
pub const SMALL_RETURN_BYTES_MAX: usize = 512 * 1024;

/// Bytes of the first piece of a return; others follow the speed of the wire.
pub const RETURN_PIECE_BYTES: usize = 256 * 1024;

/// Bytes of such a piece at least.
pub const RETURN_PIECE_BYTES_MIN: usize = 16 * 1024;

/// Bytes of such a piece at most.
pub const RETURN_PIECE_BYTES_MAX: usize = 1024 * 1024;

/// A piece that was taken sooner is followed by a larger one.
pub const RETURN_PIECE_QUICK: Duration = Duration::from_millis(250);

/// A piece that was taken later is followed by a smaller one.
pub const RETURN_PIECE_SLOW: Duration = Duration::from_secs(1);

/// How often a master may have lost pieces that it has had before, until the
/// return waits for another try.
pub const RETURN_PIECES_LOST_MAX: usize = 3;

/// How long Salt masters are asked again to take a return that they fail to
/// store; ours do so for no reason that lasts, and are asked until it is too old.
pub const NOT_STORED_PATIENCE: Duration = Duration::from_secs(10 * 60);

/// How long a master that did not acknowledge in time is not tried again while
/// others are there.
pub const DOUBT_LASTS: Duration = Duration::from_secs(5);

/// How often is looked whether somebody has removed files of this minion.
pub const REMOVED_CHECK: Duration = Duration::from_secs(1);

/// How long a new return may be in the system's cache before the disk has it.
pub const SPOOL_SYNC_INTERVAL: Duration = Duration::from_millis(50);

/// Bytes of returns that may wait for a master (`return_spool_bytes`); the
/// oldest are dropped.
pub const SPOOL_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How long a return, or an event of a beacon, may wait for a master
/// (`return_spool_age`).
pub const SPOOL_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of returns that wait in memory while the disk takes none; the oldest
/// are dropped, which is logged.
pub const UNSPOOLED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Results that other masters have, as a master is told of them when it is
/// back; the oldest are forgotten.
pub const WHEREABOUTS_MAX: usize = 1000;

/// How often beacons are looked at at most (`loop_interval`).
pub const BEACON_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Bytes of events of beacons that wait in memory for a master; the oldest are
/// dropped, which is logged.
pub const BEACON_EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of such events that go to a master in one request, unless those of one
/// look are more.
pub const BEACON_REQUEST_BYTES_MAX: usize = 256 * 1024;

/// Bytes of a log that the beacon `log` reads at one look; the rest waits for
/// the next.
pub const BEACON_LOG_BYTES_MAX: u64 = 4 << 20;

/// Lines of a program that a beacon listens to which wait to be read; more are
/// dropped, which is logged.
pub const BEACON_LINES_WAITING_MAX: usize = 10_000;

/// Bytes of such a line; longer ones are cut.
pub const BEACON_LINE_BYTES_MAX: u64 = 1 << 20;

/// Shells that the beacon `sh` watches at a time, each with a process.
pub const BEACON_SHELLS_MAX: usize = 64;

/// Records that `btmp` and `wtmp` read at one look; the rest waits for the
/// next.
pub const BEACON_LOGINS_MAX: usize = 1000;

/// Changes of files that the beacon `inotify` takes in at one look; the rest
/// waits in the kernel.
pub const BEACON_CHANGES_MAX: usize = 10_000;

/// Directories below one path that the beacon `inotify` watches. More are left
/// out, which is logged.
pub const BEACON_WATCHES_MAX: usize = 100_000;
