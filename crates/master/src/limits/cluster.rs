//! The limits of a master in a cluster.

use std::time::Duration;

/// How long a master that starts waits until another one has made the key pair of the
/// cluster, before it makes one itself.
pub const KEY_PAIR_WAIT_MAX: Duration = Duration::from_secs(1);

/// Grants of one master that are known in a cluster, this master's own or a peer's.
/// Its oldest are forgotten, and minions with keys of theirs sign in again.
pub const GRANTS_PER_MASTER_MAX: usize = 4;

/// Seconds between two grants that a master begins because a session was retired.
pub const GRANT_PAUSE_S: i64 = 10;

/// Grants that are not learnt any more, because uses of their keys were missed.
pub const GRANTS_SPOILED_MAX: usize = 24;

/// Nonces that peers tell of before this master knows the grant. The oldest are
/// dropped, and their grants are not learnt any more.
pub const EARLY_NONCES_MAX: usize = 10_000;

/// Minions that one message to a peer lists as connected or disconnected.
pub const PRESENCE_TOLD_MAX: usize = 1_000_000;

/// A master of a cluster that has no links does what is to be done once only after so
/// long: a peer that does it is heard by then.
pub const LEAD_AFTER: Duration = Duration::from_secs(3);

/// A master holds the lease of its cluster for so long from when it last asked for it
/// with success.
pub const LEASE_HELD_FOR: Duration = Duration::from_secs(2);

/// A lease that has not changed for this long can be taken by any master. The last holder
/// stops its engines in the time before.
pub const LEASE_STALE_AFTER: Duration = Duration::from_millis(3500);

/// How often the lease is asked for.
pub const LEASE_EVERY: Duration = Duration::from_millis(500);

/// How long an answer about the lease is waited for.
pub const LEASE_ANSWER_MAX: Duration = Duration::from_secs(1);

/// How often a master of a cluster looks whether engines are its to run.
pub const LEAD_EVERY: Duration = Duration::from_millis(500);

/// How long a minion waits to hear that its return is stored while a peer that is
/// linked does not say that it has it too. Then this master's copy has to do.
pub const RETURN_COPIED_MAX: Duration = Duration::from_secs(5);

/// How long returns do not wait for peers after none has acknowledged one in time.
pub const RETURN_STALL_PAUSE: Duration = Duration::from_secs(30);

/// Returns that wait for a peer's copy at once. For further ones this master's copy
/// has to do.
pub const RETURN_COPIES_WAITING_MAX: usize = 10_000;

/// Returns whose message number to the peers is remembered.
pub const RETURNS_TOLD_MAX: usize = 20_000;

/// How long a master that hands its minions over waits for all of them to disconnect.
pub const HAND_OVER_MAX: Duration = Duration::from_secs(5);

/// How often it checks whether they have disconnected.
pub const HAND_OVER_LOOK: Duration = Duration::from_millis(50);

/// How often jobs are sent again, after a peer was lost, to minions that cannot ask for
/// missed ones: those of Salt reconnect within 11 s.
pub const RESEND_EVERY: Duration = Duration::from_secs(2);

/// How often.
pub const RESENDS: u32 = 6;

/// If more jobs than these were published for a minion since, one is not sent to it
/// again: a minion of Salt drops what it has by the ids of the last 100 jobs
/// (`minion_jid_queue_hwm`).
pub const RESEND_JOBS_MAX: usize = 80;

/// Jobs that are sent again at once, for all minions; older ones are left out.
pub const RESEND_ROUND_JOBS_MAX: usize = 1000;

/// How long a master that was started waits for the links to its peers, before it sends
/// jobs again: they know who has returned what meanwhile.
pub const RESEND_LINKED_MAX: Duration = Duration::from_secs(3);

/// How often a job cache that could not say at the start who has returned the last jobs is
/// asked again.
pub const UNDECIDED_JOBS_EVERY: Duration = Duration::from_secs(1);

/// How far ahead of the own clock a secret of a cluster may have been made, in
/// microseconds.
pub const SECRET_LEAD_US_MAX: u64 = 60_000_000;

/// From this age on a job of a peer is late: a minion that cannot say what it has run may
/// have had it from another master, and run others since.
pub const JOB_LATE_AFTER: Duration = Duration::from_secs(2);

/// By how much a job may be older than the end of a peer's connection and still have
/// been lost with it.
pub const RESEND_BEFORE: Duration = Duration::from_secs(2);

/// How long the peers may take to acknowledge a new publish key before it is used in any
/// case.
pub const PUBLISH_KEY_TOLD_MAX: Duration = Duration::from_secs(1);

/// Largest file with the secret of a cluster, in bytes.
pub const SECRET_FILE_BYTES_MAX: u64 = 4096;

/// How long the first master of a cluster looks for others that have it already,
/// before it makes the cluster's keys.
pub const FOUND_AFTER: Duration = Duration::from_millis(300);

/// The pause before a master asks again to be taken into a cluster, which doubles
/// from the first to the last.
pub const JOIN_PAUSE_MIN: Duration = Duration::from_millis(100);

/// See `JOIN_PAUSE_MIN`.
pub const JOIN_PAUSE_MAX: Duration = Duration::from_secs(2);

/// The same after a refusal that lasts until an administrator does something. With a
/// shorter one a master with a wrong secret would use up what its address may fail.
pub const JOIN_PAUSE_REFUSED: Duration = Duration::from_secs(10);

/// How often it is logged why a master is not taken in.
pub const JOIN_SAID_EVERY: Duration = Duration::from_secs(30);

/// How long a part of a job in batches waits for the other masters to hear of it. It is
/// sent after that in any case.
pub const BATCH_PART_TOLD_MAX: Duration = Duration::from_secs(1);

/// How often it is looked for work of masters that are away.
pub const LOST_WORK_EVERY: Duration = Duration::from_millis(250);

/// Bytes of what the other masters know of a runner. Of one with more they do not know the
/// arguments.
pub const RUNNER_TOLD_BYTES_MAX: usize = 64 * 1024;

/// How often the registers look for decisions in the key store, and for what is
/// due.
pub const REGISTERS_EVERY: Duration = Duration::from_millis(200);

/// How often a master of a cluster names to the others what it has learnt of minions.
pub const SHARED_DATA_EVERY: Duration = Duration::from_millis(100);

/// Minions whose data may be changed at the same time, where other masters are notified
/// of it.
pub const DATA_TURNS: usize = 64;

/// How long it is remembered that a token was taken back, for masters that are away.
pub const TOKEN_REMOVALS_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// How long somebody who shows a token that is not known here waits for the peers.
pub const SEEK_MAX: Duration = Duration::from_secs(1);

/// How long behind the start of this master such a wait may last, while a peer is linked:
/// both have much to tell each other then. The link to one that hangs ends before.
pub const SEEK_FRESH_MAX: Duration = Duration::from_secs(5);

/// How long behind the start of this master a first link is waited for.
pub const SEEK_ALONE_MAX: Duration = Duration::from_secs(3);

/// Searches for tokens that begin in a second. Further tokens are unknown at once.
pub const SEARCHES_PER_SECOND_MAX: usize = 100;

/// Threads that wait for the peers so. Further requests with unknown tokens wait for one.
pub const SEEK_THREADS: usize = 4;

/// How often it is written down which versions of that there are.
pub const DATA_VERSIONS_WRITTEN_EVERY: Duration = Duration::from_secs(60);

/// Consecutive checks of the key store that rely on the times of its directories alone.
pub const REGISTERS_LOOKS_SKIPPED_MAX: u32 = 25;

/// Keys whose trouble is logged by name at one look; the others are counted.
pub const REGISTERS_LEFT_OUT_LOGGED_MAX: usize = 10;

/// How long a new publish key is waited for that follows a revocation, before it is
/// tried again.
pub const REGISTERS_ROTATION_PAUSE: Duration = Duration::from_secs(30);

/// Largest file of the registers of a cluster that is read and written, in bytes:
/// 200,000 minions with keys of 4096 bits take a quarter of it. What does not
/// fit is an error, and is tried again.
pub const REGISTERS_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Bytes of the log of the registers from which on it may be folded into the
/// snapshot; that is done when it is larger than the snapshot too.
pub const REGISTERS_LOG_BYTES_MIN: u64 = 1024 * 1024;

/// How long a master of a cluster that stops waits for its peers to handle its last
/// messages.
pub const PEERS_HANDLE_MAX: Duration = Duration::from_secs(1);
