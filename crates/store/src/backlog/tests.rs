use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use halite_store_servers::{Failure, ServerError};

use super::*;

/// How long something may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes everything but what begins with `bad`, which it refuses, `slow`, which it
/// does not answer, and `both `, of which it would take the parts.
#[derive(Default)]
struct Picky {
    takes_nothing: AtomicBool,
    taken: Mutex<Vec<String>>,
    changed: Condvar,
}

impl Picky {
    fn take(&self, text: &str) -> Result<(), Failure> {
        if self.takes_nothing.load(Ordering::Relaxed)
            || text.starts_with("bad")
            || text.starts_with("both ")
        {
            return Err(Failure::Refused("no".to_owned()));
        }
        if text.starts_with("slow") {
            let limit = Duration::from_secs(5);
            return Err(Failure::TimedOut { limit });
        }
        self.taken.lock().unwrap().push(text.to_owned());
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until it has taken something.
    fn wait(&self, text: &str) {
        let taken = self.taken.lock().unwrap();
        let is_missing = |taken: &mut Vec<String>| !taken.iter().any(|it| it == text);
        let waited = self
            .changed
            .wait_timeout_while(taken, PATIENCE, is_missing)
            .unwrap();
        assert!(!waited.1.timed_out(), "{text} was never taken");
    }
}

impl Destination for Picky {
    fn place(&self) -> String {
        "picky".to_owned()
    }

    fn deliver(&self, waiting: &[Pending]) -> Vec<Result<(), StoreError>> {
        let mut outcomes = Vec::new();
        for pending in waiting {
            let taken = self.take(str::from_utf8(&pending.payload).unwrap());
            let is_away = taken.as_ref().is_err_and(|failure| !failure.is_answer());
            let server = self.place();
            outcomes.push(taken.map_err(|failure| ServerError { server, failure }.into()));
            if is_away {
                break;
            }
        }
        outcomes
    }

    fn parted(&self, payload: &[u8]) -> Option<[Vec<u8>; 2]> {
        let rest = payload.strip_prefix(b"both ")?;
        let at = rest.iter().position(|byte| *byte == b' ')?;
        Some([rest[..at].to_vec(), rest[at + 1..].to_vec()])
    }
}

/// The log says it again while nothing is taken, and not after that.
#[test]
fn it_is_told_each_minute_that_something_waits() {
    let dir = tempfile::tempdir().unwrap();
    let picky = Arc::new(Picky::default());
    picky.takes_nothing.store(true, Ordering::Relaxed);
    let backlog = open(dir.path(), &picky);
    let after = |since: Instant, seconds: u64| since + Duration::from_secs(seconds);
    backlog.push(b"good", "no").unwrap();
    {
        let mut state = backlog.shared.lock();
        let (_, since) = state.since.unwrap();
        for (seconds, is_told) in [(59, false), (61, true), (100, false), (122, true)] {
            let waited = is_told.then(|| Duration::from_secs(seconds));
            assert_eq!(state.due_to_tell(after(since, seconds)), waited);
        }
    }
    picky.takes_nothing.store(false, Ordering::Relaxed);
    picky.wait("good");
    let deadline = Instant::now() + PATIENCE;
    while backlog.waits().count > 0 {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(1));
    }
    let mut state = backlog.shared.lock();
    assert_eq!(state.due_to_tell(after(Instant::now(), 3600)), None);
}

fn open(dir: &Path, picky: &Arc<Picky>) -> Backlog {
    Backlog::open(dir, picky, |_| {}).unwrap()
}

/// Lets entries wait as a process has left them that has ended since.
fn left(dir: &Path, entries: &[String]) {
    let limits = Limits {
        bytes_max: WAITING_BYTES_MAX,
        age_max: AGE_MAX,
    };
    let mut spool = Spool::open(dir, limits, Moment::now()).unwrap();
    for entry in entries {
        spool.append(Moment::now(), entry.as_bytes()).unwrap();
    }
}

/// Gives it entries one by one until as many are set aside.
fn until_refused(backlog: &Backlog, picky: &Picky, count: usize) {
    for number in 0.. {
        if backlog.waits().refused == count {
            return;
        }
        assert!(number < 1000, "{:?}", backlog.waits());
        let text = format!("next {number}");
        backlog.push(text.as_bytes(), "a test").unwrap();
        picky.wait(&text);
    }
}

/// What was taken last may not be noted yet.
fn assert_becomes_idle(backlog: &Backlog) {
    let begun = Instant::now();
    while !backlog.is_idle() {
        assert!(begun.elapsed() < PATIENCE, "{:?}", backlog.waits());
        thread::yield_now();
    }
}

#[test]
fn a_head_of_refusals_does_not_hold_up_what_is_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut entries: Vec<_> = (0..130).map(|number| format!("bad {number}")).collect();
    entries.push("good".to_owned());
    left(dir.path(), &entries);
    let picky = Arc::default();
    let backlog = open(dir.path(), &picky);
    picky.wait("good");
    until_refused(&backlog, &picky, 130);
    assert_becomes_idle(&backlog);
}

#[test]
fn one_that_fills_a_batch_does_not_hold_up_what_is_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let huge = "bad ".repeat(crate::limits::WAITING_AT_ONCE_BYTES_MAX / 4);
    left(dir.path(), &[huge, "good".to_owned()]);
    let picky = Arc::default();
    let backlog = open(dir.path(), &picky);
    picky.wait("good");
    until_refused(&backlog, &picky, 1);
    assert_becomes_idle(&backlog);
}

#[test]
fn what_is_never_answered_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let entries = ["slow 1", "good 1", "slow 2", "good 2"].map(str::to_owned);
    left(dir.path(), &entries);
    let picky = Arc::default();
    let backlog = open(dir.path(), &picky);
    picky.wait("good 1");
    picky.wait("good 2");
    until_refused(&backlog, &picky, 2);
    assert_becomes_idle(&backlog);
}

#[test]
fn a_server_that_takes_nothing_sets_nothing_aside() {
    let dir = tempfile::tempdir().unwrap();
    let entries: Vec<_> = (0..200).map(|number| format!("good {number}")).collect();
    left(dir.path(), &entries);
    let picky = Arc::new(Picky::default());
    picky.takes_nothing.store(true, Ordering::Relaxed);
    let backlog = open(dir.path(), &picky);
    let begun = Instant::now();
    while backlog.waits().reason.is_none() {
        assert!(begun.elapsed() < PATIENCE);
        thread::yield_now();
    }
    picky.takes_nothing.store(false, Ordering::Relaxed);
    for entry in &entries {
        picky.wait(entry);
    }
    assert_eq!(backlog.waits().refused, 0);
}

#[test]
fn of_what_is_parted_the_server_takes_what_it_can() {
    let dir = tempfile::tempdir().unwrap();
    left(dir.path(), &["both good bad".to_owned()]);
    let picky = Arc::default();
    let backlog = open(dir.path(), &picky);
    until_refused(&backlog, &picky, 1);
    picky.wait("good");
    assert_becomes_idle(&backlog);
    assert_eq!(backlog.waits().count, 1);
}

#[test]
fn no_more_wait_than_may() {
    let dir = tempfile::tempdir().unwrap();
    let picky = Arc::new(Picky::default());
    picky.takes_nothing.store(true, Ordering::Relaxed);
    let backlog = open(dir.path(), &picky);
    backlog.shared.lock().count_max = 2;
    let push = || backlog.push(b"good", "a test").is_some();
    assert_eq!([push(), push(), push()], [true, true, false]);
}

#[test]
fn what_is_set_aside_takes_no_room_from_what_comes() {
    let dir = tempfile::tempdir().unwrap();
    left(dir.path(), &["bad".repeat(1000), "good".to_owned()]);
    let picky = Arc::new(Picky::default());
    let backlog = open(dir.path(), &picky);
    until_refused(&backlog, &picky, 1);
    assert_becomes_idle(&backlog);
    picky.takes_nothing.store(true, Ordering::Relaxed);
    // As if there were room for no more than what was set aside.
    backlog.shared.lock().bytes_max = 3500;
    let push = || backlog.push(&[b'g'; 3000], "a test").is_some();
    assert_eq!([push(), push()], [true, false]);
}
