//! Connections to the bus: subscribers are written to, senders are read.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_proto::stream::{FrameReader, Framing};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::yield_now;
use tokio::time::sleep;
use tracing::{debug, warn};

use super::bus::{BusOptions, Hub};
use super::bus_event::Origin;
use super::dialect::framing_of;
use super::processes::age_of;
use super::queue::{Overflow, Queue};
use super::recent::Missed;
use super::stream::{Accepted, Listener, Reader, Writer};
use crate::counters::Count;
use crate::limits;

/// The kind of client of a listener.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Subscribers,
    Senders,
}

/// Accepts connections until the bus ends; each holds a clone of `running`.
pub(super) async fn accept(
    listener: Listener,
    side: Side,
    hub: Arc<Hub>,
    mut ends: watch::Receiver<()>,
    running: mpsc::Sender<()>,
) {
    let slots = Arc::new(Semaphore::new(hub.options.connections_max.max(1)));
    loop {
        let next = async {
            // Never closed, so there is always a permit some day.
            let slot = Arc::clone(&slots).acquire_owned().await.ok();
            (slot, listener.accept().await)
        };
        let (slot, accepted) = tokio::select! {
            next = next => next,
            _ = ends.changed() => return,
        };
        let Accepted {
            reader,
            writer,
            pid,
            is_stranger,
        } = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "could not accept a connection to the event bus");
                sleep(limits::ACCEPT_PAUSE).await;
                continue;
            }
        };
        if is_stranger {
            refuse(&hub);
            continue;
        }
        let hub = Arc::clone(&hub);
        let ends = ends.clone();
        let running = running.clone();
        match side {
            Side::Subscribers => {
                // Before anything else runs: a program that has connected
                // misses nothing of what it causes next.
                let (queue, before) = hub.subscribe_late(Overflow::Close);
                tokio::spawn(async move {
                    let program = Program::of(&hub.options, pid);
                    // Its last connection may be closed, and nobody has looked.
                    yield_now().await;
                    let mut missed = if program.may_be_late {
                        hub.missed(pid, before)
                    } else {
                        Vec::new()
                    };
                    if let Some(started) = program.started {
                        missed.retain(|missed| missed.asked >= started);
                    }
                    let framing = program.framing;
                    let writer = Events { writer, framing };
                    serve_subscriber(reader, writer, &hub, missed, queue, ends).await;
                    if program.may_be_late {
                        hub.left(pid);
                    }
                    drop((slot, running));
                });
            }
            Side::Senders => {
                tokio::spawn(async move {
                    serve_sender(reader, &hub, ends).await;
                    // Until here, or the sender would see the end of a stream.
                    drop((writer, slot, running));
                });
            }
        }
    }
}

/// Logs that another user's program was refused: once, since it may try repeatedly.
fn refuse(hub: &Hub) {
    hub.counters.add(Count::strangers);
    match hub.counters.strangers() {
        1 => warn!(
            "refused a connection to a port of the event bus: only programs of root and of this \
             daemon's user may connect; further ones are only counted"
        ),
        count => debug!(count, "refused a connection to a port of the event bus"),
    }
}

/// The connected program, as far as the bus needs it.
#[derive(Clone, Copy, Debug)]
struct Program {
    framing: Framing,
    /// It may be one of Salt's programs, which listen only after they have published;
    /// unknown for TCP. Ours listen first.
    may_be_late: bool,
    started: Option<Instant>,
}

impl Program {
    /// Reads what the kernel says of the process, and a line of Salt's where it
    /// is one of Salt's. Not handed to the threads for the disk: who listens is
    /// not to wait while those wait for a job cache.
    fn of(options: &BusOptions, pid: Option<u32>) -> Self {
        let asks_for_late = options.late.is_some();
        let ask = match options.framing_of {
            None if asks_for_late => Some(framing_of as fn(u32) -> Option<Framing>),
            ask => ask,
        };
        let found = ask.zip(pid).and_then(|(ask, pid)| ask(pid));
        let may_be_late = asks_for_late && (pid.is_none() || found.is_some());
        let wanted = found.filter(|_| options.framing_of.is_some());
        Self {
            framing: wanted.unwrap_or(options.framing),
            may_be_late,
            started: pid.filter(|_| may_be_late).and_then(start_of),
        }
    }
}

/// When a process was started, or some time before: nothing that was asked for
/// earlier was asked for by it.
fn start_of(pid: u32) -> Option<Instant> {
    /// The kernel says it in hundredths of a second.
    const INEXACT: Duration = Duration::from_millis(50);
    Instant::now().checked_sub(age_of(pid)? + INEXACT)
}

/// The way to a subscriber, and how events are framed on it.
struct Events {
    writer: Writer,
    framing: Framing,
}

async fn serve_subscriber(
    mut reader: Reader,
    mut events: Events,
    hub: &Hub,
    missed: Vec<Missed>,
    queue: Arc<Queue>,
    mut ends: watch::Receiver<()>,
) {
    tokio::select! {
        result = events.write(missed, &queue) => {
            if let Err(error) = result {
                debug!(%error, "a subscriber of the event bus has disconnected");
            }
        }
        () = until_closed(&mut reader) => {}
        () = queue.cut() => {}
        () = async {
            let _ = ends.changed().await;
            sleep(hub.options.linger).await;
        } => {}
    }
    hub.unsubscribe(&queue);
}

impl Events {
    /// Writes the missed events, then events until there are no more, small ones
    /// together.
    async fn write(&mut self, missed: Vec<Missed>, queue: &Queue) -> io::Result<()> {
        for Missed { event, .. } in missed {
            if let Some(frame) = event.late_frame(self.framing) {
                self.writer.write_all(&frame).await?;
            }
        }
        let mut together = Vec::new();
        while let Some(first) = queue.next().await {
            let mut next = Some(first);
            while let Some(event) = next {
                let frame = event.frame(self.framing);
                if frame.len() >= limits::BUS_WRITE_BYTES {
                    self.writer.write_all(&together).await?;
                    together.clear();
                    self.writer.write_all(frame).await?;
                } else {
                    together.extend_from_slice(frame);
                }
                if together.len() >= limits::BUS_WRITE_BYTES {
                    break;
                }
                next = queue.try_next();
            }
            self.writer.write_all(&together).await?;
            together.clear();
        }
        self.writer.shutdown().await
    }
}

/// Reads what a subscriber has no business to send, until it hangs up.
async fn until_closed(reader: &mut Reader) {
    let mut buffer = [0; 64];
    while matches!(reader.read(&mut buffer).await, Ok(bytes) if bytes > 0) {}
}

async fn serve_sender(mut reader: Reader, hub: &Hub, mut ends: watch::Receiver<()>) {
    let mut frames = FrameReader::detecting();
    let mut buffer = Vec::with_capacity(limits::BUS_READ_BYTES);
    loop {
        buffer.clear();
        let read = tokio::select! {
            // What is already here comes before the end.
            biased;
            read = reader.read_buf(&mut buffer) => read,
            _ = ends.changed() => return,
        };
        match read {
            Ok(0) => return,
            Ok(_) => frames.push(&buffer),
            Err(error) => {
                debug!(%error, "a sender of the event bus has disconnected");
                return;
            }
        }
        loop {
            match frames.next_event() {
                Ok(Some(event)) => hub.fire(&event, Origin::Here, None),
                Ok(None) => break,
                Err(error) => {
                    hub.counters.add(Count::malformed);
                    // Once: a program that tries again and again would fill
                    // the log.
                    match hub.counters.malformed() {
                        1 => {
                            warn!(
                                %error,
                                "closed a connection to the event bus that sent something other \
                                 than an event; further ones are only counted"
                            )
                        }
                        count => {
                            debug!(
                                %error, count,
                                "closed a connection to the event bus that sent something other \
                                 than an event"
                            )
                        }
                    }
                    return;
                }
            }
        }
    }
}
