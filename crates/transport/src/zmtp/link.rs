//! One connection: its bytes in both directions, and their cost.
//!
//! Invariant: no call here waits; the task that owns the connection does.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;

use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

use super::decoder::Decoder;
use super::encoder::{encode_greeting, encode_pong};
use super::{Item, WireError};

/// Bytes read at once while frames are small; unused ones wait in memory.
const READ_BYTES: usize = 4096;

/// Bytes read at once into a large frame.
const READ_BYTES_MAX: usize = 64 * 1024;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES_MAX]);
}

/// A stream socket.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.readable().await,
            Self::Unix(stream) => stream.readable().await,
        }
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.writable().await,
            Self::Unix(stream) => stream.writable().await,
        }
    }

    /// Only for asking the kernel how much was sent.
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        Some(match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
        })
    }

    /// Reads what there is. Less than there is room for is all there is: nobody asks
    /// the kernel again before it says that there is more.
    fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        let mut count = None;
        let read = match self {
            Self::Tcp(stream) => {
                stream.try_io(Interest::READABLE, || read_once(stream, into, &mut count))
            }
            Self::Unix(stream) => {
                stream.try_io(Interest::READABLE, || read_once(stream, into, &mut count))
            }
        };
        match count {
            Some(count) => Ok(count),
            None => read.map(|()| 0),
        }
    }

    fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write_vectored(slices),
            Self::Unix(stream) => stream.try_write_vectored(slices),
        }
    }
}

/// Bytes on their way out.
#[derive(Debug)]
pub(crate) struct Outgoing {
    head: Vec<u8>,
    body: Body,
    written: usize,
}

#[derive(Debug)]
enum Body {
    Own(Vec<u8>),
    Shared(Arc<[u8]>),
}

impl Outgoing {
    /// A frame's head and its body.
    pub(crate) fn new(head: Vec<u8>, body: Vec<u8>) -> Self {
        Self {
            head,
            body: Body::Own(body),
            written: 0,
        }
    }

    /// A message that many get.
    pub(crate) fn shared(message: Arc<[u8]>) -> Self {
        Self {
            head: Vec::new(),
            body: Body::Shared(message),
            written: 0,
        }
    }

    /// What every connection begins with.
    pub(crate) fn greeting(kind: &str) -> Self {
        Self::new(encode_greeting(kind), Vec::new())
    }

    /// The answer to a `PING`.
    pub(crate) fn pong(context: &[u8]) -> Self {
        Self::new(encode_pong(context), Vec::new())
    }

    fn body(&self) -> &[u8] {
        match &self.body {
            Body::Own(body) => body,
            Body::Shared(body) => body,
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    /// The socket.
    pub(crate) stream: Stream,
    /// What its bytes mean.
    pub(crate) decoder: Decoder,
    rest: Vec<u8>,
    taken: usize,
}

/// What came of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    /// Bytes were read.
    Bytes,
    /// As many bytes were read as are read at once: other connections have their turn
    /// before this one goes on.
    ManyBytes,
    /// No bytes are available yet.
    Nothing,
    /// The peer has closed the connection.
    End,
}

impl Link {
    /// A connection that begins.
    pub(crate) fn new(stream: Stream, frame_bytes_max: usize) -> Self {
        Self {
            stream,
            decoder: Decoder::new(frame_bytes_max),
            rest: Vec::new(),
            taken: 0,
        }
    }

    /// Reads what there is; to be called when all that was read is decoded.
    pub(crate) fn read(&mut self) -> io::Result<ReadOutcome> {
        let wanted = self.decoder.left().clamp(READ_BYTES, READ_BYTES_MAX);
        let read = BUFFER.with_borrow_mut(|buffer| {
            let count = self.stream.try_read(&mut buffer[..wanted])?;
            self.rest.extend_from_slice(&buffer[..count]);
            Ok(count)
        });
        match read {
            Ok(0) => Ok(ReadOutcome::End),
            Ok(READ_BYTES_MAX) => Ok(ReadOutcome::ManyBytes),
            Ok(_) => Ok(ReadOutcome::Bytes),
            Err(error) if is_later(&error) => Ok(ReadOutcome::Nothing),
            Err(error) => Err(error),
        }
    }

    /// The next of what was read.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, WireError> {
        let mut input = &self.rest[self.taken..];
        let item = self.decoder.feed(&mut input)?;
        self.taken = self.rest.len() - input.len();
        if self.taken == self.rest.len() {
            self.taken = 0;
            self.rest.clear();
            // An idle connection keeps no memory.
            if item.is_none() && !self.decoder.is_within() {
                self.rest = Vec::new();
            }
        }
        Ok(item)
    }

    /// Writes what the socket takes; whether all is written.
    pub(crate) fn write(&self, out: &mut Outgoing) -> io::Result<bool> {
        loop {
            let in_head = out.written.min(out.head.len());
            let (head, body) = (&out.head[in_head..], &out.body()[out.written - in_head..]);
            if head.is_empty() && body.is_empty() {
                return Ok(true);
            }
            match self
                .stream
                .try_write(&[IoSlice::new(head), IoSlice::new(body)])
            {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero)),
                Ok(count) => out.written += count,
                Err(error) if is_later(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Reads into `count` how much there was. Where that was all, `WouldBlock` has the runtime
/// wait for the kernel; the peer's end it remembers by itself.
fn read_once(from: impl AsFd, into: &mut [u8], count: &mut Option<usize>) -> io::Result<()> {
    let got = nix::unistd::read(from, into)?;
    *count = Some(got);
    match got > 0 && got < into.len() {
        true => Err(io::ErrorKind::WouldBlock.into()),
        false => Ok(()),
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
