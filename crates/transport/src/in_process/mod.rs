//! A transport between tasks of one process, over channels: the second one for
//! `fleet::conformance`, and an example of what a new transport needs. It exists in
//! this crate's tests only.
//!
//! A table has every bound port under its endpoint; connecting looks the port up
//! there. A connection ends when the port's entry is gone.

mod publications;
mod requests;
mod touches;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) use publications::{PublishPort, Subscriber};
pub(crate) use requests::{Replies, RequestPort, Requester};

use crate::{BindError, Endpoint};

/// How often somebody who wants to connect looks for the port.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A port that nobody has had: who still looks for one that is closed must not find
/// another.
fn free_port() -> u16 {
    static LAST: AtomicU16 = AtomicU16::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The bound ports of one role.
struct Table<T>(Mutex<Option<HashMap<Endpoint, T>>>);

impl<T: Clone> Table<T> {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Enters a port under its endpoints; port 0 becomes a free one.
    fn bind(&self, endpoints: &[Endpoint], port: &T) -> Result<Vec<Endpoint>, BindError> {
        if endpoints.is_empty() {
            return Err(BindError::NoEndpoint);
        }
        let mut table = self.lock();
        let table = table.get_or_insert_default();
        if let Some(endpoint) = endpoints.iter().find(|at| table.contains_key(at)) {
            let endpoint = endpoint.clone();
            return Err(BindError::InUse { endpoint });
        }
        let mut bound = Vec::new();
        for endpoint in endpoints {
            let endpoint = match endpoint {
                Endpoint::Tcp { host, port: 0 } => Endpoint::tcp(host, free_port()),
                other => other.clone(),
            };
            table.insert(endpoint.clone(), port.clone());
            bound.push(endpoint);
        }
        Ok(bound)
    }

    fn find(&self, endpoint: &Endpoint) -> Option<T> {
        self.lock().as_ref()?.get(endpoint).cloned()
    }

    fn remove(&self, endpoints: &[Endpoint]) {
        if let Some(table) = self.lock().as_mut() {
            table.retain(|endpoint, _| !endpoints.contains(endpoint));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<Endpoint, T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
