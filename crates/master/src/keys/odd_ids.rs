//! Keys with ids that new minions may not have.
//!
//! They are from a time when the master, or Salt's before it, accepted any id.

use halite_config::{MasterConfig, Warning};
use halite_crypto::HashType;
use halite_key::{KeyState, KeyStore};
use halite_proto::NewIds;
use halite_store::Places;

use super::settings::new_ids;

/// Ids that are named at most.
const NAMED_MAX: usize = 20;

/// The warning about the keys of a master with this configuration.
pub fn odd_ids(config: &MasterConfig) -> Option<Warning> {
    let hash_type = HashType::parse(&config.hash_type.0).ok()?;
    let places = Places::from_opts(config.opts(), &config.cachedir, hash_type).ok()?;
    let store = KeyStore::open_existing_at(config.keys_dir(), places.keys.as_ref()).ok()?;
    let text = odd_ids_of(&store, new_ids(config))?;
    let path = config.keys_dir().to_owned();
    Some(Warning::Found { path, text })
}

/// The warning about the keys of a store.
pub(super) fn odd_ids_of(store: &KeyStore, rule: NewIds) -> Option<String> {
    let states = [KeyState::Accepted, KeyState::Pending];
    let mut odd: Vec<String> = states
        .into_iter()
        .flat_map(|state| store.list(state).unwrap_or_default())
        .filter_map(|id| Some(format!("{id} ({})", rule.check(&id).err()?)))
        .collect();
    let count = odd.len();
    if count == 0 {
        return None;
    }
    odd.truncate(NAMED_MAX);
    if count > odd.len() {
        odd.push(format!("and {} more", count - odd.len()));
    }
    let odd = odd.join(", ");
    Some(format!(
        "keys of ids that no new minion may have, since targets or command lines may read \
         them as something else: {odd}"
    ))
}
