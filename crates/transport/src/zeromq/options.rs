//! Socket options that several roles share.

use std::net::SocketAddr;
use std::time::Duration;

use tmq::{FromZmqSocket, SocketBuilder};

use crate::Endpoint;
use crate::contract::KeepAlive;

/// The options every role has.
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

impl Common {
    /// The same, for a socket without a builder.
    pub(super) fn apply(&self, socket: &zmq::Socket) -> Result<(), zmq::Error> {
        socket.set_ipv6(self.ipv6)?;
        socket.set_linger(millis(self.linger))?;
        socket.set_maxmsgsize(i64::try_from(self.message_bytes_max).unwrap_or(i64::MAX))?;
        socket.set_tcp_keepalive(i32::from(self.keep_alive.on))?;
        socket.set_tcp_keepalive_idle(self.keep_alive.idle_s)?;
        socket.set_tcp_keepalive_cnt(self.keep_alive.count)?;
        socket.set_tcp_keepalive_intvl(self.keep_alive.interval_s)
    }
}

/// The library's notation of a connection to `endpoint` from `source`.
pub(super) fn connect_address(endpoint: &Endpoint, source: Option<SocketAddr>) -> String {
    match (endpoint, source) {
        (Endpoint::Tcp { .. }, Some(source)) => {
            let target = endpoint.to_string();
            let target = target.strip_prefix("tcp://").unwrap_or(&target);
            format!("tcp://{source};{target}")
        }
        _ => endpoint.to_string(),
    }
}

/// A duration as the library takes it.
pub(super) fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_address_stands_before_the_target() {
        let source = "192.0.2.1:0".parse().unwrap();
        let target = Endpoint::tcp("192.0.2.2", 4506);
        assert_eq!(
            connect_address(&target, Some(source)),
            "tcp://192.0.2.1:0;192.0.2.2:4506"
        );
    }
}
