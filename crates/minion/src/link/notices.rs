//! The log messages of a link that cannot connect or sign in.

use tracing::{error, warn};

use crate::core::link::Notice;

/// Logs why a link cannot connect or sign in.
pub(super) fn say(notice: &Notice) {
    match notice {
        Notice::Pending => warn!(
            "The Salt Master has cached the public key for this node, this salt minion will wait \
             until the key is accepted"
        ),
        Notice::Rejected => error!(
            "The Salt Master has rejected this minion's public key; delete it there with \
             salt-key -d and accept it again"
        ),
        Notice::Full => warn!("the master is full (max_minions), trying again later"),
        Notice::NotResolved(why) => warn!("the master's name cannot be resolved: {why}"),
        Notice::NoAnswer => warn!("the master does not answer, trying again"),
        Notice::Busy => {
            warn!("the master is busy with other sign-ins, trying again when it says");
        }
        Notice::Mistrusted(why) => error!("sign-in failed: {why}"),
    }
}
