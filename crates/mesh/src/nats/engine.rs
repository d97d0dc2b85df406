//! The connection to the engine, and the stream that keeps the masters' messages.
//! The only files that know the NATS client are this one, `bus` and `tunnel`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::PublishAckFuture;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, RawMessageErrorKind, RetentionPolicy, StorageType,
};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions, Subscriber};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::sleep;

use super::connection::Connection;
use super::options::{BusCredentials, BusOptions};
use super::subjects::Subjects;
use crate::error::MeshError;
use crate::limits::{
    BUS_ANSWER_MAX, BUS_KEEPS_MAX, BUS_LOOK_EVERY, BUS_PAYLOAD_BYTES_MIN, BUS_PIECE_BYTES_MAX,
    BUS_QUEUE_MESSAGES_MAX, BUS_RECONNECT_MAX, BUS_RECONNECT_MIN, REPLAY_AGE, REPLAY_BYTES_MAX,
    REPLAY_MESSAGES_MAX,
};
use crate::peer::PeerId;

/// A connection to the engine, which comes back by itself.
pub(crate) struct Engine {
    pub(crate) client: Client,
    pub(super) context: Context,
    /// For messages, which may take longer.
    telling: Context,
    pub(super) subjects: Subjects,
    connection: Arc<Connection>,
}

impl Engine {
    /// Begins to connect; the engine may be away.
    pub(crate) async fn connect(
        options: &BusOptions,
        subjects: Subjects,
        connection: Arc<Connection>,
    ) -> Result<Self, MeshError> {
        let noted = Arc::clone(&connection);
        let scheme = if options.tls { "tls" } else { "nats" };
        let servers = options.servers.iter();
        let addresses: Vec<String> = servers
            .map(|server| format!("{scheme}://{}", server.shown()))
            .collect();
        let mut connect = ConnectOptions::new()
            .name(format!("halite master {}", options.own))
            .retry_on_initial_connect()
            .no_echo()
            .subscription_capacity(BUS_QUEUE_MESSAGES_MAX)
            .connection_timeout(BUS_ANSWER_MAX)
            .request_timeout(Some(BUS_ANSWER_MAX))
            .ping_interval(BUS_ANSWER_MAX)
            .reconnect_delay_callback(pause)
            .event_callback(move |event| {
                noted.take(&event);
                std::future::ready(())
            });
        if options.tls {
            connect = connect.require_tls(true);
        }
        if let Some(ca) = &options.ca {
            connect = connect.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = &options.certificate {
            connect = connect.add_client_certificate(certificate.clone(), key.clone());
        }
        connect = match &options.credentials {
            BusCredentials::None => connect,
            BusCredentials::Password(user, password) => {
                connect.user_and_password(user.clone(), password.expose().clone())
            }
            BusCredentials::File(path) => {
                let read = connect.credentials_file(path).await;
                read.map_err(|source| MeshError::BusFile {
                    path: path.clone(),
                    source,
                })?
            }
        };
        let client = connect.connect(addresses).await.map_err(failed)?;
        let mut context = jetstream::new(client.clone());
        context.set_timeout(BUS_ANSWER_MAX);
        let mut telling = jetstream::new(client.clone());
        telling.set_timeout(BUS_KEEPS_MAX);
        Ok(Self {
            client,
            context,
            telling,
            subjects,
            connection,
        })
    }

    /// Whether the engine is there.
    pub(crate) fn is_connected(&self) -> bool {
        self.connection.is_up()
    }

    /// Waits until the engine is there.
    pub(crate) async fn wait_connected(&self) {
        let mut connected = self.connection.changes();
        let _ = connected.wait_for(|is| *is).await;
    }

    /// Follows the client's state, for as long as it is polled.
    pub(crate) async fn follow(&self) {
        loop {
            self.connection.take_state(&self.client.connection_state());
            sleep(BUS_LOOK_EVERY).await;
        }
    }

    /// Makes the stream if it is not there.
    pub(crate) async fn ensure_stream(&self) -> Result<(), MeshError> {
        let bytes = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        let config = Config {
            name: self.subjects.stream().to_owned(),
            description: Some("what the masters of a Halite cluster tell each other".to_owned()),
            subjects: vec![self.subjects.told_by_all()],
            retention: RetentionPolicy::Limits,
            discard: DiscardPolicy::Old,
            storage: StorageType::File,
            max_age: REPLAY_AGE,
            max_bytes: bytes(REPLAY_BYTES_MAX),
            max_messages: bytes(REPLAY_MESSAGES_MAX),
            num_replicas: 1,
            ..Config::default()
        };
        let made = self.context.get_or_create_stream(config).await;
        made.map(|_| ()).map_err(failed)
    }

    /// How large a sealed piece may be.
    ///
    /// # Errors
    /// When the engine takes so little that links would not work either.
    pub(crate) fn piece_bytes_max(&self) -> Result<usize, MeshError> {
        // The engine counts the head of a message too.
        const HEAD: usize = 512;
        let bytes = self.client.max_payload();
        if bytes < BUS_PAYLOAD_BYTES_MIN {
            return Err(MeshError::BusPayload { bytes });
        }
        Ok((bytes - HEAD).min(BUS_PIECE_BYTES_MAX))
    }

    /// Puts a piece on the engine. It has no id there: whoever may use the engine could have
    /// it taken for a repetition.
    pub(crate) async fn send(&self, own: &PeerId, piece: Vec<u8>) -> Result<Sent, MeshError> {
        let mut ends = self.connection.ends();
        if !self.is_connected() {
            return Err(MeshError::BusAway);
        }
        let sent = (self.telling).publish(self.subjects.told_by(own), piece.into());
        tokio::select! {
            sent = sent => Ok(Sent {
                answer: sent.map_err(failed)?,
                ends,
            }),
            _ = ends.changed() => Err(MeshError::BusAway),
        }
    }

    /// The first piece of a peer from a place on, with its own place.
    pub(crate) async fn stored_from(
        &self,
        peer: &PeerId,
        place: u64,
    ) -> Result<Option<(u64, Bytes)>, MeshError> {
        let stream = self.context.get_stream_no_info(self.subjects.stream());
        let stream = stream.await.map_err(failed)?;
        let subject = self.subjects.told_by(peer);
        let found = stream
            .get_first_raw_message_by_subject(subject, place)
            .await;
        match found {
            Ok(message) => Ok(Some((message.sequence, message.payload))),
            Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Hears what is said under a subject from now on.
    pub(crate) async fn subscribe(&self, subject: String) -> Result<Subscriber, MeshError> {
        self.client.subscribe(subject).await.map_err(failed)
    }
}

/// A piece on its way.
pub(crate) struct Sent {
    answer: PublishAckFuture,
    /// Of the connection on which it went.
    ends: watch::Receiver<u64>,
}

impl Sent {
    /// Its place in the stream, when it is kept.
    pub(crate) async fn kept(mut self) -> Result<u64, MeshError> {
        tokio::select! {
            kept = self.answer => Ok(kept.map_err(failed)?.sequence),
            _ = self.ends.changed() => Err(MeshError::BusAway),
        }
    }
}

/// An error of the client.
pub(crate) fn failed(error: impl Error + Send + Sync + 'static) -> MeshError {
    MeshError::Bus(Box::new(error))
}

/// The pause before an attempt to connect, which doubles.
fn pause(attempts: usize) -> Duration {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    let factor = 2u32.saturating_pow(doublings.min(16));
    match attempts {
        0 | 1 => Duration::ZERO,
        _ => (BUS_RECONNECT_MIN * factor).min(BUS_RECONNECT_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit() {
        let pauses: Vec<Duration> = (1..40).map(pause).collect();
        assert_eq!(pauses[0], Duration::ZERO);
        assert!(pauses.is_sorted());
        assert_eq!(pauses.last(), Some(&BUS_RECONNECT_MAX));
        assert!(pauses[1] >= BUS_RECONNECT_MIN);
    }
}
