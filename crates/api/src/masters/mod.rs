//! The other masters, by their APIs: commands when the master of this machine is
//! away, and jobs and events of all.
//!
//! A master is reached by the API beside it, with the caller's credentials: this
//! API has no rights of its own there either. Invariant: a request goes to another
//! master only if it certainly had no effect yet.

mod copies;
pub(crate) mod fuzzing;
mod health;
mod links;
mod look;
pub(crate) mod merged;
pub(crate) mod minion_rows;
mod names;
mod other;
mod refused;
mod relay;
mod sse;
mod watchers;
mod wire;

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once};
use std::time::Instant;

use axum::http::HeaderValue;
use halite_client::LocalClient;
use halite_crypto::random_bytes;
use tokio::sync::{Semaphore, watch};

use crate::error::ServeError;
use crate::events::Events;
use crate::limits::{COPIES_KNOWN_FOR, COPIES_KNOWN_MAX, OTHER_MASTERS_MAX, RELAYED_BYTES_MAX};
use crate::settings::ApiSettings;
use crate::tls::Dialer;
use copies::Copies;
use health::Health;
use links::Link;
use other::Other;
use refused::Refused;
pub(crate) use relay::OfOthers;
use watchers::Watchers;
pub(crate) use watchers::Watching;
pub(crate) use wire::RELAYED;
use wire::Wire;

/// The header of an answer that names the masters that it is without.
pub(crate) const AWAY: &str = "halite-masters-away";

/// The place of this machine's master among all.
const OWN: usize = 0;

/// The bit of a master among all.
const fn bit(master: usize) -> u64 {
    1 << master
}

// Each master has a bit.
const _: () = assert!(OTHER_MASTERS_MAX < 64);

/// All masters that this API answers for.
pub(crate) struct Masters {
    own: LocalClient,
    own_events: Events,
    others: Vec<Other>,
    health: Health,
    /// The last look at the master of this machine.
    own_seen: Mutex<Option<(Instant, bool)>>,
    /// Done when the first server of this API has begun.
    begun_looking: Once,
    /// Held by who looks in the place of those that wait for it.
    looking: tokio::sync::Mutex<()>,
    /// Tokens that another master does not know.
    refused: Refused,
    /// The events of all.
    all: Events,
    copies: Mutex<Copies>,
    watchers: Arc<Watchers>,
    links: watch::Sender<Vec<Link>>,
    /// The number of the next stream of another API.
    next_stream: AtomicU64,
    /// What this process is called among APIs.
    instance: HeaderValue,
}

impl Masters {
    /// Those of the settings.
    ///
    /// # Errors
    /// When the authorities of their certificates cannot be read.
    pub(crate) fn new(
        settings: &ApiSettings,
        own: LocalClient,
        own_events: &Events,
    ) -> Result<Arc<Self>, ServeError> {
        let instance = instance();
        let has_encrypted = settings.other_masters.iter().any(|at| at.is_encrypted);
        let dialer = has_encrypted.then(|| Dialer::new(settings.other_masters_ca.as_deref()));
        let dialer = dialer
            .transpose()
            .map_err(|error| ServeError::Tls(Box::new(error)))?;
        let room = Arc::new(Semaphore::new(RELAYED_BYTES_MAX));
        let others: Vec<Other> = settings
            .other_masters
            .iter()
            .map(|at| {
                Other::new(Wire::new(
                    at.clone(),
                    dialer.clone().filter(|_| at.is_encrypted),
                    instance.clone(),
                    Arc::clone(&room),
                ))
            })
            .collect();
        let names = others.iter().map(|other| other.wire.address.to_string());
        let names = [settings.own_name.clone()].into_iter().chain(names);
        let masters = Arc::new(Self {
            health: Health::new(names),
            own_seen: Mutex::default(),
            begun_looking: Once::new(),
            looking: tokio::sync::Mutex::default(),
            refused: Refused::default(),
            all: Events::empty(),
            copies: Mutex::new(Copies::new(COPIES_KNOWN_MAX, COPIES_KNOWN_FOR)),
            watchers: Arc::default(),
            links: watch::Sender::new(vec![Link::Idle; others.len()]),
            next_stream: AtomicU64::new(OWN as u64 + 1),
            own,
            own_events: own_events.clone(),
            others,
            instance,
        });
        if !masters.is_alone() {
            masters.hear(own_events);
        }
        Ok(masters)
    }

    /// Whether there is only the master of this machine.
    pub(crate) fn is_alone(&self) -> bool {
        self.others.is_empty()
    }

    /// Bytes of the events of all masters that are kept for streams.
    pub(crate) fn event_bytes_kept(&self) -> usize {
        self.all.kept_bytes()
    }

    /// Whether a request comes from this very process.
    pub(crate) fn is_own_request(&self, relayed_by: &HeaderValue) -> bool {
        *relayed_by == self.instance
    }

    /// The names of the masters that are known to be away, for a header.
    pub(crate) fn away(&self) -> Option<HeaderValue> {
        names(&self.health.away())
    }

    /// How many are known to be away.
    pub(crate) fn away_count(&self) -> usize {
        self.health.away().len()
    }

    /// The masters that this API answers for, and why one cannot be reached, as far as is
    /// known.
    pub(crate) fn standing(&self) -> Vec<(String, Option<String>)> {
        let is_self = |index: usize| {
            let other = index.checked_sub(1).and_then(|at| self.others.get(at));
            other.is_some_and(|other| other.is_self.load(Relaxed))
        };
        let all = self.health.all().into_iter().enumerate();
        all.filter(|(index, _)| !is_self(*index))
            .map(|(_, known)| known)
            .collect()
    }

    fn found(&self, index: usize, away: Option<String>) {
        let other = index.checked_sub(1).and_then(|at| self.others.get(at));
        if other.is_some_and(|other| other.is_self.load(Relaxed)) {
            return;
        }
        if let Some(event) = self.health.found(index, away)
            && let Some(text) = crate::event_text::Text::new(&event)
        {
            self.all.push(text);
        }
    }
}

/// Names as the value of a header.
pub(crate) fn names(names: &[String]) -> Option<HeaderValue> {
    let names = (!names.is_empty()).then(|| names.join(", "))?;
    HeaderValue::from_str(&names).ok()
}

fn instance() -> HeaderValue {
    let mut id = String::new();
    for byte in random_bytes::<16>() {
        // Writing to a String cannot fail.
        write!(id, "{byte:02x}").ok();
    }
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("api"))
}
