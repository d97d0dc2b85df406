//! The messages between masters about minion data.

use halite_proto::{Map, Value};

use super::version::{DataName, Version};
use crate::encoding::{DecodeError, Items, expected};
use crate::limits::{BUCKETS, DATA_ASKED_AT_ONCE_MAX, DATA_VERSIONS_TOLD_MAX};

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What all versions of the sender are compared by, a number for each group.
    Digest(Vec<u64>),
    /// Versions that the sender has.
    Versions(Vec<(DataName, Version)>),
    /// Asks for data.
    Wants(Vec<DataName>),
    /// The answer for one of them.
    Data(DataName, Content),
}

/// What a master has under a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Data.
    Is(Version, Map),
    /// They were removed.
    Removed(Version),
    /// Nothing that it could give.
    Unknown,
}

impl Message {
    /// As it is sent.
    pub fn to_value(&self) -> Value {
        let list = match self {
            Self::Digest(groups) => {
                let groups = groups.iter().copied().map(Value::from);
                vec![0.into(), Value::List(groups.collect())]
            }
            Self::Versions(versions) => {
                let version = |(name, version): &(DataName, Version)| {
                    let mut items = vec![name.as_ref().into()];
                    items.extend(version.to_items());
                    Value::List(items)
                };
                let versions = versions.iter().map(version).collect();
                vec![1.into(), Value::List(versions)]
            }
            Self::Wants(names) => {
                let names = names.iter().map(|name| name.as_ref().into()).collect();
                vec![2.into(), Value::List(names)]
            }
            Self::Data(name, content) => {
                let mut items = vec![3.into(), name.as_ref().into()];
                match content {
                    Content::Is(version, data) => {
                        items.push(data.clone().into());
                        items.extend(version.to_items());
                    }
                    Content::Removed(version) => {
                        items.push(Value::Nil);
                        items.extend(version.to_items());
                    }
                    Content::Unknown => items.push(Value::Nil),
                }
                items
            }
        };
        Value::List(list)
    }

    /// Reads what another master has sent.
    ///
    /// # Errors
    /// When it is nothing that masters say.
    pub fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        Ok(match items.number("kind of message")? {
            0 => {
                let groups = Items::at_most(items.value("digests")?, "digests", BUCKETS)?;
                let digest = |item: Value| {
                    let number = item.as_int().and_then(|number| u64::try_from(number).ok());
                    number.ok_or_else(|| expected("digest"))
                };
                let groups = groups.map(digest).collect::<Result<Vec<_>, _>>()?;
                if groups.len() != BUCKETS {
                    return Err(expected("digest of each group"));
                }
                Self::Digest(groups)
            }
            1 => {
                let max = DATA_VERSIONS_TOLD_MAX;
                let versions = Items::at_most(items.value("versions")?, "versions", max)?;
                let version = |item: Value| {
                    let mut items = Items::of(item)?;
                    let name = data_name(items.value("name")?)?;
                    Ok((name, Version::from_items(&mut items)?))
                };
                Self::Versions(versions.map(version).collect::<Result<_, DecodeError>>()?)
            }
            2 => {
                let max = DATA_ASKED_AT_ONCE_MAX;
                let names = Items::at_most(items.value("names")?, "names", max)?;
                Self::Wants(names.map(data_name).collect::<Result<_, _>>()?)
            }
            3 => {
                let name = data_name(items.value("name")?)?;
                let data = items.value("data")?;
                Self::Data(name, content(data, &mut items)?)
            }
            _ => return Err(expected("kind of message")),
        })
    }
}

fn data_name(value: Value) -> Result<DataName, DecodeError> {
    DataName::parse(value.as_str().ok_or_else(|| expected("name"))?)
}

fn content(data: Value, items: &mut Items) -> Result<Content, DecodeError> {
    let version = match items.is_at_end() {
        true => None,
        false => Some(Version::from_items(items)?),
    };
    match (data, version) {
        (Value::Map(data), Some(version)) if version.content.is_some() => {
            Ok(Content::Is(version, data))
        }
        (Value::Nil, Some(version)) if version.content.is_none() => Ok(Content::Removed(version)),
        (Value::Nil, None) => Ok(Content::Unknown),
        _ => Err(expected("data")),
    }
}
