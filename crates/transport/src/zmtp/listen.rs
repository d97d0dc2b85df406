//! Listening sockets: binding them, and accepting connections.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::sync::Arc;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{SockaddrLike, setsockopt, sockopt};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::debug;

use super::{Arrival, ConnectionLimit, ConnectionPermit, Port, Stream};
use crate::contract::KeepAlive;
use crate::limits::ACCEPT_PAUSE;
use crate::socket_file::SocketFile;
use crate::{BindError, Endpoint};

/// Accepted connections that wait for their task.
const ACCEPTED_WAITING_MAX: usize = 16;

/// An accepted connection.
pub(crate) struct Accepted {
    /// Its bytes.
    pub(crate) stream: Stream,
    /// Counts it while it is open.
    pub(crate) permit: ConnectionPermit,
}

/// Bound sockets. Connections wait in the backlog until they are accepted.
pub(crate) struct Listening {
    listeners: Vec<Listener>,
    /// As asked for, with the ports that were taken.
    pub(crate) endpoints: Vec<Endpoint>,
    files: Vec<SocketFile>,
    keep_alive: KeepAlive,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listening {
    /// Binds to all endpoints; socket files get `ipc_mode`.
    ///
    /// # Errors
    /// When one cannot be bound.
    pub(crate) fn bind(
        endpoints: &[Endpoint],
        backlog: i32,
        ipv6: bool,
        keep_alive: KeepAlive,
        ipc_mode: u32,
    ) -> Result<Self, BindError> {
        if endpoints.is_empty() {
            return Err(BindError::NoEndpoint);
        }
        let mut this = Self {
            listeners: Vec::new(),
            endpoints: Vec::new(),
            files: Vec::new(),
            keep_alive,
        };
        for endpoint in endpoints {
            this.add(endpoint, backlog, ipv6, ipc_mode)?;
        }
        Ok(this)
    }

    fn add(
        &mut self,
        endpoint: &Endpoint,
        backlog: i32,
        ipv6: bool,
        mode: u32,
    ) -> Result<(), BindError> {
        let error = |error: io::Error| BindError::from_io(endpoint, &error);
        match endpoint {
            Endpoint::Tcp { host, port } => {
                let address = address_of(host, *port, ipv6).map_err(error)?;
                let listener = listen_tcp(address, backlog).map_err(error)?;
                let port = listener.local_addr().map_err(error)?.port();
                self.endpoints.push(Endpoint::tcp(host, port));
                self.listeners.push(Listener::Tcp(listener));
            }
            Endpoint::Ipc(path) => {
                let (file, listener) = SocketFile::bind(path, mode, |staged| {
                    let listen = || {
                        let listener = StdUnixListener::bind(staged)?;
                        listener.set_nonblocking(true)?;
                        UnixListener::from_std(listener)
                    };
                    listen().map_err(error)
                })?;
                self.files.push(file);
                self.endpoints.push(endpoint.clone());
                self.listeners.push(Listener::Unix(listener));
            }
        }
        Ok(())
    }

    /// Accepts connections until the receiver or the set is dropped. The caller
    /// keeps the socket files.
    pub(crate) fn accept(
        self,
        port: Port,
    ) -> (mpsc::Receiver<Accepted>, JoinSet<()>, Vec<SocketFile>) {
        let (connections, arriving) = mpsc::channel(ACCEPTED_WAITING_MAX);
        let mut tasks = JoinSet::new();
        let limit = ConnectionLimit::of_process();
        for listener in self.listeners {
            tasks.spawn(accept_all(
                listener,
                connections.clone(),
                Arc::clone(&limit),
                self.keep_alive,
                port,
            ));
        }
        (arriving, tasks, self.files)
    }
}

impl Listener {
    async fn accept(&self, port: Port) -> io::Result<(Stream, Arrival)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept().await?;
                let to = stream.local_addr().ok().map(|to| to.ip());
                let arrival = Arrival::new(Some(from.ip()), to, port);
                Ok((Stream::Tcp(stream), arrival))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Stream::Unix(stream), Arrival::new(None, None, port)))
            }
        }
    }
}

async fn accept_all(
    listener: Listener,
    connections: mpsc::Sender<Accepted>,
    limit: Arc<ConnectionLimit>,
    keep_alive: KeepAlive,
    port: Port,
) {
    loop {
        let (stream, arrival) = match listener.accept(port).await {
            Ok(accepted) => accepted,
            Err(error) => {
                limit.turn_away(&error);
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(permit) = limit.admit(arrival) else {
            debug!(from = %arrival.origin, "refused a connection");
            limit.turn_away(&"there are too many connections");
            continue;
        };
        if let Stream::Tcp(stream) = &stream
            && let Err(error) = prepare(stream, keep_alive)
        {
            debug!(%error, "could not set a connection's options");
        }
        if connections.send(Accepted { stream, permit }).await.is_err() {
            return;
        }
    }
}

pub(super) fn prepare(stream: &TcpStream, keep_alive: KeepAlive) -> io::Result<()> {
    stream.set_nodelay(true)?;
    setsockopt(stream, sockopt::KeepAlive, &keep_alive.on)?;
    // What is not positive is left to the system.
    let positive = |value: i32| u32::try_from(value).ok().filter(|value| *value > 0);
    if let Some(seconds) = positive(keep_alive.idle_s) {
        setsockopt(stream, sockopt::TcpKeepIdle, &seconds)?;
    }
    if let Some(seconds) = positive(keep_alive.interval_s) {
        setsockopt(stream, sockopt::TcpKeepInterval, &seconds)?;
    }
    if let Some(count) = positive(keep_alive.count) {
        setsockopt(stream, sockopt::TcpKeepCount, &count)?;
    }
    Ok(())
}

fn listen_tcp(address: SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => {
            let socket = TcpSocket::new_v6()?;
            // `::` takes IPv4 as well, whatever the system's default.
            setsockopt(&socket, sockopt::Ipv6V6Only, &false)?;
            socket
        }
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(u32::try_from(backlog).unwrap_or(u32::MAX))
}

/// What an interface option means: an address, a name, or `*`.
fn address_of(host: &str, port: u16, ipv6: bool) -> io::Result<SocketAddr> {
    if host == "*" {
        return Ok(match ipv6 {
            true => (Ipv6Addr::UNSPECIFIED, port).into(),
            false => (Ipv4Addr::UNSPECIFIED, port).into(),
        });
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok((address, port).into());
    }
    if let Some(address) = address_of_interface(host) {
        return Ok((address, port).into());
    }
    (host, port)
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
}

/// The first address of a network interface.
fn address_of_interface(name: &str) -> Option<IpAddr> {
    let interfaces = getifaddrs().ok()?.filter(|at| at.interface_name == name);
    let addresses: Vec<IpAddr> = interfaces
        .filter_map(|at| {
            let address = at.address?;
            debug_assert!(address.len() > 0);
            match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
                (Some(v4), _) => Some(IpAddr::V4(v4.ip())),
                (None, Some(v6)) => Some(IpAddr::V6(v6.ip())),
                (None, None) => None,
            }
        })
        .filter(|address| *address != IpAddr::V6(Ipv6Addr::UNSPECIFIED))
        .collect();
    let v4 = addresses.iter().find(|address| address.is_ipv4());
    v4.or_else(|| addresses.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_an_address_a_star_or_a_name() {
        let at = |host: &str| address_of(host, 7, false).unwrap().to_string();
        assert_eq!(at("*"), "0.0.0.0:7");
        assert_eq!(at("127.0.0.5"), "127.0.0.5:7");
        assert_eq!(at("::1"), "[::1]:7");
        assert_eq!(at("lo"), "127.0.0.1:7");
        assert!(address_of("no-such-name.invalid", 7, false).is_err());
    }
}
