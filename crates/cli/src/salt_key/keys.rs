//! Where the keys are: in the directories of this machine's master, or behind a
//! master that is asked with a login.
//!
//! Invariant: with a login only the master reads or changes keys, and it checks
//! each request.

use std::time::Duration;

use halite_key::{FingerForm, KeyState, KeyStore, KeyStoreError, Listing};
use halite_proto::{Map, MinionId, Value};

use super::change::KeyChange;
use super::settings::KeySettings;
use super::{ActionError, STATES, by_state, ids, local_fingers};
use halite_client::{ClientError, LocalClient};

/// The keys of minions.
pub(super) enum Keys {
    /// In files.
    Files,
    /// Behind a master.
    Master(Box<Asked>),
}

/// A master that is asked.
pub(super) struct Asked {
    pub(super) client: LocalClient,
    pub(super) timeout: Duration,
}

impl Keys {
    /// All ids, by the states of their keys.
    pub(super) async fn listing(&self, settings: &KeySettings) -> Result<Listing, ActionError> {
        match self {
            Self::Files => Ok(match readable(settings)? {
                Some(store) => store.list_all()?,
                None => Listing::default(),
            }),
            Self::Master(asked) => asked.listing().await,
        }
    }

    /// The texts of the keys that match.
    pub(super) async fn texts(
        &self,
        globs: &str,
        settings: &KeySettings,
    ) -> Result<Value, ActionError> {
        match self {
            Self::Files => {
                let Some(store) = readable(settings)? else {
                    return Ok(Map::new().into());
                };
                let listing = store.list_all()?.matching(globs);
                Ok(by_state(&listing, |state, id| store.get(state, id))?)
            }
            Self::Master(asked) => {
                let found = asked.matching("key.print", globs).await?;
                Ok(in_order(&found))
            }
        }
    }

    /// The fingerprints of the keys that match, the master's own too.
    pub(super) async fn fingers(
        &self,
        globs: &str,
        settings: &KeySettings,
    ) -> Result<Value, ActionError> {
        let (mut fingers, local) = match self {
            Self::Files => {
                let Some(store) = readable(settings)? else {
                    return Ok(Map::new().into());
                };
                let hash = settings.hash_type;
                let listing = store.list_all()?.matching(globs);
                let finger = |state, id: &MinionId| store.finger(state, id, FingerForm::Body, hash);
                let fingers = by_state(&listing, finger)?;
                (fingers, local_fingers(&store, globs, hash)?)
            }
            Self::Master(asked) => {
                let found = asked.matching("key.finger", globs).await?;
                (in_order(&found), asked.own_finger(globs).await?)
            }
        };
        if let (Some(fingers), false) = (fingers.as_map_mut(), local.is_empty()) {
            fingers.insert("local", local);
        }
        Ok(fingers)
    }
}

/// The keys, for looking at: nothing where there is no directory yet.
pub(super) fn readable(settings: &KeySettings) -> Result<Option<KeyStore>, KeyStoreError> {
    match KeyStore::open_existing_at(&settings.keys_dir, settings.places.keys.as_ref()) {
        Ok(store) => Ok(Some(store.as_seen_by(&settings.mirror()))),
        Err(KeyStoreError::NoDirectory { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Asked {
    async fn wheel(&self, fun: &str, kwargs: Map) -> Result<Value, ClientError> {
        self.client.wheel(fun, kwargs, self.timeout).await
    }

    async fn matching(&self, fun: &str, globs: &str) -> Result<Value, ClientError> {
        self.wheel(fun, Map::from([("match", globs)])).await
    }

    async fn listing(&self) -> Result<Listing, ActionError> {
        let found = self.wheel("key.list_all", Map::new()).await?;
        let mut listing = Listing::default();
        for state in KeyState::ALL {
            let ids = found.get(state.dir_name()).and_then(Value::as_list);
            let ids = ids.unwrap_or_default().iter();
            let ids = ids.filter_map(|id| MinionId::parse(id.as_str()?).ok());
            listing = listing.with(state, ids.collect());
        }
        Ok(listing)
    }

    /// The fingerprint of the master's public key, if its name matches.
    async fn own_finger(&self, globs: &str) -> Result<Map, ClientError> {
        let found = self.wheel("key.finger_master", Map::new()).await?;
        let local = found.get("local").and_then(Value::as_map);
        let mut own = local.cloned().unwrap_or_default();
        own.retain(|name, _| {
            let name = name.as_str().unwrap_or_default();
            halite_key::matches_any(globs, name)
        });
        Ok(own)
    }

    /// Changes the keys that are listed; the ids of which that is true now.
    pub(super) async fn change(
        &self,
        kind: KeyChange,
        meant: &Listing,
        from: &[KeyState],
    ) -> Result<Vec<MinionId>, ActionError> {
        let states = STATES
            .into_iter()
            .filter(|state| !meant.in_state(*state).is_empty());
        let meant_now: Map = states
            .map(|state| (state.dir_name(), ids(meant, state)))
            .collect();
        let mut kwargs = Map::from([("match", meant_now)]);
        for (name, state) in [
            ("include_accepted", KeyState::Accepted),
            ("include_rejected", KeyState::Rejected),
            ("include_denied", KeyState::Denied),
        ] {
            if kind != KeyChange::Delete && from.contains(&state) {
                kwargs.insert(name, true);
            }
        }
        let (fun, wanted) = match kind {
            KeyChange::Accept => ("key.accept_dict", Some(KeyState::Accepted)),
            KeyChange::Reject => ("key.reject_dict", Some(KeyState::Rejected)),
            KeyChange::Delete => ("key.delete_dict", None),
        };
        self.wheel(fun, kwargs).await?;
        let after = self.listing().await?;
        let is_done = |id: &MinionId| match wanted {
            Some(state) => after.in_state(state).contains(id),
            None => !after.entries().any(|(_, other)| other == id),
        };
        let entries = meant.entries().map(|(_, id)| id);
        Ok(entries.filter(|id| is_done(id)).cloned().collect())
    }
}

/// What a master tells of keys, in the order in which it is shown.
fn in_order(found: &Value) -> Value {
    let mut states = Map::new();
    for state in STATES {
        let Some(of_state) = found.get(state.dir_name()).and_then(Value::as_map) else {
            continue;
        };
        let mut entries: Vec<_> = of_state.iter().collect();
        entries.sort_by_cached_key(|(id, _)| id.as_str().unwrap_or_default().to_lowercase());
        let entries = entries.into_iter();
        let sorted: Map = entries
            .map(|(id, text)| (id.clone(), text.clone()))
            .collect();
        if !sorted.is_empty() {
            states.insert(state.dir_name(), sorted);
        }
    }
    states.into()
}
