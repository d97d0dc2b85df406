//! A value that the engine keeps for the whole cluster, and changes for a caller
//! that names its serial number: a stream of one message.

use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, LastRawMessageErrorKind, StorageType};

use super::engine::{Engine, failed};
use crate::error::MeshError;
use crate::limits::REGISTER_BYTES_MAX;

/// A value and its serial number, which is 0 before it is first set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// The number.
    pub serial: u64,
    /// The value; empty at first.
    pub value: Vec<u8>,
}

/// Reads it.
pub(crate) async fn read(engine: &Engine) -> Result<Register, MeshError> {
    if !engine.is_connected() {
        return Err(MeshError::BusAway);
    }
    let stream = engine.subjects.register_stream();
    let stream = engine.context.get_stream_no_info(stream).await;
    let subject = engine.subjects.register();
    let found = stream.map_err(failed)?;
    match found.get_last_raw_message_by_subject(&subject).await {
        // What is longer no master has written; by its number it is written over.
        Ok(message) => Ok(Register {
            serial: message.sequence,
            value: message.payload[..message.payload.len().min(REGISTER_BYTES_MAX)].to_vec(),
        }),
        Err(error) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => {
            Ok(Register {
                serial: 0,
                value: Vec::new(),
            })
        }
        Err(error) => {
            // It is not there at first, nor after somebody has deleted it.
            ensure_stream(engine).await?;
            Err(failed(error))
        }
    }
}

/// Sets it, if it has this serial number; the new one, or none if it has another.
pub(crate) async fn set(
    engine: &Engine,
    serial: u64,
    value: &[u8],
) -> Result<Option<u64>, MeshError> {
    if !engine.is_connected() {
        return Err(MeshError::BusAway);
    }
    let message = PublishMessage::build()
        .payload(value.to_vec().into())
        .expected_last_subject_sequence(serial);
    let subject = engine.subjects.register();
    let sent = engine.context.send_publish(subject, message).await;
    match sent.map_err(failed)?.await {
        Ok(kept) => Ok(Some(kept.sequence)),
        Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

async fn ensure_stream(engine: &Engine) -> Result<(), MeshError> {
    let config = Config {
        name: engine.subjects.register_stream(),
        description: Some("what one master of a Halite cluster does".to_owned()),
        subjects: vec![engine.subjects.register()],
        storage: StorageType::File,
        max_messages_per_subject: 1,
        num_replicas: 1,
        ..Config::default()
    };
    let made = engine.context.get_or_create_stream(config).await;
    made.map(|_| ()).map_err(failed)
}
