//! The map around every request.
//!
//! Mirrors `salt.channel.client` and `salt.channel.server` of Salt 3008.5.
//!
//! Invariant: an envelope that exists is well formed; the content of an encrypted
//! one is unknown before it is opened.

use thiserror::Error;

use crate::fields::{Fields, MessageError};
use crate::limits::Limits;
use crate::msgpack::{Packing, Reading, UnpackError, Writer, unpack_with};
use crate::{IdError, Map, MinionId, PackError, Refusal, Value};

/// The version of the request protocol that 3006, 3007 and 3008 speak.
pub const ENVELOPE_VERSION: u32 = 3;

/// The encryption of private replies where a request names none.
pub const ENC_ALGO_DEFAULT: &str = "OAEP-SHA1";

/// The signature of replies where a request names none.
pub const SIG_ALGO_DEFAULT: &str = "PKCS1v15-SHA1";

pub use crate::reply::{Reply, encode_sealed, large_head, sealed_head};

const ENVELOPE: &str = "the request envelope";

/// A request as it arrives at a master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestEnvelope {
    /// A command that anybody may send.
    Clear {
        /// The request.
        load: Map,
        /// The protocol version; 0 where it names none.
        version: u32,
    },
    /// A command sealed with the session key of one minion.
    Aes {
        /// The ciphertext.
        load: Vec<u8>,
        /// The minion; versions below 3 do not say.
        id: Option<MinionId>,
        /// The protocol version; 0 where it names none.
        version: u32,
        /// How the key of a private reply is to be encrypted.
        enc_algo: Option<String>,
        /// How a private reply is to be signed.
        sig_algo: Option<String>,
    },
}

/// Why a request is not even looked at.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EnvelopeError {
    /// The frame is not msgpack.
    #[error("the request is unreadable")]
    Unreadable(#[source] UnpackError),
    /// It is not a map with `enc` and `load`.
    #[error("the request is not a map with `enc` and `load`")]
    NoEnvelope,
    /// Its version is refused.
    #[error("protocol version {version} is below the minimum of {minimum}")]
    Version {
        /// The version of the request.
        version: u32,
        /// The lowest version that is accepted.
        minimum: u32,
    },
    /// `enc` is neither `clear` nor `aes`.
    #[error("the encryption of the request is unknown")]
    Encryption,
    /// The load is not what `enc` says.
    #[error("the load of the request is a {0}")]
    Load(&'static str),
    /// The envelope of an encrypted request has no valid minion id.
    #[error("the request names no valid minion")]
    Id(#[source] Option<IdError>),
    /// The `id` within the load is refused.
    #[error("the id in the load is refused: {0}")]
    LoadId(Refusal),
}

impl EnvelopeError {
    /// What the sender is told.
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Unreadable(_) => Refusal::BadFrame,
            Self::NoEnvelope | Self::Version { .. } | Self::Encryption | Self::Id(_) => {
                Refusal::BadLoad
            }
            Self::Load(_) => Refusal::NotADict,
            Self::LoadId(refusal) => refusal.clone(),
        }
    }
}

impl RequestEnvelope {
    /// A clear request of this version of the protocol.
    pub fn clear(load: Map) -> Self {
        Self::Clear {
            load,
            version: ENVELOPE_VERSION,
        }
    }

    /// A sealed request of this version of the protocol.
    pub fn aes(
        load: Vec<u8>,
        id: MinionId,
        enc_algo: impl Into<String>,
        sig_algo: impl Into<String>,
    ) -> Self {
        Self::Aes {
            load,
            id: Some(id),
            version: ENVELOPE_VERSION,
            enc_algo: Some(enc_algo.into()),
            sig_algo: Some(sig_algo.into()),
        }
    }

    /// Reads a request of any version.
    ///
    /// # Errors
    /// When it is not a request.
    pub fn decode(packed: &[u8]) -> Result<Self, EnvelopeError> {
        Self::decode_from(packed, 0)
    }

    /// Reads a request, in the order of checks of Salt's masters: the version
    /// comes before what is inside.
    ///
    /// # Errors
    /// When it is not a request, or of a version below `version_min`.
    pub fn decode_from(packed: &[u8], version_min: u32) -> Result<Self, EnvelopeError> {
        let value = unpack_with(packed, Reading::Wire, &Limits::ENVELOPE)
            .map_err(EnvelopeError::Unreadable)?;
        Self::from_value(value, version_min)
    }

    /// Reads a request that is unpacked already, as the body of a tcp frame is.
    ///
    /// # Errors
    /// When it is not a request, or of a version below `version_min`.
    pub fn from_value(value: Value, version_min: u32) -> Result<Self, EnvelopeError> {
        let mut fields =
            Fields::from_value(ENVELOPE, value).map_err(|_| EnvelopeError::NoEnvelope)?;
        let (Some(enc), Some(load)) = (fields.take("enc"), fields.take("load")) else {
            return Err(EnvelopeError::NoEnvelope);
        };
        let version = match fields.take("version") {
            Some(Value::Int(version)) => u32::try_from(version).unwrap_or(0),
            _ => 0,
        };
        if version < version_min {
            return Err(EnvelopeError::Version {
                version,
                minimum: version_min,
            });
        }
        match enc.as_bytes() {
            Some(b"clear") => {
                let load = checked_load(load)?;
                Ok(Self::Clear { load, version })
            }
            Some(b"aes") => Self::sealed(fields, load, version),
            _ => Err(EnvelopeError::Encryption),
        }
    }

    /// The protocol version that the request names.
    pub fn version(&self) -> u32 {
        match self {
            Self::Clear { version, .. } | Self::Aes { version, .. } => *version,
        }
    }

    /// The packed request.
    ///
    /// # Errors
    /// When the load of a clear request cannot be packed.
    pub fn encode(&self) -> Result<Vec<u8>, PackError> {
        const OVERHEAD_BYTES: usize = 400;
        match self {
            Self::Clear { load, version } => {
                let mut writer = Writer::with_capacity(Packing::Wire, OVERHEAD_BYTES);
                writer.begin_map(3)?;
                writer.str("enc")?;
                writer.str("clear")?;
                writer.str("load")?;
                writer.map(load)?;
                writer.str("version")?;
                writer.int((*version).into());
                Ok(writer.into_bytes())
            }
            Self::Aes {
                load,
                id,
                version,
                enc_algo,
                sig_algo,
            } => {
                let named = [
                    ("id", id.as_ref().map(MinionId::as_str)),
                    ("enc_algo", enc_algo.as_deref()),
                    ("sig_algo", sig_algo.as_deref()),
                ];
                let named = named
                    .iter()
                    .filter_map(|(key, text)| text.map(|text| (*key, text)));
                let bytes = load.len() + OVERHEAD_BYTES;
                let mut writer = Writer::with_capacity(Packing::Wire, bytes);
                writer.begin_map(3 + named.clone().count())?;
                writer.str("enc")?;
                writer.str("aes")?;
                writer.str("load")?;
                writer.bytes(load)?;
                writer.str("version")?;
                writer.int((*version).into());
                for (key, text) in named {
                    writer.str(key)?;
                    writer.str(text)?;
                }
                Ok(writer.into_bytes())
            }
        }
    }

    /// The request as the body of a tcp frame.
    pub fn to_value(&self) -> Value {
        let mut map = Map::with_capacity(6);
        match self {
            Self::Clear { load, version } => {
                map.insert("enc", "clear");
                map.insert("load", load.clone());
                map.insert("version", *version);
            }
            Self::Aes {
                load,
                id,
                version,
                enc_algo,
                sig_algo,
            } => {
                map.insert("enc", "aes");
                map.insert("load", Value::Bytes(load.clone()));
                map.insert("version", *version);
                if let Some(id) = id {
                    map.insert("id", id);
                }
                if let Some(enc_algo) = enc_algo {
                    map.insert("enc_algo", enc_algo.as_str());
                }
                if let Some(sig_algo) = sig_algo {
                    map.insert("sig_algo", sig_algo.as_str());
                }
            }
        }
        map.into()
    }

    fn sealed(mut fields: Fields, load: Value, version: u32) -> Result<Self, EnvelopeError> {
        let load = match load {
            Value::Str(text) => text.into_bytes(),
            Value::Bytes(bytes) => bytes,
            other => return Err(EnvelopeError::Load(other.type_name())),
        };
        let id = match fields.name("id") {
            Ok(id) => id,
            Err(MessageError::BadName { source, .. }) => {
                return Err(EnvelopeError::Id(Some(source)));
            }
            Err(_) => return Err(EnvelopeError::Id(None)),
        };
        if id.is_none() && version >= 3 {
            return Err(EnvelopeError::Id(None));
        }
        // A name that is not text is like one that is not known: the master
        // finds out when it needs it.
        let mut algo = |field| match fields.text(field) {
            Ok(name) => name,
            Err(_) => Some(String::new()),
        };
        Ok(Self::Aes {
            load,
            id,
            version,
            enc_algo: algo("enc_algo"),
            sig_algo: algo("sig_algo"),
        })
    }
}

/// Checks what every load has to be, clear or just decrypted: a map whose `id`,
/// if it has one, is text without a NUL.
///
/// # Errors
/// When it is not.
pub fn checked_load(load: Value) -> Result<Map, EnvelopeError> {
    let load = match load {
        Value::Map(load) => load,
        other => return Err(EnvelopeError::Load(other.type_name())),
    };
    match load.get("id") {
        None => Ok(load),
        Some(Value::Str(id)) if id.contains('\0') => Err(EnvelopeError::LoadId(Refusal::NullInId)),
        Some(Value::Str(_)) => Ok(load),
        Some(other) => Err(EnvelopeError::LoadId(Refusal::id_not_text(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::pack_wire;

    fn sealed() -> RequestEnvelope {
        let id = MinionId::parse("web1").unwrap();
        RequestEnvelope::aes(vec![0xff; 64], id, "OAEP-SHA1", "PKCS1v15-SHA1")
    }

    fn refusal(value: impl Into<Value>) -> Refusal {
        let packed = pack_wire(&value.into()).unwrap();
        RequestEnvelope::decode_from(&packed, 3)
            .unwrap_err()
            .refusal()
    }

    #[test]
    fn both_kinds_survive_the_wire() {
        let clear = RequestEnvelope::clear([("cmd", "ping")].into());
        for envelope in [clear, sealed()] {
            let packed = envelope.encode().unwrap();
            assert_eq!(RequestEnvelope::decode(&packed), Ok(envelope.clone()));
            assert_eq!(pack_wire(&envelope.to_value()).unwrap(), packed);
        }
    }

    #[test]
    fn the_version_is_checked_before_what_is_inside() {
        let old = Map::from([("enc", "clear"), ("load", "no map")]);
        assert_eq!(refusal(old), Refusal::BadLoad);
    }

    #[test]
    fn what_is_no_request_is_refused_as_salt_does() {
        let clear = |load: Value| {
            Map::from([
                ("enc", Value::from("clear")),
                ("load", load),
                ("version", 3.into()),
            ])
        };
        let with_id = |id: Value| clear(Map::from([("id", id)]).into());
        assert_eq!(
            RequestEnvelope::decode(&[0xc1]).unwrap_err().refusal(),
            Refusal::BadFrame
        );
        assert_eq!(refusal(Value::Nil), Refusal::BadLoad);
        assert_eq!(refusal(Map::from([("enc", "clear")])), Refusal::BadLoad);
        assert_eq!(refusal(clear(Value::Nil)), Refusal::NotADict);
        assert_eq!(refusal(with_id("a\0b".into())), Refusal::NullInId);
        assert_eq!(
            refusal(with_id(5.into())),
            Refusal::IdNotText("5".to_owned())
        );
    }

    #[test]
    fn a_sealed_request_names_a_valid_minion() {
        for id in [Value::Nil, "../x".into(), "".into(), 5.into()] {
            let mut map = sealed().to_value().as_map().unwrap().clone();
            map.insert("id", id);
            assert_eq!(refusal(map), Refusal::BadLoad);
        }
    }
}
