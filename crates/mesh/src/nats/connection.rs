//! Whether the engine is connected, and the log lines about that.

use std::sync::{Mutex, PoisonError};

use async_nats::connection::State;
use async_nats::{ClientError, Event};
use tokio::sync::watch;

/// A connection to the engine, as it was last seen.
///
/// The client's events come at once and may be dropped where there are many; its state
/// is always right and has to be asked for. Both are looked at.
pub(crate) struct Connection {
    /// The servers, for the log.
    servers: String,
    is_up: watch::Sender<bool>,
    /// How often it has ended: what was on its way may be lost, however soon it is back.
    ends: watch::Sender<u64>,
    /// Why it could last not be made, which the log says once.
    why_not: Mutex<Option<String>>,
}

impl Connection {
    /// To servers that were not connected to yet.
    pub(crate) fn new(servers: String) -> Self {
        Self {
            servers,
            is_up: watch::Sender::new(false),
            ends: watch::Sender::new(0),
            why_not: Mutex::default(),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        *self.is_up.borrow()
    }

    /// Whether it is up, as it changes.
    pub(crate) fn changes(&self) -> watch::Receiver<bool> {
        self.is_up.subscribe()
    }

    /// How often it has ended, as that changes.
    pub(crate) fn ends(&self) -> watch::Receiver<u64> {
        self.ends.subscribe()
    }

    /// The client's state, whatever became of its events.
    pub(crate) fn take_state(&self, state: &State) {
        self.set(*state == State::Connected);
    }

    pub(crate) fn take(&self, event: &Event) {
        let servers = &self.servers;
        match event {
            Event::Connected => self.set(true),
            Event::Disconnected => self.set(false),
            Event::ServerError(error) => {
                tracing::error!("the bus of the cluster at {servers} refuses: {error}");
            }
            Event::ClientError(ClientError::Other(why)) => {
                if self.is_new(why) {
                    tracing::warn!(
                        "could not connect to the bus of the cluster at {servers} ({why}): \
                         trying again until it answers"
                    );
                }
            }
            Event::SlowConsumer(_) => tracing::debug!("the bus is faster than this master"),
            other => tracing::debug!("the bus of the cluster: {other}"),
        }
    }

    fn set(&self, is_up: bool) {
        let has_changed = self.is_up.send_if_modified(|was| {
            let has_changed = *was != is_up;
            *was = is_up;
            has_changed
        });
        let servers = &self.servers;
        match (has_changed, is_up) {
            (false, _) => {}
            (true, true) => {
                *self.why_not() = None;
                tracing::info!("connected to the bus of the cluster at {servers}");
            }
            (true, false) => {
                self.ends.send_modify(|ends| *ends += 1);
                tracing::warn!(
                    "the bus of the cluster at {servers} is away: this master serves its own \
                        minions, and sends the others what they have missed when it is back"
                );
            }
        }
    }

    /// Whether the log has not said so since there was a connection.
    fn is_new(&self, why: &str) -> bool {
        let mut last = self.why_not();
        let is_new = last.as_deref() != Some(why);
        *last = Some(why.to_owned());
        is_new
    }

    fn why_not(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.why_not.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When a connection that had ended is there again.
pub(crate) struct Returns {
    ends: watch::Receiver<u64>,
    is_up: watch::Receiver<bool>,
}

impl Returns {
    pub(crate) fn of(connection: &Connection) -> Self {
        Self {
            ends: connection.ends.subscribe(),
            is_up: connection.is_up.subscribe(),
        }
    }

    /// Waits for the next time.
    pub(crate) async fn next(&mut self) {
        let gone = self.ends.changed().await.is_err();
        let back = self.is_up.wait_for(|is| *is).await.is_err();
        if gone || back {
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_event_is_made_up_for_by_the_state() {
        let connection = Connection::new("a:4222".to_owned());
        let mut changes = connection.changes();
        assert!(!connection.is_up());
        connection.take_state(&State::Connected);
        assert!(connection.is_up() && changes.has_changed().unwrap());
        changes.borrow_and_update();
        connection.take(&Event::Connected);
        assert!(!changes.has_changed().unwrap());
        let ends = connection.ends();
        connection.take_state(&State::Disconnected);
        assert!(!connection.is_up() && changes.has_changed().unwrap());
        // Also who looks only when it is back.
        connection.take(&Event::Connected);
        assert!(ends.has_changed().unwrap());
    }

    #[test]
    fn why_there_is_no_connection_is_said_once_between_two() {
        let connection = Connection::new("a:4222".to_owned());
        assert!(connection.is_new("authorization violation"));
        assert!(!connection.is_new("authorization violation"));
        assert!(connection.is_new("IO error"));
        connection.take(&Event::Connected);
        connection.take(&Event::Disconnected);
        assert!(connection.is_new("IO error"));
    }
}
