//! Results that were too large for their events.

use halite_proto::event::is_trimmed;
use halite_proto::{Jid, MinionId, Value};

use crate::error::chain;

/// The result of a minion as the job cache has it, where an event has cut it to
/// `value`. Blocks.
pub(crate) fn untrimmed(
    cache: &halite_store::Jobs,
    jid: &Jid,
    minion: &str,
    value: Value,
) -> Value {
    if !is_trimmed(&value) {
        return value;
    }
    let Ok(id) = MinionId::parse(minion) else {
        return value;
    };
    match cache.return_of(jid, &id) {
        Ok(Some(stored)) => stored.ret().clone(),
        Ok(None) => value,
        Err(error) => {
            tracing::warn!(
                minion = %id, %jid,
                "could not read a large return from the job cache, the event has it in part: {}",
                chain(&error)
            );
            value
        }
    }
}
