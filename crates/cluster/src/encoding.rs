//! Reads and writes what masters send each other and store, as lists in a fixed
//! order. Input is checked like any peer's: kinds, lengths and names.

use std::collections::BTreeMap;

use halite_crypto::SymmetricKey;
use halite_proto::{IdError, MinionId, Value};
use thiserror::Error;

use crate::clock::Stamp;
use crate::entry::{Denied, Entry, Grant, GrantKind, Revocation};
use crate::limits::{ADDRESS_BYTES_MAX, KEY_TEXT_BYTES_MAX, MEMBERS_MAX};
use crate::peer::PeerId;
use crate::publish_key::PublishKey;

/// Why a value is not what a master of the cluster writes.
#[derive(Debug, Error)]
pub enum DecodeError {
    /// Something else than expected stands at a place, or nothing.
    #[error("{expected} is missing")]
    Expected {
        /// What belongs there.
        expected: &'static str,
    },
    /// There is more of something than allowed.
    #[error("more than {max} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How much there may be.
        max: usize,
    },
    /// A name is none.
    #[error("a name is refused")]
    Name(#[from] IdError),
}

/// Takes the items of a list one after the other.
pub(crate) struct Items(std::vec::IntoIter<Value>);

impl Items {
    pub(crate) fn of(value: Value) -> Result<Self, DecodeError> {
        match value {
            Value::List(items) => Ok(Self(items.into_iter())),
            _ => Err(expected("list")),
        }
    }

    /// A list with no more than `max` items.
    pub(crate) fn at_most(
        value: Value,
        what: &'static str,
        max: usize,
    ) -> Result<std::vec::IntoIter<Value>, DecodeError> {
        let items = Self::of(value)?.0;
        match items.len() > max {
            true => Err(DecodeError::TooMany { what, max }),
            false => Ok(items),
        }
    }

    pub(crate) fn value(&mut self, name: &'static str) -> Result<Value, DecodeError> {
        self.0.next().ok_or_else(|| expected(name))
    }

    pub(crate) fn text(
        &mut self,
        name: &'static str,
        bytes_max: usize,
    ) -> Result<String, DecodeError> {
        match self.value(name)? {
            Value::Str(text) if text.len() <= bytes_max => Ok(text),
            Value::Str(_) => Err(DecodeError::TooMany {
                what: "bytes in a text",
                max: bytes_max,
            }),
            _ => Err(expected(name)),
        }
    }

    pub(crate) fn number(&mut self, name: &'static str) -> Result<u64, DecodeError> {
        let number = self.value(name)?.as_int();
        let number = number.and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| expected(name))
    }

    pub(crate) fn bool(&mut self, name: &'static str) -> Result<bool, DecodeError> {
        self.value(name)?.as_bool().ok_or_else(|| expected(name))
    }

    pub(crate) fn peer(&mut self) -> Result<PeerId, DecodeError> {
        Ok(PeerId::parse(&self.text("master id", NAME_BYTES_MAX)?)?)
    }

    pub(crate) fn minion(&mut self) -> Result<MinionId, DecodeError> {
        minion_id(&self.text("minion id", NAME_BYTES_MAX)?)
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.0.as_slice().is_empty()
    }

    pub(crate) fn stamp(&mut self) -> Result<Stamp, DecodeError> {
        let micros = self.number("moment")?;
        let count = u32::try_from(self.number("moment")?).map_err(|_| expected("moment"))?;
        Ok(Stamp { micros, count })
    }

    fn optional_key(&mut self) -> Result<Option<String>, DecodeError> {
        match self.value("key")? {
            Value::Nil => Ok(None),
            Value::Str(text) if text.len() <= KEY_TEXT_BYTES_MAX => Ok(Some(text)),
            _ => Err(expected("key")),
        }
    }
}

const NAME_BYTES_MAX: usize = 255;

pub(crate) fn minion_id(text: &str) -> Result<MinionId, DecodeError> {
    // No key store has a file for it: whoever has it could never show it.
    if text.starts_with('.') {
        return Err(DecodeError::Name(IdError {
            what: "minion id",
            text: text.chars().take(80).collect(),
            why: "it begins with a dot",
        }));
    }
    Ok(MinionId::parse(text)?)
}

pub(crate) fn expected(expected: &'static str) -> DecodeError {
    DecodeError::Expected { expected }
}

/// The two items of a moment.
pub(crate) fn stamp_items(stamp: Stamp) -> [Value; 2] {
    [stamp.micros.into(), stamp.count.into()]
}

/// Moments by master.
pub(crate) fn stamps_to_value(stamps: &BTreeMap<PeerId, Stamp>) -> Value {
    let one = |(peer, stamp): (&PeerId, &Stamp)| {
        let [micros, count] = stamp_items(*stamp);
        Value::List(vec![peer.into(), micros, count])
    };
    Value::List(stamps.iter().map(one).collect())
}

pub(crate) fn stamps_from_value(value: Value) -> Result<BTreeMap<PeerId, Stamp>, DecodeError> {
    let one = |item: Value| {
        let mut items = Items::of(item)?;
        Ok((items.peer()?, items.stamp()?))
    };
    let items = Items::at_most(value, "masters", MEMBERS_MAX)?;
    items.map(one).collect()
}

impl Entry {
    pub(crate) fn to_value(&self) -> Value {
        let revoked = self.revoked.iter().map(|(peer, revocation)| {
            let [micros, count] = stamp_items(revocation.at);
            let rejected = revocation.rejected.clone().into();
            let [cut_micros, cut_count] = stamp_items(revocation.cut);
            let items = vec![peer.into(), micros, count, rejected, cut_micros, cut_count];
            Value::List(items)
        });
        let grant = self.grant.as_ref().map(|grant| {
            let [micros, count] = stamp_items(grant.at);
            Value::List(vec![
                (grant.kind == GrantKind::Accepted).into(),
                micros,
                count,
                (&grant.by).into(),
                grant.key.as_str().into(),
                grant.address.as_str().into(),
            ])
        });
        let denied = self.denied.as_ref().map(|denied| {
            let [micros, count] = stamp_items(denied.at);
            Value::List(vec![micros, count, denied.key.clone().into()])
        });
        Value::List(vec![
            Value::List(revoked.collect()),
            grant.unwrap_or_default(),
            denied.unwrap_or_default(),
        ])
    }

    pub(crate) fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        let revocation = |item: Value| {
            let mut items = Items::of(item)?;
            let peer = items.peer()?;
            let at = items.stamp()?;
            let rejected = items.optional_key()?;
            let cut = items.stamp()?;
            Ok((peer, Revocation { at, rejected, cut }))
        };
        let revoked = Items::at_most(items.value("revocations")?, "revocations", MEMBERS_MAX)?;
        let revoked = revoked
            .map(revocation)
            .collect::<Result<_, DecodeError>>()?;
        let grant = match items.value("grant")? {
            Value::Nil => None,
            value => Some(grant_from_value(value)?),
        };
        let denied = match items.value("denied key")? {
            Value::Nil => None,
            value => {
                let mut items = Items::of(value)?;
                let at = items.stamp()?;
                let key = items.optional_key()?;
                Some(Denied { at, key })
            }
        };
        Ok(Self {
            revoked,
            grant,
            denied,
        })
    }
}

fn grant_from_value(value: Value) -> Result<Grant, DecodeError> {
    let mut items = Items::of(value)?;
    Ok(Grant {
        kind: match items.bool("kind of a grant")? {
            true => GrantKind::Accepted,
            false => GrantKind::Pending,
        },
        at: items.stamp()?,
        by: items.peer()?,
        key: items.text("key", KEY_TEXT_BYTES_MAX)?,
        address: items.text("address", ADDRESS_BYTES_MAX)?,
    })
}

impl PublishKey {
    /// As it is sent and kept: a secret, for private files and sealed links.
    pub(crate) fn to_value(&self) -> Value {
        let [micros, count] = stamp_items(self.at);
        Value::List(vec![
            self.epoch.into(),
            micros,
            count,
            (&self.by).into(),
            self.key.expose().into(),
            stamps_to_value(&self.covers),
        ])
    }

    pub(crate) fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        Ok(Self {
            epoch: items.number("epoch")?,
            at: items.stamp()?,
            by: items.peer()?,
            key: SymmetricKey::parse(&items.text("publish key", SymmetricKey::CHARS)?)
                .map_err(|_| expected("publish key"))?,
            covers: stamps_from_value(items.value("revocations")?)?,
        })
    }
}
