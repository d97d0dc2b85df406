//! Returns on their way to a database. Those that arrive while others are being
//! stored wait, and go together with the next statement. So the busier it is, the
//! more are stored at once.

use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId};
use halite_store_servers::ServerError;

use crate::error::StoreError;
use crate::packing::{load_of_return, pack_load, pack_own_return};
use crate::salt_json;

/// Most returns in one statement.
const AT_ONCE_MAX: usize = 500;

/// Most bytes of the returns in one statement, but for one that has more alone. A
/// MariaDB takes 16 MiB by itself.
const AT_ONCE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Statements that are under way at once.
const LEADERS_MAX: usize = 2;

/// Longest name of a function in Salt's column, in characters.
const FUN_CHARS_MAX: usize = 50;

/// A return on its way.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) ticket: u64,
    pub(crate) jid: String,
    pub(crate) id: String,
    pub(crate) packed: Vec<u8>,
    pub(crate) out: Option<String>,
    pub(crate) fun: String,
    pub(crate) success: &'static str,
    pub(crate) ret: String,
    pub(crate) full_ret: String,
    pub(crate) load: Vec<u8>,
    pub(crate) salts_load: String,
}

/// The outcome for a return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    NoCache,
    New,
    Known,
    /// The statement failed, for this one or for another one.
    Failed,
}

/// Returns that wait to be stored.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    tickets: u64,
    leaders: usize,
    waiting: Vec<Entry>,
    outcomes: HashMap<u64, Result<Outcome, ServerError>>,
}

impl State {
    /// Takes the returns that can be stored together; of two returns of one minion for
    /// one job the second has to wait for the first.
    fn take(&mut self) -> Vec<Entry> {
        let mut seen = HashSet::new();
        let mut taken = Vec::new();
        let mut left = Vec::new();
        let mut bytes = 0_usize;
        for entry in self.waiting.drain(..) {
            let is_first = seen.insert((entry.jid.clone(), entry.id.clone()));
            let with_it = bytes.saturating_add(entry.bytes());
            let is_room = taken.len() < AT_ONCE_MAX && with_it <= AT_ONCE_BYTES_MAX;
            match is_first && (is_room || taken.is_empty()) {
                true => {
                    bytes = with_it;
                    taken.push(entry);
                }
                false => left.push(entry),
            }
        }
        self.waiting = left;
        taken
    }
}

impl Queue {
    /// Stores a return together with others. `save` stores several, and gives
    /// by their tickets what has become of them; it may be called by several
    /// threads at once. A server that is away is away for all of them.
    pub(crate) fn save(
        &self,
        mut entry: Entry,
        save: impl Fn(Vec<Entry>) -> Result<Vec<(u64, Outcome)>, StoreError>,
    ) -> Result<Outcome, StoreError> {
        let alone = entry.clone();
        let mut state = self.lock();
        state.tickets += 1;
        entry.ticket = state.tickets;
        let ticket = entry.ticket;
        state.waiting.push(entry);
        loop {
            if let Some(outcome) = state.outcomes.remove(&ticket) {
                drop(state);
                return match outcome {
                    // Alone it fails for reasons of its own, if at all.
                    Ok(Outcome::Failed) => {
                        let outcomes = save(vec![alone])?;
                        Ok(outcomes
                            .first()
                            .map_or(Outcome::Failed, |(_, outcome)| *outcome))
                    }
                    outcome => Ok(outcome?),
                };
            }
            if state.leaders == LEADERS_MAX || state.waiting.is_empty() {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let entries = state.take();
            state.leaders += 1;
            drop(state);
            let tickets: Vec<u64> = entries.iter().map(|entry| entry.ticket).collect();
            let (outcomes, away) = match save(entries) {
                Ok(outcomes) => (outcomes, None),
                Err(StoreError::Server(error)) if !error.failure.is_answer() => {
                    (Vec::new(), Some(error))
                }
                Err(_) => (Vec::new(), None),
            };
            let mut outcomes: HashMap<u64, Outcome> = outcomes.into_iter().collect();
            state = self.lock();
            state.leaders -= 1;
            for ticket in tickets {
                let outcome = match &away {
                    Some(error) => Err(error.again()),
                    None => Ok(outcomes.remove(&ticket).unwrap_or(Outcome::Failed)),
                };
                state.outcomes.insert(ticket, outcome);
            }
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// A return in its stored form.
    pub(crate) fn new(jid: &Jid, id: &MinionId, ret: &JobReturn) -> Result<Self, StoreError> {
        let load = load_of_return(jid, id, ret);
        let mut full_ret = ret.to_map();
        full_ret.insert("cmd", "_return");
        full_ret.insert("jid", jid);
        full_ret.insert("id", id);
        let fun = halite_proto::python::str(&ret.fun.to_value());
        Ok(Self {
            ticket: 0,
            jid: jid.to_string(),
            id: id.to_string(),
            packed: pack_own_return(jid, ret)?,
            out: ret.out.as_deref().map(without_nul),
            fun: without_nul(&fun).chars().take(FUN_CHARS_MAX).collect(),
            success: if ret.success { "true" } else { "false" },
            ret: salt_json::write(jid, &ret.ret)?,
            full_ret: salt_json::write(jid, &full_ret.into())?,
            load: pack_load(jid, &load)?,
            salts_load: salt_json::write(jid, &load.into())?,
        })
    }

    /// How much a statement grows by it, without what is short.
    fn bytes(&self) -> usize {
        let salts = self.ret.len() + self.full_ret.len() + self.salts_load.len();
        let out = self.out.as_ref().map_or(0, String::len);
        self.packed.len() + self.load.len() + salts + out
    }
}

/// A text that PostgreSQL takes: one zero byte would fail all that go together.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, bytes: usize) -> Entry {
        Entry {
            ticket: 0,
            jid: "20260101000000000000".to_owned(),
            id: id.to_owned(),
            packed: vec![0; bytes],
            out: None,
            fun: String::new(),
            success: "true",
            ret: String::new(),
            full_ret: String::new(),
            load: Vec::new(),
            salts_load: String::new(),
        }
    }

    #[test]
    fn large_returns_go_alone() {
        let sizes = [AT_ONCE_BYTES_MAX + 1, AT_ONCE_BYTES_MAX - 10, 10, 10];
        let waiting = sizes.iter().enumerate();
        let mut state = State {
            waiting: waiting
                .map(|(id, bytes)| entry(&id.to_string(), *bytes))
                .collect(),
            ..State::default()
        };
        let mut ids = || -> Vec<String> { state.take().into_iter().map(|it| it.id).collect() };
        assert_eq!(ids(), ["0"]);
        assert_eq!(ids(), ["1", "2"]);
        assert_eq!(ids(), ["3"]);
        assert!(ids().is_empty());
    }

    #[test]
    fn a_server_that_is_away_is_away_for_all_who_wait() {
        use halite_store_servers::Failure;
        use std::sync::atomic::{AtomicUsize, Ordering};
        use std::thread;

        let (queue, tried) = (Queue::default(), AtomicUsize::new(0));
        let count = 40;
        let save = |_: Vec<Entry>| {
            tried.fetch_add(1, Ordering::Relaxed);
            // Until all the others wait.
            while queue.lock().tickets < count {
                thread::yield_now();
            }
            let failure = Failure::broken("it is gone");
            let server = "a server".to_owned();
            Err(ServerError { server, failure }.into())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..count)
                .map(|number| {
                    let (queue, save) = (&queue, &save);
                    scope.spawn(move || queue.save(entry(&number.to_string(), 1), save))
                })
                .collect();
            for thread in threads {
                let error = thread.join().unwrap().unwrap_err();
                assert!(!error.is_answer(), "{error}");
            }
        });
        let tried = tried.into_inner();
        assert!(tried <= 2 * LEADERS_MAX, "{tried}");
    }

    #[test]
    fn no_text_has_a_zero_byte() {
        assert_eq!(without_nul("a\0b"), "a\u{fffd}b");
    }
}
