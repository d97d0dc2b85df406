//! A minion that asks for its key to be deleted.

use halite_proto::request::{Request, RevokeAuth};

use super::{Caller, Handled};
use crate::error::chain;
use crate::fleet::Fleet;
use crate::keys::Keys;
use crate::publishing::Publishing;

/// Deletes the minion's key and ends its access.
pub(super) fn revoke(
    (keys, fleet, publishing): (&Keys, &Fleet, &Publishing),
    caller: &Caller,
    revoke: RevokeAuth,
    request: &Request,
) -> Handled {
    let id = &caller.id;
    if !keys.settings.allow_minion_key_revoke {
        if caller.may_log("revoke") {
            tracing::warn!(
                minion = %id,
                "refused the minion's request to delete its key: allow_minion_key_revoke is off"
            );
        }
        return request.event_data().into();
    }
    match keys.store.delete(id) {
        Ok(changes) => {
            if !changes.is_empty() {
                // As in Salt, without the key.
                keys.fire_key_event("delete", id, "");
            }
        }
        Err(error) => {
            tracing::error!(minion = %id, "could not delete the key: {}", chain(&error));
            return Handled::failed();
        }
    }
    match revoke.preserve_minion_cache {
        true => fleet.forget_pillars(id),
        false => fleet.forget_minion_data(id),
    }
    publishing.cut_access();
    tracing::info!(minion = %id, "deleted the minion's key at its own request");
    true.into()
}
