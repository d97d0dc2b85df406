//! Events that a minion fires on its master.

use crate::event::Event;
use crate::fields::{Fields, MessageError, Put};
use crate::request::{MinionRequest, Request};
use crate::{Map, MinionId, Tag, Value};

/// One event, or several that were collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinionEvent {
    /// Of several: in front of their tags in a second event each.
    pub pretag: Option<String>,
    /// The event or events.
    pub body: EventBody,
    /// The minion's grains, where it sends them along.
    pub grains: Option<Map>,
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
            pretag: None,
            body: EventBody::One(FiredEvent { tag, data }),
            grains: None,
        }
    }

    /// Several events at once.
    pub fn many(events: Vec<FiredEvent>, pretag: Option<String>) -> Self {
        Self {
            pretag,
            body: EventBody::Many(events),
            grains: None,
        }
    }

    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        let pretag = fields.text("pretag")?;
        let grains = fields.map("grains")?;
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
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("id", id);
        map.put("cmd", "_minion_event");
        map.put("pretag", self.pretag.as_deref());
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
    }
}

impl Request {
    /// The event that a request with a single one is fired as; `None` for other
    /// requests.
    pub fn single_event(&self) -> Option<Event> {
        match &self.command {
            MinionRequest::MinionEvent(MinionEvent {
                body: EventBody::One(event),
                ..
            }) => Some(Event::new(event.tag.clone(), self.event_data())),
            _ => None,
        }
    }

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
    let tag = event.remove("tag")?;
    Some(FiredEvent {
        tag: Tag::parse(tag.as_str()?).ok()?,
        data: event.remove("data").unwrap_or_default(),
    })
}
