//! Every limit of size, number and time of the API, and what happens when it is
//! reached.

use std::time::Duration;

/// Connections at once; while there are as many, one gives way on which nobody has
/// proven anything.
pub const CONNECTIONS_MAX: usize = 4096;

/// The same from one address, or one /64 of IPv6, unless it is a trusted proxy's; more
/// are closed.
pub const CONNECTIONS_PER_ORIGIN_MAX: usize = 64;

/// Connections at once of all trusted proxies; more are closed. Any local user may
/// connect as a proxy of this machine, and others are to get in meanwhile.
pub const CONNECTIONS_OF_PROXIES_MAX: usize = CONNECTIONS_MAX / 4 * 3;

/// Connections at once on which nobody has proven anything with a session, a token or a
/// password, beside those of trusted proxies; if there are more, the oldest of the
/// address with the most of them is closed.
pub const CONNECTIONS_UNPROVEN_MAX: usize = CONNECTIONS_MAX / 4;

/// Connections at once on which one user has been the last to prove who they are, whatever
/// their sessions and addresses, streams of events included; another one is refused with
/// 503 and stays unproven.
pub const CONNECTIONS_PER_USER_MAX: usize = CONNECTIONS_MAX / 4;

/// How long a connection may be open until something is proven; then it ends with the
/// answer to the request under way.
pub const PROVEN_WITHIN: Duration = Duration::from_secs(60);

/// How long an answer waits for a client that does not read it; then the connection is
/// closed.
pub const WRITE_WITHIN: Duration = Duration::from_secs(30);

/// Headers of one request; more are refused with 431.
pub const HEADERS_MAX: usize = 64;

/// Bytes of the head of one request; more are refused with 431.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;

/// How long the head of a request may take from the end of the one before, or the
/// beginning of the connection; then the connection is closed.
pub const HEAD_WITHIN: Duration = Duration::from_secs(15);

/// How long the body of a request may take; then it is refused with 408.
pub const BODY_WITHIN: Duration = Duration::from_secs(60);

/// Up to this size a body is not counted as large. A body without a length counts as
/// being as long as is allowed.
pub const BODY_SMALL: usize = 16 * 1024;

/// Bytes of large bodies at once from callers without a session, but at least as many as
/// one body may have; more are refused with 503.
pub const LARGE_BODIES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Such bodies at once from one address, or one /64 of IPv6, unless it is a trusted
/// proxy's.
/// It is as many as the API of another master sends at most.
pub const LARGE_BODIES_PER_ORIGIN_MAX: usize = RELAYED_AT_ONCE_MAX + QUESTIONS_AT_ONCE_MAX;

/// How long a TLS handshake may take; then the connection is closed.
pub const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// Chunks of low data in one request; more are refused with 400.
pub const CHUNKS_MAX: usize = 1024;

/// Sessions at once; more are refused with 503.
pub const SESSIONS_MAX: usize = 10_000;

/// Sessions of one user at once; the one that would expire first is ended for a new one.
pub const SESSIONS_PER_USER_MAX: usize = 100;

/// The longest a session lasts, even if its token lasts longer: not every calculation can
/// handle later times.
pub const SESSION_LASTS_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// How many commands may wait for each one that may run (`thread_pool`); more are refused
/// with 503.
pub const WAITING_PER_PLACE: usize = 2;

/// One in so many places for commands is for those with a password, because nobody knows
/// yet whether it is correct.
pub const UNPROVEN_PART: usize = 2;

/// Of the places for commands, running and waiting, one user has one in so many at
/// most, and so has one address of those for commands with a password; more are
/// refused with 503.
pub const COMMANDS_PER_HOLDER_PART: usize = 2;

/// Logins that the API asks the master about at once; more are refused with 429. A master
/// answers as many wrong ones of one sender at once.
pub const LOGINS_MAX: usize = 8;

/// The same from one address, or one /64 of IPv6.
pub const LOGINS_PER_ORIGIN_MAX: usize = 4;

/// Streams of events at once; more are refused with 503.
pub const STREAMS_MAX: usize = 2048;

/// The same for one user.
pub const STREAMS_PER_USER_MAX: usize = STREAMS_MAX / 4;

/// Bytes of an answer in YAML, which is much longer than its data if this is deeply
/// nested. Instead of a longer one, the API answers 500.
pub const YAML_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of an answer whose data is freed beside it.
pub const FREED_BESIDE_BYTES_MIN: u64 = 1024 * 1024;

/// Events that are kept for slow streams: their number, and their bytes. A stream that is
/// even slower loses the oldest, and a comment says how many.
pub const EVENTS_KEPT_MAX: usize = 4096;
/// See [`EVENTS_KEPT_MAX`].
pub const EVENT_BYTES_KEPT_MAX: usize = 32 * 1024 * 1024;

/// Bytes of an event that a stream gets at once. A stream whose reader has stopped holds
/// at most so many beyond [`HEAD_BYTES_MAX`]. If an event is dropped before a stream has
/// sent all of it, the stream ends.
pub const EVENT_PIECE_BYTES: usize = 16 * 1024;

/// How often a quiet stream sends a heartbeat, so that the API notices if the other end
/// is gone.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);

/// How often the API checks whether the token of a stream is still valid.
pub const TOKEN_CHECKED_EVERY: Duration = Duration::from_secs(10);

/// Messages from a client of `/ws` are read and dropped; a longer one closes the
/// websocket.
pub const WS_MESSAGE_BYTES_MAX: usize = 4096;

/// The pause before the API connects to the master's bus again.
pub const BUS_PAUSE: Duration = Duration::from_millis(500);

/// Names and addresses that are remembered for failed logins; beyond it, the one that
/// failed longest ago is forgotten.
pub const FAILURES_REMEMBERED_MAX: usize = 10_000;

/// The time over which failed logins are counted.
pub const FAILURES_WITHIN: Duration = Duration::from_secs(60);

/// How long running requests may take to end when the API is stopped.
pub const DRAIN_WITHIN: Duration = Duration::from_secs(3);

/// Bytes of a static file; a larger one is not served.
pub const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Bytes of a file that are read at once.
pub const FILE_PIECE: usize = 64 * 1024;

/// How long another master's API may take to accept a connection; then the next one
/// is asked.
pub const OTHER_CONNECTED_WITHIN: Duration = Duration::from_secs(2);

/// How long another master's API may take to list its jobs, to say whether it knows a
/// token, or to report its health. Then it counts as away, and the answer lacks its part.
pub const OTHER_ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// How often the masters are asked for their health.
pub const OTHER_LOOKED_AT_EVERY: Duration = Duration::from_secs(2);

/// After how long without a sign of the other machine a connection to another API ends.
pub const OTHER_SILENT_MAX: Duration = Duration::from_secs(30);

/// After how long of silence, without even a heartbeat, the event stream of another API
/// is ended and opened again.
pub const OTHER_STREAM_SILENT_MAX: Duration = Duration::from_secs(45);

/// The pause before the event stream of another API is opened again.
pub const OTHER_STREAM_PAUSE: Duration = Duration::from_millis(500);

/// How long a new stream waits for those of the other masters; then it begins without
/// them.
pub const OTHER_STREAMS_WITHIN: Duration = Duration::from_secs(1);

/// Commands and logins at one other API at once; one that gets no place within
/// [`OTHER_ANSWERS_WITHIN`] goes to the next API. An API accepts 64 connections from one
/// address.
pub const RELAYED_AT_ONCE_MAX: usize = 32;

/// The same for queries: whether a token is known, and lists of jobs.
pub const QUESTIONS_AT_ONCE_MAX: usize = 8;

/// How long another API may take with a command; then the answer is 503, and the outcome
/// is unknown.
pub const RELAYED_COMMAND_WITHIN: Duration = Duration::from_secs(3600);

/// The same for a login.
pub const RELAYED_LOGIN_WITHIN: Duration = Duration::from_secs(60);

/// Bytes of an answer of another API; a larger one is refused with 502.
pub const RELAYED_ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of all answers of other APIs that are being read at once; one that does not fit
/// is refused with 503.
pub const RELAYED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// How many tokens that other masters have refused are remembered, and for how long.
pub const TOKENS_REFUSED_MAX: usize = 4096;
/// See [`TOKENS_REFUSED_MAX`].
pub const TOKENS_REFUSED_FOR: Duration = Duration::from_secs(5);

/// Tokens that the API checks with the master of this machine at once before commands;
/// more wait.
pub const TOKENS_ASKED_MAX: usize = 8;

/// How old the last check of the master may be for `/health`, and for callers that have
/// not proven any right.
pub const OWN_SEEN_WITHIN: Duration = Duration::from_secs(1);

/// How long the addresses of another API's name are used before they are looked up again.
pub const OTHER_NAME_GOOD_FOR: Duration = Duration::from_secs(60);

/// How long such a look-up may take; then the previous addresses are used.
pub const OTHER_NAME_WITHIN: Duration = Duration::from_millis(500);

/// How many bytes of a comment in the event stream of another API appear in the log.
pub const COMMENT_BYTES_MAX: usize = 200;

/// Bytes of a line in the event stream of another API; a stream with a longer one ends.
pub const RELAYED_EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Events that are remembered to recognise copies, and for how long. A copy of an older
/// event is passed on.
pub const COPIES_KNOWN_MAX: usize = 65_536;
/// See [`COPIES_KNOWN_MAX`].
pub const COPIES_KNOWN_FOR: Duration = Duration::from_secs(60);

/// How long another master's acceptance of a stream's token holds before the master is
/// asked again.
pub const OTHER_ACCEPTS_FOR: Duration = Duration::from_secs(60);

/// The same for a refusal, after several in a row.
pub const OTHER_REFUSES_FOR: Duration = Duration::from_secs(30);

/// The pause after the first refusal; it doubles with each further one. It is short
/// because a token may be used as soon as it is made, before the masters have exchanged
/// it.
pub const OTHER_REFUSES_AT_FIRST_FOR: Duration = Duration::from_secs(1);

/// Other masters that one API answers for.
pub const OTHER_MASTERS_MAX: usize = 32;
