//! The messages between the masters of a cluster.
//!
//! Invariant: a decoded message is well formed. The bytes of a peer are checked
//! although the peer has proven its identity.

use std::time::Duration;

use halite_mesh::{Incarnation, PeerId};
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::publish::PublishLoad;
use halite_proto::returns::JobReturn;
use halite_proto::{Map, MinionId, Nonce, PackError, Value};

use super::fired_return::{FiredReturn, pack_event};
use super::grants::{Grant, GrantId};
use crate::limits::PRESENCE_TOLD_MAX;

/// A message.
#[derive(Debug)]
pub(crate) enum Message {
    /// An event of the local bus, packed.
    Event(Vec<u8>),
    /// A job that was sent to minions.
    Publish(Box<Published>),
    /// A result, for a peer with a job cache of its own.
    Return(MinionId, Box<JobReturn>),
    /// The same, with its event, which is not sent by itself.
    FiredReturn(Box<FiredReturn>),
    /// The return of a runner or wheel function of this master, with its load for the job
    /// cache.
    RunnerReturn(MinionId, Map, Box<JobReturn>),
    /// A request with this nonce and time was let through.
    Nonce(MinionId, GrantId, Nonce, i64),
    /// A session of a minion is not given out any more.
    Retired(MinionId, GrantId),
    /// Keys are given under another grant.
    Grant(Grant),
    /// The connected minions: all of them, or changes.
    Presence {
        /// These are all.
        is_complete: bool,
        /// The minions, and whether each is here.
        minions: Vec<(MinionId, bool)>,
    },
    /// Asks for the grant and for all that are connected.
    Ask,
    /// Something of the peers was missed: asks for a grant that begins now.
    Renew,
    /// The grant that was asked for so.
    Renewed(Grant),
    /// This master hands its minions over, or has: it takes none in this life.
    Drains,
    /// This master's minions lose their subscriptions now.
    HandsOver,
    /// There is another publish key.
    PublishKey,
    /// A message for a part of the master with a channel of its own.
    Channel(String, Value),
}

/// A job that was sent to minions.
#[derive(Debug)]
pub(crate) struct Published {
    /// What minions get.
    pub(crate) load: PublishLoad,
    /// Its minions.
    pub(crate) minions: Vec<MinionId>,
    /// Its target names ids, and it is for nobody else.
    pub(crate) by_ids: bool,
    /// Its load for the job cache, if it is stored.
    pub(crate) kept: Option<Map>,
    /// Its age when it is sent: it may be sent again.
    pub(crate) age: Duration,
}

impl Message {
    /// The bytes.
    ///
    /// # Errors
    /// When a value cannot be packed.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, PackError> {
        let list = match self {
            Self::Event(packed) => return pack_event(packed),
            Self::FiredReturn(fired) => return FiredReturn::pack(&fired.id, &fired.data),
            Self::Publish(published) => vec![
                "publish".into(),
                published.load.to_map().into(),
                ids(&published.minions),
                published.by_ids.into(),
                published.kept.clone().into(),
                i64::try_from(published.age.as_millis())
                    .unwrap_or(i64::MAX)
                    .into(),
            ],
            Self::Return(id, job) => vec!["return".into(), id.into(), job.to_map().into()],
            Self::RunnerReturn(id, load, job) => vec![
                "runner_return".into(),
                id.into(),
                load.clone().into(),
                job.to_map().into(),
            ],
            Self::Nonce(id, grant, nonce, ts) => vec![
                "nonce".into(),
                id.into(),
                grant_to_value(grant),
                nonce.as_str().into(),
                (*ts).into(),
            ],
            Self::Retired(id, grant) => vec!["retired".into(), id.into(), grant_to_value(grant)],
            Self::Grant(grant) => grant_fields("grant", grant),
            Self::Renewed(grant) => grant_fields("renewed", grant),
            Self::Presence {
                is_complete,
                minions,
            } => {
                let of = |wanted: bool| {
                    let minions = minions.iter().filter(|(_, is_here)| *is_here == wanted);
                    Value::List(minions.map(|(id, _)| id.into()).collect())
                };
                vec![
                    "presence".into(),
                    (*is_complete).into(),
                    of(true),
                    of(false),
                ]
            }
            Self::Ask => vec!["ask".into()],
            Self::Renew => vec!["renew".into()],
            Self::Drains => vec!["drains".into()],
            Self::HandsOver => vec!["hands_over".into()],
            Self::PublishKey => vec!["publish_key".into()],
            Self::Channel(name, body) => {
                vec!["channel".into(), name.as_str().into(), body.clone()]
            }
        };
        pack_modern(&Value::List(list))
    }

    /// Reads a message; `None` if this version does not know it.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if FiredReturn::is_one(bytes) {
            let fired = FiredReturn::unpack(bytes)?;
            return Some(Self::FiredReturn(Box::new(fired)));
        }
        let Value::List(list) = unpack_modern(bytes).ok()? else {
            return None;
        };
        let mut fields = list.into_iter();
        let kind = fields.next()?;
        let mut next = || fields.next();
        Some(match kind.as_str()? {
            "event" => match next()? {
                Value::Bytes(packed) => Self::Event(packed),
                _ => return None,
            },
            "publish" => Self::Publish(Box::new(published(next)?)),
            "return" => {
                let id = minion(&next()?)?;
                let job = JobReturn::from_map(map(next()?)?).ok()?;
                Self::Return(id, Box::new(job))
            }
            "runner_return" => {
                let (id, load) = (minion(&next()?)?, map(next()?)?);
                let job = JobReturn::from_map(map(next()?)?).ok()?;
                Self::RunnerReturn(id, load, Box::new(job))
            }
            "nonce" => {
                let (id, grant) = (minion(&next()?)?, grant_of(&next()?)?);
                let nonce = Nonce::parse(next()?.as_str()?).ok()?;
                Self::Nonce(id, grant, nonce, next()?.as_i64()?)
            }
            "retired" => Self::Retired(minion(&next()?)?, grant_of(&next()?)?),
            kind @ ("grant" | "renewed") => {
                let (id, born) = (grant_of(&next()?)?, next()?.as_i64()?);
                let witnesses = next()?;
                let witnesses = witnesses.as_list()?.iter().map(witness);
                let grant = Grant {
                    id,
                    born,
                    witnesses: witnesses.collect::<Option<_>>()?,
                };
                match kind {
                    "grant" => Self::Grant(grant),
                    _ => Self::Renewed(grant),
                }
            }
            "presence" => {
                let is_complete = next()?.is_true();
                let here = read_ids(&next()?)?.into_iter().map(|id| (id, true));
                let gone = read_ids(&next()?)?.into_iter().map(|id| (id, false));
                let minions = here.chain(gone).take(PRESENCE_TOLD_MAX).collect();
                Self::Presence {
                    is_complete,
                    minions,
                }
            }
            "ask" => Self::Ask,
            "renew" => Self::Renew,
            "drains" => Self::Drains,
            "hands_over" => Self::HandsOver,
            "publish_key" => Self::PublishKey,
            "channel" => {
                let name = next()?.as_str()?.to_owned();
                Self::Channel(name, next()?)
            }
            _ => return None,
        })
    }
}

fn published(mut next: impl FnMut() -> Option<Value>) -> Option<Published> {
    let load = PublishLoad::from_map(map(next()?)?).ok()?;
    let minions = read_ids(&next()?)?;
    let by_ids = next()?.is_true();
    let kept = match next()? {
        Value::Nil => None,
        kept => Some(map(kept)?),
    };
    let age = match next() {
        // Masters of earlier versions do not say.
        None => Duration::ZERO,
        Some(age) => Duration::from_millis(u64::try_from(age.as_i64()?).ok()?),
    };
    Some(Published {
        load,
        minions,
        by_ids,
        kept,
        age,
    })
}

fn map(value: Value) -> Option<Map> {
    match value {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

fn minion(value: &Value) -> Option<MinionId> {
    MinionId::parse(value.as_str()?).ok()
}

fn ids(minions: &[MinionId]) -> Value {
    Value::List(minions.iter().map(Value::from).collect())
}

fn read_ids(value: &Value) -> Option<Vec<MinionId>> {
    value.as_list()?.iter().map(minion).collect()
}

fn grant_fields(kind: &str, grant: &Grant) -> Vec<Value> {
    let witness = |(peer, life): &(PeerId, Incarnation)| {
        Value::List(vec![peer.as_str().into(), life.to_string().into()])
    };
    vec![
        kind.into(),
        grant_to_value(&grant.id),
        grant.born.into(),
        Value::List(grant.witnesses.iter().map(witness).collect()),
    ]
}

fn grant_to_value(grant: &GrantId) -> Value {
    Value::List(vec![
        grant.master.as_str().into(),
        grant.life.to_string().into(),
        grant.number.into(),
    ])
}

fn grant_of(value: &Value) -> Option<GrantId> {
    let [master, life, number] = value.as_list()? else {
        return None;
    };
    Some(GrantId {
        master: PeerId::parse(master.as_str()?).ok()?,
        life: life_of(life)?,
        number: u64::try_from(number.as_i64()?).ok()?,
    })
}

fn witness(value: &Value) -> Option<(PeerId, Incarnation)> {
    let [peer, life] = value.as_list()? else {
        return None;
    };
    Some((PeerId::parse(peer.as_str()?).ok()?, life_of(life)?))
}

fn life_of(value: &Value) -> Option<Incarnation> {
    let life = u64::from_str_radix(value.as_str()?, 16);
    life.ok().map(Incarnation)
}

#[cfg(test)]
mod tests {
    use halite_proto::Jid;
    use halite_proto::returns::ReturnJid;
    use proptest::prelude::*;

    use super::*;

    fn check_round_trip(message: Message) {
        let bytes = message.encode().unwrap();
        let back = Message::decode(&bytes).unwrap();
        assert_eq!(format!("{back:?}"), format!("{message:?}"));
        for end in 0..bytes.len() {
            assert!(Message::decode(&bytes[..end]).is_none());
        }
    }

    #[test]
    fn messages_come_back_as_they_were() {
        let web1 = MinionId::parse("web1").unwrap();
        let jid = Jid::parse("20261120141841939742").unwrap();
        let grant = GrantId {
            master: PeerId::parse("10.0.0.1").unwrap(),
            life: Incarnation(u64::MAX),
            number: 3,
        };
        let nonce = Nonce::parse("0123456789abcdef0123456789abcdef").unwrap();
        check_round_trip(Message::Event(b"tag\n\n\x80".to_vec()));
        for kept in [None, Some(Map::from([("fun", "test.ping")]))] {
            let fun = "test.ping".into();
            check_round_trip(Message::Publish(Box::new(Published {
                load: PublishLoad::new(fun, vec![1.into()], "*".into(), "glob", jid.clone()),
                minions: vec![web1.clone()],
                by_ids: true,
                kept,
                age: Duration::from_millis(1500),
            })));
        }
        let job = JobReturn::new(
            ReturnJid::Jid(jid),
            "a.b".into(),
            Vec::new(),
            true.into(),
            0,
        );
        check_round_trip(Message::Return(web1.clone(), Box::new(job.clone())));
        let load = Map::from([("fun", "runner.state.orchestrate")]);
        check_round_trip(Message::RunnerReturn(web1.clone(), load, Box::new(job)));
        check_round_trip(Message::Nonce(web1.clone(), grant.clone(), nonce, 5));
        check_round_trip(Message::Retired(web1.clone(), grant.clone()));
        let grant = Grant {
            id: grant,
            born: 7,
            witnesses: vec![(PeerId::parse("m2").unwrap(), Incarnation(8))],
        };
        check_round_trip(Message::Grant(grant.clone()));
        check_round_trip(Message::Renewed(grant));
        check_round_trip(Message::Renew);
        check_round_trip(Message::Presence {
            is_complete: true,
            minions: vec![(web1, true)],
        });
        check_round_trip(Message::Ask);
        check_round_trip(Message::Drains);
        check_round_trip(Message::HandsOver);
        check_round_trip(Message::PublishKey);
        check_round_trip(Message::Channel("lease".to_owned(), 5.into()));
    }

    #[test]
    fn a_job_of_a_master_that_does_not_say_its_age_is_new() {
        let fun = "test.ping".into();
        let jid = Jid::parse("20261120141841939742").unwrap();
        let message = Message::Publish(Box::new(Published {
            load: PublishLoad::new(fun, Vec::new(), "*".into(), "glob", jid),
            minions: Vec::new(),
            by_ids: true,
            kept: None,
            age: Duration::from_secs(5),
        }));
        let age = |fields: Vec<Value>| {
            let bytes = pack_modern(&Value::List(fields)).unwrap();
            match Message::decode(&bytes) {
                Some(Message::Publish(published)) => Some(published.age),
                _ => None,
            }
        };
        let Value::List(mut fields) = unpack_modern(&message.encode().unwrap()).unwrap() else {
            panic!("no list")
        };
        assert_eq!(age(fields.clone()), Some(Duration::from_secs(5)));
        fields.pop();
        assert_eq!(age(fields.clone()), Some(Duration::ZERO));
        fields.push((-1).into());
        assert_eq!(age(fields), None);
    }

    proptest! {
        #[test]
        fn no_bytes_are_more_than_no_message(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            let _ = Message::decode(&bytes);
        }
    }
}
