//! What two masters send each other to make their registers equal.

use std::collections::BTreeMap;

use halite_proto::{MinionId, Value};

use crate::clock::Stamp;
use crate::encoding::{
    DecodeError, Items, expected, stamp_items, stamps_from_value, stamps_to_value,
};
use crate::entry::Entry;
use crate::limits::{BUCKETS, ENTRIES_MAX, MEMBERS_MAX};
use crate::peer::PeerId;
use crate::publish_key::PublishKey;

/// A part of the registers of a master. It holds the publish key, so that it
/// belongs in private files and on sealed links alone.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    pub(crate) keys: Vec<(MinionId, Entry)>,
    pub(crate) members: Vec<(PeerId, Entry)>,
    pub(crate) publish: Option<PublishKey>,
    /// Groups of keys of which everything is in `keys`.
    pub(crate) whole: Vec<usize>,
    /// What the sender has forgotten everywhere is not younger than this.
    pub(crate) floor: Stamp,
}

impl Delta {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
            && self.members.is_empty()
            && self.publish.is_none()
            && self.whole.is_empty()
    }

    /// The minions of whose keys it speaks.
    pub fn minions(&self) -> impl Iterator<Item = &MinionId> {
        self.keys.iter().map(|(id, _)| id)
    }

    /// The publish key in it, if there is one.
    pub fn publish_key(&self) -> Option<&PublishKey> {
        self.publish.as_ref()
    }

    /// The latest moment in it.
    pub(crate) fn latest(&self) -> Stamp {
        let keys = self.keys.iter().map(|(_, entry)| entry.latest());
        let members = self.members.iter().map(|(_, entry)| entry.latest());
        let publish = self.publish.iter().map(PublishKey::latest);
        let all = keys.chain(members).chain(publish).chain([self.floor]);
        all.max().unwrap_or_default()
    }

    /// As it is sent and kept.
    pub fn to_value(&self) -> Value {
        let [micros, count] = stamp_items(self.floor);
        let keys = self.keys.iter();
        let keys = keys.map(|(id, entry)| Value::List(vec![id.into(), entry.to_value()]));
        let members = self.members.iter();
        let members = members.map(|(id, entry)| Value::List(vec![id.into(), entry.to_value()]));
        let whole = self.whole.iter().copied().map(Value::from);
        Value::List(vec![
            Value::List(keys.collect()),
            Value::List(members.collect()),
            self.publish
                .as_ref()
                .map(PublishKey::to_value)
                .unwrap_or_default(),
            Value::List(whole.collect()),
            micros,
            count,
        ])
    }

    /// Reads what another master has sent, or what was kept.
    ///
    /// # Errors
    /// When it is not what a master writes, or larger than any has.
    pub fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        let key = |item: Value| {
            let mut items = Items::of(item)?;
            Ok((items.minion()?, Entry::from_value(items.value("entry")?)?))
        };
        let member = |item: Value| {
            let mut items = Items::of(item)?;
            Ok((items.peer()?, Entry::from_value(items.value("entry")?)?))
        };
        let keys = Items::at_most(items.value("keys")?, "keys", ENTRIES_MAX)?;
        let keys = keys.map(key).collect::<Result<_, DecodeError>>()?;
        let members = Items::at_most(items.value("members")?, "members", MEMBERS_MAX)?;
        let members = members.map(member).collect::<Result<_, DecodeError>>()?;
        let publish = match items.value("publish key")? {
            Value::Nil => None,
            value => Some(PublishKey::from_value(value)?),
        };
        let whole = Items::at_most(items.value("groups")?, "groups", BUCKETS)?;
        Ok(Self {
            keys,
            members,
            publish,
            whole: whole.map(bucket).collect::<Result<_, DecodeError>>()?,
            floor: items.stamp()?,
        })
    }
}

fn bucket(item: Value) -> Result<usize, DecodeError> {
    let number = item
        .as_int()
        .and_then(|number| usize::try_from(number).ok());
    number
        .filter(|number| *number < BUCKETS)
        .ok_or_else(|| expected("group"))
}

/// What two masters compare to find where their registers differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    pub(crate) keys: Vec<u64>,
    pub(crate) members: u64,
    /// Which publish key it is: its epoch, moment and maker.
    pub(crate) publish: Option<(u64, Stamp, PeerId)>,
    pub(crate) floor: Stamp,
    /// When it was made, by the sender's clock.
    pub(crate) at: Stamp,
    /// For each master, up to which moment the sender has what that one had.
    pub(crate) seen: BTreeMap<PeerId, Stamp>,
}

impl Digest {
    /// As it is sent.
    pub fn to_value(&self) -> Value {
        let [floor, floor_count] = stamp_items(self.floor);
        let [at, at_count] = stamp_items(self.at);
        let publish = self.publish.as_ref().map(|(epoch, at, by)| {
            let [micros, count] = stamp_items(*at);
            Value::List(vec![(*epoch).into(), micros, count, by.into()])
        });
        let keys = self.keys.iter().copied().map(Value::from);
        Value::List(vec![
            Value::List(keys.collect()),
            self.members.into(),
            publish.unwrap_or_default(),
            floor,
            floor_count,
            at,
            at_count,
            stamps_to_value(&self.seen),
        ])
    }

    /// Reads what another master has sent.
    ///
    /// # Errors
    /// When it is not what a master writes.
    pub fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        let keys = Items::at_most(items.value("digests")?, "digests", BUCKETS)?;
        let digest = |item: Value| {
            let number = item.as_int().and_then(|number| u64::try_from(number).ok());
            number.ok_or_else(|| expected("digest"))
        };
        let keys = keys.map(digest).collect::<Result<Vec<_>, _>>()?;
        if keys.len() != BUCKETS {
            return Err(expected("digest of each group"));
        }
        let members = items.number("digest")?;
        let publish = match items.value("publish key")? {
            Value::Nil => None,
            value => {
                let mut items = Items::of(value)?;
                Some((items.number("epoch")?, items.stamp()?, items.peer()?))
            }
        };
        Ok(Self {
            keys,
            members,
            publish,
            floor: items.stamp()?,
            at: items.stamp()?,
            seen: stamps_from_value(items.value("moments")?)?,
        })
    }

    /// The latest moment in it.
    pub(crate) fn latest(&self) -> Stamp {
        self.at.max(self.floor)
    }

    /// Whether both are of the same registers.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.keys == other.keys && self.members == other.members && self.publish == other.publish
    }
}
