//! A changed master key that the known key has signed.
//!
//! Invariant: only keys that the known one leads to are trusted, each signed by the
//! one before.

use halite_crypto::{PublicKey, clean_key, master_sign};
use halite_proto::key_changes::KeyChange;

/// Whether the keys that a master had lead from the known key to the offered
/// one, each signed by the one before.
pub(super) fn leads_to(known: &str, offered: &str, changes: &[KeyChange]) -> bool {
    let known = clean_key(known);
    let Some(start) = changes
        .iter()
        .position(|change| clean_key(&change.old_key) == known)
    else {
        return false;
    };
    let followed = changes.get(start..).unwrap_or_default();
    let next = followed
        .iter()
        .skip(1)
        .map(|change| change.old_key.as_str());
    followed
        .iter()
        .zip(next.chain([offered]))
        .all(|(change, next)| {
            PublicKey::from_pem(&change.old_key)
                .is_ok_and(|old| master_sign::verify_successor(&old, next, &change.signature))
        })
}
