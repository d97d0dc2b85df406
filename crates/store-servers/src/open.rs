//! The servers that a process uses.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::address::Address;
use crate::server::{Driver, Server};

/// Servers of one kind. Those with the same address are the same.
#[derive(Debug)]
pub struct OpenServers<D: Driver>(Mutex<Vec<Weak<Server<D>>>>);

impl<D: Driver> OpenServers<D> {
    /// None at first.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The server of an address, made by `driver` if it is not used yet.
    pub fn open(&self, address: &Address, driver: impl FnOnce() -> D) -> Arc<Server<D>> {
        let mut servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        servers.retain(|server| server.strong_count() > 0);
        let mut known = servers.iter().filter_map(Weak::upgrade);
        if let Some(server) = known.find(|server| server.address() == address) {
            return server;
        }
        let server = Arc::new(Server::new(address.clone(), driver()));
        servers.push(Arc::downgrade(&server));
        server
    }
}

impl<D: Driver> Default for OpenServers<D> {
    fn default() -> Self {
        Self::new()
    }
}
