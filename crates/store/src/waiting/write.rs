//! The form on disk of a waiting write to the job cache: a kind, and a map.

use halite_proto::msgpack::{Packing, pack_map, unpack_modern};
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId, Value};

use crate::error::StoreError;

/// Something that is to be stored of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    /// Its id is taken.
    Prepare { jid: Jid, nocache: bool },
    /// The load of a job and its minions.
    Load {
        jid: Jid,
        load: Map,
        minions: Option<Vec<MinionId>>,
    },
    /// Further minions.
    Minions {
        jid: Jid,
        minions: Vec<MinionId>,
        syndic: Option<MinionId>,
    },
    /// A minion's return.
    Return {
        jid: Jid,
        id: MinionId,
        ret: Box<JobReturn>,
    },
    /// When the last return came.
    Endtime { jid: Jid, endtime: String },
    /// The minion that has published it.
    Publisher { jid: Jid, id: MinionId },
}

/// The kind in front of each map.
const PREPARE: u8 = b'p';
const LOAD: u8 = b'l';
const MINIONS: u8 = b'm';
const RETURN: u8 = b'r';
const ENDTIME: u8 = b'e';
const PUBLISHER: u8 = b'u';

impl Write {
    /// As it waits.
    pub(crate) fn pack(&self) -> Result<Vec<u8>, StoreError> {
        let (kind, jid, rest) = match self {
            Self::Prepare { jid, nocache } => (
                PREPARE,
                jid,
                Map::from([("nocache", Value::from(*nocache))]),
            ),
            Self::Load { jid, load, minions } => {
                let mut rest = Map::from([("load", Value::from(load.clone()))]);
                if let Some(minions) = minions {
                    rest.insert("minions", list(minions));
                }
                (LOAD, jid, rest)
            }
            Self::Minions {
                jid,
                minions,
                syndic,
            } => {
                let mut rest = Map::from([("minions", list(minions))]);
                if let Some(syndic) = syndic {
                    rest.insert("syndic", syndic);
                }
                (MINIONS, jid, rest)
            }
            Self::Return { jid, id, ret } => {
                let rest = [("id", Value::from(id)), ("ret", ret.to_map().into())];
                (RETURN, jid, Map::from(rest))
            }
            Self::Endtime { jid, endtime } => {
                (ENDTIME, jid, Map::from([("endtime", endtime.as_str())]))
            }
            Self::Publisher { jid, id } => (PUBLISHER, jid, Map::from([("id", Value::from(id))])),
        };
        let mut map = rest;
        map.insert("jid", jid);
        let packed = pack_map(&map, Packing::Modern);
        let packed = packed.map_err(|source| StoreError::pack(jid, source))?;
        Ok([&[kind], packed.as_slice()].concat())
    }

    /// Reads it back; `None` if it is invalid.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<Self> {
        let (kind, packed) = bytes.split_first()?;
        let Ok(Value::Map(mut map)) = unpack_modern(packed) else {
            return None;
        };
        let jid = Jid::parse(map.get("jid")?.as_str()?).ok()?;
        let id = |name: &str| MinionId::parse(map.get(name)?.as_str()?).ok();
        Some(match *kind {
            PREPARE => Self::Prepare {
                jid,
                nocache: map.get("nocache")?.is_true(),
            },
            LOAD => Self::Load {
                jid,
                minions: map.get("minions").map(ids),
                load: map.remove("load").and_then(into_map)?,
            },
            MINIONS => Self::Minions {
                jid,
                minions: ids(map.get("minions")?),
                syndic: id("syndic"),
            },
            RETURN => Self::Return {
                jid,
                id: id("id")?,
                ret: {
                    let ret = map.remove("ret").and_then(into_map)?;
                    Box::new(JobReturn::from_map(ret).ok()?)
                },
            },
            ENDTIME => Self::Endtime {
                jid,
                endtime: map.get("endtime")?.as_str()?.to_owned(),
            },
            PUBLISHER => Self::Publisher { jid, id: id("id")? },
            _ => return None,
        })
    }

    /// Whether what waits is a return.
    pub(crate) fn is_return(bytes: &[u8]) -> bool {
        bytes.first() == Some(&RETURN)
    }
}

fn list(ids: &[MinionId]) -> Value {
    Value::List(ids.iter().map(Value::from).collect())
}

fn ids(value: &Value) -> Vec<MinionId> {
    let list = value.as_list().unwrap_or_default().iter();
    list.filter_map(|id| MinionId::parse(id.as_str()?).ok())
        .collect()
}

fn into_map(value: Value) -> Option<Map> {
    match value {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::publish::FunSpec;
    use halite_proto::returns::ReturnJid;

    use super::*;

    #[test]
    fn each_write_comes_back_as_it_was() {
        let jid = Jid::parse("20260102030405000001").unwrap();
        let id = MinionId::parse("web1").unwrap();
        let fun = FunSpec::One("test.ping".to_owned());
        let of = ReturnJid::Jid(jid.clone());
        let bytes = Value::Bytes(vec![0, 255]);
        let mut ret = JobReturn::new(of, fun, vec![1.into()], bytes, 2);
        ret.out = Some("nested".to_owned());
        ret.extra.insert("beside", 1);
        for write in [
            Write::Prepare {
                jid: jid.clone(),
                nocache: true,
            },
            Write::Load {
                jid: jid.clone(),
                load: Map::from([("fun", "test.ping")]),
                minions: Some(vec![id.clone()]),
            },
            Write::Minions {
                jid: jid.clone(),
                minions: vec![id.clone()],
                syndic: Some(id.clone()),
            },
            Write::Return {
                jid: jid.clone(),
                id: id.clone(),
                ret: Box::new(ret),
            },
            Write::Endtime {
                jid: jid.clone(),
                endtime: "at noon".to_owned(),
            },
            Write::Publisher { jid, id },
        ] {
            let packed = write.pack().unwrap();
            assert_eq!(Write::unpack(&packed), Some(write));
            assert_eq!(Write::unpack(&packed[..packed.len() - 1]), None);
        }
        assert_eq!(Write::unpack(b""), None);
        assert_eq!(Write::unpack(b"x\x80"), None);
    }
}
