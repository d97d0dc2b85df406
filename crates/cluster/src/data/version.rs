//! Names and versions of minion data.

use std::cmp::Ordering;
use std::fmt;

use halite_proto::msgpack::pack_modern;
use halite_proto::{Map, MinionId, Value};

use crate::clock::Stamp;
use crate::encoding::{DecodeError, Items, expected, minion_id, stamp_items};
use crate::peer::PeerId;
use crate::table::{TableEntry, hash};

/// What masters tell each other of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataKind {
    /// Its grains.
    Grains,
    /// The pillar that was compiled for it last.
    Pillar,
    /// What it has published.
    Mine,
    /// What a token stands for; in place of a minion's id there is the token, a secret.
    Token,
}

impl DataKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Grains => "grains",
            Self::Pillar => "pillar",
            Self::Mine => "mine",
            Self::Token => "token",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let all = [Self::Grains, Self::Pillar, Self::Mine, Self::Token];
        all.into_iter().find(|kind| kind.name() == text)
    }
}

/// One kind of data about one minion.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataName {
    kind: DataKind,
    id: MinionId,
    text: String,
}

impl DataName {
    /// The name of what is known of `id`.
    pub fn new(kind: DataKind, id: MinionId) -> Self {
        let text = format!("{}/{id}", kind.name());
        Self { kind, id, text }
    }

    /// What it is.
    pub fn kind(&self) -> DataKind {
        self.kind
    }

    /// Whose it is.
    pub fn id(&self) -> &MinionId {
        &self.id
    }

    pub(crate) fn parse(text: &str) -> Result<Self, DecodeError> {
        let (kind, id) = text.split_once('/').ok_or_else(|| expected("name"))?;
        let kind = DataKind::parse(kind).ok_or_else(|| expected("kind of data"))?;
        Ok(Self::new(kind, minion_id(id)?))
    }
}

impl fmt::Debug for DataName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DataKind::Token => f.write_str("token/..."),
            _ => f.write_str(&self.text),
        }
    }
}

impl AsRef<str> for DataName {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

/// Which one of the things that were known of a minion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// When a master has taken it from the minion.
    pub at: Stamp,
    /// That master.
    pub by: PeerId,
    /// What it is recognised by; `None` if it was removed.
    pub content: Option<u64>,
}

impl Version {
    /// Which of two versions holds.
    pub(crate) fn is_later_than(&self, other: &Self) -> bool {
        let order = |of: &Self| (of.at, of.by.clone(), of.content);
        order(self).cmp(&order(other)) == Ordering::Greater
    }

    pub(crate) fn to_items(&self) -> [Value; 4] {
        let [micros, count] = stamp_items(self.at);
        let content = self.content.map_or(Value::Nil, Value::from);
        [micros, count, (&self.by).into(), content]
    }

    pub(crate) fn from_items(items: &mut Items) -> Result<Self, DecodeError> {
        let (at, by) = (items.stamp()?, items.peer()?);
        let content = match items.value("content")? {
            Value::Nil => None,
            value => {
                let number = value.as_int().and_then(|number| u64::try_from(number).ok());
                Some(number.ok_or_else(|| expected("content"))?)
            }
        };
        Ok(Self { at, by, content })
    }
}

impl TableEntry for Version {
    fn compared(&self) -> Value {
        Value::List(self.to_items().into())
    }
}

/// What data are recognised by.
pub fn content_hash(data: &Map) -> u64 {
    // What cannot be packed is stored nowhere either.
    hash(&pack_modern(&Value::Map(data.clone())).unwrap_or_default())
}
