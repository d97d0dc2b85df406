//! Fetching the repositories of pillars, each at its time.
//!
//! Invariant: each fetch has a thread of its own, so one that hangs delays
//! neither another one nor anything else of the master.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::GitPillars;
use crate::limits::GIT_PILLAR_FETCHES_MAX;

/// How long is waited where nothing is due: longer than anything takes.
const LONG: Duration = Duration::from_secs(3600);

/// The thread that begins fetches. It and they end when this is dropped.
pub(crate) struct Fetching {
    stop: Arc<AtomicBool>,
    wake: Sender<Event>,
    thread: Option<JoinHandle<()>>,
}

/// What ends the waiting for the next fetch.
enum Event {
    /// A fetch has ended.
    Ended,
    /// The master ends.
    Stop,
}

impl Fetching {
    /// Begins to fetch each remote, now and whenever its interval is over.
    pub(crate) fn start(pillars: &Arc<GitPillars>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (wake, woken) = channel();
        let work = {
            let (pillars, stop, wake) = (Arc::clone(pillars), Arc::clone(&stop), wake.clone());
            move || keep_fetched(&pillars, &stop, &wake, &woken)
        };
        let thread = thread::Builder::new().name("git_pillar".to_owned());
        let thread = thread
            .spawn(work)
            .inspect_err(|error| tracing::error!("no remote of pillars is fetched: {error}"));
        Self {
            stop,
            wake,
            thread: thread.ok(),
        }
    }

    /// Has all fetches end soon; waits for none.
    pub(crate) fn stop(&self) {
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

/// Says that a fetch has ended, however it did.
struct SaysEnded<'a>(&'a Sender<Event>);

impl Drop for SaysEnded<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Ended);
    }
}

fn keep_fetched(
    pillars: &GitPillars,
    stop: &Arc<AtomicBool>,
    wake: &Sender<Event>,
    woken: &Receiver<Event>,
) {
    thread::scope(|scope| {
        let mut running: usize = 0;
        while let Some(next) = pillars.next_due()
            && !stop.load(Ordering::Relaxed)
        {
            let now = Instant::now();
            for remote in pillars.take_due(now, GIT_PILLAR_FETCHES_MAX.saturating_sub(running)) {
                let fetch = move || {
                    let _ended = SaysEnded(wake);
                    remote.refresh(stop);
                };
                let thread = thread::Builder::new().name("git_pillar".to_owned());
                match thread.spawn_scoped(scope, fetch) {
                    Ok(_) => running += 1,
                    Err(error) => tracing::error!("a remote of pillars is not fetched: {error}"),
                }
            }
            let wait = match running < GIT_PILLAR_FETCHES_MAX {
                true => pillars.next_due().unwrap_or(next),
                false => now + LONG,
            };
            let wait = wait.saturating_duration_since(Instant::now());
            if let Ok(Event::Ended) = woken.recv_timeout(wait) {
                running = running.saturating_sub(1);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Command;

    use halite_proto::{Map, Value};

    use super::*;

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
        let address = |at: &TcpListener| format!("main git://{}/x.git", at.local_addr().unwrap());
        let mut remotes: Vec<Value> = hanging.iter().map(|at| address(at).into()).collect();
        remotes.push(format!("main file://{}", good.display()).into());
        let entry = Map::from([("git", Value::List(remotes))]);
        let opts = Map::from([("ext_pillar", Value::List(vec![entry.into()]))]);
        let pillars = Arc::new(GitPillars::open(&opts, dir.path()).unwrap());
        let fetching = Fetching::start(&pillars);
        let held: Vec<_> = hanging.iter().map(|at| at.accept().unwrap()).collect();
        let good = pillars.all().last().unwrap();
        let tried = good.tried.lock().unwrap();
        let limit = Duration::from_secs(60);
        let waited = good
            .has_tried
            .wait_timeout_while(tried, limit, |tried| !*tried);
        let (tried, waited) = waited.unwrap();
        assert!(!waited.timed_out(), "it waits for the others");
        drop(tried);
        assert!(good.repository().status().fetched.is_some());
        let began = Instant::now();
        drop(fetching);
        assert!(began.elapsed() < Duration::from_secs(30));
        drop(held);
    }
}
