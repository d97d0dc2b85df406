//! Options about the sockets and their requests.

use halite_config::{BusFraming, IpcMode, MasterConfig};
use halite_transport::fleet::{KeepAlive, Transport};
use halite_transport::ipc::{Framing, framing_of};

use crate::settings::clamped;

/// Ports on the loopback interface instead of socket files (`ipc_mode: tcp`).
/// Publications come by a socket file in any case: who may send one commands
/// the fleet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalPorts {
    /// Where local programs subscribe to events.
    pub(crate) events_out: u16,
    /// Where they send events to.
    pub(crate) events_in: u16,
}

/// What is read of the configuration about sockets.
#[derive(Clone, Debug)]
pub(crate) struct SocketSettings {
    pub(crate) interface: String,
    pub(crate) ret_port: u16,
    pub(crate) publish_port: u16,
    /// `health_port`.
    pub(crate) health_port: Option<u16>,
    pub(crate) ipv6: bool,
    pub(crate) backlog: i32,
    pub(crate) pub_hwm: usize,
    pub(crate) transport: Transport,
    pub(crate) keep_alive: KeepAlive,
    /// `zmq_filtering`.
    pub(crate) filtering: bool,
    /// `order_masters`.
    pub(crate) syndics: bool,
    pub(crate) local_ports: Option<LocalPorts>,
    pub(crate) framing: Framing,
    pub(crate) framing_of: Option<fn(u32) -> Option<Framing>>,
}

/// What is read of the configuration about requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServingSettings {
    pub(crate) worker_threads: usize,
    pub(crate) minimum_auth_version: u32,
    pub(crate) request_server_ttl_s: i64,
}

impl SocketSettings {
    /// Reads the options.
    pub(crate) fn from_config(config: &MasterConfig) -> Self {
        Self {
            interface: config.interface.clone(),
            ret_port: config.ret_port.0,
            publish_port: config.publish_port.0,
            health_port: config.health_port.map(|port| port.0),
            ipv6: config.ipv6.unwrap_or(false),
            backlog: i32::try_from(config.zmq_backlog).unwrap_or(i32::MAX),
            pub_hwm: usize::try_from(config.pub_hwm).unwrap_or(usize::MAX),
            transport: config.transport,
            keep_alive: keep_alive(config),
            filtering: config.zmq_filtering,
            syndics: config.order_masters,
            local_ports: local_ports(config),
            framing: match config.event_bus_framing {
                BusFraming::Prefixed => Framing::Prefixed,
                BusFraming::Auto | BusFraming::Bare => Framing::Bare,
            },
            framing_of: match config.event_bus_framing {
                BusFraming::Auto => Some(framing_of),
                BusFraming::Bare | BusFraming::Prefixed => None,
            },
        }
    }
}

impl ServingSettings {
    /// Reads the options.
    pub(crate) fn from_config(config: &MasterConfig) -> Self {
        Self {
            worker_threads: clamped(config.worker_threads),
            minimum_auth_version: u32::try_from(config.minimum_auth_version).unwrap_or(u32::MAX),
            request_server_ttl_s: i64::try_from(config.request_server_ttl).unwrap_or(i64::MAX),
        }
    }
}

fn local_ports(config: &MasterConfig) -> Option<LocalPorts> {
    (config.ipc_mode == IpcMode::Tcp).then_some(LocalPorts {
        events_out: config.tcp_master_pub_port.0,
        events_in: config.tcp_master_pull_port.0,
    })
}

fn keep_alive(config: &MasterConfig) -> KeepAlive {
    let whole = |number: i64| i32::try_from(number).unwrap_or(-1);
    KeepAlive {
        on: config.tcp_keepalive,
        idle_s: i32::try_from(config.tcp_keepalive_idle.duration().as_secs()).unwrap_or(-1),
        count: whole(config.tcp_keepalive_cnt),
        interval_s: whole(config.tcp_keepalive_intvl),
    }
}
