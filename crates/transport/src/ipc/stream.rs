//! Listening and connecting, on a unix socket or on loopback TCP.

use std::io;
use std::net::TcpListener as StdTcpListener;
use std::os::unix::net::UnixListener as StdUnixListener;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::tcp_owner;
use crate::socket_file::SocketFile;
use crate::{BindError, Endpoint};

pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(super) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A connection that was accepted.
pub(super) struct Accepted {
    pub(super) reader: Reader,
    pub(super) writer: Writer,
    /// The process at the other end, where the system knows it.
    pub(super) pid: Option<u32>,
    /// It belongs neither to root nor to this user, and came through a listener without a
    /// file mode to keep it out.
    pub(super) is_stranger: bool,
}

/// A listening stream socket.
#[derive(Debug)]
pub(super) enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at `endpoint`; a socket file gets `mode`. Gives back the
    /// endpoint with the port that was taken.
    pub(super) fn bind(
        endpoint: &Endpoint,
        mode: u32,
    ) -> Result<(Self, Option<SocketFile>, Endpoint), BindError> {
        let error = |error: io::Error| BindError::from_io(endpoint, &error);
        match endpoint {
            Endpoint::Ipc(path) => {
                let (file, listener) = SocketFile::bind(path, mode, |staged| {
                    StdUnixListener::bind(staged).map_err(error)
                })?;
                listener.set_nonblocking(true).map_err(error)?;
                let listener = UnixListener::from_std(listener).map_err(error)?;
                Ok((Self::Unix(listener), Some(file), endpoint.clone()))
            }
            Endpoint::Tcp { host, port } => {
                let listener = StdTcpListener::bind((host.as_str(), *port)).map_err(error)?;
                let taken = listener.local_addr().map_err(error)?;
                listener.set_nonblocking(true).map_err(error)?;
                let listener = TcpListener::from_std(listener).map_err(error)?;
                let endpoint = Endpoint::tcp(host, taken.port());
                Ok((Self::Tcp(listener), None, endpoint))
            }
        }
    }

    pub(super) async fn accept(&self) -> io::Result<Accepted> {
        let ((reader, writer), pid, is_stranger) = match self {
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
                (split_unix(stream), pid, false)
            }
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Read at once: who waits for another thread misses what is
                // told meanwhile.
                let is_stranger = !tcp_owner::is_ours(peer, stream.local_addr()?);
                (split_tcp(stream)?, None, is_stranger)
            }
        };
        Ok(Accepted {
            reader,
            writer,
            pid: pid.and_then(|pid| pid.try_into().ok()),
            is_stranger,
        })
    }
}

pub(super) async fn connect(endpoint: &Endpoint) -> io::Result<(Reader, Writer)> {
    match endpoint {
        Endpoint::Ipc(path) => Ok(split_unix(UnixStream::connect(path).await?)),
        Endpoint::Tcp { host, port } => {
            split_tcp(TcpStream::connect((host.as_str(), *port)).await?)
        }
    }
}

fn split_unix(stream: UnixStream) -> (Reader, Writer) {
    let (reader, writer) = stream.into_split();
    (Box::new(reader), Box::new(writer))
}

fn split_tcp(stream: TcpStream) -> io::Result<(Reader, Writer)> {
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    Ok((Box::new(reader), Box::new(writer)))
}
