//! The named limits of this crate.

use std::time::Duration;

/// How long an operation may take, with connecting before it where there is no
/// connection. It waits for one of those in use half as long at most.
pub const OPERATION_TIME: Duration = Duration::from_secs(5);

/// How long somebody waits for the background thread beyond the time of an
/// operation: it is busy with others.
pub const THREAD_LATE: Duration = Duration::from_secs(2);

/// Operations in a row that are not answered in time before the server counts as
/// away although it can be connected to.
pub const UNANSWERED_MAX: usize = 3;

/// How long a server counts as one that keeps nothing after it has refused something:
/// it is asked for as long as something waits for it.
pub const REFUSAL_KNOWN: Duration = Duration::from_secs(60);

/// Connections to one server. Further operations wait for one, half as long as an
/// operation may take.
pub const CONNECTIONS_MAX: usize = 8;

/// Most connections to one server that can be asked for.
pub const CONNECTIONS_ALLOWED_MAX: usize = 1024;

/// The first pause before a server that is away is tried again; each further
/// one is twice as long.
pub const PAUSE_FIRST: Duration = Duration::from_millis(100);

/// The longest such pause.
pub const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Most bytes of a file with a password.
pub const PASSWORD_BYTES_MAX: u64 = 4096;

/// Most bytes of a file with certificates.
pub const CERTIFICATES_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How long a connection may rest before it is made anew, where the driver does
/// not say whether it is still open.
pub const REST_MAX: Duration = Duration::from_secs(60);

/// Further Sentinels that can be named.
pub const SENTINELS_MAX: usize = 16;

/// How long one Sentinel may take to say where the server is: then the next one is
/// asked.
pub const SENTINEL_TIME: Duration = Duration::from_secs(1);

/// Most servers of a Redis cluster that take writes.
pub const CLUSTER_NODES_MAX: usize = 256;

/// How long a server of a Redis cluster that could not be connected to is not tried
/// again, where the others are used without it.
pub const ABSENT_PAUSE: Duration = Duration::from_secs(5);

/// How often one command is sent again because its slot is on another server, or on
/// its way there.
pub const REDIRECTS_MAX: usize = 8;

/// The pause before a command is sent again whose keys are on their way to another
/// server.
pub const MOVING_PAUSE: Duration = Duration::from_millis(50);

/// Further members of an etcd or a Redis cluster that can be named.
pub const MEMBERS_MAX: usize = 16;

/// How long one of several members of an etcd or a Redis cluster may take to connect and
/// to answer at least, before the next one is tried: they share the time for connecting.
pub const MEMBER_TIME: Duration = Duration::from_secs(1);

/// Most bytes of an answer of an etcd: a group of values of the largest size that it
/// takes by itself, and what JSON adds.
pub const ETCD_ANSWER_BYTES_MAX: usize = 80 * 1024 * 1024;

/// Most characters of what an etcd says of an error that are shown.
pub const ETCD_REASON_CHARS_MAX: usize = 300;

/// Most bytes that are read of the answer to one question: of a list of names, of the
/// returns of one job, of one value. What is longer is an error, and stays on the server.
pub const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Most entries of a list that a server gives.
pub const LISTED_MAX: usize = 1_000_000;

/// Most rows that are read of an answer: one more than are listed, so that it is seen
/// that there are more.
pub const ANSWER_ROWS_MAX: usize = LISTED_MAX + 1;
