//! How much one message may hold.
//!
//! Every decoder of this crate refuses data beyond these limits, with an error that
//! names the limit, before it allocates anything of that size.

/// Longest message that is read or written: what Salt's own stream reader
/// takes, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 100 * 1024 * 1024;

/// Deepest nesting of lists and maps. Salt's readers stop at about a thousand,
/// and nothing that is meant comes near.
pub const DEPTH_MAX: usize = 512;

/// Most values (list items, map keys and map values) in one message.
pub const ITEMS_MAX: usize = 4 * 1024 * 1024;

/// Most values in a request whose sender is not known yet: its envelope, and
/// the load of a clear command.
pub const ENVELOPE_ITEMS_MAX: usize = 1024 * 1024;

/// Longest event on the local bus, with its frame, in bytes. Events are trimmed
/// to `max_event_size` (default 1 MiB) before they are sent, so that this is
/// only met by a broken or hostile peer.
pub const EVENT_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// What a decoder accepts; the default is the limits of this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest message, in bytes.
    pub bytes_max: usize,
    /// Deepest nesting of lists and maps.
    pub depth_max: usize,
    /// Most values.
    pub items_max: usize,
}

impl Limits {
    /// The limits for a sender that has signed in.
    pub const MESSAGE: Self = Self {
        bytes_max: MESSAGE_BYTES_MAX,
        depth_max: DEPTH_MAX,
        items_max: ITEMS_MAX,
    };

    /// The limits for a sender that anybody may be.
    pub const ENVELOPE: Self = Self {
        bytes_max: MESSAGE_BYTES_MAX,
        depth_max: DEPTH_MAX,
        items_max: ENVELOPE_ITEMS_MAX,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::MESSAGE
    }
}

/// Bytes of the name of a cluster (`cluster_id`), as a minion hears it.
pub const CLUSTER_NAME_BYTES_MAX: usize = 255;
