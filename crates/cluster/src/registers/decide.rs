//! Decisions of this master.

use halite_crypto::SymmetricKey;
use halite_proto::MinionId;

use super::{RegisterError, Registers};
use crate::entry::{Denied, Entry, Grant, GrantKind, Revocation, Standing};
use crate::limits::{ADDRESS_BYTES_MAX, ENTRIES_MAX, KEY_TEXT_BYTES_MAX, MEMBERS_MAX};
use crate::peer::PeerId;
use crate::publish_key::PublishKey;

/// What is decided about a minion's key. Keys are PEM texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    /// The minion may sign in with this key.
    Accept(&'a str),
    /// The minion waits with this key.
    Pend(&'a str),
    /// The minion may not sign in with this key.
    Reject(&'a str),
    /// Nothing is known of the minion any more, its denied key included.
    Delete,
    /// This key came for an id that has another one.
    Deny(&'a str),
    /// The denied key is gone; the id's own one stays.
    ClearDenied,
}

impl Registers {
    /// Takes a decision about a minion's key, with knowledge of all that is known
    /// here. Whether it changes anything.
    ///
    /// # Errors
    /// When there is no room for another minion, or the key is too long.
    pub fn decide(
        &mut self,
        id: &MinionId,
        decision: Decision<'_>,
        wall: u64,
    ) -> Result<bool, RegisterError> {
        if let Decision::Accept(key)
        | Decision::Pend(key)
        | Decision::Reject(key)
        | Decision::Deny(key) = decision
        {
            check_length("key", key, KEY_TEXT_BYTES_MAX)?;
        }
        if !self.has_room_for(id) {
            return Err(RegisterError::Full {
                what: "minions",
                max: ENTRIES_MAX,
            });
        }
        let mut entry = self.keys.get(id).cloned().unwrap_or_default();
        match decision {
            Decision::Accept(key) if entry.standing() != Standing::Accepted(key) => {
                self.grant_anew(&mut entry, GrantKind::Accepted, key, "", wall);
            }
            Decision::Pend(key) if entry.standing() != Standing::Pending(key) => {
                self.grant_anew(&mut entry, GrantKind::Pending, key, "", wall);
            }
            Decision::Reject(key) if entry.standing() != Standing::Rejected(key) => {
                self.revoke(&mut entry, Some(key.to_owned()), wall);
            }
            Decision::Delete if !entry.is_tombstone() => {
                self.revoke(&mut entry, None, wall);
                if entry.denied.is_some() {
                    let at = self.clock.next_after(entry.latest(), wall);
                    entry.denied = Some(Denied { at, key: None });
                }
            }
            Decision::Deny(key) if entry.denied_key() != Some(key) => {
                let at = self.clock.next_after(entry.latest(), wall);
                let key = Some(key.to_owned());
                entry.denied = Some(Denied { at, key });
            }
            Decision::ClearDenied if entry.denied_key().is_some() => {
                let at = self.clock.next_after(entry.latest(), wall);
                entry.denied = Some(Denied { at, key: None });
            }
            _ => return Ok(false),
        }
        self.keys.set(id, entry);
        Ok(true)
    }

    /// Takes a master into the cluster, also one that was removed.
    ///
    /// # Errors
    /// When there are as many as there may be, or a text is too long.
    pub fn admit(
        &mut self,
        peer: &PeerId,
        key: &str,
        address: &str,
        wall: u64,
    ) -> Result<(), RegisterError> {
        check_length("key", key, KEY_TEXT_BYTES_MAX)?;
        check_length("address", address, ADDRESS_BYTES_MAX)?;
        let known = self.members.get(peer);
        if known.is_none() && self.members.len() >= MEMBERS_MAX {
            return Err(RegisterError::Full {
                what: "masters",
                max: MEMBERS_MAX,
            });
        }
        let mut entry = known.cloned().unwrap_or_default();
        let is_known = entry
            .grant
            .as_ref()
            .is_some_and(|grant| grant.key == key && grant.address == address);
        if !is_known {
            self.grant_anew(&mut entry, GrantKind::Accepted, key, address, wall);
            self.members.set(peer, entry);
        }
        Ok(())
    }

    /// Takes a master out of the cluster. Whether it was a member.
    pub fn remove_member(&mut self, peer: &PeerId, wall: u64) -> bool {
        let Some(entry) = self.members.get(peer).filter(|entry| entry.grant.is_some()) else {
            return false;
        };
        let mut entry = entry.clone();
        self.revoke(&mut entry, None, wall);
        self.members.set(peer, entry);
        true
    }

    /// Makes `key` the publish key of the cluster, for whoever is not revoked by
    /// what is known here.
    pub fn rotate(&mut self, key: SymmetricKey, wall: u64) {
        let epoch = self.publish.as_ref().map_or(0, |publish| publish.epoch);
        self.publish = Some(PublishKey {
            epoch: epoch.saturating_add(1),
            at: self.clock.next(wall),
            by: self.me.clone(),
            key,
            covers: self.last_cuts(),
        });
    }

    /// Grants what an earlier grant that would count more is revoked for.
    fn grant_anew(
        &mut self,
        entry: &mut Entry,
        kind: GrantKind,
        key: &str,
        address: &str,
        wall: u64,
    ) {
        let gives_way = |old: &Grant| old.kind == GrantKind::Accepted || kind == GrantKind::Pending;
        let is_replaced = entry.grant.as_ref().is_some_and(|old| {
            let is_same_key = old.key == key;
            gives_way(old) && !(is_same_key && kind == GrantKind::Accepted)
        });
        if is_replaced {
            self.revoke(entry, None, wall);
        }
        entry.grant = Some(Grant {
            kind,
            at: self.clock.next_after(entry.latest(), wall),
            by: self.me.clone(),
            key: key.to_owned(),
            address: address.to_owned(),
        });
    }

    fn revoke(&mut self, entry: &mut Entry, rejected: Option<String>, wall: u64) {
        let at = self.clock.next_after(entry.latest(), wall);
        let before = entry.revoked.get(&self.me).map(|before| before.cut);
        let grant = entry.grant.as_ref();
        let cut = match grant.is_some_and(|grant| grant.kind == GrantKind::Accepted) {
            true => at,
            false => before.unwrap_or_default(),
        };
        let revocation = Revocation { at, rejected, cut };
        entry.revoked.insert(self.me.clone(), revocation);
        entry.grant = None;
    }
}

fn check_length(what: &'static str, text: &str, max: usize) -> Result<(), RegisterError> {
    match text.len() > max {
        true => Err(RegisterError::TooLong { what, max }),
        false => Ok(()),
    }
}
