//! Deliveries of returns to one master: how many may be in flight, and whether
//! the master has failed to answer recently.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_proto::msgpack::{Packing, packed_len};
use halite_proto::request::COMMITS;
use halite_proto::returns::{NOTES, OWN_JOB};
use halite_proto::{Map, Value};
use tokio::sync::Semaphore;
use tracing::warn;

use super::pieces::{self, PATIENCE, PieceSize};
use crate::core::sign_in::chain;
use crate::limits::{DELIVERIES_MAX, DOUBT_LASTS, SMALL_RETURN_BYTES_MAX};
use crate::link::channel::ChannelError;
use crate::minion::Master;

/// The deliveries to one master.
pub(super) struct Deliveries {
    /// One permit for each delivery in flight.
    permits: Semaphore,
    /// For large returns, which are sent one after the other.
    large: Semaphore,
    pieces: PieceSize,
    /// When the master last failed to answer in time.
    failed_at: Mutex<Option<Instant>>,
}

impl Deliveries {
    pub(super) fn new() -> Self {
        Self {
            permits: Semaphore::new(DELIVERIES_MAX),
            large: Semaphore::new(1),
            pieces: PieceSize::new(),
            failed_at: Mutex::new(None),
        }
    }

    /// Forgets an earlier failure: the master is worth a try again.
    pub(super) fn clear_failure(&self) {
        *self.lock() = None;
    }

    /// Whether the master failed to answer less than `DOUBT_LASTS` ago.
    pub(super) fn failed_recently(&self) -> bool {
        self.lock()
            .is_some_and(|since| since.elapsed() < DOUBT_LASTS)
    }

    fn record_failure(&self) {
        *self.lock() = Some(Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.failed_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a return to the master. `Done` also covers a refusal that would be repeated
    /// if it were asked again.
    pub(super) async fn hand_over(&self, master: &Master, load: &Map) -> Delivery {
        let ret = load.get("return").unwrap_or(&Value::Nil);
        let is_large = packed_len(ret, Packing::Wire) > SMALL_RETURN_BYTES_MAX;
        let large = async {
            match is_large {
                true => self.large.acquire().await.ok(),
                false => None,
            }
        };
        let _large = large.await;
        let Ok(_permit) = self.permits.acquire().await else {
            return Delivery::NoAnswer;
        };
        if self.failed_recently() {
            // The master went silent while this delivery waited for its permit.
            return Delivery::NoAnswer;
        }
        let own_jobs = master.channel.capabilities().own_jobs;
        let beyond = [OWN_JOB, NOTES, COMMITS];
        let is_beyond = beyond.iter().any(|field| load.get(field).is_some());
        let answer = if is_beyond && !own_jobs {
            let mut load = load.clone();
            for field in beyond {
                load.remove(field);
            }
            self.send(master, &load, is_large).await
        } else {
            self.send(master, load, is_large).await
        };
        match answer {
            Ok(Value::Bool(false)) => {
                warn!(master = master.name, "the master refused a return");
                Delivery::Done
            }
            Ok(Value::Str(text)) if text.is_empty() => {
                warn!(master = master.name, "the master failed to store a return");
                match own_jobs {
                    true => Delivery::NotStored,
                    false => Delivery::Refused,
                }
            }
            Ok(_) => {
                self.clear_failure();
                Delivery::Done
            }
            Err(error) => {
                self.record_failure();
                warn!(
                    master = master.name,
                    "could not deliver a return: {}",
                    chain(&error)
                );
                Delivery::NoAnswer
            }
        }
    }

    /// Sends a `_return` request, in pieces if it is large and the master takes
    /// them.
    async fn send(
        &self,
        master: &Master,
        load: &Map,
        is_large: bool,
    ) -> Result<Value, ChannelError> {
        if is_large
            && master.channel.capabilities().return_pieces
            && let Some(answer) = pieces::send(&master.channel, load, &self.pieces).await?
        {
            return Ok(answer);
        }
        master.channel.request_of(load, PATIENCE).await
    }
}

/// The outcome of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// The master has the return, or has refused it for good.
    Done,
    /// The master could not store it now, for example because its disk is full.
    NotStored,
    /// A Salt master failed to store it. It does not say whether a later try could
    /// succeed.
    Refused,
    /// The master did not answer.
    NoAnswer,
}
