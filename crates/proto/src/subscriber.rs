//! How a subscriber says who it is: the first message on the publish port of
//! the tcp transport.
//!
//! Described in `docs/protocol.md`, "Ports and transport". It looks like a sealed
//! request, but its envelope names no minion and its load is sealed with the
//! publish key.

use crate::fields::{Fields, MessageError, Put, unreadable};
use crate::msgpack::{Packing, Reading, pack_map, unpack};
use crate::{ENVELOPE_VERSION, Map, MinionId, PackError, Value};

const MESSAGE: &str = "the subscriber's message";
const IDENTITY: &str = "the subscriber's identity";

/// The body of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// A [`SubscriberId`] under the publish key.
    pub load: Vec<u8>,
    /// The protocol version.
    pub version: u32,
}

impl Subscription {
    /// A message of this version of the protocol.
    pub fn new(load: Vec<u8>) -> Self {
        Self {
            load,
            version: ENVELOPE_VERSION,
        }
    }

    /// Reads the body of a frame.
    ///
    /// # Errors
    /// When it is no such message.
    pub fn from_value(body: Value) -> Result<Self, MessageError> {
        let mut fields = Fields::from_value(MESSAGE, body)?;
        if fields.need("enc", Fields::text)? != "aes" {
            return Err(fields.bad_value("enc", "is not `aes`"));
        }
        Ok(Self {
            load: fields.need("load", Fields::bytes)?,
            version: match fields.take("version") {
                Some(Value::Int(version)) => u32::try_from(version).unwrap_or(0),
                _ => 0,
            },
        })
    }

    /// The body of the frame.
    pub fn to_value(&self) -> Value {
        let mut map = Map::with_capacity(3);
        map.put("enc", "aes");
        map.put_bytes("load", self.load.clone());
        map.put("version", self.version);
        map.into()
    }
}

/// Who subscribes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriberId {
    /// The minion.
    pub id: MinionId,
    /// Its proof that it has its private key.
    pub tok: Vec<u8>,
}

impl SubscriberId {
    /// Reads the opened load.
    ///
    /// # Errors
    /// When it is no identity.
    pub fn decode(packed: &[u8]) -> Result<Self, MessageError> {
        let value = unpack(packed, Reading::Wire).map_err(|source| unreadable(IDENTITY, source))?;
        let mut fields = Fields::from_value(IDENTITY, value)?;
        Ok(Self {
            id: fields.need("id", Fields::name)?,
            tok: fields.need("tok", Fields::bytes)?,
        })
    }

    /// The bytes to seal.
    ///
    /// # Errors
    /// When the token is longer than the format can hold.
    pub fn encode(&self) -> Result<Vec<u8>, PackError> {
        let mut map = Map::with_capacity(2);
        map.put("id", &self.id);
        map.put_bytes("tok", self.tok.clone());
        pack_map(&map, Packing::Wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layers_survive() {
        let identity = SubscriberId {
            id: MinionId::parse("web1").unwrap(),
            tok: vec![0xff; 256],
        };
        let packed = identity.encode().unwrap();
        assert_eq!(SubscriberId::decode(&packed), Ok(identity));
        let message = Subscription::new(vec![0xfe; 80]);
        assert_eq!(Subscription::from_value(message.to_value()), Ok(message));
    }
}
