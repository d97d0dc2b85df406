//! The master's publish port: an XPUB for publications of one frame, or of a topic
//! and a frame. To subscribers it looks like a PUB. From the proofs of subscribers
//! it learns which minions are here.
//!
//! Invariant: a publication is held once, however many subscribers wait for it, and
//! a subscriber that does not read keeps a bounded number of them alive.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::publisher_peer::Connection;
use super::subscribers::{Minions, Subscribers};
use super::topics::topics_of;
use crate::contract::{Audience, PublishPortOptions};
use crate::counters::Count;
use crate::limits::SILENCE_CHECK;
use crate::zmtp::{Listening, Port, encode};
use crate::{BindError, Counters, Endpoint};

/// A handle to publish. Clones share the socket; it closes, after what is
/// queued was sent, when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    subscribers: Arc<Subscribers>,
    counters: Arc<Counters>,
    endpoints: Vec<Endpoint>,
    /// When it goes or changes, the port closes.
    open: watch::Sender<()>,
    task: JoinHandle<()>,
}

impl Publisher {
    /// Binds all `endpoints` (port 0 takes a free one, see `endpoints`) and
    /// starts the task that owns the socket.
    ///
    /// # Errors
    /// When one of them cannot be bound; none is then.
    pub(crate) fn bind(
        endpoints: &[Endpoint],
        options: PublishPortOptions,
    ) -> Result<Self, BindError> {
        let listening = Listening::bind(
            endpoints,
            options.backlog,
            options.ipv6,
            options.keep_alive,
            options.ipc_mode,
        )?;
        let endpoints = listening.endpoints.clone();
        let counters = Arc::<Counters>::default();
        let linger = options.linger;
        let subscribers = Arc::new(Subscribers::new(options, Arc::clone(&counters)));
        let (open, closing) = watch::channel(());
        let task = tokio::spawn(serve(listening, Arc::clone(&subscribers), closing, linger));
        Ok(Self {
            shared: Arc::new(Shared {
                subscribers,
                counters,
                endpoints,
                open,
                task,
            }),
        })
    }

    /// Queues a publication for its audience.
    pub(crate) fn publish(&self, audience: Audience<'_>, payload: &[u8]) {
        let subscribers = &self.shared.subscribers;
        let only = minions_of(subscribers.options(), audience);
        for topic in topics_of(subscribers.options(), audience) {
            let (topic, message) = match &topic {
                Some(topic) => (topic.as_slice(), encode(&[topic, payload])),
                None => (payload, encode(&[payload])),
            };
            subscribers.give(topic, &Arc::from(message), only.as_ref());
            self.shared.counters.add(Count::sent);
        }
    }

    /// Where it is bound, in the order that was asked for.
    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.shared.endpoints
    }

    /// The counters of the socket. A publication that a subscriber had no room for counts
    /// as dropped.
    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.shared.counters)
    }

    /// Accepts no more subscribers, and ends each connection once its queued messages are
    /// sent.
    pub(crate) fn hand_over(&self) {
        self.shared.open.send_replace(());
    }

    /// Drops this handle; if it is the last one, waits until what is queued
    /// was sent and the socket closed.
    pub(crate) async fn close(self) {
        if let Some(shared) = Arc::into_inner(self.shared) {
            let Shared { open, task, .. } = shared;
            drop(open);
            let _ = task.await;
        }
    }
}

/// The only minions that need a publication, where topics do not choose them. Syndics
/// have minions below them.
fn minions_of<'a>(options: &PublishPortOptions, audience: Audience<'a>) -> Option<Minions<'a>> {
    match audience {
        Audience::Minions(ids) if !options.filtering && !options.syndics => {
            Some(ids.iter().copied().collect())
        }
        _ => None,
    }
}

async fn serve(
    listening: Listening,
    subscribers: Arc<Subscribers>,
    mut closing: watch::Receiver<()>,
    linger: Duration,
) {
    let (mut connections, acceptors, _files) = listening.accept(Port::Subscriptions);
    let mut tasks = JoinSet::new();
    let mut silence_check = interval(SILENCE_CHECK);
    silence_check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            accepted = connections.recv() => match accepted {
                Some(accepted) => {
                    let mut connection = Connection::new(accepted, &subscribers, closing.clone());
                    tasks.spawn(async move { connection.run().await });
                }
                None => break,
            },
            Some(_) = tasks.join_next() => {}
            _ = silence_check.tick(), if subscribers.watches_presence() => {
                subscribers.check_silence();
            }
            // The handles are gone, or minions are handed over.
            _ = closing.changed() => break,
        }
    }
    drop(acceptors);
    // What is not sent by then goes with the tasks.
    let _ = timeout(linger, async { while tasks.join_next().await.is_some() {} }).await;
}
