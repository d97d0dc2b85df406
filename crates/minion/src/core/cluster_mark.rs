//! Recognises masters that form one cluster.

use halite_proto::cluster_name_of;

use super::sign_in::Credentials;

/// What masters of one cluster have in common and no others: the name, and the key that
/// they have signed in with. A name alone proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterMark {
    name: String,
    key: String,
}

impl ClusterMark {
    /// The mark of a master, if it says that it belongs to a cluster.
    pub fn of(credentials: &Credentials) -> Option<Self> {
        Some(Self {
            name: cluster_name_of(&credentials.extra)?.to_owned(),
            key: credentials.master_pem.trim().to_owned(),
        })
    }
}
