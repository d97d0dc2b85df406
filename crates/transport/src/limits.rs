//! Every limit of this crate, and what happens when it is reached.

use std::time::Duration;

/// The largest message that is received from or sent to a peer of the fleet. The
/// reader of a connection disconnects a peer that sends a larger one.
pub const MESSAGE_BYTES_MAX: usize = 100 * 1024 * 1024;

/// Requests that wait between a request port and the program. When full, the
/// port stops reading: the peers' messages wait in their sockets.
pub const REQUEST_PORT_REQUESTS_MAX: usize = 1024;

/// Requests of this machine's programs that wait in the same way. They do not wait behind
/// those of others.
pub(crate) const OWN_REQUESTS_MAX: usize = 64;

/// Bytes of the requests that wait between a request port and the program. When
/// full, the port stops reading. A single request may exceed it.
pub const REQUEST_PORT_REQUEST_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Bytes of all peers' requests that are incomplete, or for which the program has
/// no room. Above it, the connection whose request began first is ended, because it
/// is the slowest.
pub const REQUEST_PORT_UNFINISHED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Bytes of an unfinished request that are not counted, for each peer.
pub(crate) const UNCOUNTED_BYTES_MAX: usize = 4096;

/// Bytes of the replies that are kept for one peer, and for all; later ones are
/// lost for that peer. A single reply may have the size of the largest message.
pub const REQUEST_PORT_PEER_REPLY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// See `REQUEST_PORT_PEER_REPLY_BYTES_MAX`.
pub const REQUEST_PORT_REPLY_BYTES_MAX: usize = 512 * 1024 * 1024;

/// How long a peer may take for its handshake.
pub(crate) const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// How long a request may be incomplete without progress, or a reply unread; then
/// the connection is ended.
pub(crate) const PEER_STALL_MAX: Duration = Duration::from_secs(60);

/// Connections to all ports; fewer if the process may not have so many descriptors.
/// Further ones are closed as soon as they are accepted.
pub(crate) const CONNECTIONS_MAX: usize = 200_000;

/// Connections of one address that are never ended in favour of others. When all
/// places are taken, the newest connection of the address with the most is ended
/// for a connection of an address with less than half as many. A minion has a few.
pub(crate) const CONNECTIONS_KEPT_PER_ORIGIN: usize = 16;

/// How long a connection for requests must be idle before it may be ended in favour
/// of another. A peer that asks again within this time need not connect again.
pub(crate) const SPARE_AFTER: Duration = Duration::from_secs(1);

/// How long a connection is kept while its request has no answer. Some requests
/// never get one, and a pillar may take minutes.
pub(crate) const UNANSWERED_KEPT: Duration = Duration::from_secs(600);

/// Idle connections that are ended at once when all places are taken. Finding them
/// means looking at every connection.
pub(crate) const SPARE_CONNECTIONS_ENDED: usize = 256;

/// The pause before all connections are searched again after none was idle.
pub(crate) const SPARE_LOOK_PAUSE: Duration = Duration::from_millis(100);

/// How many connections of one address are compared to end the one that has been
/// idle for the longest time.
pub(crate) const SPARE_OF_ORIGIN_LOOKED_AT: usize = 64;

/// The most connections that are reserved for programs of this machine; with few
/// places it is a share of them. So `salt` works even if a fleet takes all others.
pub(crate) const OWN_CONNECTIONS_KEPT_MAX: usize = 64;

/// The most connections that subscriptions cannot use; with few places it is a
/// share of them. A subscribed minion needs one for its returns.
pub(crate) const REQUEST_CONNECTIONS_KEPT_MAX: usize = 1024;

/// How often the log says that connections are refused.
pub(crate) const TURNED_AWAY_SAID_EVERY: Duration = Duration::from_secs(60);

/// Descriptors that are never used for connections.
pub(crate) const DESCRIPTORS_KEPT_MIN: usize = 128;

/// The largest frame of a subscriber: a topic, or a sign of life. One that sends a
/// larger one is disconnected.
pub(crate) const SUBSCRIBER_FRAME_BYTES_MAX: usize = 4096;

/// Topics one subscriber may have. One with more is disconnected.
pub(crate) const TOPICS_OF_A_PEER_MAX: usize = 64;

/// How often a minion sends a sign of life over its subscription, unless its master
/// asks for fewer. Three signs may be lost before the minion counts as silent.
pub const SIGN_OF_LIFE_INTERVAL: Duration = Duration::from_millis(450);

/// The longest such interval. A minion ignores a master that asks for a longer one.
pub const SIGN_OF_LIFE_INTERVAL_MAX: Duration = Duration::from_secs(60);

/// A sign that follows the last one of its connection sooner is ignored: each proof
/// costs a hash, and anybody can send something that looks like a proof.
pub(crate) const SIGN_OF_LIFE_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// After how long without a sign of life a minion counts as silent, in tenths of
/// the interval between two signs: 1.5 s with the shortest interval.
pub const SIGNS_OF_LIFE_MISSED_TENTHS: u32 = 34;

/// How often the master looks for silent minions.
pub const SILENCE_CHECK: Duration = Duration::from_millis(200);

/// If a check is later than this, this process itself was held up. Signs may then
/// be waiting to be read, so no minion counts as silent.
pub(crate) const SILENCE_CHECK_HELD_UP: Duration = Duration::from_millis(600);

/// Minions whose signs of life are tracked. Those of further minions are ignored.
pub(crate) const MINIONS_HEARD_MAX: usize = 200_000;

/// Replies a request port keeps for a peer that does not read them; later
/// ones are lost for that peer.
pub const REQUEST_PORT_PEER_REPLIES_MAX: usize = 1000;

/// Publications kept per slow subscriber (`pub_hwm`); later ones are lost for
/// that subscriber.
pub const PUBLISH_PORT_PEER_MESSAGES_MAX: usize = 1000;

/// Bytes of publications kept per slow subscriber; later ones are lost for that
/// subscriber. A single one may have the size of the largest message.
pub const PUBLISH_PORT_PEER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Messages that wait between a subscriber, or the local publish socket, and the
/// program. When full, the socket is no longer read: its own queue fills up, and
/// then the publisher's queue for this peer.
pub const SUBSCRIBER_MESSAGES_MAX: usize = 256;

/// Requests that wait for a free connection of a requester. When full, a request
/// is refused with `RequestError::Busy`.
pub const REQUESTS_WAITING_MAX: usize = 4096;

/// Connections that a requester opens to one master; each carries one request at a
/// time. When all are busy, requests wait for one.
pub const REQUESTER_CONNECTIONS_MAX: usize = 4;

/// How long an idle connection stays open, except the first.
pub const REQUEST_LANE_IDLE_MAX: Duration = Duration::from_secs(10);

/// The slowest wire for which requests have time: for each so many bytes of a request,
/// its sender waits a second longer for the answer.
pub const SLOWEST_WIRE_BYTES_PER_S: usize = 64 * 1024;

/// How much of a sent request may be in buffers on the way. The sender grants a
/// request that does not move no extra time for more than this.
pub const BUFFERED_ON_THE_WAY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How often a requester checks whether a request on its way still moves.
pub(crate) const PROGRESS_CHECK: Duration = Duration::from_millis(250);

/// Listeners of removed socket files that a socket keeps, because their data may
/// not be read yet. Beyond it, the oldest is closed.
pub(crate) const REMOVED_LISTENERS_MAX: usize = 8;

/// How often to check whether somebody has removed a socket file.
pub(crate) const SOCKET_FILES_CHECK: Duration = Duration::from_secs(1);

/// Messages that are moved in one direction before the other direction gets its
/// turn.
pub const BATCH_MESSAGES_MAX: usize = 64;

/// How often a socket is checked without a signal. ZeroMQ's file descriptor is edge
/// triggered. The pump should never miss an edge; this limits the damage if it
/// does.
pub const SAFETY_POLL: Duration = Duration::from_millis(250);

/// How long unsent replies and publications keep a closed socket alive.
pub const LINGER: Duration = Duration::from_millis(500);

/// Events that wait for one subscriber of the event bus. Above it, a connected
/// program is disconnected, and a subscriber within this process loses the oldest.
pub const BUS_EVENTS_MAX: usize = 65_536;

/// Bytes of the events that wait for one subscriber, with the same consequence. An
/// event is held once, however many subscribers wait for it.
pub const BUS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Connected subscribers, and as many senders, of an event bus. Further ones
/// wait in the listener's backlog.
pub const BUS_CONNECTIONS_MAX: usize = 1024;

/// Memory that an event kept for late listeners takes in addition to its bytes.
pub const LATE_EVENT_OVERHEAD_BYTES: usize = 256;

/// Bytes of small events that are written to a subscriber together.
pub const BUS_WRITE_BYTES: usize = 64 * 1024;

/// Bytes that are read from a local socket at once.
pub const BUS_READ_BYTES: usize = 16 * 1024;

/// The pause after a connection could not be accepted for lack of descriptors.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
