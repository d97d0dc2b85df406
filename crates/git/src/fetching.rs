//! Fetches several remotes: each at its interval, or all at once.
//!
//! Invariant: each fetch has a thread of its own, so one that hangs delays neither
//! its caller nor another remote unless [`UPDATES_AT_ONCE`] hang.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use halite_crypto::random_bytes;
use halite_proto::chain;

use crate::limits::{FIRST_DELAY_MAX, INTERVAL_MIN, LOCKED_AGAIN_AFTER, UPDATES_AT_ONCE};
use crate::{GitError, Repository, Updated};

/// A remote that is fetched at its interval.
pub trait Fetch: Send + Sync + 'static {
    /// The remote's copy.
    fn repository(&self) -> &Repository;

    /// Fetches it. Blocks; setting `stop` ends it soon.
    ///
    /// # Errors
    /// When it cannot be fetched; the error is logged.
    fn fetch(&self, stop: &Arc<AtomicBool>) -> Result<Updated, GitError>;
}

/// The thread that begins fetches. It and they end when this is dropped.
pub struct Fetching {
    stop: Arc<AtomicBool>,
    wake: Sender<Event>,
    thread: Option<JoinHandle<()>>,
}

/// What ends the waiting for the next fetch.
enum Event {
    /// A fetch has ended, in a panic if it has no result.
    Ended(usize, Option<Result<Updated, GitError>>),
    /// All fetches are to end.
    Stop,
}

impl Fetching {
    /// Begins to fetch each remote, now and whenever its interval is over.
    pub fn start<T: Fetch>(remotes: Vec<Arc<T>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (wake, woken) = channel();
        let work = {
            let (stop, wake) = (Arc::clone(&stop), wake.clone());
            move || keep_fetched(&remotes, &stop, &wake, &woken)
        };
        let thread = named_thread().spawn(work);
        let thread =
            thread.inspect_err(|error| tracing::error!("no git remote is fetched: {error}"));
        Self {
            stop,
            wake,
            thread: thread.ok(),
        }
    }

    /// Has all fetches end soon; waits for none.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // Nobody waits where there is nothing to fetch.
        let _ = self.wake.send(Event::Stop);
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // One that has panicked has ended too.
            let _ = thread.join();
        }
    }
}

/// A remote, and when its turn is.
struct Scheduled<'a, T> {
    remote: &'a Arc<T>,
    due: Instant,
    is_running: bool,
    /// Why it could not be fetched, as the log says it.
    complaint: String,
}

impl<'a, T: Fetch> Scheduled<'a, T> {
    fn new(remote: &'a Arc<T>, now: Instant) -> Self {
        let is_known = remote.repository().status().fetched.is_some();
        let interval = remote.repository().remote().update_interval;
        Self {
            remote,
            due: match is_known {
                true => now + first_delay(interval),
                false => now,
            },
            is_running: false,
            complaint: String::new(),
        }
    }

    /// Takes the end of a fetch: when the next one is due, and what the log says.
    fn end(&mut self, result: Option<Result<Updated, GitError>>, now: Instant) {
        let repository = self.remote.repository();
        let remote = repository.remote();
        self.is_running = false;
        self.due = now + spread(remote.update_interval.max(INTERVAL_MIN));
        match result {
            Some(Ok(_)) => self.complaint.clear(),
            Some(Err(GitError::Stopped)) | None => {}
            Some(Err(error @ GitError::Locked { .. })) => {
                tracing::debug!(%remote, "{}: {error}", remote.role.name());
                if repository.status().fetched.is_none() {
                    self.due = now + LOCKED_AGAIN_AFTER;
                }
            }
            Some(Err(error)) => {
                // Once, and again when something else is wrong.
                let text = chain(&error);
                if text != self.complaint {
                    let role = remote.role.name();
                    tracing::error!(%remote, "{role}: could not update a git remote: {text}");
                    self.complaint = text;
                }
            }
        }
    }
}

/// Says that a fetch has ended, however it did.
struct SaysEnded<'a> {
    at: usize,
    result: Option<Result<Updated, GitError>>,
    wake: &'a Sender<Event>,
}

impl Drop for SaysEnded<'_> {
    fn drop(&mut self) {
        let _ = self.wake.send(Event::Ended(self.at, self.result.take()));
    }
}

fn keep_fetched<T: Fetch>(
    remotes: &[Arc<T>],
    stop: &Arc<AtomicBool>,
    wake: &Sender<Event>,
    woken: &Receiver<Event>,
) {
    let begun = Instant::now();
    let mut all: Vec<_> = remotes.iter().map(|it| Scheduled::new(it, begun)).collect();
    thread::scope(|scope| {
        let mut running = 0;
        while !all.is_empty() && !stop.load(Ordering::Relaxed) {
            let now = Instant::now();
            for (at, scheduled) in all.iter_mut().enumerate() {
                if scheduled.is_running || scheduled.due > now || running >= UPDATES_AT_ONCE {
                    continue;
                }
                let remote = scheduled.remote;
                let fetch = move || {
                    let result = None;
                    let mut ended = SaysEnded { at, result, wake };
                    ended.result = Some(remote.fetch(stop));
                };
                match named_thread().spawn_scoped(scope, fetch) {
                    Ok(_) => {
                        scheduled.is_running = true;
                        running += 1;
                    }
                    Err(error) => {
                        tracing::error!("a git remote is not fetched: {error}");
                        scheduled.end(None, now);
                    }
                }
            }
            let waiting = all.iter().filter(|it| !it.is_running);
            let next = waiting.map(|it| it.due).min();
            // With all places taken, or nothing to wait for, a fetch ends first.
            let next = next.filter(|_| running < UPDATES_AT_ONCE);
            let event = match next {
                Some(next) => woken
                    .recv_timeout(next.saturating_duration_since(Instant::now()))
                    .ok(),
                None => woken.recv().ok(),
            };
            if let Some(Event::Ended(at, result)) = event {
                running = running.saturating_sub(1);
                if let Some(scheduled) = all.get_mut(at) {
                    scheduled.end(result, Instant::now());
                }
            }
        }
    });
}

fn named_thread() -> thread::Builder {
    thread::Builder::new().name("git remotes".to_owned())
}

/// Does something with all of these at once, with [`UPDATES_AT_ONCE`] at most.
/// Blocks until the slowest is done; results have the order of `items`.
pub fn all_at_once<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..items.len().min(UPDATES_AT_ONCE) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    let result = work(item);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A random time before the first fetch of a remote that can be read already:
/// masters that are started together do not all ask at once.
fn first_delay(interval: Duration) -> Duration {
    by_chance(interval.min(FIRST_DELAY_MAX))
}

/// The interval, up to a tenth longer by chance: masters that were started
/// together do not go on asking at once.
fn spread(interval: Duration) -> Duration {
    interval + by_chance(interval / 10)
}

/// A random time up to this.
fn by_chance(most: Duration) -> Duration {
    let share = u32::from_le_bytes(random_bytes()) >> 16;
    most * share / (1 << 16)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::path::Path;
    use std::process::Command;

    use halite_proto::{Map, Value};

    use super::*;
    use crate::{Remote, Role};

    /// A remote that says when it was fetched.
    struct Reporting(Repository, Mutex<Sender<bool>>);

    impl Fetch for Reporting {
        fn repository(&self) -> &Repository {
            &self.0
        }

        fn fetch(&self, stop: &Arc<AtomicBool>) -> Result<Updated, GitError> {
            let updated = self.0.update(stop);
            self.1.lock().unwrap().send(updated.is_ok()).ok();
            updated
        }
    }

    fn repositories(dir: &Path, addresses: &[String], interval_s: i64) -> Vec<Repository> {
        let opts = Map::from([("gitfs_update_interval", interval_s)]);
        let addresses: Vec<Value> = addresses.iter().map(|it| it.as_str().into()).collect();
        let remotes = Remote::all(Role::Gitfs, &opts, &addresses).unwrap();
        let repository = |remote| Repository::new(dir, remote, true);
        remotes.into_iter().map(repository).collect()
    }

    #[test]
    fn remotes_that_hang_hold_up_no_other_and_not_the_end() {
        if !halite_test_support::have_programs(&["git"]) {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let good = dir.path().join("good.git");
        let mut init = Command::new("git");
        let init = init.args(["init", "-q", "--bare"]).arg(&good);
        assert!(init.status().unwrap().success());
        // They take whoever comes and say nothing.
        let hanging: Vec<TcpListener> = (0..5)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let address = |at: &TcpListener| format!("git://{}/x.git", at.local_addr().unwrap());
        let mut addresses: Vec<String> = hanging.iter().map(address).collect();
        addresses.push(format!("file://{}", good.display()));
        let (fetched, fetches) = channel();
        let reporting = |it| Arc::new(Reporting(it, Mutex::new(fetched.clone())));
        let all = repositories(dir.path(), &addresses, 1);
        let fetching = Fetching::start(all.into_iter().map(reporting).collect());
        let held: Vec<_> = hanging.iter().map(|at| at.accept().unwrap()).collect();
        for _ in 0..2 {
            let is_good = fetches.recv_timeout(Duration::from_secs(60));
            assert_eq!(is_good, Ok(true), "it waits for the others");
        }
        let began = Instant::now();
        drop(fetching);
        assert!(began.elapsed() < Duration::from_secs(30));
        drop(held);
    }

    #[test]
    fn all_are_worked_on_at_once_and_keep_their_order() {
        let barrier = std::sync::Barrier::new(9);
        let doubled = all_at_once(&[1, 2, 3, 4, 5, 6, 7, 8, 9], |number| {
            barrier.wait();
            number * 2
        });
        assert_eq!(doubled, [2, 4, 6, 8, 10, 12, 14, 16, 18]);
        assert!(all_at_once(&[], |(): &()| ()).is_empty());
    }

    #[test]
    fn a_first_fetch_is_delayed_by_less_than_the_interval() {
        for interval in [Duration::from_secs(1), Duration::from_secs(3600)] {
            let spread = spread(interval);
            assert!(
                interval <= spread && spread < interval * 11 / 10,
                "{spread:?}"
            );
            assert!(first_delay(interval) < interval.min(FIRST_DELAY_MAX));
        }
    }
}
