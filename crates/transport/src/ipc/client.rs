//! The client ends of the bus: what command line programs use.

use std::io;

use halite_proto::PackError;
use halite_proto::stream::{Frame, FrameError, FrameReader, frame_push};
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::bus_event::{BusEvent, Origin};
use super::stream::{self, Reader, Writer};
use crate::{Endpoint, limits};

/// Why a bus could not be reached.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// No bus listens there.
    #[error("nothing listens at {endpoint}")]
    NotRunning {
        /// Where.
        endpoint: Endpoint,
    },
    /// The user may not connect.
    #[error("no permission to connect to {endpoint}")]
    Denied {
        /// Where.
        endpoint: Endpoint,
    },
    /// Anything else.
    #[error("could not connect to {endpoint}")]
    Other {
        /// Where.
        endpoint: Endpoint,
        /// Why.
        source: io::Error,
    },
}

/// Why no more events can be read.
#[derive(Debug, Error)]
pub enum ReceiveError {
    /// The connection broke.
    #[error("could not read from the event bus")]
    Read(#[source] io::Error),
    /// The bytes received are not those of an event bus.
    #[error("the event bus sent something that is not an event")]
    Frame(#[source] FrameError),
}

/// Why an event was not sent.
#[derive(Debug, Error)]
pub enum PushError {
    /// No frame can hold it.
    #[error("the event is too large")]
    TooLarge(#[source] PackError),
    /// The connection broke.
    #[error("could not send an event to {endpoint}")]
    Write {
        /// Where.
        endpoint: Endpoint,
        /// Why.
        source: io::Error,
    },
}

async fn connect(endpoint: &Endpoint) -> Result<(Reader, Writer), ConnectError> {
    stream::connect(endpoint).await.map_err(|source| {
        let endpoint = endpoint.clone();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                ConnectError::NotRunning { endpoint }
            }
            io::ErrorKind::PermissionDenied => ConnectError::Denied { endpoint },
            _ => ConnectError::Other { endpoint, source },
        }
    })
}

/// A subscription to the bus of another process, of any release.
pub struct EventSubscriber {
    reader: Reader,
    frames: FrameReader,
    buffer: Vec<u8>,
    /// Kept: a bus takes a half-closed connection for a closed one.
    _writer: Writer,
}

impl EventSubscriber {
    /// Subscribes to all events.
    ///
    /// # Errors
    /// When the bus cannot be reached.
    pub async fn connect(endpoint: &Endpoint) -> Result<Self, ConnectError> {
        let (reader, writer) = connect(endpoint).await?;
        Ok(Self {
            reader,
            frames: FrameReader::detecting(),
            buffer: Vec::with_capacity(limits::BUS_READ_BYTES),
            _writer: writer,
        })
    }

    /// The next event; `None` when the bus has closed. Nothing is lost when
    /// the future is dropped. What the bus gives to programs that come late
    /// is left out: ours are there before they cause anything, and one that
    /// shows events is to show each once, however often it is started.
    ///
    /// # Errors
    /// When the connection breaks or carries something else than events.
    pub async fn next(&mut self) -> Result<Option<BusEvent>, ReceiveError> {
        loop {
            while let Some(frame) = self.frames.next_packed().map_err(ReceiveError::Frame)? {
                let event = Frame::new_event(frame).map_err(ReceiveError::Frame)?;
                // Readers of all releases skip an event without a tag.
                let event = event.and_then(|event| BusEvent::new(event, Origin::Here));
                if let Some(event) = event {
                    return Ok(Some(event));
                }
            }
            self.buffer.clear();
            let read = self.reader.read_buf(&mut self.buffer).await;
            if read.map_err(ReceiveError::Read)? == 0 {
                return Ok(None);
            }
            self.frames.push(&self.buffer);
        }
    }
}

/// Sends events to the bus of another process.
pub struct EventPusher {
    writer: Writer,
    endpoint: Endpoint,
    _reader: Reader,
}

impl EventPusher {
    /// Connects to send events.
    ///
    /// # Errors
    /// When the bus cannot be reached.
    pub async fn connect(endpoint: &Endpoint) -> Result<Self, ConnectError> {
        let (reader, writer) = connect(endpoint).await?;
        Ok(Self {
            writer,
            endpoint: endpoint.clone(),
            _reader: reader,
        })
    }

    /// Sends a packed event.
    ///
    /// # Errors
    /// When the event is too large, or the bus has closed the connection;
    /// connect again then.
    pub async fn push(&mut self, event: &[u8]) -> Result<(), PushError> {
        let frame = frame_push(event).map_err(PushError::TooLarge)?;
        self.writer
            .write_all(&frame)
            .await
            .map_err(|source| PushError::Write {
                endpoint: self.endpoint.clone(),
                source,
            })
    }
}
