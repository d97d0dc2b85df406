//! The key that the master shares with one minion, its file, and the memory of
//! the nonces used with it.
//!
//! Invariant: a session belongs to one accepted public key. It ends with its
//! age (`publish_session`), with that key, or when it is retired.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use halite_crypto::files::{self, FileError, MODE_SECRET, WriteOptions};
use halite_crypto::{Crypticle, SymmetricKey};
use halite_proto::MinionId;

use crate::accepted::{AcceptedKey, KeyMark};
use crate::core::replay::{Freshness, NonceMemory};

/// A session file larger than this is not one.
const FILE_BYTES_MAX: u64 = 256;

/// How much slower than the master's a minion's clock may be for its requests
/// to pass when a session was kept over a restart of the master.
const RESTART_SKEW_S: i64 = 30;

/// One minion's session.
pub(crate) struct Session {
    /// Opens its requests and seals the answers.
    pub(crate) crypticle: Crypticle,
    /// What the minion is given at sign-in.
    pub(crate) key: SymmetricKey,
    born: i64,
    owner: KeyMark,
    nonces: Mutex<NonceMemory>,
    retired: AtomicBool,
}

impl Session {
    fn new(key: SymmetricKey, born: i64, owner: KeyMark, floor: i64) -> Self {
        Self {
            crypticle: Crypticle::new(&key),
            key,
            born,
            owner,
            nonces: Mutex::new(NonceMemory::new(floor)),
            retired: AtomicBool::new(false),
        }
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
    started: i64,
    sessions: Mutex<HashMap<MinionId, Arc<Session>>>,
}

impl Sessions {
    /// The sessions kept in `dir`; `now` is when the master starts.
    pub(crate) fn new(dir: PathBuf, lifetime_s: u64, now: i64) -> Self {
        Self {
            dir,
            lifetime_s: i64::try_from(lifetime_s).unwrap_or(i64::MAX),
            started: now,
            sessions: Mutex::default(),
        }
    }

    /// The session of a request, if there is one that holds.
    pub(crate) fn find(
        &self,
        id: &MinionId,
        accepted: &AcceptedKey,
        now: i64,
    ) -> Option<Arc<Session>> {
        let known = self.with(|sessions| sessions.get(id).cloned());
        if let Some(session) = known {
            return self.holds(&session, accepted, now).then_some(session);
        }
        let session = Arc::new(self.load(id, accepted)?);
        if !self.holds(&session, accepted, now) {
            return None;
        }
        Some(self.with(|sessions| Arc::clone(sessions.entry(id.clone()).or_insert(session))))
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
        if let Some(session) = self.find(id, accepted, now)
            && !session.retired.load(Ordering::Relaxed)
        {
            return Ok(session);
        }
        let session = Arc::new(Session::new(
            SymmetricKey::generate(),
            now,
            accepted.mark.clone(),
            i64::MIN,
        ));
        // Two sign-ins at once must end with the same key in memory, on disk
        // and at the minion, so the file is written under the lock; it need
        // not survive a power cut.
        self.with(|sessions| {
            if let Some(other) = sessions.get(id)
                && self.holds(other, accepted, now)
                && !other.retired.load(Ordering::Relaxed)
            {
                return Ok(Arc::clone(other));
            }
            let options = WriteOptions {
                durable: false,
                ..WriteOptions::new(MODE_SECRET)
            };
            files::write_atomic(&self.path(id), options, session.key.expose().as_bytes())?;
            sessions.insert(id.clone(), Arc::clone(&session));
            Ok(session)
        })
    }

    /// Ends a minion's session: its key opens nothing any more.
    pub(crate) fn drop_session(&self, id: &MinionId) {
        self.with(|sessions| sessions.remove(id));
        if let Err(error) = fs::remove_file(self.path(id))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::error!(minion = %id, "could not remove the session file: {error}");
        }
    }

    /// The minions that have a session in memory or on disk.
    pub(crate) fn ids(&self) -> Vec<MinionId> {
        let mut ids: Vec<MinionId> = fs::read_dir(&self.dir)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
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

    /// A session of an earlier run. Which public key it belonged to is not on
    /// disk: it counts only if the key was there before it. What was recorded
    /// before the start is refused by its age.
    fn load(&self, id: &MinionId, accepted: &AcceptedKey) -> Option<Session> {
        let path = self.path(id);
        let born = fs::symlink_metadata(&path)
            .ok()
            .filter(fs::Metadata::is_file)?
            .mtime();
        if born < accepted.since {
            return None;
        }
        let text = String::from_utf8(files::read_limited(&path, FILE_BYTES_MAX).ok()?).ok()?;
        let key = SymmetricKey::parse(text.trim_end()).ok()?;
        let floor = self.started.saturating_sub(RESTART_SKEW_S);
        Some(Session::new(key, born, accepted.mark.clone(), floor))
    }

    /// The one place where an id becomes a session's path; ids cannot leave it.
    fn path(&self, id: &MinionId) -> PathBuf {
        self.dir.join(id.as_str())
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut HashMap<MinionId, Arc<Session>>) -> T) -> T {
        use_them(&mut self.sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 4_000_000_000;

    fn key(text: &str) -> AcceptedKey {
        AcceptedKey {
            mark: KeyMark::of(text),
            since: 0,
        }
    }

    fn web1() -> MinionId {
        MinionId::parse("web1").unwrap()
    }

    fn sessions(dir: &tempfile::TempDir) -> Sessions {
        Sessions::new(dir.path().to_owned(), 86_400, NOW)
    }

    #[test]
    fn a_session_is_shared_by_the_sign_ins_of_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = sessions(&dir);
        assert!(sessions.find(&web1(), &key("a"), NOW).is_none());
        let first = sessions.sign_in(&web1(), &key("a"), NOW).unwrap();
        let second = sessions.sign_in(&web1(), &key("a"), NOW + 5).unwrap();
        assert!(first.key.is_same(&second.key));
        let on_disk = fs::read_to_string(dir.path().join("web1")).unwrap();
        assert_eq!(on_disk, first.key.expose());
        let mode = fs::metadata(dir.path().join("web1")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn age_another_key_and_deletion_end_it() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = sessions(&dir);
        let first = sessions.sign_in(&web1(), &key("a"), NOW).unwrap();
        assert!(sessions.find(&web1(), &key("a"), NOW + 86_399).is_some());
        assert!(sessions.find(&web1(), &key("a"), NOW + 86_400).is_none());
        assert!(sessions.find(&web1(), &key("b"), NOW).is_none());
        let other = sessions.sign_in(&web1(), &key("b"), NOW).unwrap();
        assert!(!first.key.is_same(&other.key));
        sessions.drop_session(&web1());
        assert!(sessions.find(&web1(), &key("b"), NOW).is_none());
        assert!(!dir.path().join("web1").exists());
    }

    #[test]
    fn a_session_survives_a_restart_but_recordings_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let first = sessions(&dir).sign_in(&web1(), &key("a"), NOW).unwrap();
        let restarted = Sessions::new(dir.path().to_owned(), u64::MAX, NOW + 100);
        let again = restarted.find(&web1(), &key("a"), NOW + 100).unwrap();
        assert!(first.key.is_same(&again.key));
        assert_eq!(again.admit(b"new", NOW + 100), Freshness::Fresh);
        assert_eq!(again.admit(b"recorded", NOW), Freshness::TooOld);
        let renewed = restarted.sign_in(&web1(), &key("a"), NOW + 100).unwrap();
        assert!(!renewed.key.is_same(&again.key));
        assert_eq!(renewed.admit(b"recorded", NOW), Freshness::Fresh);
    }

    #[test]
    fn a_key_accepted_after_the_session_was_made_does_not_inherit_it() {
        let dir = tempfile::tempdir().unwrap();
        sessions(&dir).sign_in(&web1(), &key("a"), NOW).unwrap();
        let restarted = Sessions::new(dir.path().to_owned(), u64::MAX, NOW);
        let later = AcceptedKey {
            since: i64::MAX,
            ..key("b")
        };
        assert!(restarted.find(&web1(), &later, NOW).is_none());
    }
}
