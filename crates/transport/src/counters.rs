//! Counters of a socket, for metrics. They only grow.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counts of one socket, shared between its task and its holder.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($name: AtomicU64,)*
        }

        impl Counters {
            $($(#[$doc])*
            pub fn $name(&self) -> u64 {
                self.$name.load(Ordering::Relaxed)
            })*
        }

        /// Names a counter, to add to it.
        #[derive(Clone, Copy, Debug)]
        #[allow(non_camel_case_types, reason = "named after the methods that read them")]
        pub(crate) enum Count {
            $($name,)*
        }

        impl Counters {
            pub(crate) fn add(&self, count: Count) {
                let counter = match count {
                    $(Count::$name => &self.$name,)*
                };
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
}

counters! {
    /// Messages that were taken in.
    received,
    /// Messages that were handed to the socket.
    sent,
    /// Messages of a wrong shape, dropped.
    malformed,
    /// Messages that could not be handed to the socket or to a slow reader.
    dropped,
    /// Connections that were lost or given up: reopened sockets of a
    /// requester, slow subscribers of the event bus.
    closed,
    /// Connections of users who may not, refused.
    strangers,
}
