//! Hears from the library when a connection comes and goes.
//!
//! The library reports through a socket pair, from its I/O thread, and *waits*
//! there while nobody can take a report: one forgotten monitor stops every
//! connection of the process. Invariant: reports are switched off before their
//! receiver goes away, and the receiver's queue has no end.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use tmq::pair::{Pair, pair};
use tmq::{AsZmqSocket, FromZmqSocket, SocketBuilder};

use super::context::context;
use super::pump::{self, Frames};
use crate::SocketError;

/// A report.
enum Report {
    /// A connection has this descriptor; its handshake is still to come.
    Descriptor(RawFd),
    Link(Link),
}

/// A change of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// Connected, and the handshake is done.
    Up,
    /// The connection is gone.
    Down,
    /// What answered speaks another protocol.
    Refused,
}

impl Link {
    // From libzmq's zmq.h.
    const CONNECTED: u16 = 0x0001;
    const DISCONNECTED: u16 = 0x0200;
    const HANDSHAKE_SUCCEEDED: u16 = 0x1000;
    const HANDSHAKE_FAILED_PROTOCOL: u16 = 0x2000;
    const EVENTS: i32 = 0x0001 | 0x0200 | 0x1000 | 0x2000;
}

impl Report {
    /// Reads a report's first frame: a number and a value.
    fn read(frames: &Frames) -> Option<Self> {
        let (number, value) = frames.first()?.split_first_chunk::<2>()?;
        let link = match u16::from_ne_bytes(*number) {
            Link::CONNECTED => {
                let descriptor = i32::from_ne_bytes(*value.first_chunk()?);
                return Some(Self::Descriptor(descriptor));
            }
            Link::HANDSHAKE_SUCCEEDED => Link::Up,
            Link::DISCONNECTED => Link::Down,
            Link::HANDSHAKE_FAILED_PROTOCOL => Link::Refused,
            _ => return None,
        };
        Some(Self::Link(link))
    }
}

/// A socket and the reports about its connections.
pub(super) struct Monitored<S: AsZmqSocket> {
    pub(super) socket: S,
    pub(super) reports: Reports,
    name: String,
}

/// The receiver of the reports.
pub(super) struct Reports {
    socket: Pair,
    /// Of the connection that was made last.
    descriptor: Option<RawFd>,
}

impl<S: AsZmqSocket> Monitored<S> {
    /// Switches reports on, lets `connect` finish the socket, and keeps both.
    pub(super) fn connect<T: FromZmqSocket<T>>(
        builder: SocketBuilder<T>,
        connect: impl FnOnce(SocketBuilder<T>) -> tmq::Result<S>,
    ) -> Result<Self, SocketError> {
        let name = new_name();
        let builder = builder.monitor(&name, Link::EVENTS);
        let reports = Reports::of(&name)?;
        // On an error the socket has had no connection to report about.
        let socket = connect(builder)?;
        Ok(Self {
            socket,
            reports,
            name,
        })
    }

    /// The same for a socket of a kind that the guest's builders do not know.
    pub(super) fn connect_raw(
        socket: zmq::Socket,
        connect: impl FnOnce(zmq::Socket) -> Result<S, SocketError>,
    ) -> Result<Self, SocketError> {
        let name = new_name();
        socket.monitor(&name, Link::EVENTS)?;
        let reports = Reports::of(&name)?;
        let socket = connect(socket)?;
        Ok(Self {
            socket,
            reports,
            name,
        })
    }
}

fn new_name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("inproc://monitor-{number}")
}

impl<S: AsZmqSocket> Drop for Monitored<S> {
    fn drop(&mut self) {
        // The library's bindings cannot say "no monitor"; this replaces it by
        // one that wants no reports. Should that fail, it is off as well.
        let nowhere = format!("{}-off", self.name);
        let _ = self.socket.get_socket().monitor(&nowhere, 0);
    }
}

impl Reports {
    fn of(name: &str) -> Result<Self, SocketError> {
        let reports = pair(&context()).set_linger(0).set_rcvhwm(0).connect(name)?;
        Ok(Self {
            socket: reports,
            descriptor: None,
        })
    }

    /// The descriptor of the connection, which the library owns: to ask the
    /// kernel how far it is, and for nothing else.
    pub(super) fn descriptor(&self) -> Option<RawFd> {
        self.descriptor
    }

    /// The next change. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Result<Link, SocketError> {
        loop {
            let frames = pump::receive(&mut self.socket).await?;
            if let Some(link) = self.take(&frames) {
                return Ok(link);
            }
        }
    }

    /// The next change, if one was reported already.
    pub(super) fn try_next(&mut self) -> Result<Option<Link>, SocketError> {
        while let Some(frames) = pump::try_receive(&self.socket)? {
            if let Some(link) = self.take(&frames) {
                return Ok(Some(link));
            }
        }
        Ok(None)
    }

    fn take(&mut self, frames: &Frames) -> Option<Link> {
        match Report::read(frames)? {
            Report::Descriptor(descriptor) => {
                self.descriptor = Some(descriptor);
                None
            }
            Report::Link(link) => {
                if link != Link::Up {
                    self.descriptor = None;
                }
                Some(link)
            }
        }
    }
}
