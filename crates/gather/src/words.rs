//! Messages about minions that did not return. Scripts match their beginnings.

use halite_proto::Jid;

/// How all of them begin.
pub const DID_NOT_RETURN: &str = "Minion did not return.";

/// For a minion without a connection to the master.
pub const NOT_CONNECTED: &str = "Minion did not return. [Not connected]";

/// For any other minion.
pub fn no_response(jid: &Jid) -> String {
    format!(
        "Minion did not return. [No response]\nThe minions may not have all finished running and \
         any remaining minions will return upon completion. To look up the return data for this \
         job later, run the following command:\n\nsalt-run jobs.lookup_jid {jid}"
    )
}
