//! One server, its connections, and operations on them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::address::Address;
use crate::error::{Failure, ServerError};
use crate::health::{Health, Status};
use crate::io;
use crate::limits::{PAUSE_FIRST, PAUSE_MAX, THREAD_LATE};

/// How servers of one kind are spoken to. All of it runs on the one background
/// thread.
pub trait Driver: Send + Sync + 'static {
    /// A connection that one operation uses at a time.
    type Connection: Send + 'static;

    /// Connects, signs in and makes sure that the server works.
    fn connect(&self, address: &Address)
    -> impl Future<Output = Result<Self::Connection, Failure>>;

    /// Whether a connection that has rested can be used.
    fn is_open(&self, connection: &Self::Connection) -> bool;
}

/// A server.
pub struct Server<D: Driver> {
    address: Address,
    driver: D,
    health: Health,
    idle: Mutex<Vec<D::Connection>>,
    slots: Semaphore,
}

impl<D: Driver> Server<D> {
    pub(crate) fn new(address: Address, driver: D) -> Self {
        Self {
            slots: Semaphore::new(address.connections),
            address,
            driver,
            health: Health::default(),
            idle: Mutex::default(),
        }
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Whether it is there, as far as is known.
    pub fn status(&self) -> Status {
        self.health.status()
    }

    /// Does an operation with a connection, and blocks until it is done.
    ///
    /// # Errors
    /// When the server is away, refuses, or does not answer in time. Unless it
    /// says so the operation may have been done all the same.
    pub fn run<T, F>(self: &Arc<Self>, operation: F) -> Result<T, ServerError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut D::Connection) -> Result<T, Failure> + Send + 'static,
    {
        self.try_run(operation).map_err(|failure| ServerError {
            server: self.address.to_string(),
            failure,
        })
    }

    fn try_run<T, F>(self: &Arc<Self>, operation: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut D::Connection) -> Result<T, Failure> + Send + 'static,
    {
        if let Some(since) = self.health.away_for(Instant::now()) {
            return Err(Failure::Away { since });
        }
        let server = Arc::clone(self);
        let limit = self.address.limit;
        let late = move || Failure::TimedOut { limit };
        io::wait(limit + THREAD_LATE, move || async move {
            let done = tokio::time::timeout(limit, server.with_connection(operation)).await;
            let done = done.unwrap_or_else(|_| Err(late()));
            if let Err(failure) = &done
                && failure.breaks()
            {
                server.leave(failure);
            }
            done
        })
        .unwrap_or_else(|| Err(late()))
    }

    async fn with_connection<T>(
        &self,
        operation: impl AsyncFnOnce(&mut D::Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let _slot = self.slots.acquire().await.map_err(Failure::broken)?;
        let mut connection = match self.rested() {
            Some(connection) => connection,
            None => self.driver.connect(&self.address).await?,
        };
        let done = operation(&mut connection).await;
        // A connection on which an operation was given up is dropped with it.
        if !done.as_ref().is_err_and(Failure::breaks) {
            self.idle().push(connection);
        }
        done
    }

    fn rested(&self) -> Option<D::Connection> {
        let mut idle = self.idle();
        while let Some(connection) = idle.pop() {
            if self.driver.is_open(&connection) {
                return Some(connection);
            }
        }
        None
    }

    /// From now on operations fail at once, until a connection succeeds.
    fn leave(self: &Arc<Self>, failure: &Failure) {
        let reason = with_causes(failure);
        if !self.health.leave(reason.clone()) {
            return;
        }
        tracing::warn!(server = %self.address, reason, "the store is away");
        self.idle().clear();
        let server = Arc::clone(self);
        io::spawn(async move { server.return_to().await });
    }

    async fn return_to(&self) {
        let mut pause = PAUSE_FIRST;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
            let connected = self.driver.connect(&self.address);
            if let Ok(Ok(connection)) = tokio::time::timeout(self.address.limit, connected).await {
                self.idle().push(connection);
                let away = self.health.come_back().unwrap_or(Duration::ZERO);
                tracing::warn!(server = %self.address, seconds = away.as_secs(), "the store is back");
                return;
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<D::Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Driver> fmt::Debug for Server<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({})", self.address)
    }
}

fn with_causes(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut cause = std::error::Error::source(failure);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
