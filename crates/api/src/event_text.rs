//! An event as streams send it: written once, shared by all of them.
//!
//! Invariant: an event is one record, whatever its tag and data contain.

use axum::body::Bytes;
use halite_proto::event::Event;
use halite_proto::{Map, Value};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::encode::to_json;

/// An event as text.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// A record of an event stream.
    record: Bytes,
    /// A message of a websocket: `data:` and the tag and the data as JSON. It is
    /// a part of the record.
    message: Utf8Bytes,
    /// The master that sent it, as a bit, and those that sent it before; the first bit is
    /// the master of this machine.
    from: u64,
    told_by: u64,
}

impl Text {
    /// An event of a master's bus.
    pub(crate) fn new(event: &Event) -> Option<Self> {
        let tag = event.tag.as_str();
        let data = Map::from([
            ("tag", Value::from(tag)),
            ("data", event.data.clone().into()),
        ]);
        Self::from_record(tag, &to_json(&data.into())?)
    }

    /// The same from its tag, and tag and data as JSON on one line.
    pub(crate) fn from_record(tag: &str, json: &str) -> Option<Self> {
        const DATA: &str = "data: ";
        const END: &str = "\n\n";
        let head = format!("tag: {}\n", one_line(tag));
        // No larger than it has to be: it may be kept for long.
        let mut record = String::with_capacity(head.len() + DATA.len() + json.len() + END.len());
        for part in [&head, DATA, json, END] {
            record.push_str(part);
        }
        let record = Bytes::from(record);
        let message = Utf8Bytes::try_from(record.slice(head.len()..)).ok()?;
        Some(Self {
            record,
            message,
            from: 1,
            told_by: 0,
        })
    }

    /// The same event, sent by a master after others.
    pub(crate) fn heard_from(self, from: u64, told_by: u64) -> Self {
        Self {
            from,
            told_by,
            ..self
        }
    }

    /// Whether it is news for somebody who hears some masters.
    pub(crate) fn is_for(&self, masters: u64) -> bool {
        masters & self.from != 0 && masters & self.told_by == 0
    }

    /// Bytes of its record.
    pub(crate) fn len(&self) -> usize {
        self.record.len()
    }

    /// Its tag.
    pub(crate) fn tag(&self) -> &str {
        let head = self.record.len() - self.message.len();
        let head = self.record.get(..head).unwrap_or_default();
        let head = std::str::from_utf8(head).unwrap_or_default();
        let tag = head.strip_prefix("tag: ").unwrap_or(head);
        tag.trim_end_matches('\n')
    }

    /// Tag and data as JSON.
    pub(crate) fn json(&self) -> &str {
        let json = self.message.trim_end_matches('\n');
        json.strip_prefix("data: ").unwrap_or(json)
    }

    /// A record of an event stream; all streams share its bytes.
    pub(crate) fn record(&self) -> Bytes {
        self.record.clone()
    }

    /// A message of a websocket; all websockets share its bytes.
    pub(crate) fn message(&self) -> Utf8Bytes {
        self.message.clone()
    }
}

/// A tag without what could begin another line of the record.
fn one_line(tag: &str) -> String {
    tag.chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect()
}

#[cfg(test)]
mod tests {
    use halite_proto::Tag;

    use super::*;

    #[test]
    fn an_event_is_one_record_whatever_is_in_it() {
        let data = Map::from([("x", "a\n\ndata: {}\r\nevent: evil")]);
        let tag = Tag::parse("salt/a\ndata: {\"tag\": 1}\rb").unwrap();
        let text = Text::new(&Event::new(tag, data)).unwrap();
        let record = String::from_utf8(text.record().to_vec()).unwrap();
        assert_eq!(record.matches('\n').count(), 3, "{record:?}");
        assert!(!record.contains('\r'), "{record:?}");
        assert!(record.starts_with("tag: salt/a data: {\"tag\": 1} b\ndata: {\"tag\": "));
        assert_eq!(text.tag(), "salt/a data: {\"tag\": 1} b");
        assert!(text.json().starts_with("{\"tag\": ") && text.json().ends_with("}}"));
        assert!(record.ends_with("\n\n"));
        // However many streams take it, it is there once.
        assert_eq!(text.record().as_ptr(), text.record().as_ptr());
    }
}
