//! Every limit of the daemon, and what happens when it is reached.

mod cluster;

use std::time::Duration;

pub use self::cluster::*;

/// Keys that are pending or rejected. Beyond it, and beyond a tenth of what is
/// left of it for one address, a new minion is told to wait and its key is not
/// kept: anybody can send keys, and each takes a file.
pub const UNDECIDED_KEYS_MAX: usize = 50_000;

/// Sign-ins of one address that are refused with an answer, and of all, in
/// `REFUSALS_INTERVAL_S`. Further ones get none: it is signed with the master's
/// key, and tells them nothing new.
pub const REFUSALS_PER_ORIGIN_MAX: usize = 60;

/// See `REFUSALS_PER_ORIGIN_MAX`.
pub const REFUSALS_MAX: usize = 6_000;

/// See `REFUSALS_PER_ORIGIN_MAX`, in seconds.
pub const REFUSALS_INTERVAL_S: i64 = 60;

/// Processor time that it may take to tell whom a target means, over the whole
/// fleet. Beyond it the target is an error, and means nobody: its expressions
/// come from whoever may ask anything.
pub const TARGET_TIME_MAX: Duration = Duration::from_millis(500);

/// Processor time that reading grains, pillars and ids of all minions for one target
/// may take: some 0.1 ms for each minion, once. Beyond it the target is an error, too.
pub const TARGET_READ_TIME_MAX: Duration = Duration::from_secs(20);

/// The newest highstates that `minions.status` looks through for the last one of
/// each minion. Of a minion that ran its last one earlier none is shown.
pub const HIGHSTATES_LOOKED_AT_MAX: usize = 20;

/// Minions whose last highstate is counted on the page of metrics. Beyond it those that
/// were heard longest ago are not, a tenth of them at once.
pub const HIGHSTATES_KEPT_MAX: usize = ROSTER_SEATS_MAX;

/// Minions whose last highstate is on the page of metrics by itself: those that failed
/// first, then the newest.
pub const HIGHSTATES_SHOWN_MAX: usize = halite_metrics::SERIES_MAX;

/// Up to that many minions `minions.status` reads the return of each by itself,
/// instead of everything that a job returned.
pub const SINGLE_RETURNS_MAX: usize = 16;

/// Minions beyond the accepted ones that one question about minions may name;
/// further ones are not looked up.
pub const STANDING_STRANGERS_MAX: usize = 1_000;

/// Jobs whose returns one question may ask for; further ones are left out.
pub const STANDING_JOBS_MAX: usize = 100;

/// Requests that may wait in one lane. Beyond it the last one of the address
/// that has the most there gets no answer: its sender tries again.
pub const REQUESTS_WAITING_MAX: usize = 20_000;

/// Bytes of the requests that may wait in one lane; same behaviour.
pub const REQUEST_BYTES_WAITING_MAX: usize = 256 * 1024 * 1024;

/// Longest text of a key that signs in, in bytes: all registers of a cluster hold it.
pub const SIGN_IN_KEY_BYTES_MAX: usize = halite_cluster::limits::KEY_TEXT_BYTES_MAX;

/// How long a sign-in may wait before it is dropped. Minions ask again after
/// `auth_timeout` (5 s): with more than that, a herd that asks faster than it is
/// served is only ever answered when it has given up, and none of it signs in.
pub const SIGN_IN_WAIT_MAX: Duration = Duration::from_secs(3);

/// How long a sign-in may have to wait, by what the last ones took, and still be taken.
/// A minion of ours that would wait longer is asked to come again: half of
/// `SIGN_IN_WAIT_MAX`, as nobody knows how long the next ones take.
pub const SIGN_IN_QUEUE_MAX: Duration = Duration::from_millis(1_500);

/// After how long such a minion is to come again at least.
pub const COME_AGAIN_MIN: Duration = Duration::from_secs(2);

/// After how long at most: minions do not stay away longer either.
pub const COME_AGAIN_MAX: Duration = Duration::from_secs(60);

/// How long another request may wait before it is dropped: minions ask again
/// after `request_channel_timeout` (60 s).
pub const REQUEST_WAIT_MAX: Duration = Duration::from_secs(60);

/// Threads for requests at most, whatever `worker_threads` says: each may hold
/// a message of 100 MiB.
pub const WORKER_THREADS_MAX: usize = 64;

/// Answers that are waited for (`minion_publish`, pillars). Further requests
/// of this kind are not answered: their senders try again.
pub const LATER_ANSWERS_MAX: usize = 10_000;

/// Threads that compile pillars at most, whatever `worker_threads` says.
pub const PILLAR_THREADS_MAX: usize = 16;

/// Runners that pillars run which runners compile which pillars run; beyond it
/// they fail.
pub const RUNNERS_WITHIN_PILLARS_MAX: u32 = 2;

/// Pillars that may wait for a thread. Further ones get no answer: minions ask
/// again.
pub const PILLARS_WAITING_MAX: usize = 10_000;

/// Pillars that `pillar_cache` keeps. When full, all are forgotten.
pub const PILLARS_CACHED_MAX: usize = 10_000;

/// Pillars of one minion that `pillar_cache` keeps on disk, one for each environment
/// that it asks for. Those of further environments are in memory alone.
pub const PILLAR_FILES_MAX: usize = 32;

/// Most bytes of such a file that are read; a larger one counts as none.
pub const PILLAR_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How long `minion_publish` waits where the minion does not say.
pub const PEER_WAIT_DEFAULT: Duration = Duration::from_secs(5);

/// How long `minion_publish` waits at most.
pub const PEER_WAIT_MAX: Duration = Duration::from_secs(300);

/// Jobs that one minion waits for at once (`minion_publish`). Beyond it nothing
/// is published for it.
pub const PEER_WAITING_PER_MINION_MAX: usize = 64;

/// Runners that one minion has run at once (`peer_run`). Further ones are
/// refused.
pub const PEER_RUNNERS_PER_MINION_MAX: usize = 8;

/// Runners that all minions have run at once: of `RUNNERS_MAX` half is for the
/// master's users.
pub const PEER_RUNNERS_MAX: usize = RUNNERS_MAX / 2;

/// Pillars that wait for a thread for one minion. Further requests get no
/// answer: it asks again.
pub const PILLARS_WAITING_PER_MINION_MAX: usize = 128;

/// Longest target that a minion may ask others for, or guard its mine with, in
/// bytes. Lists of ids may be as long as those of users.
pub const MINION_TARGET_BYTES_MAX: usize = 16 * 1024;

/// Functions of the mine that one request may ask for. Further ones are left
/// out.
pub const MINE_FUNCTIONS_ASKED_MAX: usize = 1_000;

/// Parts about pillar in the targets by which one minion asks for the mine, in
/// `MINE_PILLAR_PARTS_INTERVAL_S`. What asks for more fails: who matches is an
/// answer about the pillars of others, and values could be guessed one by one.
pub const MINE_PILLAR_PARTS_MAX: usize = 2_000;

/// See `MINE_PILLAR_PARTS_MAX`, in seconds.
pub const MINE_PILLAR_PARTS_INTERVAL_S: i64 = 60 * 60;

/// How much of a text that a minion wants in the log stands there, in
/// characters.
pub const REPORTED_CHARS_MAX: usize = 2_000;

/// Tokens of one user that hold at the same time. With one more the oldest goes.
pub const TOKENS_PER_USER_MAX: usize = 10_000;

/// How much of a text of somebody else, a name or a function, stands in a line
/// of the log, in characters.
pub const SHOWN_CHARS_MAX: usize = 80;

/// Functions of one job. What asks for more is refused.
pub const FUNCTIONS_PER_JOB_MAX: usize = 256;

/// Bytes of the name of a function in a job. What asks for a longer one is
/// refused.
pub const FUNCTION_BYTES_MAX: usize = 255;

/// How long the daemon may take to finish what it has begun when it is told to
/// stop.
pub const DRAIN_MAX: Duration = Duration::from_secs(4);

/// Bytes of what minions have told of themselves that the store did not take, and that
/// waits for it. What is beyond comes with their next refresh.
pub const UNKEPT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How often the store may refuse one of these although it takes others, before it is
/// given up.
pub const UNKEPT_REFUSALS_MAX: usize = 3;

/// How long they are stored in one go: other housekeeping waits meanwhile.
pub const UNKEPT_ROUND: Duration = Duration::from_millis(500);

/// Minions of which something is stored at once: what waited must not go over what came
/// since.
pub const UNKEPT_TURNS: usize = 64;

/// How often the drop file is looked for.
pub const DROP_FILE_INTERVAL: Duration = Duration::from_secs(1);

/// How often the health file `alive` is touched.
pub const ALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// Threads for what waits for the disk outside requests: housekeeping,
/// publications pushed by local programs, and the end. They are started when they are
/// needed; a store that hangs may hold several until it is known to be away.
pub const BLOCKING_THREADS_MAX: usize = 16;

/// Bytes of jobs that are remembered for minions that come back
/// (`job_replay_window`); the oldest are forgotten.
pub(crate) const MISSED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Ids of minions that the jobs of the last while were meant for. Of older jobs
/// the job cache knows it.
pub const MEANT_IDS_MAX: usize = 500_000;

/// Bytes of the result of a job that was meant for its minion that find their
/// room in any case. What is beyond counts as a job that the minion gave itself
/// (`own_jobs_max_size`).
pub const MEANT_RETURN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Minions whose presence is kept. Beyond it those that are away are
/// forgotten, then nobody is added: they are only estimated.
pub const ROSTER_SEATS_MAX: usize = 200_000;

/// Bytes of what has become of minions' connections (`minions.history`), as far as they
/// have proven it. Beyond it the oldest tenth of all changes is forgotten.
pub const HISTORY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The same of what anybody can claim in a minion's name: sign-ins and refusals.
pub const HISTORY_CLAIMED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The same of what other masters of a cluster tell.
pub const HISTORY_TOLD_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Changes of one minion that are kept, of each of the three; the oldest go.
pub const HISTORY_CHANGES_MAX: usize = 100;

/// Changes that `minions.history` shows at once: of more minions it shows fewer of each.
pub const HISTORY_SHOWN_MAX: usize = 20_000;

/// How long changes of presence are gathered before an event tells them.
pub const PRESENCE_SETTLE: Duration = Duration::from_millis(200);

/// How often a runner that waits for minions looks who is connected.
pub const AWAY_CHECK: Duration = Duration::from_millis(250);

/// How long a minion that shows its presence may be away before a runner gives
/// it up: it may be connecting again.
pub const AWAY_GRACE: Duration = Duration::from_secs(5);

/// How long each connection must have been another minion's before one that has
/// never shown its presence is given up. A minion of Salt's waits up to 11 s
/// before it connects again (`recon_default`, `recon_max`), and ZeroMQ up to as
/// long on top of it.
pub const ABSENCE_MIN: Duration = Duration::from_secs(30);

/// How long is believed which minions have cached grains.
pub const CACHED_IDS_LIFE: Duration = Duration::from_secs(5);

/// Minions whose processes and jobs are kept, to find several machines with one
/// id. When full, those that were silent for `CLONE_DOUBLES_WITHIN` make room;
/// where there are none, nothing is known of further ones.
pub const CLONES_MAX: usize = 200_000;

/// How often room is made among `CLONES_MAX`.
pub const CLONES_SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Processes, and jobs, that are kept of one minion; the oldest go.
pub const CLONE_TRACES_MAX: usize = 8;

/// How long an older process must be heard after a younger one has begun to be
/// another machine: longer than any request of a process that has ended is on
/// its way.
pub const CLONE_LINGER: Duration = Duration::from_secs(10);

/// A process that has not been heard for so long is not there: minions ask every
/// 20 s.
pub const CLONE_GONE_AFTER: Duration = Duration::from_secs(90);

/// How often is told that the same minion is several machines.
pub const CLONE_TOLD_EVERY: Duration = Duration::from_secs(3600);

/// Jobs that have come back in so long a time are looked at together.
pub const CLONE_DOUBLES_WITHIN: Duration = Duration::from_secs(600);

/// So many jobs must have come back twice: one may be a minion that was not
/// answered, and has another address when it tries again.
pub const CLONE_DOUBLES_MIN: usize = 3;

/// A wrong password or token takes this long to be refused, and up to
/// `SLOW_ANSWER_SPREAD` more; longer where a way to log in has taken longer.
pub const SLOW_ANSWER_MIN: Duration = Duration::from_millis(750);

/// See `SLOW_ANSWER_MIN`.
pub const SLOW_ANSWER_SPREAD: Duration = Duration::from_millis(500);

/// A way to log in that takes longer than this for a refusal makes others take
/// no longer.
pub const SLOW_ANSWER_MAX: Duration = Duration::from_secs(4);

/// Longest name of a user who logs in. A longer one is refused.
pub const LOGIN_NAME_BYTES_MAX: usize = 256;

/// Longest password of a user who logs in. A longer one is refused.
pub const LOGIN_PASSWORD_BYTES_MAX: usize = 4096;

/// Threads that judge passwords: what is asked may take seconds (PAM, a web
/// server, a directory), and nothing else is to wait for it.
pub const LOGIN_THREADS_MAX: usize = 32;

/// Those threads that one address may keep busy. Its further logins wait.
pub const LOGIN_THREADS_PER_ORIGIN_MAX: usize = 2;

/// Logins that may wait. Further ones get no answer.
pub const LOGINS_WAITING_MAX: usize = 256;

/// Bytes of the logins that may wait; same behaviour.
pub const LOGIN_BYTES_WAITING_MAX: usize = 64 * 1024 * 1024;

/// Refusals of passwords that take their time at once, with the logins that are
/// judged. Beyond it no password is judged: this bounds how many can be tried.
/// Refusals of tokens have as many places of their own; beyond them they get no
/// answer.
pub const SLOW_ANSWERS_MAX: usize = 256;

/// Those places that one address may have; same behaviour.
pub const SLOW_ANSWERS_PER_ORIGIN_MAX: usize = 8;

/// The largest `ping` that is told back.
pub const PING_BYTES_MAX: usize = 64 * 1024;

/// Jobs in batches that run without anybody waiting for them. Further ones are
/// refused.
pub const BATCHES_MAX: usize = 32;

/// Jobs in batches that are remembered after their end; the oldest are
/// forgotten.
pub const BATCHES_KEPT_MAX: usize = 256;

/// Runners that run at once. Further ones are refused.
pub const RUNNERS_MAX: usize = 64;

/// Runners that look at others and end them, beside `RUNNERS_MAX`.
pub const RUNNERS_RESERVED_MAX: usize = 4;

/// How long a runner that is told to stop may take to do so, before it is
/// forced to, and again before it is left to itself.
pub const RUNNER_STOP_GRACE: Duration = Duration::from_secs(1);

/// Runners that were left to themselves and have not ended. Beyond it one keeps
/// its place until it ends.
pub const RUNNERS_ABANDONED_MAX: usize = 64;

/// Bytes of jobs and returns that wait for `master_job_cache`. What comes beyond
/// it is not given on; the files have it.
pub const JOB_MIRROR_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long users' wheel functions may take: the thread that runs one answers
/// requests otherwise. What takes longer is ended.
pub const PYTHON_WHEEL_MAX: Duration = Duration::from_secs(60);

/// How long one call of `master_job_cache` may take before it is ended.
pub const JOB_MIRROR_CALL_MAX: Duration = Duration::from_secs(60);

/// How long returns are kept for programs that publish a job and begin to
/// listen after it. On a busy machine Salt's own need two seconds for that the
/// first time; they wait for five, so nobody wants what is older.
pub const LATE_LISTENING: Duration = Duration::from_secs(5);

/// Bytes of the returns that are kept for late listeners. When full, those of
/// the minion that has the most there go, its oldest first; where all have as
/// much, further ones are not kept.
pub const LATE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of the returns of one minion that are kept for late listeners. Its
/// oldest go first; a larger one is not kept.
pub const LATE_BYTES_PER_MINION_MAX: usize = 2 * 1024 * 1024;

/// Jobs of programs that may listen late that are remembered. Of older ones
/// nothing more is kept for late listeners.
pub const LATE_JOBS_MAX: usize = 10_000;

/// How long a master that is stopped answers what was asked before it.
pub const TURN_AWAY_MAX: Duration = Duration::from_secs(2);

/// The pause before engines that could not be started are started again, which doubles
/// from the first to the last.
pub const ENGINES_PAUSE_MIN: Duration = Duration::from_secs(1);
/// See `ENGINES_PAUSE_MIN`.
pub const ENGINES_PAUSE_MAX: Duration = Duration::from_secs(300);

/// Bytes of a file of `file_roots` or `pillar_roots` that another master of the cluster
/// gives. Larger ones have better ways.
pub const ROOT_FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Files of an environment that are given to another master.
pub(crate) const ROOT_FILES_MAX: usize = 200_000;

/// Directories in each other that are looked for them.
pub(crate) const ROOT_DEPTH_MAX: usize = 64;

/// Masters that are given files at a time. Further ones wait for one of them.
pub(crate) const ROOTS_TAKERS_AT_ONCE_MAX: usize = 8;

/// Names of files that another master has not taken, of which each is shown.
pub(crate) const ROOTS_FAILED_SHOWN_MAX: usize = 100;
