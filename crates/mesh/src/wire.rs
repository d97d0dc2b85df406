//! Frames on a connection, and which task gets them.

use std::io::{Error, ErrorKind};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::error::MeshError;
use crate::frame::Frame;
use crate::peer::{Incarnation, PeerAddress, PeerId};
use crate::tls::Wire;

/// What a master does with what its peers tell. Called on threads that may wait;
/// for one peer never twice at a time.
pub trait Receiver: Send + Sync + 'static {
    /// A peer has connected; in a life that may be new.
    fn peer_is_up(&self, peer: &PeerId, incarnation: Incarnation);

    /// The last connection of a peer has ended.
    fn peer_is_down(&self, peer: &PeerId);

    /// A message of a peer, sent so long ago. It is acknowledged
    /// when this returns.
    fn receive(&self, peer: &PeerId, age: Duration, message: &[u8]);

    /// A peer has told something that it has forgotten since: it was away for
    /// longer than the replay window, or we were.
    fn has_missed(&self, peer: &PeerId);
}

/// What is still to be handled of a peer.
pub(crate) enum Work {
    Message(u64, Duration, Vec<u8>),
    /// Nothing, but a number that counts as handled.
    Skip(u64),
    Missed(u64),
}

/// Makes a connection.
pub(crate) async fn connect(address: &PeerAddress) -> Result<Wire, MeshError> {
    let made = TcpStream::connect((address.host(), address.port()));
    direct(made.await.map_err(MeshError::Connect)?)
}

/// A connection, as TLS takes it.
pub(crate) fn direct(stream: TcpStream) -> Result<Wire, MeshError> {
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

/// Reads one frame of at most `bytes_max` bytes from a peer that may not be silent
/// for longer. What it allocates grows with what has come, not with what the
/// length promises; a large frame on a slow wire may take its time.
pub(crate) async fn read_frame(
    stream: &mut (impl AsyncRead + Unpin),
    bytes_max: usize,
    silence_max: Duration,
) -> Result<Frame, MeshError> {
    const PIECE_BYTES: usize = 64 * 1024;
    let length = timeout(silence_max, stream.read_u32()).await;
    let length = length.map_err(|_| MeshError::Silent)??;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > bytes_max {
        return Err(MeshError::Frame {
            what: "a frame that is too long",
        });
    }
    let mut bytes = Vec::with_capacity(length.min(PIECE_BYTES));
    while bytes.len() < length {
        let piece = (length - bytes.len()).min(PIECE_BYTES) as u64;
        let mut piece = (&mut *stream).take(piece);
        let read = timeout(silence_max, piece.read_buf(&mut bytes)).await;
        if read.map_err(|_| MeshError::Silent)?? == 0 {
            return Err(Error::from(ErrorKind::UnexpectedEof).into());
        }
    }
    Frame::decode(&bytes)
}

/// Writes one frame and sends it off.
pub(crate) async fn write_frame(
    stream: &mut (impl AsyncWrite + Unpin),
    frame: &Frame,
) -> Result<(), MeshError> {
    stream.write_all(&frame.encode()).await?;
    stream.flush().await?;
    Ok(())
}
