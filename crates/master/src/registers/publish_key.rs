//! The publish key of a cluster without shared files: the registers name it, and
//! the file and the publisher follow.
//!
//! Invariant: a key becomes the cluster's only in [`rotate`](AgreedKey::rotate), or
//! when the cluster is founded. So an old key in a file or the publisher is never
//! taken for a new one.

use std::time::Instant;

use halite_crypto::SymmetricKey;

use super::{KeyRegisters, RegistersError, State};
use crate::clock::now_micros;
use crate::error::chain;
use crate::limits::{PUBLISH_KEY_TOLD_MAX, REGISTERS_ROTATION_PAUSE};
use crate::publishing::AgreedKey;

/// How far the file and the publisher have followed.
pub(super) struct InUse {
    /// The key in the file, as it was read or written last.
    in_file: SymmetricKey,
    /// Until then the publisher keeps the old key, while the other masters are sent the
    /// new one.
    told_until: Option<Instant>,
    /// Somebody who is no longer accepted may have the key, and only this master knows
    /// that.
    pub(super) is_spent: bool,
    /// A revocation is not answered with a new key before.
    rotates_next: Option<Instant>,
}

impl InUse {
    /// The file and the publisher have this key.
    pub(super) fn of_file(key: SymmetricKey) -> Self {
        Self {
            in_file: key,
            told_until: None,
            is_spent: false,
            rotates_next: None,
        }
    }
}

impl KeyRegisters {
    /// Has the publisher and the file have the key of the registers.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn use_publish_key(&self, state: &mut State) -> Result<(), RegistersError> {
        let State { mirror, in_use, .. } = state;
        let Some(known) = mirror.registers.publish_key() else {
            return Ok(());
        };
        let publishing = &self.parts.publishing;
        let is_told = in_use.told_until.is_none_or(|end| end <= Instant::now());
        if is_told && !publishing.publisher.key().key.is_same(&known.key) {
            publishing.adopt(known.key.clone());
        }
        if !in_use.in_file.is_same(&known.key) {
            self.parts.cluster.dir.put_publish_key(&known.key)?;
            in_use.in_file = known.key.clone();
        }
        Ok(())
    }

    /// Whether somebody may have the publish key who was revoked since, and this
    /// master is the one to make another one.
    pub(super) fn has_to_rotate(&self, state: &mut State) -> bool {
        let State { mirror, in_use, .. } = state;
        let is_stale = mirror.registers.is_publish_key_stale();
        let is_due = in_use.is_spent || (is_stale && self.parts.cluster.leads());
        let now = Instant::now();
        if !is_due || mirror.is_joining() || in_use.rotates_next.is_some_and(|next| now < next) {
            return false;
        }
        in_use.rotates_next = Some(now + REGISTERS_ROTATION_PAUSE);
        true
    }
}

impl AgreedKey for KeyRegisters {
    fn rotate(&self) -> SymmetricKey {
        let mut state = self.state();
        {
            let _all = self.parts.keys.lock_all_filing();
            // The new key is for whoever is left by what was decided until now. What
            // is wrong with the look, the next tick says.
            let _ = self.look(&mut state);
        }
        let key = SymmetricKey::generate();
        let State {
            mirror,
            sync,
            in_use,
            ..
        } = &mut *state;
        let kept = mirror.rotate(key.clone(), now_micros());
        in_use.told_until = Some(Instant::now() + PUBLISH_KEY_TOLD_MAX);
        in_use.is_spent = false;
        sync.tell(&mirror.registers.some([], [], true));
        let used = self.use_publish_key(&mut state);
        self.send(&mut state);
        // The key holds all the same: others have heard of it.
        if let Err(error) = kept.and(used) {
            tracing::error!(
                "could not write a new publish key to disk yet: {}",
                chain(&error)
            );
        }
        key
    }
}
