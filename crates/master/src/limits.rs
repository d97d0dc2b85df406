//! Every limit of the daemon, and what happens when it is reached.

mod cluster;
mod sign_ins;
mod unkept;

use std::time::Duration;

pub use self::cluster::*;
pub use self::sign_ins::*;
pub use self::unkept::*;

/// Keys that are pending or rejected. Beyond it, and beyond a tenth of the remaining
/// room for one address, a new minion is told to wait and its key is not kept, because
/// anybody can send keys and each takes a file.
pub const UNDECIDED_KEYS_MAX: usize = 50_000;

/// Refusals of sign-ins that are sent to one address in `REFUSALS_INTERVAL_S`. Further
/// sign-ins that are refused get no answer: an answer costs a signature with the
/// master's key, and says nothing new.
pub const REFUSALS_PER_ORIGIN_MAX: usize = 60;

/// The same for all addresses together.
pub const REFUSALS_MAX: usize = 6_000;

/// The interval of `REFUSALS_PER_ORIGIN_MAX` and `REFUSALS_MAX`, in seconds.
pub const REFUSALS_INTERVAL_S: i64 = 60;

/// Processor time for matching one target against the whole fleet. Beyond it the target
/// is an error and matches nobody. The expressions in it come from anybody who may send
/// a command.
pub const TARGET_TIME_MAX: Duration = Duration::from_millis(500);

/// Processor time for reading grains, pillars and ids of all minions for one target:
/// about 0.1 ms for each minion, once. Beyond it the target is an error, too.
pub const TARGET_READ_TIME_MAX: Duration = Duration::from_secs(20);

/// The newest highstates of the job cache in which `minions.status` looks for one of each
/// minion that is newer than what the master remembers: of minions that have run none
/// since its start, or that run them at other masters with the same job cache.
pub const HIGHSTATES_LOOKED_AT_MAX: usize = 20;

/// Minions whose last highstate is remembered, with about 200 bytes each. Beyond it the
/// tenth whose highstates are the oldest is dropped.
pub const HIGHSTATES_KEPT_MAX: usize = ROSTER_SEATS_MAX;

/// Minions whose last highstate has metrics of its own: those that failed first, then
/// the newest.
pub const HIGHSTATES_SHOWN_MAX: usize = halite_metrics::SERIES_MAX;

/// Up to this many minions, `minions.status` reads the return of each minion by itself,
/// instead of all returns of a job.
pub const SINGLE_RETURNS_MAX: usize = 16;

/// Minions without an accepted key that one question about minions may name. Further
/// ones are not looked up.
pub const STANDING_STRANGERS_MAX: usize = 1_000;

/// Jobs whose returns one question may ask for; further ones are left out.
pub const STANDING_JOBS_MAX: usize = 100;

/// Requests that may wait in one lane. Beyond it the newest request of the address with
/// the most requests there is dropped without an answer; its sender tries again.
pub const REQUESTS_WAITING_MAX: usize = 20_000;

/// Bytes of the requests that may wait in one lane; the same happens beyond it.
pub const REQUEST_BYTES_WAITING_MAX: usize = 256 * 1024 * 1024;

/// Longest text of the key in a sign-in, in bytes. The registers of all masters of a
/// cluster hold it.
pub const SIGN_IN_KEY_BYTES_MAX: usize = halite_cluster::limits::KEY_TEXT_BYTES_MAX;

/// How long another request may wait before it is dropped: minions ask again
/// after `request_channel_timeout` (60 s).
pub const REQUEST_WAIT_MAX: Duration = Duration::from_secs(60);

/// Threads for requests at most, whatever `worker_threads` says: each may hold
/// a message of 100 MiB.
pub const WORKER_THREADS_MAX: usize = 64;

/// Requests whose answer takes time (`minion_publish`, pillars). Further ones are not
/// answered; their senders try again.
pub const LATER_ANSWERS_MAX: usize = 10_000;

/// Threads that compile pillars at most, whatever `worker_threads` says.
pub const PILLAR_THREADS_MAX: usize = 16;

/// Nesting of runners that are called by a pillar that a runner compiles. Deeper ones
/// fail.
pub const RUNNERS_WITHIN_PILLARS_MAX: u32 = 2;

/// Pillars that may wait for a thread. Further ones get no answer: minions ask
/// again.
pub const PILLARS_WAITING_MAX: usize = 10_000;

/// Pillars that `pillar_cache` keeps. When full, all are forgotten.
pub const PILLARS_CACHED_MAX: usize = 10_000;

/// Pillars of one minion that `pillar_cache` keeps on disk, one for each environment
/// that it asks for. Those of further environments are kept in memory only.
pub const PILLAR_FILES_MAX: usize = 32;

/// Most bytes of such a file that are read. A larger file is ignored.
pub const PILLAR_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How long `minion_publish` waits if the minion names no time.
pub const PEER_WAIT_DEFAULT: Duration = Duration::from_secs(5);

/// How long `minion_publish` waits at most.
pub const PEER_WAIT_MAX: Duration = Duration::from_secs(300);

/// Jobs that one minion waits for at once (`minion_publish`). Beyond it nothing
/// is published for it.
pub const PEER_WAITING_PER_MINION_MAX: usize = 64;

/// Runners that one minion may have running at once (`peer_run`). Further ones are
/// refused.
pub const PEER_RUNNERS_PER_MINION_MAX: usize = 8;

/// Runners that all minions together may have running at once. The other half of
/// `RUNNERS_MAX` is for the master's users.
pub const PEER_RUNNERS_MAX: usize = RUNNERS_MAX / 2;

/// Pillars of one minion that wait for a thread. Further requests get no answer; the
/// minion asks again.
pub const PILLARS_WAITING_PER_MINION_MAX: usize = 128;

/// Longest target in a minion's request (`publish.publish`, `mine.get`, the `allow_tgt`
/// of its mine), in bytes. Lists of ids may be as long as those of users.
pub const MINION_TARGET_BYTES_MAX: usize = 16 * 1024;

/// Functions of the mine that one request may ask for. Further ones are left
/// out.
pub const MINE_FUNCTIONS_ASKED_MAX: usize = 1_000;

/// Pillar expressions in the targets of one minion's `mine.get` in
/// `MINE_PILLAR_PARTS_INTERVAL_S`. Further requests fail: which minions match says
/// something about the pillars of others, and values could be guessed one by one.
pub const MINE_PILLAR_PARTS_MAX: usize = 2_000;

/// The interval of `MINE_PILLAR_PARTS_MAX`, in seconds.
pub const MINE_PILLAR_PARTS_INTERVAL_S: i64 = 60 * 60;

/// Characters of a text that a minion asks the master to log. The rest is cut.
pub const REPORTED_CHARS_MAX: usize = 2_000;

/// Valid tokens of one user. A new one beyond it replaces the oldest.
pub const TOKENS_PER_USER_MAX: usize = 10_000;

/// Characters of a name, such as that of a function, from somebody else that are
/// written to the log.
pub const SHOWN_CHARS_MAX: usize = 80;

/// Functions of one job. A job with more is refused.
pub const FUNCTIONS_PER_JOB_MAX: usize = 256;

/// Longest name of a function in a job, in bytes. A job with a longer one is refused.
pub const FUNCTION_BYTES_MAX: usize = 255;

/// How long a stopping daemon may take to finish the work that it has begun.
pub const DRAIN_MAX: Duration = Duration::from_secs(4);

/// How often the drop file is looked for.
pub const DROP_FILE_INTERVAL: Duration = Duration::from_secs(1);

/// How often the health file `alive` is touched.
pub const ALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// How often it is looked whether the keys of minions can be read.
pub const KEY_LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How long such a look may take. A longer one counts as failed each time it is due, and
/// no other one begins until it ends.
pub const KEY_LOOK_MAX: Duration = Duration::from_secs(1);

/// After so many failed looks in a row `health_port` answers 503, and after so many
/// successful ones 200 again.
pub const KEY_LOOKS_MIN: u32 = 3;

/// How long one waits for the health files to be written or removed, on a disk that hangs.
pub const HEALTH_FILES_MAX: Duration = Duration::from_secs(1);

/// Threads that wait for the disk outside requests: housekeeping, publications pushed
/// by local programs, and shutdown. They are started when needed; a store that hangs
/// may hold several until it is known to be away.
pub const BLOCKING_THREADS_MAX: usize = 16;

/// Bytes of jobs that are remembered for minions that come back
/// (`job_replay_window`); the oldest are forgotten.
pub(crate) const MISSED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Minion ids that are kept as targets of recent jobs. For older jobs the job cache has
/// them.
pub const MEANT_IDS_MAX: usize = 500_000;

/// Bytes of a minion's return to a job that targeted it which are always accepted.
/// Bytes beyond it count towards `own_jobs_max_size`.
pub const MEANT_RETURN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Minions whose presence is tracked. Beyond it, minions that are not connected are
/// forgotten; if all are connected, new ones are not tracked and their presence is only
/// estimated.
pub const ROSTER_SEATS_MAX: usize = 200_000;

/// Bytes of the history of minions' connections (`minions.history`) that minions have
/// proven. Beyond it the oldest tenth of all changes is forgotten.
pub const HISTORY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The same for entries that anybody can cause in a minion's name: sign-ins and
/// refusals.
pub const HISTORY_CLAIMED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The same for entries from other masters of a cluster.
pub const HISTORY_TOLD_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Changes of one minion that are kept in each of these three. The oldest are
/// forgotten.
pub const HISTORY_CHANGES_MAX: usize = 100;

/// Changes that `minions.history` shows at once. With more minions it shows fewer
/// changes of each.
pub const HISTORY_SHOWN_MAX: usize = 20_000;

/// How long changes of presence are gathered before an event reports them.
pub const PRESENCE_SETTLE: Duration = Duration::from_millis(200);

/// How often a runner that waits for minions checks which are connected.
pub const AWAY_CHECK: Duration = Duration::from_millis(250);

/// How long a minion that sends signs of life may be away before a runner stops waiting
/// for it: it may be connecting again.
pub const AWAY_GRACE: Duration = Duration::from_secs(5);

/// How long every connection must belong to other minions before a minion that has
/// never sent a sign of life counts as away. A minion of Salt waits up to 11 s before
/// it connects again (`recon_default`, `recon_max`), and ZeroMQ up to as long on top of
/// it.
pub const ABSENCE_MIN: Duration = Duration::from_secs(30);

/// How long the list of minions with cached grains is used before it is read again.
pub const CACHED_IDS_LIFE: Duration = Duration::from_secs(5);

/// Minions whose processes and jobs are tracked, to find several machines with one id.
/// When full, those that were silent for `CLONE_DOUBLES_WITHIN` are dropped; if there
/// are none, further minions are not tracked.
pub const CLONES_MAX: usize = 200_000;

/// How often silent minions are dropped from the tracked ones.
pub const CLONES_SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Processes, and jobs, that are tracked of one minion. The oldest are forgotten.
pub const CLONE_TRACES_MAX: usize = 8;

/// How long an older process must still be heard after a younger one has begun before
/// it counts as another machine. Requests of a process that has ended arrive sooner.
pub const CLONE_LINGER: Duration = Duration::from_secs(10);

/// Silence after which a process counts as gone. Of a minion whose signs of life are
/// answered it asks rarely, but where there are several all ask every 20 s.
pub const CLONE_GONE_AFTER: Duration = Duration::from_secs(90);

/// How often it is reported that one minion is several machines.
pub const CLONE_TOLD_EVERY: Duration = Duration::from_secs(3600);

/// Period in which jobs that were returned twice are counted.
pub const CLONE_DOUBLES_WITHIN: Duration = Duration::from_secs(600);

/// Jobs that must have been returned twice. A single one may come from a minion that
/// got no answer and tried again from another address.
pub const CLONE_DOUBLES_MIN: usize = 3;

/// Least time before a wrong password or token is refused, with up to
/// `SLOW_ANSWER_SPREAD` added at random. It is longer if a login method has taken
/// longer.
pub const SLOW_ANSWER_MIN: Duration = Duration::from_millis(750);

/// Largest random addition to `SLOW_ANSWER_MIN`.
pub const SLOW_ANSWER_SPREAD: Duration = Duration::from_millis(500);

/// Longest time of a login method that lengthens later refusals. A slower one counts as
/// this long.
pub const SLOW_ANSWER_MAX: Duration = Duration::from_secs(4);

/// Longest name of a user who logs in. A longer one is refused.
pub const LOGIN_NAME_BYTES_MAX: usize = 256;

/// Longest password of a user who logs in. A longer one is refused.
pub const LOGIN_PASSWORD_BYTES_MAX: usize = 4096;

/// Threads that check passwords. A check may take seconds (PAM, a web server, a
/// directory), and nothing else should wait for it.
pub const LOGIN_THREADS_MAX: usize = 32;

/// Those threads that one address may occupy. Its further logins wait.
pub const LOGIN_THREADS_PER_ORIGIN_MAX: usize = 2;

/// Logins that may wait. Further ones get no answer.
pub const LOGINS_WAITING_MAX: usize = 256;

/// Bytes of the logins that may wait; same behaviour.
pub const LOGIN_BYTES_WAITING_MAX: usize = 64 * 1024 * 1024;

/// Logins that are checked or whose refusal is delayed at one time. Beyond it no
/// password is checked, which bounds how many can be tried. Refusals of tokens have as
/// many places of their own; beyond them tokens get no answer.
pub const SLOW_ANSWERS_MAX: usize = 256;

/// Those places that one address may have; same behaviour.
pub const SLOW_ANSWERS_PER_ORIGIN_MAX: usize = 8;

/// The largest `ping` that is echoed.
pub const PING_BYTES_MAX: usize = 64 * 1024;

/// Batch jobs that run in the master, without a client that waits for them. Further
/// ones are refused.
pub const BATCHES_MAX: usize = 32;

/// Finished batch jobs that are remembered. The oldest are forgotten.
pub const BATCHES_KEPT_MAX: usize = 256;

/// Runners that run at once. Further ones are refused, and those of reactions wait.
pub const RUNNERS_MAX: usize = 64;

/// While so many runners run, those of reactions wait for a place: the rest of
/// `RUNNERS_MAX` is for people, however many events call for a runner.
pub const RUNNERS_OF_REACTIONS_MAX: usize = RUNNERS_MAX * 3 / 4;

/// How long the runner of a reaction waits for a place before it is dropped.
pub const REACTION_RUNNER_WAIT_MAX: Duration = Duration::from_secs(3600);

/// Runners that list or end other runners, in addition to `RUNNERS_MAX`.
pub const RUNNERS_RESERVED_MAX: usize = 4;

/// How long a runner may take to stop when it is asked to, then when it is forced to.
/// After that it is abandoned.
pub const RUNNER_STOP_GRACE: Duration = Duration::from_secs(1);

/// Abandoned runners that have not ended. Beyond it an abandoned runner keeps its place
/// in `RUNNERS_MAX` until it ends.
pub const RUNNERS_ABANDONED_MAX: usize = 64;

/// Bytes of jobs and returns that wait for `master_job_cache`. Later ones are not
/// passed to it; the job cache in files has them.
pub const JOB_MIRROR_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long a custom wheel function may run. It occupies a thread that answers
/// requests, so a longer one is ended.
pub const PYTHON_WHEEL_MAX: Duration = Duration::from_secs(60);

/// How long one call of `master_job_cache` may take before it is ended.
pub const JOB_MIRROR_CALL_MAX: Duration = Duration::from_secs(60);

/// How long returns are kept for programs that publish a job and connect to the event
/// bus afterwards. On a busy machine Salt's programs need two seconds for that the
/// first time, and wait for at most five.
pub const LATE_LISTENING: Duration = Duration::from_secs(5);

/// Bytes of the returns that are kept for late listeners. When full, the oldest returns
/// of the minion with the most bytes are dropped; if all have the same, new ones are
/// not kept.
pub const LATE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of one minion's returns that are kept for late listeners. The oldest are
/// dropped first; a larger return is not kept.
pub const LATE_BYTES_PER_MINION_MAX: usize = 2 * 1024 * 1024;

/// Jobs of programs that may listen late. Returns of older jobs are not kept for late
/// listeners.
pub const LATE_JOBS_MAX: usize = 10_000;

/// How long a stopping master still answers requests that arrived before it began to
/// stop.
pub const TURN_AWAY_MAX: Duration = Duration::from_secs(2);

/// The first pause before engines that could not be started are tried again. It doubles
/// up to `ENGINES_PAUSE_MAX`.
pub const ENGINES_PAUSE_MIN: Duration = Duration::from_secs(1);
/// See `ENGINES_PAUSE_MIN`.
pub const ENGINES_PAUSE_MAX: Duration = Duration::from_secs(300);

/// Largest file of `file_roots` or `pillar_roots` that one master of a cluster copies
/// to another.
pub const ROOT_FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Files of one environment that are copied to another master.
pub(crate) const ROOT_FILES_MAX: usize = 200_000;

/// Depth of directories in which such files are looked for.
pub(crate) const ROOT_DEPTH_MAX: usize = 64;

/// Masters that files are copied to at a time. Further ones wait.
pub(crate) const ROOTS_TAKERS_AT_ONCE_MAX: usize = 8;

/// Files that another master did not accept and that are listed by name.
pub(crate) const ROOTS_FAILED_SHOWN_MAX: usize = 100;
