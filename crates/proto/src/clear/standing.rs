//! What a master knows of single minions: not a command of Salt's, whose masters
//! answer it with an empty map, as every unknown command.
//!
//! Programs ask it about the minions that they wait for, so that they can say why
//! one is silent and need not wait for one that is gone.

use crate::clear::Credentials;
use crate::fields::{Fields, MessageError, Put};
use crate::{Jid, Map, MinionId, Value};

/// The command.
pub const CMD: &str = "halite.standing";

const REQUEST: &str = "the standing request";
const REPLY: &str = "the standing reply";

/// A question about minions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingRequest {
    /// The proof.
    pub credentials: Credentials,
    /// Who asks, as they say.
    pub user: Option<String>,
    /// The minions.
    pub minions: Vec<String>,
    /// Jobs of the caller whose returns are asked for: by who may not listen
    /// to the event bus.
    pub jids: Vec<Jid>,
    /// The job whose results are waited for.
    pub about: Option<Jid>,
}

impl StandingRequest {
    /// Takes the request out of the load of a clear envelope.
    ///
    /// # Errors
    /// When a field has a wrong type.
    pub fn from_map(load: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(REQUEST, load);
        fields.take("cmd");
        let minions = fields.list("minions")?.unwrap_or_default();
        let jids = fields.list("jids")?.unwrap_or_default();
        let about = fields.text("about")?;
        Ok(Self {
            about: about.and_then(|jid| Jid::parse(jid).ok()),
            jids: jids
                .iter()
                .filter_map(|jid| Jid::parse(jid.as_str()?).ok())
                .collect(),
            credentials: Credentials::take(&mut fields)?,
            user: fields.text("user")?,
            minions: minions
                .into_iter()
                .filter_map(|id| id.as_str().map(str::to_owned))
                .collect(),
        })
    }

    /// The load of the clear envelope.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(6);
        map.put("cmd", CMD);
        self.credentials.put(&mut map);
        map.put_some("user", self.user.as_deref());
        let minions = self.minions.iter().map(|id| Value::from(id.as_str()));
        map.put("minions", Value::List(minions.collect()));
        if !self.jids.is_empty() {
            let jids = self.jids.iter().map(Value::from);
            map.put("jids", Value::List(jids.collect()));
        }
        if let Some(about) = &self.about {
            map.put("about", about);
        }
        map
    }
}

/// A minion's connection to the publish port. Times are in microseconds since
/// 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// There since then.
    Here(u64),
    /// Gone since then.
    Away(u64),
    /// It does not show its connection, and each of this master's is another
    /// minion's, for longer than any minion takes to connect again.
    Absent,
    /// Only guessed by its addresses: there.
    PerhapsHere,
    /// Not there at this moment, or so its addresses say.
    PerhapsAway,
    /// Nothing is known.
    Unknown,
}

/// What is known of a minion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The state of its key: `accepted`, `pending`, `rejected`, `denied`, or
    /// nothing if the master has no key of it.
    pub key: Option<String>,
    /// Its connection.
    pub connection: Connection,
    /// The other master of the cluster that it is connected to, if that is not this
    /// one.
    pub at: Option<String>,
    /// The master that has its result of the job that is asked about, if the
    /// minion has said that this is another one.
    pub result_at: Option<String>,
    /// When somebody has last signed in as this minion who knows the key of
    /// another master, if the minion was not heard since. It need not have been
    /// the minion: no sign-in proves that.
    pub distrusts_since: Option<u64>,
    /// From where it is heard, if it is several machines.
    pub clones: Vec<String>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingReply {
    /// When the master was started, in microseconds since 1970.
    pub started: u64,
    /// What it knows of each minion.
    pub minions: Vec<(MinionId, Standing)>,
    /// The returns so far by job, then by minion.
    pub returns: Map,
}

#[expect(clippy::type_complexity, reason = "a table: written once, read once")]
const STATES: [(&str, fn(u64) -> Connection); 6] = [
    ("here", Connection::Here),
    ("away", Connection::Away),
    ("absent", |_| Connection::Absent),
    ("perhaps here", |_| Connection::PerhapsHere),
    ("perhaps away", |_| Connection::PerhapsAway),
    ("unknown", |_| Connection::Unknown),
];

impl Standing {
    fn to_map(&self) -> Map {
        let (state, since) = match self.connection {
            Connection::Here(since) => ("here", since),
            Connection::Away(since) => ("away", since),
            Connection::Absent => ("absent", 0),
            Connection::PerhapsHere => ("perhaps here", 0),
            Connection::PerhapsAway => ("perhaps away", 0),
            Connection::Unknown => ("unknown", 0),
        };
        let mut map = Map::with_capacity(4);
        map.put_some("key", self.key.as_deref());
        map.put_some("at", self.at.as_deref());
        map.put_some("result_at", self.result_at.as_deref());
        map.put_some("distrusts_since", self.distrusts_since);
        map.put("connection", state);
        map.put("since", since);
        if !self.clones.is_empty() {
            let clones = self.clones.iter().map(|at| Value::from(at.as_str()));
            map.put("clones", Value::List(clones.collect()));
        }
        map
    }

    fn from_value(value: Value) -> Result<Self, MessageError> {
        let mut fields = Fields::from_value(REPLY, value)?;
        let since = fields.uint("since")?.unwrap_or_default();
        let state = fields.text("connection")?.unwrap_or_default();
        let clones = fields.list("clones")?.unwrap_or_default();
        let clones = clones.iter().filter_map(Value::as_str);
        let known = STATES.iter().find(|(name, _)| *name == state);
        Ok(Self {
            key: fields.text("key")?,
            at: fields.text("at")?,
            result_at: fields.text("result_at")?,
            distrusts_since: fields.uint("distrusts_since")?,
            clones: clones.map(str::to_owned).collect(),
            connection: known.map_or(Connection::Unknown, |(_, make)| make(since)),
        })
    }
}

impl StandingReply {
    /// The answer as it travels.
    pub fn to_value(&self) -> Value {
        let minions: Map = self
            .minions
            .iter()
            .map(|(id, standing)| (Value::from(id), Value::from(standing.to_map())))
            .collect();
        let mut map = Map::from([
            ("started", Value::from(self.started)),
            ("minions", minions.into()),
        ]);
        if !self.returns.is_empty() {
            map.insert("returns", self.returns.clone());
        }
        map.into()
    }

    /// Reads an answer; `None` from a master that does not know the question.
    ///
    /// # Errors
    /// When a field has a wrong type.
    pub fn from_value(value: Value) -> Result<Option<Self>, MessageError> {
        let Value::Map(map) = value else {
            return Ok(None);
        };
        let mut fields = Fields::new(REPLY, map);
        let Some(minions) = fields.map("minions")? else {
            return Ok(None);
        };
        let mut known = Vec::with_capacity(minions.len());
        for (id, standing) in minions {
            let id = id.as_str().and_then(|id| MinionId::parse(id).ok());
            if let Some(id) = id {
                known.push((id, Standing::from_value(standing)?));
            }
        }
        Ok(Some(Self {
            started: fields.uint("started")?.unwrap_or_default(),
            minions: known,
            returns: fields.map("returns")?.unwrap_or_default(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_and_answer_survive() {
        let request = StandingRequest {
            credentials: Credentials {
                key: Some("k".to_owned()),
                ..Credentials::default()
            },
            user: Some("root".to_owned()),
            minions: vec!["web1".to_owned(), "../x".to_owned()],
            jids: vec![Jid::parse("20261120141841939742").unwrap()],
            about: Some(Jid::parse("20261120141841939743").unwrap()),
        };
        assert_eq!(StandingRequest::from_map(request.to_map()), Ok(request));
        let standing = |key: Option<&str>, connection| Standing {
            key: key.map(str::to_owned),
            at: key.map(|_| "m3".to_owned()),
            result_at: key.map(|_| "m2".to_owned()),
            distrusts_since: key.map(|_| 8),
            clones: key.map(str::to_owned).into_iter().collect(),
            connection,
        };
        let id = |text: &str| MinionId::parse(text).unwrap();
        let reply = StandingReply {
            started: 7,
            minions: vec![
                (id("a"), standing(Some("accepted"), Connection::Here(5))),
                (id("b"), standing(Some("pending"), Connection::Away(6))),
                (id("c"), standing(Some("accepted"), Connection::Absent)),
                (id("d"), standing(None, Connection::PerhapsHere)),
                (id("e"), standing(None, Connection::PerhapsAway)),
                (id("f"), standing(None, Connection::Unknown)),
            ],
            returns: Map::from([("20261120141841939742", Map::from([("a", 1)]))]),
        };
        assert_eq!(StandingReply::from_value(reply.to_value()), Ok(Some(reply)));
    }

    #[test]
    fn a_master_of_salt_says_nothing() {
        for nothing in [Value::Map(Map::new()), Value::Nil, Value::from("")] {
            assert_eq!(StandingReply::from_value(nothing), Ok(None));
        }
    }
}
