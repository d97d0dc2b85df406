//! The limits of links, and what happens when one is reached.

use std::time::Duration;

/// Bytes of one message. A longer one is not told, and counted as an error.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of a frame: a message and its number.
pub(crate) const FRAME_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 1024;

/// Bytes of the first frame of a connection.
pub(crate) const HELLO_BYTES_MAX: usize = 4096;

/// Masters of a cluster, this one included. Files of further peers are not read,
/// which is logged; a cluster without shared files takes no further master in.
pub const PEERS_MAX: usize = 256;

/// Bytes of a peer's public key file.
pub(crate) const PIN_BYTES_MAX: u64 = 16 * 1024;

/// How long messages are kept for peers that are away.
pub const REPLAY_AGE: Duration = Duration::from_secs(300);

/// Bytes of messages that are kept. The oldest make room; a peer that misses
/// them is told that there is a gap.
pub const REPLAY_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Messages that are kept.
pub const REPLAY_MESSAGES_MAX: usize = 500_000;

/// Messages that are sent between two looks at acknowledgements.
pub(crate) const BATCH_MESSAGES_MAX: usize = 256;

/// Bytes of them.
pub(crate) const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a sealed piece on the bus; less where the engine takes less. On a wire of
/// 20 kB/s each piece is a sign of life in time.
pub(crate) const BUS_PIECE_BYTES_MAX: usize = 32 * 1024;

/// What the engine must take at once, its `max_payload`: a piece of a link, or a sealed
/// piece that is not mostly head.
pub(crate) const BUS_PAYLOAD_BYTES_MIN: usize = 32 * 1024;

/// Pieces of a linked peer that wait to be opened. What comes beyond is read from
/// the engine's stream later.
pub(crate) const BUS_HELD_PIECES_MAX: usize = 256;

/// Messages of one subscription that the client of the bus keeps. It drops what
/// comes beyond: links end by that, and told pieces are read again.
pub(crate) const BUS_QUEUE_MESSAGES_MAX: usize = 256;

/// Keys of one life of a peer that are kept.
pub(crate) const BUS_KEYS_MAX: usize = 4;

/// Places in the engine's stream that a master knows. Who has heard less than the
/// oldest reads from the beginning.
pub(crate) const BUS_PLACES_MAX: usize = 65_536;

/// How soon what the engine has lost is put there again after the last time. The pause
/// doubles to the second as long as it is asked for.
pub(crate) const BUS_AGAIN_MIN: Duration = Duration::from_secs(1);
/// See `BUS_AGAIN_MIN`.
pub(crate) const BUS_AGAIN_MAX: Duration = Duration::from_secs(60);

/// Pieces that are read from the engine's stream between two looks at the link: more than
/// the longest message has.
pub(crate) const BUS_CATCH_UP_PIECES: usize = 4096;

/// How often the state of the client of the bus is looked at: its events may be lost.
pub(crate) const BUS_LOOK_EVERY: Duration = Duration::from_millis(500);

/// A link through the engine on which nothing was said for so long is dead, whatever else
/// its peer tells.
pub(crate) const BUS_LINK_SILENCE_MAX: Duration = Duration::from_secs(15);

/// How long the engine may take to answer.
pub(crate) const BUS_ANSWER_MAX: Duration = Duration::from_secs(3);

/// How long it may take to say that it keeps what it was given: on a slow wire that stands
/// in a queue, and giving it again would make the queue longer.
pub(crate) const BUS_KEEPS_MAX: Duration = Duration::from_secs(20);

/// How often an engine that kept nothing is given the last message once more while there
/// is nothing else to tell.
pub(crate) const BUS_PROBE_EVERY: Duration = Duration::from_secs(5);

/// The pause before the engine is connected to again, which doubles from the
/// first to the last.
pub(crate) const BUS_RECONNECT_MIN: Duration = Duration::from_millis(50);
/// See `BUS_RECONNECT_MIN`.
pub(crate) const BUS_RECONNECT_MAX: Duration = Duration::from_secs(1);

/// Bytes of a link through the engine that wait in each direction.
pub(crate) const BUS_LINK_BYTES: usize = 64 * 1024;

/// Bytes of one message of such a link. A longer one ends it.
pub(crate) const BUS_LINK_PIECE_BYTES: usize = 16 * 1024;

/// Bytes of a value that all masters of a cluster see.
pub(crate) const REGISTER_BYTES_MAX: usize = 1024;

/// How long a peer may take to answer in TLS: less than all that comes before its
/// first message.
pub(crate) const TLS_ANSWER_MAX: Duration = Duration::from_secs(4);

/// How long the beginning of a connection that is not TLS is waited for.
pub(crate) const SALT_WAIT_MAX: Duration = Duration::from_millis(500);

/// How often it is said that a master of Salt wants to be a peer.
pub(crate) const SALT_TOLD_EVERY: Duration = Duration::from_secs(60);

/// A connection whose other end has not proven itself by then is closed.
pub(crate) const HANDSHAKE_MAX: Duration = Duration::from_secs(5);

/// How long a master that wants to join may take.
pub(crate) const JOIN_MAX: Duration = Duration::from_secs(10);

/// Bytes of what is said at a join.
pub(crate) const JOIN_BYTES_MAX: usize = 1024 * 1024;

/// How often each side speaks at a join.
pub(crate) const JOIN_TURNS_MAX: usize = 8;

/// Connections that have not proven themselves yet. The oldest makes room for
/// another one.
pub(crate) const HANDSHAKES_MAX: usize = 32;

/// Those of one address among them. The oldest of that address makes room.
pub(crate) const HANDSHAKES_PER_ADDRESS_MAX: usize = 4;

/// A sender that has nothing to tell says so in such intervals.
pub(crate) const PING_EVERY: Duration = Duration::from_millis(500);

/// A peer that is silent for so long is away.
pub const SILENCE_MAX: Duration = Duration::from_secs(3);

/// Where silence is waited for elsewhere.
pub(crate) const NO_LIMIT: Duration = Duration::MAX;

/// The pause before a peer is dialled again, which doubles from the first to
/// the last.
pub(crate) const REDIAL_MIN: Duration = Duration::from_millis(50);
/// See `REDIAL_MIN`.
pub(crate) const REDIAL_MAX: Duration = Duration::from_secs(1);

/// The least time between two looks at the files of peers for a key that is not
/// known.
pub(crate) const UNKNOWN_KEY_EVERY: Duration = Duration::from_millis(100);

/// How often the files of peers are looked at.
pub(crate) const PINS_EVERY: Duration = Duration::from_secs(1);

/// How often it is written down what was heard of peers.
pub(crate) const HEARD_EVERY: Duration = Duration::from_millis(500);

/// Bytes of the file with what was heard.
pub(crate) const HEARD_BYTES_MAX: u64 = 128 * 1024;
