//! One server, its connections, and operations on them.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};

use crate::address::Address;
use crate::error::{Failure, ServerError, with_causes};
use crate::health::{Health, Status};
use crate::io;
use crate::limits::{PAUSE_FIRST, PAUSE_MAX, THREAD_LATE, UNANSWERED_MAX};
use crate::patience;

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
    /// Operations in a row that had no answer in time.
    unanswered: AtomicUsize,
    /// The next pause before a server that is away is tried again.
    pause: Mutex<Duration>,
}

impl<D: Driver> Server<D> {
    pub(crate) fn new(address: Address, driver: D) -> Self {
        Self {
            slots: Semaphore::new(address.connections),
            address,
            driver,
            health: Health::default(),
            idle: Mutex::default(),
            unanswered: AtomicUsize::new(0),
            pause: Mutex::new(PAUSE_FIRST),
        }
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Whether it is there, as far as is known.
    pub fn status(&self) -> Status {
        self.health.status(Instant::now())
    }

    /// Takes note that it has kept something, or of why it has refused to.
    pub fn note_write(&self, refused: Option<&Failure>) {
        let reason = refused.map(|failure| with_causes(failure));
        if self.health.note_write(reason.clone(), Instant::now()) {
            match reason {
                Some(reason) => {
                    tracing::warn!(server = %self.address, reason, "the store refuses writes");
                }
                None => {
                    tracing::warn!(server = %self.address, "the store accepts writes again")
                }
            }
        }
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
        let limit = self.address.limit / 2;
        let time_max = self.time_max().max(patience::limit());
        let all = limit + time_max + THREAD_LATE;
        io::wait(all, move || async move {
            // Who waits for others says nothing of the server.
            let slot = timeout(limit, server.slots.acquire()).await;
            let slot = slot.map_err(|_| Failure::Busy { limit })?;
            let _slot = slot.map_err(Failure::broken)?;
            let done = server.with_connection(time_max, operation).await;
            match &done {
                Err(failure @ Failure::TimedOut { .. }) => server.doubt(failure),
                Err(failure) if failure.breaks() => server.leave(failure),
                Err(_) => server.unanswered.store(0, Ordering::Relaxed),
                Ok(_) => {
                    server.unanswered.store(0, Ordering::Relaxed);
                    *server.pause() = PAUSE_FIRST;
                }
            }
            done
        })
        .unwrap_or(Err(Failure::TimedOut { limit: all }))
    }

    /// How long connecting and an operation may take together.
    fn time_max(&self) -> Duration {
        self.address.limit.max(self.address.connect_limit)
    }

    async fn with_connection<T>(
        &self,
        limit: Duration,
        operation: impl AsyncFnOnce(&mut D::Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let until = tokio::time::Instant::now() + limit;
        let mut connection = match self.rested() {
            Some(connection) => connection,
            None => match self.connect().await {
                Err(Failure::TimedOut { limit }) => return Err(Failure::Unreached { limit }),
                connected => connected?,
            },
        };
        let done = timeout_at(until, operation(&mut connection)).await;
        let done = done.unwrap_or(Err(Failure::TimedOut { limit }));
        // A connection on which an operation was given up is dropped with it.
        if !done.as_ref().is_err_and(Failure::breaks) {
            self.idle().push(connection);
        }
        done
    }

    async fn connect(&self) -> Result<D::Connection, Failure> {
        let limit = self.address.connect_limit;
        let connected = timeout(limit, self.driver.connect(&self.address)).await;
        connected.unwrap_or(Err(Failure::TimedOut { limit }))
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

    /// One question without an answer may be the question's fault: the server is
    /// away if it does not answer to a new connection either, or to several
    /// questions in a row.
    fn doubt(self: &Arc<Self>, failure: &Failure) {
        let unanswered = self.unanswered.fetch_add(1, Ordering::Relaxed) + 1;
        if unanswered >= UNANSWERED_MAX {
            self.unanswered.store(0, Ordering::Relaxed);
            self.leave(failure);
        } else if unanswered == 1 {
            let server = Arc::clone(self);
            io::spawn(async move {
                match server.connect().await {
                    Ok(connection) => server.idle().push(connection),
                    Err(failure) => server.leave(&failure),
                }
            });
        }
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

    async fn return_to(self: &Arc<Self>) {
        loop {
            let pause = self.next_pause();
            tokio::time::sleep(pause).await;
            let server = Arc::clone(self);
            // In a task of its own: a driver that panics is tried again too.
            let connected = io::spawn(async move { server.connect().await }).await;
            if let Ok(Ok(connection)) = connected {
                self.idle().push(connection);
                let away = self.health.come_back().unwrap_or(Duration::ZERO);
                tracing::warn!(
                    server = %self.address, seconds = away.as_secs(),
                    "the store is back"
                );
                return;
            }
        }
    }

    /// Pauses grow until an operation is done: a server that can be reached and
    /// answers nothing is tried less and less often.
    fn next_pause(&self) -> Duration {
        let mut next = self.pause();
        let pause = *next;
        *next = (pause * 2).min(PAUSE_MAX);
        pause
    }

    fn pause(&self) -> MutexGuard<'_, Duration> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::ServerKind;

    struct Toy;

    impl Driver for Toy {
        type Connection = ();

        async fn connect(&self, _: &Address) -> Result<(), Failure> {
            Ok(())
        }

        fn is_open(&self, (): &()) -> bool {
            true
        }
    }

    fn toy() -> Arc<Server<Toy>> {
        let mut address = Address::new(ServerKind::Redis, "toy");
        address.limit = Duration::from_millis(50);
        address.connections = 1;
        Arc::new(Server::new(address, Toy))
    }

    #[test]
    fn who_finds_no_free_connection_does_not_take_the_server_for_away() {
        let server = toy();
        let slot = server.slots.try_acquire().unwrap();
        let error = server.run(async |_| Ok(())).unwrap_err();
        assert!(matches!(error.failure, Failure::Busy { .. }), "{error}");
        assert_eq!(server.status().away_since, None);
        drop(slot);
        server.run(async |_| Ok(())).unwrap();
    }

    #[test]
    fn one_question_without_an_answer_is_not_a_server_that_is_away() {
        let server = toy();
        let ask = || {
            let error = server
                .run(async |_| {
                    std::future::pending::<()>().await;
                    Ok(())
                })
                .unwrap_err();
            assert!(matches!(error.failure, Failure::TimedOut { .. }), "{error}");
        };
        for _ in 1..UNANSWERED_MAX {
            ask();
            assert_eq!(server.status().away_since, None);
        }
        // An answer in between, and they are counted anew.
        server.run(async |_| Ok(())).unwrap();
        for _ in 1..UNANSWERED_MAX {
            ask();
        }
        assert_eq!(server.status().away_since, None);
        ask();
        assert!(server.status().away_since.is_some());
    }

    #[test]
    fn pauses_grow_until_an_operation_is_done() {
        let server = toy();
        assert_eq!(server.next_pause(), PAUSE_FIRST);
        assert_eq!(server.next_pause(), PAUSE_FIRST * 2);
        let refused = || Failure::Refused("no".to_owned());
        server
            .run(async move |_| Err::<(), _>(refused()))
            .unwrap_err();
        assert_eq!(server.next_pause(), PAUSE_FIRST * 4);
        server.run(async |_| Ok(())).unwrap();
        assert_eq!(server.next_pause(), PAUSE_FIRST);
    }
}
