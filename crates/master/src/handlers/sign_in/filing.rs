//! Collects what is known of a minion's key, decides, and files the key.

use std::time::SystemTime;

use halite_key::limits::CHANGE_TRIES_MAX;
use halite_key::{KeyState, KeyStoreError, StoredKey};

use super::{SignIn, SignInError, SignIns};
use crate::core::auth::{Decision, Facts, Filing, KnownKey, decide};
use crate::core::text::python_text;
use crate::keys::accepted::{AcceptedKey, KeyMark};

impl SignIn<'_> {
    /// The facts and the decision, with the key filed. If several masters share a store,
    /// another one may decide about the same minion between reading and filing; then both
    /// are repeated.
    pub(super) fn decided(&self) -> Result<(Facts, Decision), SignInError> {
        // One of a minion at a time on this master.
        let _one = self.parts.keys.lock_filing(&self.request.id);
        for _ in 0..CHANGE_TRIES_MAX {
            let known = self.known()?;
            let facts = self.facts(known.as_ref());
            let decision = decide(&facts);
            let is_filed = match decision.filing {
                Some(filing) => self.file(known.as_ref(), filing)?,
                None => true,
            };
            if is_filed {
                return Ok((facts, decision));
            }
        }
        Err(SignInError::Contested)
    }

    fn known(&self) -> Result<Option<StoredKey>, SignInError> {
        match self.parts.keys.store.lookup(&self.request.id) {
            Ok(key) => Ok(key),
            // A name that no key file may have: refused like an invalid one.
            Err(KeyStoreError::HiddenId { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn facts(&self, known: Option<&StoredKey>) -> Facts {
        let settings = &self.parts.keys.settings;
        let id = &self.request.id;
        let known = match known {
            None => KnownKey::None,
            Some(key) => {
                let same = self.is_known(key);
                match key.state {
                    KeyState::Accepted => KnownKey::Accepted { same },
                    KeyState::Pending => KnownKey::Pending { same },
                    KeyState::Rejected | KeyState::Denied => KnownKey::Rejected,
                }
            }
        };
        let is_hidden = id.as_str().starts_with('.');
        let autosign = &self.parts.keys.autosign;
        let autoreject = known.asks_autoreject(settings.open_mode) && autosign.rejects(id);
        Facts {
            known,
            id_allowed: settings.new_ids.check(id).is_ok(),
            key_usable: self.key.is_some() && !is_hidden,
            open_mode: settings.open_mode,
            room: self.parts.fleet.room_for(id),
            autoreject,
            autosign: !autoreject
                && known.asks_autosign(settings.open_mode)
                && autosign.accepts(id, |name| self.grain(name), SystemTime::now()),
            enc_algo_known: self.enc_algo.is_some(),
            sig_algo_known: self.sig_algo.is_some(),
        }
    }

    /// Whether it is the key that signs in. What another master of a cluster has
    /// filed has the one text that each key has.
    fn is_known(&self, key: &StoredKey) -> bool {
        let offered = self.key.as_ref();
        key.is_same_key(&self.request.public_key)
            || offered
                .and_then(|offered| offered.clean_pem().ok())
                .is_some_and(|pem| key.is_same_key(&pem))
    }

    /// Whether the accepted key is the one that signs in: it may have been replaced since
    /// it was looked at.
    pub(super) fn signs_in_with(&self, accepted: &AcceptedKey) -> bool {
        let pem = self.key.as_ref().and_then(|key| key.clean_pem().ok());
        let marks = [Some(self.request.public_key.as_str()), pem.as_deref()];
        (marks.into_iter().flatten()).any(|pem| KeyMark::of(pem) == accepted.mark)
    }

    fn grain(&self, name: &str) -> Option<String> {
        python_text(self.request.autosign_grains.as_ref()?.get(name)?)
    }

    /// Files the key over what was seen; false if somebody else was faster.
    fn file(&self, seen: Option<&StoredKey>, filing: Filing) -> Result<bool, SignInError> {
        let is_decided = matches!(filing, Filing::Accepted | Filing::Denied);
        let SignIns { keys, from, .. } = self.parts;
        if !is_decided && !keys.has_room_to_file(from, &self.request.id) {
            if self.parts.may_log("", "undecided") {
                tracing::error!(
                    %from,
                    "too many keys are pending: further ones from this address are not stored"
                );
            }
            return Ok(true);
        }
        let state = match filing {
            Filing::Accepted => KeyState::Accepted,
            Filing::Pending => KeyState::Pending,
            Filing::Rejected => KeyState::Rejected,
            Filing::Denied => KeyState::Denied,
        };
        let pem = &self.request.public_key;
        let store = &self.parts.keys.store;
        Ok(store.put_over(&self.request.id, seen, state, pem)?)
    }
}
