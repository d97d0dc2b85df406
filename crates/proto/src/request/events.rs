//! Events that a minion fires on its master.

use crate::fields::{Fields, MessageError, Put};
use crate::python::str;
use crate::request::Request;
use crate::{Map, MinionId, Nonce, Tag, Value};

/// The field of [`MinionEvent::batches`].
const BATCHES: &str = "halite_batches";

/// The batches that one request may carry. What says more says nothing.
pub const BATCHES_MAX: usize = 1000;

/// One event, or several that were collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinionEvent {
    /// As it travels: nil from a daemon, absent from `salt-call` and from
    /// events with fields of their own.
    pub pretag: Option<Value>,
    /// The event or events.
    pub body: EventBody,
    /// The minion's grains, where it sends them along.
    pub grains: Option<Map>,
    /// Which batches these events are, between Halite peers: a master that has
    /// had them does not fire them again.
    pub batches: Option<Batches>,
}

/// The batches of a minion that a request carries. Those that came in one
/// request come together again, or some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batches {
    /// Whose numbers these are: another one after each start of the minion.
    pub process: Nonce,
    /// The numbers.
    pub numbers: Vec<u64>,
}

/// What a `_minion_event` carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventBody {
    /// One event, which is fired with the whole request as its data.
    One(FiredEvent),
    /// Several, fired with their own data. Those without a valid tag are left
    /// out.
    Many(Vec<FiredEvent>),
}

/// An event before it is fired: its data may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiredEvent {
    /// What happened.
    pub tag: Tag,
    /// The details.
    pub data: Value,
}

impl MinionEvent {
    /// A single event.
    pub fn one(tag: Tag, data: impl Into<Value>) -> Self {
        let data = data.into();
        Self {
            pretag: Some(Value::Nil),
            body: EventBody::One(FiredEvent { tag, data }),
            grains: None,
            batches: None,
        }
    }

    /// Several events at once, each of them with a second one under `pretag`
    /// if there is one.
    pub fn many(events: Vec<FiredEvent>, pretag: Option<String>) -> Self {
        Self {
            pretag: Some(pretag.into()),
            body: EventBody::Many(events),
            grains: None,
            batches: None,
        }
    }

    /// What stands in front of the tags of second events. What is no text
    /// counts as Python spells it.
    pub fn prefix(&self) -> Option<String> {
        let pretag = self.pretag.as_ref().filter(|pretag| !pretag.is_nil())?;
        Some(str(pretag))
    }

    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        let pretag = fields.take("pretag");
        let grains = fields.map("grains")?;
        let batches = fields.take(BATCHES).as_ref().and_then(Batches::of);
        let body = match fields.list("events")? {
            Some(events) => EventBody::Many(events.into_iter().filter_map(fired).collect()),
            None => EventBody::One(FiredEvent {
                tag: fields.need("tag", Fields::name)?,
                data: fields.take("data").unwrap_or_default(),
            }),
        };
        Ok(Self {
            pretag,
            body,
            grains,
            batches,
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("id", id);
        map.put("cmd", "_minion_event");
        map.put_some("pretag", self.pretag.clone());
        match &self.body {
            EventBody::One(event) => {
                map.put("data", event.data.clone());
                map.put("tag", event.tag.as_str());
            }
            EventBody::Many(events) => {
                let events = events.iter().map(|event| {
                    let event = Map::from([
                        ("tag", Value::from(event.tag.as_str())),
                        ("data", event.data.clone()),
                    ]);
                    Value::Map(event)
                });
                map.put("events", events.collect::<Vec<_>>());
            }
        }
        map.put_some("grains", self.grains.clone());
        if let Some(batches) = &self.batches {
            batches.add_to(map);
        }
    }
}

impl Batches {
    /// Adds the field to a request.
    pub fn add_to(&self, load: &mut Map) {
        let numbers = self.numbers.iter().map(|number| Value::from(*number));
        let numbers: Vec<Value> = numbers.collect();
        let field = Map::from([
            ("process", Value::from(&self.process)),
            ("numbers", numbers.into()),
        ]);
        load.insert(BATCHES, field);
    }

    /// What the field says; nothing if it makes no sense.
    fn of(field: &Value) -> Option<Self> {
        let process = Nonce::parse(field.get("process")?.as_str()?).ok()?;
        let numbers = field.get("numbers")?.as_list()?;
        if numbers.len() > BATCHES_MAX {
            return None;
        }
        let number = |number: &Value| u64::try_from(number.as_int()?).ok();
        let numbers = numbers.iter().map(number).collect::<Option<_>>()?;
        Some(Self { process, numbers })
    }
}

impl Request {
    /// What a master fires of a return or a single event: all of the request
    /// but nonce, token and signature.
    pub fn event_data(&self) -> Map {
        let mut data = self.command.to_map(&self.meta.id);
        data.extend(self.extra.clone());
        data.put_some("ts", self.meta.ts);
        data.put("id", &self.meta.id);
        data
    }
}

fn fired(event: Value) -> Option<FiredEvent> {
    let Value::Map(mut event) = event else {
        return None;
    };
    let tag = Tag::parse(event.get("tag")?.as_str()?).ok()?;
    // One without data is its own.
    let data = event.remove("data").unwrap_or_else(|| event.into());
    Some(FiredEvent { tag, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_survive_their_way_and_nonsense_is_none() {
        let batches = Batches {
            process: Nonce::from_random([7; 16]),
            numbers: vec![0, 3, u64::MAX],
        };
        let mut load = Map::new();
        batches.add_to(&mut load);
        assert_eq!(
            Batches::of(load.get(BATCHES).unwrap()),
            Some(batches.clone())
        );
        let many = Batches {
            numbers: vec![1; BATCHES_MAX + 1],
            ..batches
        };
        many.add_to(&mut load);
        assert_eq!(Batches::of(load.get(BATCHES).unwrap()), None);
        for nonsense in [
            Value::Nil,
            Map::from([("process", "x")]).into(),
            Map::from([("numbers", vec![Value::from(-1)])]).into(),
        ] {
            assert_eq!(Batches::of(&nonsense), None);
        }
    }
}
