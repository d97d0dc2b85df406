//! Connections to the bus: subscribers are written to, senders are read.

use std::io;
use std::sync::Arc;

use halite_proto::stream::{FrameReader, Framing};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::sleep;
use tracing::{debug, warn};

use super::bus::{BusOptions, Hub};
use super::queue::{Overflow, Queue};
use super::stream::{Accepted, Listener, Reader, Writer};
use crate::counters::Count;
use crate::limits;

/// Who connects to a listener.
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
        } = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "could not accept a connection to the event bus");
                sleep(limits::ACCEPT_PAUSE).await;
                continue;
            }
        };
        let hub = Arc::clone(&hub);
        let ends = ends.clone();
        let running = running.clone();
        match side {
            Side::Subscribers => {
                // Before anything else runs: a program that has connected
                // misses nothing of what it causes next.
                let queue = hub.subscribe(Overflow::Close, Vec::new());
                tokio::spawn(async move {
                    let framing = framing_for(&hub.options, pid);
                    let writer = Events { writer, framing };
                    serve_subscriber(reader, writer, &hub, queue, ends).await;
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

fn framing_for(options: &BusOptions, pid: Option<u32>) -> Framing {
    let known = options.framing_of.zip(pid);
    known
        .and_then(|(framing_of, pid)| framing_of(pid))
        .unwrap_or(options.framing)
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
    queue: Arc<Queue>,
    mut ends: watch::Receiver<()>,
) {
    tokio::select! {
        result = events.write(&queue) => {
            if let Err(error) = result {
                debug!(%error, "a subscriber of the event bus is gone");
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
    /// Writes events until there are no more, small ones together.
    async fn write(&mut self, queue: &Queue) -> io::Result<()> {
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
                debug!(%error, "a sender of the event bus is gone");
                return;
            }
        }
        loop {
            match frames.next_event() {
                Ok(Some(event)) => hub.fire(&event),
                Ok(None) => break,
                Err(error) => {
                    hub.counters.add(Count::malformed);
                    // Once: a program that tries again and again would fill
                    // the log.
                    match hub.counters.malformed() {
                        1 => {
                            warn!(%error, "closed a connection to the event bus that sends no events; more of these are counted only")
                        }
                        count => {
                            debug!(%error, count, "closed a connection to the event bus that sends no events")
                        }
                    }
                    return;
                }
            }
        }
    }
}
