//! Jobs and returns that their server has not taken yet.
//!
//! Invariants: a minion's return to a job waits once; readers of the job on this
//! master see what waits.

mod write;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId, Value};
use halite_spool::{Pending, SpoolError};
use halite_store_servers::with_patience;

pub(crate) use self::write::Write;
use crate::backend::{Backend, on};
use crate::backlog::{Backlog, Destination, Waits};
use crate::error::{StoreError, chain};
use crate::kept::{Saved, StoredReturn};
use crate::limits::{WAITING_OPERATION_TIME, WAITING_THREADS};
use crate::packing::{load_of_return, pack_return};

/// The writes that wait for the server of the jobs.
#[derive(Debug)]
pub(crate) struct Waiting {
    // Before what it gives it to: its thread ends first.
    backlog: Backlog,
    server: Arc<JobServer>,
}

/// The server, and what waits for it by job.
#[derive(Debug)]
struct JobServer {
    place: String,
    backend: Arc<Backend>,
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// The waiting writes of each job.
    jobs: HashMap<Jid, Numbers>,
    /// The number of a return that waits, and what it says, as a hash.
    returns: HashMap<(Jid, MinionId), (u64, u64)>,
    /// Whose entries these are.
    numbers: HashMap<u64, (Jid, Option<MinionId>)>,
}

/// The numbers of what waits of one job, in order.
#[derive(Clone, Debug, Default)]
struct Numbers {
    loads: Vec<u64>,
    returns: Vec<u64>,
}

impl Index {
    fn add(&mut self, sequence: u64, write: &Write) {
        let (jid, id) = match write {
            Write::Load { jid, .. } => (jid.clone(), None),
            Write::Return { jid, id, ret } => {
                let of = (jid.clone(), id.clone());
                self.returns.insert(of, (sequence, hash(ret)));
                (jid.clone(), Some(id.clone()))
            }
            _ => return,
        };
        let of_job = self.jobs.entry(jid.clone()).or_default();
        match id {
            Some(_) => of_job.returns.push(sequence),
            None => of_job.loads.push(sequence),
        }
        self.numbers.insert(sequence, (jid, id));
    }

    fn remove(&mut self, sequence: u64) {
        let Some((jid, id)) = self.numbers.remove(&sequence) else {
            return;
        };
        if let Some(numbers) = self.jobs.get_mut(&jid) {
            for numbers in [&mut numbers.loads, &mut numbers.returns] {
                numbers.retain(|number| *number != sequence);
            }
            if numbers.loads.is_empty() && numbers.returns.is_empty() {
                self.jobs.remove(&jid);
            }
        }
        if let Some(id) = id {
            let of = (jid, id);
            if self.returns.get(&of).is_some_and(|it| it.0 == sequence) {
                self.returns.remove(&of);
            }
        }
    }

    /// Whether what a return that waits says differs from this; `None` if none does.
    fn differs(&self, jid: &Jid, id: &MinionId, ret: &JobReturn) -> Option<bool> {
        let (_, known) = self.returns.get(&(jid.clone(), id.clone()))?;
        Some(*known != hash(ret))
    }
}

/// A hash of the stored part of a return.
fn hash(ret: &JobReturn) -> u64 {
    let mut hasher = DefaultHasher::new();
    pack_return("a return", ret)
        .unwrap_or_default()
        .hash(&mut hasher);
    hasher.finish()
}

impl Waiting {
    /// Opens what waits in a directory.
    pub(crate) fn open(
        dir: &Path,
        place: String,
        backend: Arc<Backend>,
    ) -> Result<Self, SpoolError> {
        let server = Arc::new(JobServer {
            place,
            backend,
            index: Mutex::default(),
        });
        let found = |pending: &Pending| {
            if let Some(write) = Write::unpack(&pending.payload) {
                server.index().add(pending.sequence, &write);
            }
        };
        let backlog = Backlog::open(dir, &server, found)?;
        Ok(Self { backlog, server })
    }

    /// Does something now, or lets it wait if other things do, or the server
    /// does not take it.
    pub(crate) fn write(
        &self,
        write: impl FnOnce() -> Write,
        now: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if !self.backlog.is_idle() {
            // The disk is full, too.
            return match self.push(&write(), "others wait") {
                Pushed::NoRoom => now(),
                Pushed::Waits | Pushed::Waited { .. } => Ok(()),
            };
        }
        match now() {
            Err(error) if error.is_of_server() => match self.push(&write(), &chain(&error)) {
                Pushed::NoRoom => Err(error),
                Pushed::Waits | Pushed::Waited { .. } => Ok(()),
            },
            done => done,
        }
    }

    /// Stores a return now, or lets it wait.
    pub(crate) fn save_return(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
        now: impl Fn() -> Result<Saved, StoreError>,
    ) -> Result<Saved, StoreError> {
        if let Some(differs) = self.server.index().differs(jid, id, ret) {
            return Ok(Saved::Duplicate { differs });
        }
        let push = |why: &str| {
            let (jid, id, ret) = (jid.clone(), id.clone(), Box::new(ret.clone()));
            self.push(&Write::Return { jid, id, ret }, why)
        };
        let (pushed, error) = match self.backlog.is_idle() {
            false => (push("others wait"), None),
            true => match now() {
                Err(error) if error.is_of_server() => (push(&chain(&error)), Some(error)),
                done => return done,
            },
        };
        match (pushed, error) {
            (Pushed::Waits, _) => Ok(Saved::Stored),
            (Pushed::Waited { differs }, _) => Ok(Saved::Duplicate { differs }),
            (Pushed::NoRoom, Some(error)) => Err(error),
            // The disk is full, too.
            (Pushed::NoRoom, None) => now(),
        }
    }

    /// The load of a job, if it waits.
    pub(crate) fn load(&self, jid: &Jid) -> Option<Map> {
        let mut loads = self.numbers(jid).loads.into_iter().rev();
        let (mut load, minions) = loads.find_map(|number| match self.get(number)? {
            Write::Load { load, minions, .. } => Some((load, minions)),
            _ => None,
        })?;
        if let Some(minions) = minions {
            let ids = minions.iter().map(Value::from).collect();
            load.insert("Minions", Value::List(ids));
        }
        Some(load)
    }

    /// The load of a job that a waiting return implies.
    pub(crate) fn load_of_return(&self, jid: &Jid) -> Option<Map> {
        let mut returns = self.numbers(jid).returns.into_iter();
        returns.find_map(|number| match self.get(number)? {
            Write::Return { jid, id, ret } => Some(load_of_return(&jid, &id, &ret)),
            _ => None,
        })
    }

    /// The returns to a job that wait.
    pub(crate) fn returns(&self, jid: &Jid) -> Vec<(MinionId, StoredReturn)> {
        let returns = self.numbers(jid).returns.into_iter();
        returns.filter_map(|number| self.stored(number)).collect()
    }

    /// One minion's return to a job, if it waits.
    pub(crate) fn return_of(&self, jid: &Jid, id: &MinionId) -> Option<StoredReturn> {
        let of = (jid.clone(), id.clone());
        let number = self.server.index().returns.get(&of)?.0;
        self.stored(number).map(|(_, stored)| stored)
    }

    /// Whether something of a job waits.
    pub(crate) fn knows(&self, jid: &Jid) -> bool {
        self.server.index().jobs.contains_key(jid)
    }

    /// Whether nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.backlog.is_idle()
    }

    pub(crate) fn waits(&self) -> Waits {
        self.backlog.waits()
    }

    fn numbers(&self, jid: &Jid) -> Numbers {
        let numbers = self.server.index().jobs.get(jid).cloned();
        numbers.unwrap_or_default()
    }

    fn get(&self, number: u64) -> Option<Write> {
        Write::unpack(&self.backlog.get(number)?)
    }

    fn stored(&self, number: u64) -> Option<(MinionId, StoredReturn)> {
        match self.get(number)? {
            Write::Return { id, ret, .. } => Some((id, StoredReturn::from_all(ret.to_map()))),
            _ => None,
        }
    }

    fn push(&self, write: &Write, why: &str) -> Pushed {
        let packed = write.pack();
        let packed = packed.inspect_err(|error| tracing::error!("{}", chain(error)));
        let Ok(packed) = packed else {
            return Pushed::NoRoom;
        };
        // Held, so that it is not taken out before it is in, and that the same
        // return is not put in by two.
        let mut index = self.server.index();
        if let Write::Return { jid, id, ret } = write
            && let Some(differs) = index.differs(jid, id, ret)
        {
            return Pushed::Waited { differs };
        }
        match self.backlog.push(&packed, why) {
            Some(sequence) => {
                index.add(sequence, write);
                Pushed::Waits
            }
            None => Pushed::NoRoom,
        }
    }
}

/// The outcome of queueing a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pushed {
    /// It waits now.
    Waits,
    /// A return of the same minion to the same job does already.
    Waited { differs: bool },
    /// It cannot wait.
    NoRoom,
}

impl JobServer {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self, pending: &Pending) -> Result<(), StoreError> {
        with_patience(WAITING_OPERATION_TIME, || self.store_patiently(pending))
    }

    fn store_patiently(&self, pending: &Pending) -> Result<(), StoreError> {
        let Some(write) = Write::unpack(&pending.payload) else {
            tracing::error!(
                sequence = pending.sequence,
                "skipping an entry in the spool of the store that is not a valid write"
            );
            return Ok(());
        };
        match write {
            Write::Prepare { jid, nocache } => on!(self.backend, jobs.prepare(&jid, nocache)),
            Write::Load { jid, load, minions } => {
                on!(
                    self.backend,
                    jobs.save_load(&jid, &load, minions.as_deref())
                )
            }
            Write::Minions {
                jid,
                minions,
                syndic,
            } => on!(
                self.backend,
                jobs.save_minions(&jid, &minions, syndic.as_ref())
            ),
            Write::Return { jid, id, ret } => {
                let saved: Result<Saved, StoreError> =
                    on!(self.backend, jobs.save_return(&jid, &id, &ret));
                if saved? == (Saved::Duplicate { differs: true }) {
                    tracing::warn!(
                        minion = %id, %jid,
                        "ignored a second, different return from the spool of the store"
                    );
                }
                Ok(())
            }
            Write::Endtime { jid, endtime } => on!(self.backend, jobs.save_endtime(&jid, &endtime)),
            Write::Publisher { jid, id } => on!(self.backend, jobs.save_publisher(&jid, &id)),
        }
    }

    /// Stores returns at once: no two of them are of one minion to one job.
    fn store_together(&self, returns: &[Pending]) -> Vec<Result<(), StoreError>> {
        thread::scope(|scope| {
            let threads: Vec<_> = returns
                .iter()
                .map(|pending| scope.spawn(|| self.store(pending)))
                .collect();
            let join = |thread: thread::ScopedJoinHandle<'_, Result<(), StoreError>>| {
                let joined = thread.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        })
    }
}

impl Destination for JobServer {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn deliver(&self, waiting: &[Pending]) -> Vec<Result<(), StoreError>> {
        let mut outcomes = Vec::with_capacity(waiting.len());
        let mut rest = waiting;
        while !rest.is_empty() {
            let together = rest
                .iter()
                .take(WAITING_THREADS)
                .take_while(|pending| Write::is_return(&pending.payload))
                .count();
            let (now, later) = rest.split_at(together.max(1));
            outcomes.extend(self.store_together(now));
            rest = later;
            let is_away = |outcome: &Result<(), StoreError>| {
                outcome.as_ref().is_err_and(|error| !error.is_answer())
            };
            if outcomes.iter().any(is_away) {
                break;
            }
        }
        outcomes
    }

    fn delivered(&self, sequence: u64) {
        self.index().remove(sequence);
    }
}
