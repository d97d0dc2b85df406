//! Connecting to a port, up to the end of the handshake.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio::time::timeout;

use super::listen::prepare;
use super::{Item, Link, Outgoing, ReadOutcome, Stream, WireError};
use crate::Endpoint;
use crate::contract::KeepAlive;
use crate::limits::HANDSHAKE_MAX;

/// How connections are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dial {
    /// What this side is to the other one.
    pub(crate) kind: &'static str,
    /// The socket types that the other side may have.
    pub(crate) peer: &'static [&'static [u8]],
    /// Larger frames end the connection.
    pub(crate) frame_bytes_max: usize,
    /// TCP keep-alive.
    pub(crate) keep_alive: KeepAlive,
    /// Address and port to connect from.
    pub(crate) source: Option<SocketAddr>,
}

/// Why no connection was opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    /// This machine has no socket for it: another try does not help.
    #[error("{0}")]
    Local(io::Error),
    /// The connection was not accepted.
    #[error("{0}")]
    Connect(io::Error),
    /// The other end closed the connection at once.
    #[error("the connection was closed before its handshake: {0}")]
    Ended(io::Error),
    /// What answers does not speak the protocol.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The handshake takes too long.
    #[error("its handshake takes too long")]
    TooSlow,
}

impl Dial {
    /// Connects to a resolved endpoint. Bytes after the peer's handshake wait in the
    /// link.
    pub(crate) async fn connect(&self, to: &Endpoint) -> Result<Link, DialError> {
        let connected = async {
            let stream = match to {
                Endpoint::Tcp { host, port } => Stream::Tcp(self.connect_tcp(host, *port).await?),
                Endpoint::Ipc(path) => {
                    let stream = UnixStream::connect(path).await;
                    Stream::Unix(stream.map_err(DialError::Connect)?)
                }
            };
            self.shake_hands(stream).await
        };
        timeout(HANDSHAKE_MAX, connected)
            .await
            .map_err(|_| DialError::TooSlow)?
    }

    async fn connect_tcp(&self, host: &str, port: u16) -> Result<TcpStream, DialError> {
        let address = address_of(host, port).await.map_err(DialError::Connect)?;
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        };
        let socket = socket.map_err(DialError::Local)?;
        if let Some(source) = self.source {
            // One port serves for connections to several masters.
            let bound = socket
                .set_reuseaddr(true)
                .and_then(|()| socket.bind(source));
            bound.map_err(DialError::Local)?;
        }
        let stream = socket.connect(address).await.map_err(DialError::Connect)?;
        prepare(&stream, self.keep_alive).map_err(DialError::Connect)?;
        Ok(stream)
    }

    async fn shake_hands(&self, stream: Stream) -> Result<Link, DialError> {
        let mut link = Link::new(stream, self.frame_bytes_max);
        let mut greeting = Outgoing::greeting(self.kind);
        while !link.write(&mut greeting).map_err(DialError::Ended)? {
            let writable = link.stream.writable().await;
            writable.map_err(DialError::Ended)?;
        }
        loop {
            match link.next()? {
                Some(Item::Ready(kind)) if self.peer.contains(&kind.as_slice()) => {
                    return Ok(link);
                }
                Some(Item::Ready(_)) => return Err(WireError::Kind.into()),
                // The decoder gives nothing else before.
                Some(_) => return Err(WireError::Handshake.into()),
                None => {}
            }
            link.stream.readable().await.map_err(DialError::Ended)?;
            if link.read().map_err(DialError::Ended)? == ReadOutcome::End {
                let end = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Err(DialError::Ended(end));
            }
        }
    }
}

/// The address of a host that is one already, perhaps with a scope
/// (`fe80::1%eth0`), which only the system reads.
async fn address_of(host: &str, port: u16) -> io::Result<SocketAddr> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok((address, port).into());
    }
    let mut found = tokio::net::lookup_host((host, port)).await?;
    found
        .next()
        .ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
}
