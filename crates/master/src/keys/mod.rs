//! Minion keys, the sessions that depend on them, and the master's own keys.

pub(crate) mod accepted;
mod filing;
pub(crate) mod odd_ids;
pub(crate) mod sessions;
pub(crate) mod settings;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_crypto::{EncAlgo, SigAlgo, UnknownAlgorithm};
use halite_key::{Autosign, KeyState, KeyStore, MIRROR_DIR, MasterKeys};
use halite_proto::{Map, MinionId, Value};
use halite_store::BackendOptions;
use halite_transport::fleet::Origin;

use self::accepted::AcceptedKeys;
use self::filing::{AllMinions, FilingLocks, OneMinion};
use self::sessions::{Session, Sessions};
use self::settings::KeySettings;
use crate::clock::now_s;
use crate::cluster::Cluster;
use crate::core::budget::Budget;
use crate::core::undecided::Undecided;
use crate::error::StartError;
use crate::events::bus::Bus;
use crate::limits::{
    REFUSALS_INTERVAL_S, REFUSALS_MAX, REFUSALS_PER_ORIGIN_MAX, UNDECIDED_KEYS_MAX,
};
use crate::settings::General;

/// Prefix of the key of the facts. A minion that signs in has a token decrypted and
/// returned that was made for the master's key; without this mark it could have a
/// recorded key decrypted.
pub(crate) const KEY_MARK: &[u8] = b"halite.compare:";

/// Directory below `cachedir` that sessions are kept in.
pub(crate) const SESSIONS_DIR: &str = "sessions";

/// The keys and what is granted by them.
pub(crate) struct Keys {
    pub(crate) settings: KeySettings,
    /// The keys of minions.
    pub(crate) store: KeyStore,
    /// Whether other masters decide about the same keys.
    pub(crate) is_shared: bool,
    /// The accepted ones among them.
    pub(crate) accepted: AcceptedKeys,
    /// Which minions are accepted or rejected automatically.
    pub(crate) autosign: Autosign,
    /// The master's own keys.
    pub(crate) identity: MasterKeys,
    /// The keys shared with single minions.
    pub(crate) sessions: Sessions,
    bus: Arc<Bus>,
    /// Held while a sign-in looks at its key and files it.
    filing: FilingLocks,
    /// Keys that nobody has decided about.
    undecided: Mutex<Undecided<Origin>>,
    /// Refusals of sign-ins.
    refusals: Mutex<Budget<Origin>>,
}

impl Keys {
    /// Opens the keys, and generates missing keys of the master.
    ///
    /// # Errors
    /// When a key cannot be read or made.
    pub(crate) fn open(
        general: &General,
        place: Option<&BackendOptions>,
        settings: KeySettings,
        bus: Arc<Bus>,
        cluster: Option<&Arc<Cluster>>,
    ) -> Result<Self, StartError> {
        let mirror = general.cachedir.join(MIRROR_DIR);
        let dir = cluster.map_or(&general.pki_dir, |cluster| &cluster.settings.pki_dir);
        let store = KeyStore::open_at(dir, None, place, Some(&mirror))?;
        let identity = match cluster {
            Some(cluster) => cluster.identity.clone(),
            None => MasterKeys::load_or_generate(store.pki(), &settings.master_keys(&general.id))?,
        };
        let sessions = match cluster {
            Some(cluster) => Sessions::of_cluster(Arc::clone(cluster)),
            None => Sessions::new(general.cachedir.join(SESSIONS_DIR), settings.session_s),
        };
        let keys = Self {
            is_shared: place.is_some(),
            accepted: AcceptedKeys::new(store.clone()),
            autosign: Autosign::new(dir, settings.autosign.clone()),
            sessions,
            store,
            identity,
            bus,
            filing: FilingLocks::default(),
            undecided: Mutex::new(Undecided::new(UNDECIDED_KEYS_MAX)),
            refusals: Mutex::new(Budget::new(
                REFUSALS_PER_ORIGIN_MAX,
                REFUSALS_MAX,
                REFUSALS_INTERVAL_S,
            )),
            settings,
        };
        keys.count_undecided();
        if let Some(odd) = odd_ids::odd_ids_of(&keys.store, keys.settings.new_ids) {
            tracing::warn!("{odd}");
        }
        Ok(keys)
    }

    /// Prevents other sign-ins of a minion from filing its key.
    pub(crate) fn lock_filing(&self, id: &MinionId) -> OneMinion<'_> {
        self.filing.lock(id)
    }

    /// Prevents all sign-ins from filing keys.
    pub(crate) fn lock_all_filing(&self) -> AllMinions<'_> {
        self.filing.lock_all()
    }

    /// Counts the keys that nobody has decided about.
    pub(crate) fn count_undecided(&self) {
        let ids = [KeyState::Pending, KeyState::Rejected]
            .into_iter()
            .flat_map(|state| self.store.list(state).unwrap_or_default())
            .collect();
        self.undecided().recount(&ids);
    }

    /// Whether one more key may be filed for a sender without anybody's
    /// decision; it is counted then.
    pub(crate) fn has_room_to_file(&self, from: Origin, id: &MinionId) -> bool {
        self.undecided().admit(from, id)
    }

    /// Whether one more sign-in of a sender may be refused with an answer.
    pub(crate) fn may_refuse(&self, from: Origin) -> bool {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.take(from, now_s())
    }

    /// The sessions that a minion may have now.
    pub(crate) fn sessions_of(&self, id: &MinionId) -> Vec<Arc<Session>> {
        let Some(accepted) = self.accepted.get(id) else {
            return Vec::new();
        };
        self.sessions.candidates(id, &accepted, now_s())
    }

    fn undecided(&self) -> MutexGuard<'_, Undecided<Origin>> {
        self.undecided
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Fires the event of a change of a minion's key.
    pub(crate) fn fire_key_event(&self, act: &str, id: &MinionId, pem: &str) {
        let mut data = Map::from([
            ("result", Value::from(true)),
            ("act", Value::from(act)),
            ("id", Value::from(id)),
        ]);
        if !pem.is_empty() {
            data.insert("pub", pem);
        }
        self.bus.fire_under("key", [], data);
    }

    /// Ends the session of a minion, if it is not accepted any more.
    pub(crate) fn end_session(&self, id: &MinionId) {
        if self.accepted.is_out(id) {
            self.accepted.get(id);
            tracing::info!(
                minion = %id,
                "ended the minion's session: its key is no longer accepted"
            );
            self.sessions.drop_session(id);
        }
    }

    /// Ends the sessions of minions that are not accepted any more.
    pub(crate) fn end_sessions(&self) {
        self.accepted.prune();
        for id in self.sessions.ids() {
            if self.accepted.is_out(&id) {
                tracing::info!(
                    minion = %id,
                    "ended the minion's session: its key is no longer accepted"
                );
                self.sessions.drop_session(&id);
            }
        }
    }
}

/// The encryption of an answer whose request names `name`.
///
/// # Errors
/// When there is no such algorithm.
pub(crate) fn encryption_algorithm(name: Option<&str>) -> Result<EncAlgo, UnknownAlgorithm> {
    name.map_or_else(|| Ok(EncAlgo::default()), EncAlgo::parse)
}

/// The signature of an answer whose request names `name`.
///
/// # Errors
/// When there is no such algorithm.
pub(crate) fn signing_algorithm(name: Option<&str>) -> Result<SigAlgo, UnknownAlgorithm> {
    name.map_or_else(|| Ok(SigAlgo::default()), SigAlgo::parse)
}
