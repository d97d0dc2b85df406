//! Options of the sockets that are still the library's.

use std::time::Duration;

use tmq::{FromZmqSocket, SocketBuilder};

use crate::contract::KeepAlive;

/// The options of a socket.
pub(super) struct Common {
    pub(super) ipv6: bool,
    pub(super) keep_alive: KeepAlive,
    pub(super) linger: Duration,
    pub(super) message_bytes_max: usize,
}

impl Common {
    pub(super) fn set<T: FromZmqSocket<T>>(&self, builder: SocketBuilder<T>) -> SocketBuilder<T> {
        builder
            .set_ipv6(self.ipv6)
            .set_linger(millis(self.linger))
            .set_maxmsgsize(i64::try_from(self.message_bytes_max).unwrap_or(i64::MAX))
            .set_tcp_keepalive(i32::from(self.keep_alive.on))
            .set_tcp_keepalive_idle(self.keep_alive.idle_s)
            .set_tcp_keepalive_cnt(self.keep_alive.count)
            .set_tcp_keepalive_intvl(self.keep_alive.interval_s)
    }
}

/// A duration as the library takes it.
fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}
