//! Every limit of size, number and time of the API, and what happens when it is
//! reached.

use std::time::Duration;

/// Connections at once; while there are as many, one gives way on which nobody has
/// proven anything.
pub const CONNECTIONS_MAX: usize = 4096;

/// The same from one address, or one /64 of IPv6, unless it is a trusted proxy's; more
/// are closed.
pub const CONNECTIONS_PER_ORIGIN_MAX: usize = 64;

/// Connections at once on which nobody has proven anything with a session, a token or a
/// password, beside those of trusted proxies; if there are more, the oldest of the
/// address with the most of them is closed.
pub const CONNECTIONS_UNPROVEN_MAX: usize = CONNECTIONS_MAX / 4;

/// How long a connection may be open until something is proven; then it ends with the
/// answer to the request under way.
pub const PROVEN_WITHIN: Duration = Duration::from_secs(60);

/// How long an answer may wait for who does not read it; then the connection is
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

/// A body of so many bytes needs no room of its own. One without a length may be
/// as long as is allowed.
pub const BODY_SMALL: usize = 16 * 1024;

/// Bytes of larger bodies at once of those without a session, or as many as one may
/// have; more are refused with 503.
pub const LARGE_BODIES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Such bodies at once from one address, or one /64 of IPv6, unless it is a trusted
/// proxy's.
/// The API of another master sends so many at most.
pub const LARGE_BODIES_PER_ORIGIN_MAX: usize = RELAYED_AT_ONCE_MAX + QUESTIONS_AT_ONCE_MAX;

/// How long a TLS handshake may take; then the connection is closed.
pub const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// Chunks of low data in one request; more are refused with 400.
pub const CHUNKS_MAX: usize = 1024;

/// Sessions at once; more are refused with 503.
pub const SESSIONS_MAX: usize = 10_000;

/// Sessions of one user at once; the one that ends first gives way to a new one.
pub const SESSIONS_PER_USER_MAX: usize = 100;

/// A session lasts no longer, whatever the token does: later times cannot be
/// reckoned with everywhere.
pub const SESSION_LASTS_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Commands that wait, for each that may run (`thread_pool`); more are refused with
/// 503.
pub const WAITING_PER_PLACE: usize = 2;

/// Of the places for commands, one in so many is for those that come with a
/// password: nobody knows yet whether it is right.
pub const UNPROVEN_PART: usize = 2;

/// Of the places for commands, running and waiting, one user has one in so many at
/// most, and so has one address of those for commands with a password; more are
/// refused with 503.
pub const COMMANDS_PER_HOLDER_PART: usize = 2;

/// Logins that the master is asked about at once; more are refused with 429. A
/// master answers as many wrong ones of one sender at once.
pub const LOGINS_MAX: usize = 8;

/// The same from one address, or one /64 of IPv6.
pub const LOGINS_PER_ORIGIN_MAX: usize = 4;

/// Streams of events at once; more are refused with 503.
pub const STREAMS_MAX: usize = 2048;

/// The same of one user.
pub const STREAMS_PER_USER_MAX: usize = STREAMS_MAX / 4;

/// Bytes of an answer in YAML, which is much longer than its data where that is nested
/// deeply; a longer one is refused with 500.
pub const YAML_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of an answer whose data is freed beside it.
pub const FREED_BESIDE_BYTES_MIN: u64 = 1024 * 1024;

/// Events that are kept for streams that are slow: so many, and so many bytes.
/// A stream that is slower loses the oldest and is told how many.
pub const EVENTS_KEPT_MAX: usize = 4096;
/// See [`EVENTS_KEPT_MAX`].
pub const EVENT_BYTES_KEPT_MAX: usize = 32 * 1024 * 1024;

/// Bytes of an event that a stream is given at once. A stream whose other end takes
/// nothing holds at most so many beyond [`HEAD_BYTES_MAX`]; one that has not taken all
/// of a larger event when that is kept no longer is cut.
pub const EVENT_PIECE_BYTES: usize = 16 * 1024;

/// A stream that has nothing to say says so this often, so that one whose other
/// end is gone is noticed.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);

/// How often it is asked whether the token of a stream is still good.
pub const TOKEN_CHECKED_EVERY: Duration = Duration::from_secs(10);

/// Messages of a client of `/ws` are read and dropped; a longer one closes it.
pub const WS_MESSAGE_BYTES_MAX: usize = 4096;

/// How soon the master's bus is tried again after it was lost.
pub const BUS_PAUSE: Duration = Duration::from_millis(500);

/// How many names and addresses are remembered for failed logins; with more, the
/// one that failed longest ago is forgotten.
pub const FAILURES_REMEMBERED_MAX: usize = 10_000;

/// The time over which failed logins are counted.
pub const FAILURES_WITHIN: Duration = Duration::from_secs(60);

/// How long requests under way have to end when the API is told to end.
pub const DRAIN_WITHIN: Duration = Duration::from_secs(3);

/// Bytes of a static file; a larger one is not served.
pub const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Bytes of a file that are read at once.
pub const FILE_PIECE: usize = 64 * 1024;

/// How long another master's API may take to accept a connection; then the next one
/// is asked.
pub const OTHER_CONNECTED_WITHIN: Duration = Duration::from_secs(2);

/// How long another master's API may take to tell of its jobs, to say whether it knows
/// a token, or to say how it is; then the answer is without it, and it counts as away.
pub const OTHER_ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// How often the masters are asked how they are.
pub const OTHER_LOOKED_AT_EVERY: Duration = Duration::from_secs(2);

/// A connection to another API whose machine says nothing for so long ends.
pub const OTHER_SILENT_MAX: Duration = Duration::from_secs(30);

/// A stream of events of another API that says nothing for so long, not even that it
/// is alive, ends and is begun again.
pub const OTHER_STREAM_SILENT_MAX: Duration = Duration::from_secs(45);

/// How soon a stream of events of another API is begun again.
pub const OTHER_STREAM_PAUSE: Duration = Duration::from_millis(500);

/// How long a stream waits at its beginning for those of the other masters; then it
/// begins without them.
pub const OTHER_STREAMS_WITHIN: Duration = Duration::from_secs(1);

/// Commands and logins at one other API at once; who gets no place within
/// [`OTHER_ANSWERS_WITHIN`] goes to the next one. It takes 64 connections of one
/// address.
pub const RELAYED_AT_ONCE_MAX: usize = 32;

/// The same for what only asks: whether a token is known, and for jobs.
pub const QUESTIONS_AT_ONCE_MAX: usize = 8;

/// How long another API may take with a command; then the answer is 503, and the
/// outcome is not known.
pub const RELAYED_COMMAND_WITHIN: Duration = Duration::from_secs(3600);

/// The same for a login.
pub const RELAYED_LOGIN_WITHIN: Duration = Duration::from_secs(60);

/// Bytes of an answer of another API; a larger one is refused with 502.
pub const RELAYED_ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of all answers of other APIs that are being read; one that does not fit is
/// refused with 503.
pub const RELAYED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Tokens that other masters have refused are remembered, so many for so long.
pub const TOKENS_REFUSED_MAX: usize = 4096;
/// See [`TOKENS_REFUSED_MAX`].
pub const TOKENS_REFUSED_FOR: Duration = Duration::from_secs(5);

/// Tokens at once that the master of this machine is asked about before a command;
/// more wait.
pub const TOKENS_ASKED_MAX: usize = 8;

/// How old the last look at the master may be for `/health`, and for who has shown
/// no right.
pub const OWN_SEEN_WITHIN: Duration = Duration::from_secs(1);

/// How long the addresses of another API's name are good; then they are looked up
/// again.
pub const OTHER_NAME_GOOD_FOR: Duration = Duration::from_secs(60);

/// How long such a look-up may take; then the addresses that were good before are
/// taken.
pub const OTHER_NAME_WITHIN: Duration = Duration::from_millis(500);

/// Bytes of a comment in the event stream of another API that stand in the log.
pub const COMMENT_BYTES_MAX: usize = 200;

/// Bytes of a line in the event stream of another API; a stream with a longer one ends.
pub const RELAYED_EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Events that are remembered to tell copies from others, and for how long; of an
/// older one a copy is handed on.
pub const COPIES_KNOWN_MAX: usize = 65_536;
/// See [`COPIES_KNOWN_MAX`].
pub const COPIES_KNOWN_FOR: Duration = Duration::from_secs(60);

/// How long it is believed that another master accepts the token of a stream; then it
/// is asked again.
pub const OTHER_ACCEPTS_FOR: Duration = Duration::from_secs(60);

/// The same where it refuses again and again.
pub const OTHER_REFUSES_FOR: Duration = Duration::from_secs(30);

/// The same after its first refusal; it doubles with each. Masters tell each other of a
/// new token, and it is used at once.
pub const OTHER_REFUSES_AT_FIRST_FOR: Duration = Duration::from_secs(1);

/// Other masters that one API answers for.
pub const OTHER_MASTERS_MAX: usize = 32;
