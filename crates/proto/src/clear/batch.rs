//! A client's request for a command that the master gives to a few minions at a
//! time. Masters of Salt do not know it and answer with an empty map.

use crate::clear::PublishRequest;
use crate::fields::{Fields, MessageError};
use crate::{Map, Value};

/// The command.
pub const CMD: &str = "halite.batch";

const MESSAGE: &str = "the batch request";

/// The request.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchRequest {
    /// What is to be run, and where.
    pub publish: PublishRequest,
    /// How many minions at a time: `10`, `25%`.
    pub size: String,
    /// Seconds for which a place is kept free behind each return.
    pub wait_s: f64,
    /// A failure ends it.
    pub failhard: bool,
}

// A wait is a finite number: `from_map` takes no other.
impl Eq for BatchRequest {}

impl BatchRequest {
    /// Takes the request out of the load of a clear envelope.
    ///
    /// # Errors
    /// When a field is missing, of a wrong type or not a valid name.
    pub fn from_map(load: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(MESSAGE, load);
        let size = fields
            .text("batch")?
            .ok_or_else(|| fields.missing("batch"))?;
        let wait_s = match fields.take("batch_wait") {
            None | Some(Value::Nil) => 0.0,
            Some(wait) => wait
                .as_f64()
                .filter(|wait| wait.is_finite() && *wait >= 0.0)
                .ok_or_else(|| fields.bad_value("batch_wait", "no number of seconds"))?,
        };
        Ok(Self {
            size,
            wait_s,
            failhard: fields.flag("failhard").unwrap_or(false),
            publish: PublishRequest::from_map(fields.rest())?,
        })
    }

    /// The load of the clear envelope.
    pub fn to_map(&self) -> Map {
        let mut map = self.publish.to_map();
        map.insert("cmd", CMD);
        map.insert("batch", self.size.as_str());
        map.insert("batch_wait", self.wait_s);
        map.insert("failhard", self.failhard);
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_arrives_as_it_was_sent() {
        let load = Map::from([
            ("cmd", Value::from("publish")),
            ("tgt", "*".into()),
            ("fun", "test.ping".into()),
            ("arg", Value::List(Vec::new())),
            ("key", "k".into()),
            ("user", "root".into()),
        ]);
        let request = BatchRequest {
            publish: PublishRequest::from_map(load).unwrap(),
            size: "25%".to_owned(),
            wait_s: 1.5,
            failhard: true,
        };
        let map = request.to_map();
        assert_eq!(map.get("cmd"), Some(&CMD.into()));
        assert_eq!(BatchRequest::from_map(map.clone()).unwrap(), request);
        let mut bad = map.clone();
        bad.insert("batch_wait", f64::NAN);
        assert!(BatchRequest::from_map(bad).is_err());
        let mut bad = map;
        bad.remove("batch");
        assert!(BatchRequest::from_map(bad).is_err());
    }
}
