//! The limits of links, and what happens when one is reached.

use std::time::Duration;

/// Largest message, in bytes. A larger one is not sent, and counted as an error.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of a frame: a message and its number.
pub(crate) const FRAME_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 1024;

/// Bytes of the first frame of a connection.
pub(crate) const HELLO_BYTES_MAX: usize = 4096;

/// Masters of a cluster, this one included. The key files of further peers are not
/// read, which is logged; a cluster without shared files admits no further master.
pub const PEERS_MAX: usize = 256;

/// Bytes of a peer's public key file.
pub(crate) const PIN_BYTES_MAX: u64 = 16 * 1024;

/// How long messages are kept for peers that are away.
pub const REPLAY_AGE: Duration = Duration::from_secs(300);

/// Bytes of messages that are kept. The oldest are dropped; a peer that has missed them
/// is told that there is a gap.
pub const REPLAY_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Messages that are kept.
pub const REPLAY_MESSAGES_MAX: usize = 500_000;

/// Messages that are sent before acknowledgements are read again.
pub(crate) const BATCH_MESSAGES_MAX: usize = 256;

/// Bytes of these messages.
pub(crate) const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a link that are read or written at a time: two records of TLS. Each link has
/// two such buffers.
pub(crate) const LINK_BUFFER_BYTES: usize = 32 * 1024;

/// Bytes of a sealed piece on the bus, less if the engine accepts less. At 20 kB/s a
/// piece of this size still arrives in time to show that its sender lives.
pub(crate) const BUS_PIECE_BYTES_MAX: usize = 32 * 1024;

/// Least `max_payload` of the engine: enough for a piece of a link, and for a sealed
/// piece that is mostly content.
pub(crate) const BUS_PAYLOAD_BYTES_MIN: usize = 32 * 1024;

/// Pieces of a linked peer that wait to be opened. Further ones are read from the
/// engine's stream later.
pub(crate) const BUS_HELD_PIECES_MAX: usize = 256;

/// Messages of one subscription that the client of the bus keeps. It drops further
/// ones: then links end, and pieces from the stream are read again.
pub(crate) const BUS_QUEUE_MESSAGES_MAX: usize = 256;

/// Keys that are kept for one run of a peer.
pub(crate) const BUS_KEYS_MAX: usize = 4;

/// Positions in the engine's stream that a master knows. A peer that is further behind
/// reads the stream from its beginning.
pub(crate) const BUS_PLACES_MAX: usize = 65_536;

/// The first pause between two attempts to publish again what the engine has lost. It
/// doubles up to `BUS_AGAIN_MAX` while peers ask for it.
pub(crate) const BUS_AGAIN_MIN: Duration = Duration::from_secs(1);
/// See `BUS_AGAIN_MIN`.
pub(crate) const BUS_AGAIN_MAX: Duration = Duration::from_secs(60);

/// Pieces that are read from the engine's stream before the link is checked again: more
/// than the longest message has.
pub(crate) const BUS_CATCH_UP_PIECES: usize = 4096;

/// How often the state of the client of the bus is checked, because its events may be
/// lost.
pub(crate) const BUS_LOOK_EVERY: Duration = Duration::from_millis(500);

/// Silence after which a link through the engine counts as dead, even if its peer still
/// publishes.
pub(crate) const BUS_LINK_SILENCE_MAX: Duration = Duration::from_secs(15);

/// How long the engine may take to answer.
pub(crate) const BUS_ANSWER_MAX: Duration = Duration::from_secs(3);

/// How long the engine may take to confirm that it has stored a message. On a slow
/// connection the message waits in a queue, and sending it again would make the queue
/// longer.
pub(crate) const BUS_KEEPS_MAX: Duration = Duration::from_secs(20);

/// How often the last message is sent again to an engine that has stored nothing, while
/// there is nothing new to send.
pub(crate) const BUS_PROBE_EVERY: Duration = Duration::from_secs(5);

/// The first pause before the engine is connected to again. It doubles up to
/// `BUS_RECONNECT_MAX`.
pub(crate) const BUS_RECONNECT_MIN: Duration = Duration::from_millis(50);
/// See `BUS_RECONNECT_MIN`.
pub(crate) const BUS_RECONNECT_MAX: Duration = Duration::from_secs(1);

/// Bytes of a link through the engine that wait in each direction.
pub(crate) const BUS_LINK_BYTES: usize = 64 * 1024;

/// Bytes of one message of such a link. A longer one ends it.
pub(crate) const BUS_LINK_PIECE_BYTES: usize = 16 * 1024;

/// Bytes of a value that all masters of a cluster share.
pub(crate) const REGISTER_BYTES_MAX: usize = 1024;

/// How long a peer may take to answer in TLS: less than [`HANDSHAKE_MAX`].
pub(crate) const TLS_ANSWER_MAX: Duration = Duration::from_secs(4);

/// How long to wait for the beginning of a connection that is not TLS.
pub(crate) const SALT_WAIT_MAX: Duration = Duration::from_millis(500);

/// How often it is logged that a master of Salt tries to connect as a peer.
pub(crate) const SALT_TOLD_EVERY: Duration = Duration::from_secs(60);

/// How long the other end of a connection may take to prove itself. After that the
/// connection is closed.
pub(crate) const HANDSHAKE_MAX: Duration = Duration::from_secs(5);

/// How long a master that wants to join may take.
pub(crate) const JOIN_MAX: Duration = Duration::from_secs(10);

/// Bytes that are exchanged at a join.
pub(crate) const JOIN_BYTES_MAX: usize = 1024 * 1024;

/// Messages of each side at a join.
pub(crate) const JOIN_TURNS_MAX: usize = 8;

/// Connections that have not proven themselves yet. A new one replaces the oldest.
pub(crate) const HANDSHAKES_MAX: usize = 32;

/// Those of one address among them. A new one replaces the oldest of that address.
pub(crate) const HANDSHAKES_PER_ADDRESS_MAX: usize = 4;

/// How often a sender without messages sends a ping.
pub(crate) const PING_EVERY: Duration = Duration::from_millis(500);

/// Silence after which a peer counts as away.
pub const SILENCE_MAX: Duration = Duration::from_secs(3);

/// The limit where another place watches for silence.
pub(crate) const NO_LIMIT: Duration = Duration::MAX;

/// The first pause before a peer is dialled again. It doubles up to `REDIAL_MAX`.
pub(crate) const REDIAL_MIN: Duration = Duration::from_millis(50);
/// See `REDIAL_MIN`.
pub(crate) const REDIAL_MAX: Duration = Duration::from_secs(1);

/// Least time between two reads of the peers' key files because of an unknown key.
pub(crate) const UNKNOWN_KEY_EVERY: Duration = Duration::from_millis(100);

/// How often the peers' key files are checked.
pub(crate) const PINS_EVERY: Duration = Duration::from_secs(1);

/// How often the positions that were received from peers are written to disk.
pub(crate) const HEARD_EVERY: Duration = Duration::from_millis(500);

/// Bytes of the file with these positions.
pub(crate) const HEARD_BYTES_MAX: u64 = 128 * 1024;
