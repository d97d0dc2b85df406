//! The deliveries to one master: how many are on their way at once, and
//! whether the master is doubted just now.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use halite_proto::returns::{NOTES, OWN_JOB};
use halite_proto::{Map, Value};
use tokio::sync::Semaphore;
use tracing::warn;

use crate::channel::Patience;
use crate::core::sign_in::chain;
use crate::limits::{DELIVERIES_MAX, DELIVERY_TIMEOUT, DOUBT_LASTS};
use crate::state::Master;

/// The deliveries to one master.
pub(super) struct Lane {
    places: Semaphore,
    /// When it last failed to acknowledge a return in time.
    doubted: Mutex<Option<Instant>>,
}

impl Lane {
    pub(super) fn new() -> Self {
        Self {
            places: Semaphore::new(DELIVERIES_MAX),
            doubted: Mutex::new(None),
        }
    }

    pub(super) fn doubt(&self, since: Option<Instant>) {
        *self.doubted.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    pub(super) fn is_doubted(&self) -> bool {
        let doubted = self.doubted.lock().unwrap_or_else(PoisonError::into_inner);
        doubted.is_some_and(|since| since.elapsed() < DOUBT_LASTS)
    }

    /// Whether the master has taken a return. What it answers to one it does
    /// not want says that asking again would not change its mind.
    pub(super) async fn hand_over(&self, master: &Master, load: &Map) -> Delivery {
        let Ok(_place) = self.places.acquire().await else {
            return Delivery::NoAnswer;
        };
        if self.is_doubted() {
            // It went silent while this one waited for its place.
            return Delivery::NoAnswer;
        }
        let patience = Patience {
            timeout: DELIVERY_TIMEOUT,
            tries: 1,
        };
        let beyond = [OWN_JOB, NOTES];
        let is_beyond = beyond.iter().any(|field| load.get(field).is_some());
        let answer = if is_beyond && !master.channel.capabilities().own_jobs {
            let mut load = load.clone();
            for field in beyond {
                load.remove(field);
            }
            master.channel.request(load, patience).await
        } else {
            master.channel.request_of(load, patience).await
        };
        match answer {
            Ok(Value::Bool(false)) => {
                warn!(master = master.name, "the master refused a return");
                Delivery::Done
            }
            Ok(Value::Str(text)) if text.is_empty() => {
                warn!(master = master.name, "the master failed to store a return");
                match master.channel.capabilities().own_jobs {
                    true => Delivery::NotStored,
                    false => Delivery::Refused,
                }
            }
            Ok(_) => {
                self.doubt(None);
                Delivery::Done
            }
            Err(error) => {
                self.doubt(Some(Instant::now()));
                warn!(
                    master = master.name,
                    "return not delivered: {}",
                    chain(&error)
                );
                Delivery::NoAnswer
            }
        }
    }
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// The master has the return, or does not want it and never will.
    Done,
    /// The master could not store it now: its disk is full, say.
    NotStored,
    /// A Salt master could not store it, and may never be able to: it says no
    /// more than that.
    Refused,
    /// Nobody answered.
    NoAnswer,
}
