//! The key that the master shares with one minion, its file, and the memory of the
//! nonces used with it.
//!
//! Invariant: a session belongs to one accepted public key. It ends with its age
//! (`publish_session`), with that key, when it is retired, or with the process: a
//! recording from before a restart opens nothing after it. Minions lose nothing by
//! that, because the publish key is a new one as well. Those of a cluster are in
//! `shared`, and have no files.

mod presence;
mod shared;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_crypto::files::{self, FileError, MODE_SECRET, WriteOptions};
use halite_crypto::{Crypticle, PresenceKey, SymmetricKey};
use halite_proto::MinionId;

use crate::clock::now_micros;
use crate::cluster::Cluster;
use crate::cluster::grants::GrantId;
use crate::core::replay::{Freshness, NonceMemory};
use crate::keys::accepted::{AcceptedKey, KeyMark};

/// One minion's session.
pub(crate) struct Session {
    /// Opens its requests and seals the answers.
    pub(crate) crypticle: Crypticle,
    /// The key given to the minion at sign-in.
    pub(crate) key: SymmetricKey,
    born: i64,
    owner: KeyMark,
    /// What its key follows from, in a cluster.
    grant: Option<GrantId>,
    nonces: Mutex<NonceMemory>,
    retired: AtomicBool,
    /// Its key is not that of the minion any more. All sessions of one key share
    /// it: an older one, which may still prove presence, ends with the last.
    ended: Arc<AtomicBool>,
    presence: PresenceKey,
    /// The moment of the last sign of life.
    heard: Mutex<(u64, u64)>,
}

impl Session {
    fn new(key: SymmetricKey, born: i64, owner: KeyMark, ended: Arc<AtomicBool>) -> Self {
        let crypticle = Crypticle::new(&key);
        Self {
            presence: crypticle.presence_key(),
            crypticle,
            key,
            born,
            owner,
            grant: None,
            nonces: Mutex::default(),
            retired: AtomicBool::new(false),
            ended,
            heard: Mutex::default(),
        }
    }

    fn is_of(&self, grant: &GrantId) -> bool {
        self.grant.as_ref() == Some(grant)
    }

    /// Judges and remembers a request's nonce. A request too old to judge
    /// retires the session: the minion gets a new key at its next sign-in.
    pub(crate) fn admit(&self, nonce: &[u8], ts: i64) -> Freshness {
        let freshness = self
            .nonces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .admit(nonce, ts);
        if freshness == Freshness::TooOld {
            self.retired.store(true, Ordering::Relaxed);
        }
        freshness
    }
}

/// All sessions.
pub(crate) struct Sessions {
    dir: PathBuf,
    lifetime_s: i64,
    sessions: Mutex<HashMap<MinionId, Arc<Session>>>,
    sign_ins: AtomicU64,
    /// The cluster that shares them.
    cluster: Option<Arc<Cluster>>,
    /// The sessions of a cluster, those of one minion in the order of their use.
    shared: Mutex<HashMap<MinionId, Vec<Arc<Session>>>>,
    /// Sessions that an earlier run has left.
    before: usize,
}

impl Sessions {
    /// No sessions yet; `dir` is where their files go, and what an earlier run
    /// left there goes away.
    pub(crate) fn new(dir: PathBuf, lifetime_s: u64) -> Self {
        let mut this = Self {
            before: 0,
            dir,
            lifetime_s: i64::try_from(lifetime_s).unwrap_or(i64::MAX),
            sessions: Mutex::default(),
            sign_ins: AtomicU64::new(0),
            cluster: None,
            shared: Mutex::default(),
        };
        let left = this.ids();
        this.before = left.len();
        for id in left {
            this.drop_session(&id);
        }
        this
    }

    /// The sessions that a cluster shares.
    pub(crate) fn of_cluster(cluster: Arc<Cluster>) -> Self {
        Self {
            dir: PathBuf::new(),
            lifetime_s: 0,
            sessions: Mutex::default(),
            sign_ins: AtomicU64::new(0),
            cluster: Some(cluster),
            shared: Mutex::default(),
            before: 0,
        }
    }

    /// How many minions are there, or come back after a restart. Of a cluster
    /// none: what this master tells a minion about its pace, the one that the
    /// minion subscribes at does not know.
    pub(crate) fn expected(&self) -> usize {
        self.with(|sessions| sessions.len()).max(self.before)
    }

    /// A number for a sign-in, larger than all before it; of a cluster the time,
    /// since the next one may be another master's.
    pub(crate) fn number_sign_in(&self) -> u64 {
        if self.cluster.is_some() {
            return now_micros();
        }
        self.sign_ins.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The last session of a minion, whatever its age.
    pub(crate) fn last(&self, id: &MinionId) -> Option<Arc<Session>> {
        if let Some(session) = self.lock_shared().get(id).and_then(|all| all.first()) {
            return Some(Arc::clone(session));
        }
        self.with(|sessions| sessions.get(id).cloned())
    }

    /// The session of a request, if there is one that holds.
    pub(crate) fn find(
        &self,
        id: &MinionId,
        accepted: &AcceptedKey,
        now: i64,
    ) -> Option<Arc<Session>> {
        self.with(|sessions| sessions.get(id).cloned())
            .filter(|session| self.holds(session, accepted, now))
    }

    /// The session a minion is given when it signs in, made if need be.
    ///
    /// # Errors
    /// When the session's file cannot be written.
    pub(crate) fn sign_in(
        &self,
        id: &MinionId,
        accepted: &AcceptedKey,
        now: i64,
    ) -> Result<Arc<Session>, FileError> {
        if let Some(cluster) = &self.cluster {
            return Ok(self.sign_in_shared(cluster, id, accepted, now));
        }
        if let Some(session) = self.find(id, accepted, now)
            && !session.retired.load(Ordering::Relaxed)
        {
            return Ok(session);
        }
        // Two sign-ins at once must end with the same key in memory, on disk
        // and at the minion, so the file is written under the lock; it need
        // not survive a power cut.
        self.with(|sessions| {
            let before = sessions.get(id);
            if let Some(other) = before
                && self.holds(other, accepted, now)
                && !other.retired.load(Ordering::Relaxed)
            {
                return Ok(Arc::clone(other));
            }
            let same_key = before.filter(|before| before.owner == accepted.mark);
            let ended = same_key.map(|before| Arc::clone(&before.ended));
            let session = Arc::new(Session::new(
                SymmetricKey::generate(),
                now,
                accepted.mark.clone(),
                ended.unwrap_or_default(),
            ));
            let options = WriteOptions {
                durable: false,
                ..WriteOptions::new(MODE_SECRET)
            };
            files::write_atomic(&self.path(id), options, session.key.expose().as_bytes())?;
            let before = sessions.insert(id.clone(), Arc::clone(&session));
            if let Some(before) = before.filter(|before| before.owner != session.owner) {
                before.ended.store(true, Ordering::Relaxed);
            }
            Ok(session)
        })
    }

    /// Ends a minion's session: its key opens nothing any more.
    pub(crate) fn drop_session(&self, id: &MinionId) {
        if let Some(session) = self.with(|sessions| sessions.remove(id)) {
            session.ended.store(true, Ordering::Relaxed);
        }
        if self.cluster.is_some() {
            let ended = self.lock_shared().remove(id).unwrap_or_default();
            for session in ended {
                session.ended.store(true, Ordering::Relaxed);
            }
            return;
        }
        if let Err(error) = fs::remove_file(self.path(id))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::error!(minion = %id, "could not remove the session file: {error}");
        }
    }

    /// The minions that have a session in memory or on disk.
    pub(crate) fn ids(&self) -> Vec<MinionId> {
        if self.cluster.is_some() {
            return self.lock_shared().keys().cloned().collect();
        }
        let mut ids: Vec<MinionId> = fs::read_dir(&self.dir)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            // A file that is just being written.
            .filter(|name| !name.starts_with('.'))
            .filter_map(|name| MinionId::parse(name).ok())
            .collect();
        self.with(|sessions| ids.extend(sessions.keys().cloned()));
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn holds(&self, session: &Session, accepted: &AcceptedKey, now: i64) -> bool {
        session.owner == accepted.mark && now.saturating_sub(session.born) < self.lifetime_s
    }

    /// The one place where an id becomes a session's path; ids cannot leave it.
    fn path(&self, id: &MinionId) -> PathBuf {
        self.dir.join(id.as_str())
    }

    fn lock_shared(&self) -> MutexGuard<'_, HashMap<MinionId, Vec<Arc<Session>>>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut HashMap<MinionId, Arc<Session>>) -> T) -> T {
        use_them(&mut self.sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
