//! Every limit of this crate, and what happens when it is reached.

use std::time::Duration;

/// Largest message that is taken from or given to a peer of the fleet. One that
/// sends a larger one is disconnected by its own connection's reader.
pub const MESSAGE_BYTES_MAX: usize = 100 * 1024 * 1024;

/// Requests that wait between a request port and the program. When full, the
/// port stops reading: the peers' messages wait in their sockets.
pub const REQUEST_PORT_REQUESTS_MAX: usize = 1024;

/// The same of requests of this machine's programs, which do not wait behind others.
pub(crate) const OWN_REQUESTS_MAX: usize = 64;

/// Bytes of the requests that wait between a request port and the program; same
/// behaviour as for their number. One request may exceed it on its own.
pub const REQUEST_PORT_REQUEST_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Bytes of requests that are not there yet, or that the program has no room
/// for, of all peers. Above it the one that began first is given up, and its
/// connection ended: it is the slowest.
pub const REQUEST_PORT_UNFINISHED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What each peer may have of an unfinished request without being counted.
pub(crate) const UNCOUNTED_BYTES_MAX: usize = 4096;

/// Bytes of the replies kept for one peer, and for all; later ones are lost
/// for that peer. One on its own may be as large as a message may be.
pub const REQUEST_PORT_PEER_REPLY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// See `REQUEST_PORT_PEER_REPLY_BYTES_MAX`.
pub const REQUEST_PORT_REPLY_BYTES_MAX: usize = 512 * 1024 * 1024;

/// How long a peer may take for its handshake.
pub(crate) const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// How long a request that has begun may stand still, and a reply that is not
/// read; then the connection is ended.
pub(crate) const PEER_STALL_MAX: Duration = Duration::from_secs(60);

/// Connections to all ports at most, fewer where the process may not have that
/// many descriptors. Further ones are closed as soon as they are accepted.
pub(crate) const CONNECTIONS_MAX: usize = 200_000;

/// Connections of one address that are not ended for those of others. Where all
/// places are taken, the newest connection of the address that has most is ended
/// for one of an address that has less than half as many. A minion has a few.
pub(crate) const CONNECTIONS_KEPT_PER_ORIGIN: usize = 16;

/// How long a connection for requests has been idle before it may be ended for
/// another. Whoever asks again meanwhile has no second connection to make.
pub(crate) const SPARE_AFTER: Duration = Duration::from_secs(1);

/// How long a connection is kept whose request has no answer yet. Some requests get
/// none; a pillar may take minutes.
pub(crate) const UNANSWERED_KEPT: Duration = Duration::from_secs(600);

/// Idle connections that are ended together where all places are taken: to find
/// them costs a look at each.
pub(crate) const SPARE_CONNECTIONS_ENDED: usize = 256;

/// How long nobody looks at all connections again where none was idle.
pub(crate) const SPARE_LOOK_PAUSE: Duration = Duration::from_millis(100);

/// Of so many connections of one sender the one is ended that is idle for longest.
pub(crate) const SPARE_OF_ORIGIN_LOOKED_AT: usize = 64;

/// Connections that only programs of this machine can take, at most; with few
/// places it is a part of them. Where fleets take all others, `salt` still works.
pub(crate) const OWN_CONNECTIONS_KEPT_MAX: usize = 64;

/// Connections that subscriptions cannot take, at most; with few places it is a
/// part of them. Who is subscribed needs one for its returns.
pub(crate) const REQUEST_CONNECTIONS_KEPT_MAX: usize = 1024;

/// How often it is said that connections are turned away.
pub(crate) const TURNED_AWAY_SAID_EVERY: Duration = Duration::from_secs(60);

/// Descriptors that are never for connections.
pub(crate) const DESCRIPTORS_KEPT_MIN: usize = 128;

/// The largest frame of a subscriber: a topic, or a sign of life. One that sends a
/// larger one is disconnected.
pub(crate) const SUBSCRIBER_FRAME_BYTES_MAX: usize = 4096;

/// Topics one subscriber may have. One with more is disconnected.
pub(crate) const TOPICS_OF_A_PEER_MAX: usize = 64;

/// How often a minion says over its subscription that it is there, unless its
/// master wants it less often: three signs may be lost before it counts as
/// silent.
pub const SIGN_OF_LIFE_INTERVAL: Duration = Duration::from_millis(450);

/// The longest such time. A master that asks for a longer one is not heeded.
pub const SIGN_OF_LIFE_INTERVAL_MAX: Duration = Duration::from_secs(60);

/// What a connection says sooner after what it said last is not looked at: each
/// proof costs a hash, and anybody can send something that looks like one.
pub(crate) const SIGN_OF_LIFE_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// How long signs of life may be away before their minion counts as silent, in
/// tenths of the time between two: 1.5 s where minions say it most often.
pub const SIGNS_OF_LIFE_MISSED_TENTHS: u32 = 34;

/// How often silent minions are looked for.
pub const SILENCE_CHECK: Duration = Duration::from_millis(200);

/// A check that is later than this says that this process was held up itself:
/// signs wait to be read, and nobody is judged by them.
pub(crate) const SILENCE_CHECK_HELD_UP: Duration = Duration::from_millis(600);

/// Minions whose signs of life are followed. Beyond it those of a new one are
/// ignored.
pub(crate) const MINIONS_HEARD_MAX: usize = 200_000;

/// Replies a request port keeps for a peer that does not read them; later
/// ones are lost for that peer.
pub const REQUEST_PORT_PEER_REPLIES_MAX: usize = 1000;

/// Publications kept per slow subscriber (`pub_hwm`); later ones are lost for
/// that subscriber.
pub const PUBLISH_PORT_PEER_MESSAGES_MAX: usize = 1000;

/// Bytes of publications kept per slow subscriber; same behaviour. One on its
/// own may be as large as a message may be.
pub const PUBLISH_PORT_PEER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Messages that wait between a subscriber, or the local publish socket, and
/// the program. When full, the socket is read no further and its own queue
/// fills up, then the publisher's queue for this peer.
pub const SUBSCRIBER_MESSAGES_MAX: usize = 256;

/// Requests that wait for a free connection of a requester. When full, a request
/// is refused with `RequestError::Busy`.
pub const REQUESTS_WAITING_MAX: usize = 4096;

/// Connections a requester opens to one master, each with one request on the
/// way. When all are busy, requests wait for one.
pub const REQUESTER_CONNECTIONS_MAX: usize = 4;

/// How long an idle connection above the first stays.
pub const REQUEST_LANE_IDLE_MAX: Duration = Duration::from_secs(10);

/// The slowest wire that a request has time for: for so many bytes its answer
/// may be a second later than its sender would wait for a small one.
pub const SLOWEST_WIRE_BYTES_PER_S: usize = 64 * 1024;

/// What the buffers on the way may hold of a request that this machine is rid
/// of. For more than this a request that stands still has no time.
pub const BUFFERED_ON_THE_WAY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How often a request on its way is looked at, whether it still moves.
pub(crate) const PROGRESS_CHECK: Duration = Duration::from_millis(250);

/// Listeners of removed socket files that a socket keeps, since what was said
/// over them may not be read yet; then the oldest is closed.
pub(crate) const REMOVED_LISTENERS_MAX: usize = 8;

/// How often is looked whether somebody has removed a socket file.
pub(crate) const SOCKET_FILES_CHECK: Duration = Duration::from_secs(1);

/// Messages moved in one direction before the other one gets its turn.
pub const BATCH_MESSAGES_MAX: usize = 64;

/// How often a socket is looked at without having been signalled. ZeroMQ's
/// file descriptor is edge triggered; the pump never lets an edge pass, so
/// this only bounds the damage should that ever be wrong.
pub const SAFETY_POLL: Duration = Duration::from_millis(250);

/// How long unsent replies and publications keep a closed socket alive.
pub const LINGER: Duration = Duration::from_millis(500);

/// Events that wait for one subscriber of the event bus. A connected
/// subscriber above it is disconnected; one of this process loses the oldest.
pub const BUS_EVENTS_MAX: usize = 65_536;

/// Bytes of the events that wait for one subscriber; same behaviour. An event
/// is held once, however many subscribers wait for it.
pub const BUS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Connected subscribers, and as many senders, of an event bus. Further ones
/// wait in the listener's backlog.
pub const BUS_CONNECTIONS_MAX: usize = 1024;

/// What an event that is kept for late listeners takes beside its bytes.
pub const LATE_EVENT_OVERHEAD_BYTES: usize = 256;

/// Small events that are written to a subscriber in one go, in bytes.
pub const BUS_WRITE_BYTES: usize = 64 * 1024;

/// Bytes read from a local socket at once.
pub const BUS_READ_BYTES: usize = 16 * 1024;

/// Pause after a connection could not be accepted, for lack of descriptors.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
