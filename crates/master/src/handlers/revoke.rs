//! A minion that gives up its key.

use halite_proto::request::{Request, RevokeAuth};

use super::{Caller, Handled};
use crate::error::chain;
use crate::master::Master;

/// Deletes the minion's key and ends its access.
pub(super) fn revoke(
    master: &Master,
    caller: &Caller,
    revoke: RevokeAuth,
    request: &Request,
) -> Handled {
    let id = &caller.id;
    if !master.settings.allow_minion_key_revoke {
        if master.may_remark(id.as_str(), "revoke") {
            tracing::warn!(minion = %id, "asked to have its key deleted; allow_minion_key_revoke is off");
        }
        return request.event_data().into();
    }
    match master.keys.delete(id) {
        Ok(changes) => {
            if !changes.is_empty() {
                // As in Salt, without the key.
                master.fire_key_event("delete", id, "");
            }
        }
        Err(error) => {
            tracing::error!(minion = %id, "could not delete the key: {}", chain(&error));
            return Handled::failed();
        }
    }
    if !revoke.preserve_minion_cache {
        master.forget_minion_data(id);
    }
    master.cut_access();
    tracing::info!(minion = %id, "deleted its key as it asked");
    true.into()
}
