//! Publish port and subscriber over channels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use halite_proto::MinionId;
use tokio::sync::mpsc;
use tokio::time::{interval, sleep};

use super::{LOOK_AGAIN, Table};
use crate::contract::{
    Audience, PresenceEvent, PublishPortOptions, SignsOfLife, SubscribeOptions, SubscriberEvent,
};
use crate::counters::Count;
use crate::limits::SIGN_OF_LIFE_INTERVAL;
use crate::{BindError, Counters, Endpoint};

static PORTS: Table<Weak<Shared>> = Table::new();

#[derive(Debug)]
struct Shared {
    options: PublishPortOptions,
    counters: Arc<Counters>,
    endpoints: Mutex<Vec<Endpoint>>,
    subscribers: Mutex<Subscribers>,
}

#[derive(Debug, Default)]
struct Subscribers {
    next: u64,
    all: HashMap<u64, Connection>,
}

/// The port's end of a connection.
#[derive(Debug)]
struct Connection {
    options: SubscribeOptions,
    publications: mpsc::Sender<Vec<u8>>,
    /// The minion that was heard over it.
    minion: Option<MinionId>,
}

impl Connection {
    /// Whether it gets what is for this audience, at a port that addresses publications
    /// or does not.
    fn wants(&self, audience: Audience<'_>, filtering: bool) -> bool {
        let id = self.options.minion.as_ref().map(|id| id.as_str());
        match audience {
            Audience::Minions(ids) if filtering && self.options.filtering => {
                id.is_some_and(|id| ids.contains(&id))
            }
            // Who has not proven which minion it is may be any.
            Audience::Minions(ids) if !filtering => {
                let proven = self.minion.as_ref();
                proven.is_none_or(|id| ids.contains(&id.as_str()))
            }
            _ => true,
        }
    }
}

impl Shared {
    fn subscribers(&self) -> MutexGuard<'_, Subscribers> {
        self.subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, options: &SubscribeOptions) -> (u64, mpsc::Receiver<Vec<u8>>) {
        let waiting_max = match self.options.peer_messages_max {
            0 => usize::from(u16::MAX),
            max => max,
        };
        let (publications, receiver) = mpsc::channel(waiting_max);
        let mut subscribers = self.subscribers();
        subscribers.next += 1;
        let number = subscribers.next;
        let connection = Connection {
            options: options.clone(),
            publications,
            minion: None,
        };
        subscribers.all.insert(number, connection);
        if let Some(watch) = &self.options.presence {
            watch.unproven().enter();
        }
        (number, receiver)
    }

    fn leave(&self, number: u64) {
        let mut subscribers = self.subscribers();
        let Some(gone) = subscribers.all.remove(&number) else {
            return;
        };
        if let (Some(watch), None) = (&self.options.presence, &gone.minion) {
            watch.unproven().leave();
        }
        let is_there = subscribers
            .all
            .values()
            .any(|one| one.minion == gone.minion);
        if let (Some(watch), Some(id), false) = (&self.options.presence, gone.minion, is_there) {
            watch.emit(PresenceEvent::Gone(id));
        }
    }

    fn hear(&self, number: u64, said: &[u8]) {
        let mut subscribers = self.subscribers();
        let connection = subscribers.all.get_mut(&number);
        if let (Some(watch), Some(connection)) = (&self.options.presence, connection)
            && let Some(id) = watch.prove(said)
        {
            if connection.minion.replace(id.clone()).is_none() {
                watch.unproven().leave();
            }
            if let Some(answer) = watch.answer(said, &id) {
                // One that does not fit is as one that is lost.
                let _ = connection.publications.try_send(answer);
            }
            watch.emit(PresenceEvent::Here(id));
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let endpoints = self
            .endpoints
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        PORTS.remove(endpoints);
    }
}

#[derive(Clone, Debug)]
pub(crate) struct PublishPort {
    shared: Arc<Shared>,
    endpoints: Vec<Endpoint>,
}

impl PublishPort {
    pub(crate) fn bind(
        endpoints: &[Endpoint],
        options: PublishPortOptions,
    ) -> Result<Self, BindError> {
        let shared = Arc::new(Shared {
            options,
            counters: Arc::default(),
            endpoints: Mutex::default(),
            subscribers: Mutex::default(),
        });
        let endpoints = PORTS.bind(endpoints, &Arc::downgrade(&shared))?;
        *shared.endpoints.lock().unwrap() = endpoints.clone();
        Ok(Self { shared, endpoints })
    }

    pub(crate) fn publish(&self, audience: Audience<'_>, payload: &[u8]) {
        let audience = match self.shared.options.syndics {
            true if !self.shared.options.filtering => Audience::Everyone,
            _ => audience,
        };
        let filtering = self.shared.options.filtering;
        for connection in self.shared.subscribers().all.values() {
            if connection.wants(audience, filtering)
                && connection.publications.try_send(payload.to_vec()).is_err()
            {
                self.shared.counters.add(Count::dropped);
            }
        }
        self.shared.counters.add(Count::sent);
    }

    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.shared.counters)
    }

    pub(crate) fn hand_over(&self) {
        let endpoints = std::mem::take(&mut *self.shared.endpoints.lock().unwrap());
        PORTS.remove(&endpoints);
        let numbers: Vec<u64> = self.shared.subscribers().all.keys().copied().collect();
        for number in numbers {
            self.shared.leave(number);
        }
    }

    pub(crate) async fn close(self) {
        drop(self);
    }
}

#[derive(Debug)]
pub(crate) struct Subscriber {
    events: mpsc::Receiver<SubscriberEvent>,
    endpoint: Endpoint,
    counters: Arc<Counters>,
}

impl Subscriber {
    pub(crate) fn connect(endpoint: Endpoint, options: SubscribeOptions) -> Self {
        let (sender, events) = mpsc::channel(options.messages_max.max(1));
        let counters = Arc::<Counters>::default();
        let task = follow(endpoint.clone(), options, sender, Arc::clone(&counters));
        tokio::spawn(task);
        Self {
            events,
            endpoint,
            counters,
        }
    }

    pub(crate) async fn recv(&mut self) -> Option<SubscriberEvent> {
        self.events.recv().await
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
}

/// Reconnects until the program no longer needs it.
async fn follow(
    endpoint: Endpoint,
    options: SubscribeOptions,
    events: mpsc::Sender<SubscriberEvent>,
    counters: Arc<Counters>,
) {
    while !events.is_closed() {
        let port = PORTS.find(&endpoint);
        let Some((number, mut publications)) = port
            .as_ref()
            .and_then(|port| Some(port.upgrade()?.enter(&options)))
        else {
            sleep(LOOK_AGAIN).await;
            continue;
        };
        let _ = events.send(SubscriberEvent::Connected).await;
        let mut sign_at = interval(SIGN_OF_LIFE_INTERVAL);
        loop {
            let publication = tokio::select! {
                publication = publications.recv() => publication,
                () = events.closed() => break,
                _ = sign_at.tick() => {
                    let said = options.signs_of_life.as_ref().and_then(SignsOfLife::next);
                    let port = port.as_ref().and_then(Weak::upgrade);
                    if let (Some(port), Some(said)) = (port, said) {
                        port.hear(number, &said);
                    }
                    continue;
                }
            };
            let Some(payload) = publication else { break };
            counters.add(Count::received);
            let _ = events.send(SubscriberEvent::Publication(payload)).await;
        }
        if let Some(port) = port.and_then(|port| port.upgrade()) {
            port.leave(number);
        }
        counters.add(Count::closed);
        let _ = events.send(SubscriberEvent::Disconnected).await;
    }
}
