//! Where the data is that masters share.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use halite_cluster::data::{DataKind, DataName, Version};
use halite_proto::{Map, MinionId, Value};
use halite_store::{Bank, StoreError, TokenId};

use crate::access::Access;
use crate::clock::{now_micros, now_s};
use crate::error::chain;
use crate::fleet::Fleet;
use crate::keys::Keys;
use crate::limits::TOKEN_REMOVALS_KEPT;

/// The shared data, and the keys of its owners.
pub(crate) struct SharedPlaces {
    pub(crate) keys: Arc<Keys>,
    /// The data of minions, if it is in files of this master's own.
    pub(crate) fleet: Option<Arc<Fleet>>,
    /// The tokens, if they are.
    pub(crate) access: Option<Arc<Access>>,
}

impl SharedPlaces {
    /// The names of all stored data.
    pub(super) fn names(&self) -> Vec<DataName> {
        let mut names = Vec::new();
        if let Some(fleet) = &self.fleet {
            for bank in Bank::ALL {
                let ids = fleet
                    .data
                    .ids(bank)
                    .unwrap_or_else(|error| not_listed(&error));
                names.extend(ids.into_iter().map(|id| DataName::new(kind_of(bank), id)));
            }
        }
        if let Some(access) = &self.access {
            let tokens = access.tokens.store().list();
            let tokens = tokens.unwrap_or_else(|error| not_listed(&error));
            let ids = tokens.iter().map(|token| MinionId::parse(token.expose()));
            names.extend(ids.flatten().map(|id| DataName::new(DataKind::Token, id)));
        }
        names
    }

    /// Whether something of that name is kept here.
    pub(super) fn is_known(&self, name: &DataName) -> bool {
        match Place::of(name) {
            Place::Data(_) => self.fleet.is_some() && self.keys.accepted.get(name.id()).is_some(),
            Place::Token(token) => self.access.is_some() && token.is_some(),
        }
    }

    /// Keeps valid versions, and drops those of minions that are not accepted and of
    /// tokens that have expired.
    pub(super) fn keeps(&self) -> impl Fn(&DataName, &Version) -> bool {
        let accepted: HashSet<MinionId> = match &self.fleet {
            Some(_) => self.keys.accepted.list().into_iter().collect(),
            None => HashSet::new(),
        };
        let now = now_micros();
        move |name, version| match Place::of(name) {
            Place::Data(_) => accepted.contains(name.id()),
            Place::Token(_) if version.content.is_none() => {
                let age = Duration::from_micros(now.saturating_sub(version.at.micros));
                age < TOKEN_REMOVALS_KEPT
            }
            Place::Token(_) => self.get(name).is_ok_and(|data| data.is_some()),
        }
    }

    pub(super) fn get(&self, name: &DataName) -> Result<Option<Map>, StoreError> {
        match (Place::of(name), &self.fleet, &self.access) {
            (Place::Data(bank), Some(fleet), _) => fleet.data.get(bank, name.id()),
            (Place::Token(Some(token)), _, Some(access)) => {
                access.tokens.store().get(&token, now_s())
            }
            _ => Ok(None),
        }
    }

    pub(super) fn put(&self, name: &DataName, data: &Map) -> Result<(), StoreError> {
        match (Place::of(name), &self.fleet, &self.access) {
            (Place::Data(bank), Some(fleet), _) => fleet.data.store().put(bank, name.id(), data),
            (Place::Token(Some(token)), _, Some(access)) => {
                let expire = data.get("expire").and_then(Value::as_f64);
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a float is cut to what fits"
                )]
                let expire = expire.unwrap_or_default() as i64;
                access.tokens.store().put(&token, data, expire)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn remove(&self, name: &DataName) -> Result<(), StoreError> {
        match (Place::of(name), &self.fleet, &self.access) {
            (Place::Data(bank), Some(fleet), _) => {
                fleet.data.store().forget(bank, name.id())?;
            }
            (Place::Token(Some(token)), _, Some(access)) => {
                access.tokens.store().delete(&token)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn not_listed<T>(error: &StoreError) -> Vec<T> {
    tracing::error!(
        "could not list the entries to share with the other masters: {}",
        chain(error)
    );
    Vec::new()
}

/// Where data of a name is stored.
enum Place {
    Data(Bank),
    /// `None` for what has not the form of a token.
    Token(Option<TokenId>),
}

impl Place {
    fn of(name: &DataName) -> Self {
        match name.kind() {
            DataKind::Grains => Self::Data(Bank::Grains),
            DataKind::Pillar => Self::Data(Bank::Pillar),
            DataKind::Mine => Self::Data(Bank::Mine),
            DataKind::Token => Self::Token(TokenId::parse(name.id().as_str())),
        }
    }
}

pub(super) const fn kind_of(bank: Bank) -> DataKind {
    match bank {
        Bank::Grains => DataKind::Grains,
        Bank::Pillar => DataKind::Pillar,
        Bank::Mine => DataKind::Mine,
    }
}
