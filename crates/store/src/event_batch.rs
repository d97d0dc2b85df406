//! Events on their way to a database, as they wait and as they are stored.

use halite_crypto::{HashType, hash_hex, random_bytes};
use halite_proto::{Map, Value};

/// Events as a table has them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Batch {
    /// Identifies the batch, however often it is stored.
    pub(crate) id: String,
    pub(crate) tags: Vec<String>,
    /// As JSON.
    pub(crate) data: Vec<String>,
    /// Seconds since 1970.
    pub(crate) times: Vec<f64>,
}

impl Batch {
    /// An empty one.
    pub(crate) fn new() -> Self {
        let id: [u8; 16] = random_bytes();
        Self {
            id: id.iter().map(|byte| format!("{byte:02x}")).collect(),
            tags: Vec::new(),
            data: Vec::new(),
            times: Vec::new(),
        }
    }

    /// Both halves; `None` for one event. Their ids follow from that of the whole, so
    /// that they are the same if it is halved again.
    pub(crate) fn halves(mut self) -> Option<[Self; 2]> {
        let count = self.tags.len();
        if count < 2 {
            return None;
        }
        let id = |half: &str| {
            let name = format!("{} {half}", self.id);
            hash_hex(HashType::Sha256, name.as_bytes())
        };
        let (first, second) = (id("first"), id("second"));
        let second = Self {
            id: second,
            tags: self.tags.split_off(count / 2),
            data: self.data.split_off(count / 2),
            times: self.times.split_off(count / 2),
        };
        self.id = first;
        Some([self, second])
    }

    /// As it waits.
    pub(crate) fn to_map(&self) -> Map {
        let texts = |texts: &[String]| {
            let texts = texts.iter().map(|text| Value::from(text.as_str()));
            Value::List(texts.collect())
        };
        let times = self.times.iter().map(|time| Value::Float(*time));
        Map::from([
            ("id", Value::from(self.id.as_str())),
            ("tags", texts(&self.tags)),
            ("data", texts(&self.data)),
            ("times", Value::List(times.collect())),
        ])
    }

    /// Reads it back; `None` if it is invalid.
    pub(crate) fn from_map(map: &Map) -> Option<Self> {
        let list = |name: &str| map.get(name)?.as_list();
        let texts = |name: &str| -> Option<Vec<String>> {
            let texts = list(name)?.iter();
            texts.map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        let time = |time: &Value| match time {
            Value::Float(time) => Some(*time),
            _ => None,
        };
        let batch = Self {
            id: map.get("id")?.as_str()?.to_owned(),
            tags: texts("tags")?,
            data: texts("data")?,
            times: list("times")?.iter().map(time).collect::<Option<_>>()?,
        };
        let count = batch.tags.len();
        (batch.data.len() == count && batch.times.len() == count).then_some(batch)
    }
}
