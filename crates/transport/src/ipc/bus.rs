//! The bus itself: who subscribes, and firing.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use halite_proto::stream::Framing;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::bound_files::{Acceptor, BoundFile};
use super::bus_connection::Side;
use super::bus_event::{BusEvent, Origin};
use super::forward::Forward;
use super::processes::Processes;
use super::queue::{LocalEvents, Overflow, Pushed, Queue};
use super::recent::{ForLate, LateListening, Missed, Recent};
use super::stream::Listener;
use crate::counters::Count;
use crate::{BindError, Counters, Endpoint, limits};

/// How an event bus is bound.
#[derive(Clone, Debug)]
pub struct BusOptions {
    /// How events are framed for connected subscribers.
    pub framing: Framing,
    /// How the program with this process id wants its events framed, if that can be
    /// determined; all others get `framing`.
    pub framing_of: Option<fn(u32) -> Option<Framing>>,
    /// What programs of Salt's, and whoever comes over TCP, are given of the
    /// time before they were connected.
    pub late: Option<LateListening>,
    /// Mode of the socket file to subscribe at.
    pub publish_mode: u32,
    /// Mode of the socket file to send events to.
    pub pull_mode: u32,
    /// Events that may wait for one subscriber.
    pub events_max: usize,
    /// Bytes of the events that may wait for one subscriber.
    pub bytes_max: usize,
    /// Connected subscribers, and connected senders, at most.
    pub connections_max: usize,
    /// How long subscribers may take to read what is queued when the bus
    /// closes.
    pub linger: Duration,
}

impl BusOptions {
    /// A master's bus: its group may subscribe.
    pub fn master(framing: Framing) -> Self {
        Self {
            publish_mode: 0o660,
            ..Self::minion(framing)
        }
    }

    /// A minion's bus: only its user may subscribe.
    pub fn minion(framing: Framing) -> Self {
        Self {
            framing,
            framing_of: None,
            late: None,
            publish_mode: 0o600,
            pull_mode: 0o600,
            events_max: limits::BUS_EVENTS_MAX,
            bytes_max: limits::BUS_BYTES_MAX,
            connections_max: limits::BUS_CONNECTIONS_MAX,
            linger: limits::LINGER,
        }
    }
}

/// A handle to the bus of this process. Clones share it; it closes and removes
/// its socket files when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct EventBus(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    hub: Arc<Hub>,
    endpoints: Vec<Endpoint>,
    files: Arc<Mutex<Vec<BoundFile>>>,
    /// Its tasks end when this is dropped.
    shutdown: Option<watch::Sender<()>>,
    /// Receives nothing, and ends when the last connection has.
    finished: Option<mpsc::Receiver<()>>,
}

impl EventBus {
    /// Listens at `publish` for subscribers and at `pull` for events, each a
    /// unix socket or loopback TCP.
    ///
    /// # Errors
    /// When one of them cannot be bound; none is then.
    pub fn bind(
        publish: &Endpoint,
        pull: &Endpoint,
        options: BusOptions,
    ) -> Result<Self, BindError> {
        Self::bind_all(&[(publish.clone(), pull.clone())], options)
    }

    /// As `bind`, at several places: whoever subscribes at any of them hears
    /// all events, and an event is taken at any of them.
    ///
    /// # Errors
    /// When one of them cannot be bound; none is then.
    pub fn bind_all(
        places: &[(Endpoint, Endpoint)],
        options: BusOptions,
    ) -> Result<Self, BindError> {
        let mut listeners = Vec::with_capacity(places.len() * 2);
        for (publish, pull) in places {
            let publish = Listener::bind(publish, options.publish_mode)?;
            listeners.push((publish, Side::Subscribers));
            let pull = Listener::bind(pull, options.pull_mode)?;
            listeners.push((pull, Side::Senders));
        }
        if listeners.is_empty() {
            return Err(BindError::NoEndpoint);
        }
        let hub = Arc::new(Hub::new(options));
        let (shutdown, ends) = watch::channel(());
        if let Some(late) = hub.options.late {
            tokio::spawn(forget_in_time(Arc::clone(&hub), late, ends.clone()));
        }
        let (running, finished) = mpsc::channel(1);
        let mut endpoints = Vec::new();
        let mut files = Vec::new();
        let place = Acceptor { hub, ends, running };
        for ((listener, file, endpoint), side) in listeners {
            endpoints.push(endpoint);
            let accepting = place.serve(listener, side);
            files.extend(file.map(|file| BoundFile {
                file,
                side,
                accepting,
            }));
        }
        let hub = Arc::clone(&place.hub);
        let files = Arc::new(Mutex::new(files));
        tokio::spawn(place.keep(Arc::clone(&files)));
        Ok(Self(Arc::new(Shared {
            hub,
            endpoints,
            files,
            shutdown: Some(shutdown),
            finished: Some(finished),
        })))
    }

    /// A bus without sockets, for this process only.
    pub fn in_process(options: BusOptions) -> Self {
        Self(Arc::new(Shared {
            hub: Arc::new(Hub::new(options)),
            endpoints: Vec::new(),
            files: Arc::default(),
            shutdown: None,
            finished: None,
        }))
    }

    /// Sends a packed event to every subscriber. Never waits. An event without a tag is
    /// dropped, as every reader would do.
    pub fn fire(&self, event: &[u8]) {
        self.0.hub.fire(event, Origin::Here, None);
    }

    /// As `fire`, for an event of this origin; with `why` it is kept for a while for
    /// programs that come late, where the bus has them (`BusOptions::late`).
    pub fn fire_from(&self, event: &[u8], origin: Origin, why: Option<ForLate<'_>>) {
        self.0.hub.fire(event, origin, why);
    }

    /// Hands every event of origin [`Origin::Here`] to `forward` from now on, in the order
    /// in which subscribers get them. It is called while the bus is locked, so it must
    /// neither wait nor fire. The first call counts.
    pub fn forward(&self, forward: impl Fn(&BusEvent) + Send + Sync + 'static) {
        let _ = self.0.hub.forward.set(Forward::to(forward));
    }

    /// Whether anybody subscribes to events of this tag.
    pub fn has_subscriber(&self, tag: &str) -> bool {
        let listeners = self.0.hub.lock();
        let mut queues = listeners.queues.iter();
        queues.any(|queue| queue.wants(tag))
    }

    /// Subscribes this process to all events fired from now on.
    pub fn subscribe(&self) -> LocalEvents {
        self.subscribe_to(Vec::new())
    }

    /// Subscribes this process to the events whose tag begins with one of
    /// `prefixes`; to all, if there is none.
    pub fn subscribe_to(&self, prefixes: Vec<String>) -> LocalEvents {
        LocalEvents(self.0.hub.subscribe(Overflow::DropOldest, prefixes))
    }

    /// Where to subscribe and where to send events, in this order, for each
    /// place.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.0.endpoints
    }

    /// Counters: events received and fired, malformed ones, ones that subscribers lost,
    /// and disconnected subscribers.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.0.hub.counters)
    }

    /// Removes the socket files now: a process that ends may have threads that
    /// never let go of their handles.
    pub fn remove_files(&self) {
        self.0.remove_files();
    }

    /// The number of subscribers, and of events that wait for all of them together.
    pub fn depth(&self) -> (usize, usize) {
        let listeners = self.0.hub.lock();
        let waiting = listeners.queues.iter().map(|queue| queue.waiting());
        (listeners.queues.len(), waiting.sum())
    }

    /// Closes the bus if this is the last handle, and waits until connected
    /// subscribers have read what is queued, for `linger` at most.
    pub async fn close(self) {
        if let Some(mut shared) = Arc::into_inner(self.0) {
            let finished = shared.finished.take();
            let linger = shared.hub.options.linger;
            drop(shared);
            if let Some(mut finished) = finished {
                let _ = timeout(linger, finished.recv()).await;
            }
        }
    }
}

impl Shared {
    fn remove_files(&self) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.clear();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.remove_files();
        self.shutdown = None;
        self.hub.close();
    }
}

/// What handles and connections share.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) options: BusOptions,
    pub(super) counters: Arc<Counters>,
    listeners: Mutex<Listeners>,
    /// Told when something is kept for late listeners.
    kept: Notify,
    forward: OnceLock<Forward>,
}

/// The subscribers, and the events fired just now: under one lock, so that a subscriber
/// gets each event once.
#[derive(Debug, Default)]
struct Listeners {
    queues: Vec<Arc<Queue>>,
    recent: Recent,
    processes: Processes,
}

/// Drops events kept for late listeners when their time is over, also if no further
/// events are fired.
async fn forget_in_time(hub: Arc<Hub>, late: LateListening, mut ends: watch::Receiver<()>) {
    let forget = async {
        loop {
            hub.kept.notified().await;
            while let Some(rest) = hub.forget(&late) {
                sleep(rest).await;
            }
        }
    };
    tokio::select! {
        () = forget => {}
        _ = ends.changed() => {}
    }
}

impl Hub {
    fn new(options: BusOptions) -> Self {
        Self {
            options,
            counters: Arc::default(),
            listeners: Mutex::default(),
            kept: Notify::new(),
            forward: OnceLock::new(),
        }
    }

    pub(super) fn fire(&self, event: &[u8], origin: Origin, why: Option<ForLate<'_>>) {
        let Some(event) = BusEvent::new(event, origin) else {
            self.counters.add(Count::malformed);
            return;
        };
        self.counters.add(Count::received);
        // Locked while it is given out, so that all see the same order.
        let mut listeners = self.lock();
        if let (Some(forward), Origin::Here) = (self.forward.get(), origin) {
            forward.event(&event);
        }
        if let (Some(late), Some(why)) = (&self.options.late, why) {
            listeners.recent.keep(&event, why, Instant::now(), late);
            self.kept.notify_one();
        }
        listeners.queues.retain(|queue| match queue.push(&event) {
            Pushed::Fine => {
                self.counters.add(Count::sent);
                true
            }
            Pushed::Lost => {
                self.counters.add(Count::dropped);
                true
            }
            Pushed::Cut => {
                warn!("disconnected a subscriber of the event bus that does not read");
                self.counters.add(Count::closed);
                false
            }
            Pushed::Gone => false,
        });
    }

    pub(super) fn subscribe(&self, overflow: Overflow, prefixes: Vec<String>) -> Arc<Queue> {
        let queue = self.queue(overflow, prefixes);
        self.lock().queues.push(Arc::clone(&queue));
        queue
    }

    /// As `subscribe`, to all events; also returns the number up to which kept events
    /// were fired before.
    pub(super) fn subscribe_late(&self, overflow: Overflow) -> (Arc<Queue>, u64) {
        let queue = self.queue(overflow, Vec::new());
        let mut listeners = self.lock();
        listeners.queues.push(Arc::clone(&queue));
        (queue, listeners.recent.next_number())
    }

    /// The kept events up to a number that a newly connected process has missed. The
    /// process behind a TCP connection is unknown.
    pub(super) fn missed(&self, pid: Option<u32>, before: u64) -> Vec<Missed> {
        let Some(late) = &self.options.late else {
            return Vec::new();
        };
        let now = Instant::now();
        let mut listeners = self.lock();
        let heard = pid.and_then(|pid| listeners.processes.opened(pid, now, late.span));
        listeners.recent.forget(now, late);
        listeners.recent.between(heard, before)
    }

    /// A process that `missed` was asked for has closed its connection.
    pub(super) fn left(&self, pid: Option<u32>) {
        if let (Some(pid), Some(_)) = (pid, &self.options.late) {
            self.lock().processes.closed(pid, Instant::now());
        }
    }

    fn forget(&self, late: &LateListening) -> Option<Duration> {
        self.lock().recent.forget(Instant::now(), late)
    }

    fn queue(&self, overflow: Overflow, prefixes: Vec<String>) -> Arc<Queue> {
        let options = &self.options;
        let queue = Queue::new(options.events_max, options.bytes_max, overflow, prefixes);
        Arc::new(queue)
    }

    pub(super) fn unsubscribe(&self, queue: &Arc<Queue>) {
        queue.abandon();
        let mut listeners = self.lock();
        listeners.queues.retain(|other| !Arc::ptr_eq(other, queue));
    }

    fn close(&self) {
        for queue in self.lock().queues.drain(..) {
            queue.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Listeners> {
        let listeners = self.listeners.lock();
        listeners.unwrap_or_else(PoisonError::into_inner)
    }
}
