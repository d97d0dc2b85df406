//! The resources that minions have registered, kept in a bank of the store: a
//! minion registers them when it starts, not when the master does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_proto::{Map, MinionId, Value};
use halite_store::{BankError, Banks};

use crate::core::resources::{Owners, names};
use crate::error::chain;
use crate::keys::Keys;

/// The bank; its keys are the owners.
const BANK: &str = "resource_owners";

/// Whose resources are whose.
pub(crate) struct Resources {
    banks: Banks,
    keys: Arc<Keys>,
    /// `None` until somebody asks.
    owners: Mutex<Option<Owners>>,
}

impl Resources {
    /// The resources in the store.
    pub(crate) fn new(banks: Banks, keys: Arc<Keys>) -> Self {
        Self {
            banks,
            keys,
            owners: Mutex::default(),
        }
    }

    /// Stores the resources that a minion has registered.
    pub(crate) fn register(&self, id: &MinionId, resources: &Map) {
        let mut kept = self.lock();
        let owners = kept.get_or_insert_with(|| self.read());
        let is_accepted = |owner: &MinionId| self.keys.accepted.get(owner).is_some();
        if !owners.register(
            id,
            names(resources, self.keys.settings.new_ids),
            is_accepted,
        ) {
            return;
        }
        let named: Vec<Value> = owners.owned_by(id).map(Value::from).collect();
        let stored = match named.is_empty() {
            true => self.banks.flush(BANK, Some(id.as_str())).map(drop),
            false => self.banks.store(BANK, id.as_str(), &named.into()),
        };
        if let Err(error) = stored {
            tracing::error!(
                minion = %id,
                "could not store the minion's resources: {}",
                chain(&error)
            );
        }
    }

    /// Whether what calls itself so is a resource of this minion, and no minion.
    pub(crate) fn is_of(&self, id: &MinionId, resource: &MinionId) -> bool {
        let mut kept = self.lock();
        let owners = kept.get_or_insert_with(|| self.read());
        owners.is_of(id, resource) && self.keys.accepted.get(resource).is_none()
    }

    fn read(&self) -> Owners {
        let mut owners = Owners::default();
        if let Err(error) = self.read_into(&mut owners) {
            tracing::error!(
                "could not read which minions own which resources: {}",
                chain(&error)
            );
        }
        owners
    }

    fn read_into(&self, owners: &mut Owners) -> Result<(), BankError> {
        for name in self.banks.list(BANK)? {
            let Ok(id) = MinionId::parse(name.as_str()) else {
                continue;
            };
            if self.keys.accepted.get(&id).is_none() {
                continue;
            }
            let named = self.banks.fetch(BANK, &name)?.unwrap_or_default();
            let named = Map::from([("", named)]);
            let names = names(&named, self.keys.settings.new_ids);
            owners.register(&id, names, |_| true);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Owners>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
