//! Signing in: the `_auth` request and its answers.
//!
//! Described in `docs/protocol.md`, "Signing in". Mirrors
//! `salt.crypt.AsyncAuth` and the server channel's `_auth` of 3006 to 3008.
//!
//! Invariant: a signature covers bytes as they arrived. The signed part of an
//! answer is therefore kept packed, and only read after the outer one.

use crate::envelope::{ENC_ALGO_DEFAULT, SIG_ALGO_DEFAULT};
use crate::fields::{Fields, MessageError, Put, unreadable};
use crate::msgpack::{Packing, Reading, pack_map, pack_wire, unpack};
use crate::{ComeAgain, Map, MinionId, Nonce, PackError, Refusal, Value};

const REQUEST: &str = "the sign-in request";
const REPLY: &str = "the sign-in reply";

/// A minion's wish to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthRequest {
    /// The minion.
    pub id: MinionId,
    /// To be given back in the answer; versions below 2 have none.
    pub nonce: Option<Nonce>,
    /// How keys in the answer are to be encrypted.
    pub enc_algo: String,
    /// How the answer is to be signed.
    pub sig_algo: String,
    /// Grains that may let the master accept the key by itself.
    pub autosign_grains: Option<Map>,
    /// A random token under the master's key, where the minion knows it.
    pub token: Option<Vec<u8>>,
    /// The minion's public key, a PEM text without an ending line break.
    pub public_key: String,
    /// Fields that Salt does not know.
    pub extra: Map,
}

impl AuthRequest {
    /// Takes the request out of the load of a clear envelope.
    ///
    /// # Errors
    /// When a field is missing, of a wrong type or not a valid name.
    pub fn from_map(map: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(REQUEST, map);
        fields.take("cmd");
        Ok(Self {
            id: fields.need("id", Fields::name)?,
            nonce: fields.name("nonce")?,
            enc_algo: text_or(&mut fields, "enc_algo", ENC_ALGO_DEFAULT)?,
            sig_algo: text_or(&mut fields, "sig_algo", SIG_ALGO_DEFAULT)?,
            autosign_grains: fields.map("autosign_grains")?,
            token: fields.bytes("token")?,
            public_key: fields.need("pub", Fields::text)?,
            extra: fields.rest(),
        })
    }

    /// The load of the clear envelope.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(9 + self.extra.len());
        map.put("cmd", "_auth");
        map.put("id", &self.id);
        map.put_some("nonce", self.nonce.as_ref());
        map.put("enc_algo", self.enc_algo.as_str());
        map.put("sig_algo", self.sig_algo.as_str());
        map.put_some("autosign_grains", self.autosign_grains.clone());
        map.put_some("token", self.token.clone().map(Value::Bytes));
        map.put("pub", self.public_key.as_str());
        map.extend(self.extra.clone());
        map
    }
}

/// Everything that may answer a sign-in request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthAnswer {
    /// A decision, signed.
    Signed(SignedAuthReply),
    /// `enc_algo` of the request is not known.
    BadEncAlgo,
    /// `sig_algo` of the request is not known.
    BadSigAlgo,
    /// A decision as versions below 2 get it, without signature and nonce.
    Unsigned(AuthReply),
    /// The request was not handled.
    Refused(Refusal),
    /// The master is busy, and the minion is to sign in again later. Only for minions
    /// that say that they understand it. It is not signed, because that is what the
    /// master has no time for.
    ComeAgain(ComeAgain),
}

impl AuthAnswer {
    /// Reads the answer to a sign-in request.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(packed: &[u8]) -> Result<Self, MessageError> {
        let value = unpack(packed, Reading::Wire).map_err(|source| unreadable(REPLY, source))?;
        Self::from_value(value)
    }

    /// The answer that an unpacked value is.
    ///
    /// # Errors
    /// When it is none.
    pub fn from_value(value: Value) -> Result<Self, MessageError> {
        if let Some(refusal) = Refusal::from_value(&value) {
            return Ok(Self::Refused(refusal));
        }
        let mut fields = Fields::from_value(REPLY, value)?;
        match fields.take("load") {
            Some(Value::Map(load)) => {
                if let Some(answer) = ComeAgain::of(&load) {
                    return Ok(Self::ComeAgain(answer));
                }
                let ret = load.get("ret").and_then(Value::as_str);
                Ok(match ret {
                    Some(BAD_ENC_ALGO) => Self::BadEncAlgo,
                    Some(BAD_SIG_ALGO) => Self::BadSigAlgo,
                    _ => Self::Unsigned(AuthReply::from_map(load)?),
                })
            }
            Some(Value::Str(load)) => Self::signed(fields, load.into_bytes()),
            Some(Value::Bytes(load)) => Self::signed(fields, load),
            Some(other) => Err(fields.wrong_type("load", "bytes", &other)),
            None => Ok(Self::Unsigned(AuthReply::from_map(fields.rest())?)),
        }
    }

    /// The answer as it travels.
    pub fn to_value(&self) -> Value {
        let clear = |load: Map| {
            Map::from([("enc", Value::from("clear")), ("load", Value::Map(load))]).into()
        };
        match self {
            Self::Signed(signed) => signed.to_value(),
            Self::BadEncAlgo => clear([("ret", BAD_ENC_ALGO)].into()),
            Self::BadSigAlgo => clear([("ret", BAD_SIG_ALGO)].into()),
            Self::Unsigned(AuthReply::Accepted(grant)) => grant.to_map().into(),
            Self::Unsigned(refused @ AuthReply::Refused(..)) => clear(refused.to_map()),
            Self::Refused(refusal) => refusal.to_value(),
            Self::ComeAgain(answer) => clear(answer.to_load()),
        }
    }

    fn signed(mut fields: Fields, load: Vec<u8>) -> Result<Self, MessageError> {
        let sig = fields.need("sig", Fields::bytes)?;
        Ok(Self::Signed(SignedAuthReply { load, sig }))
    }
}

/// A packed decision and the master's signature over exactly those bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedAuthReply {
    /// A packed [`AuthReply`].
    pub load: Vec<u8>,
    /// The signature over `load`.
    pub sig: Vec<u8>,
}

impl SignedAuthReply {
    /// The answer as it travels.
    pub fn to_value(&self) -> Value {
        Map::from([
            ("enc", Value::from("clear")),
            ("load", Value::Bytes(self.load.clone())),
            ("sig", Value::Bytes(self.sig.clone())),
        ])
        .into()
    }

    /// The packed answer.
    ///
    /// # Errors
    /// When a part is longer than the format can hold.
    pub fn encode(&self) -> Result<Vec<u8>, PackError> {
        pack_wire(&self.to_value())
    }
}

/// A master's decision about a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthReply {
    /// The minion is in.
    Accepted(Box<AuthGrant>),
    /// It is not, or not yet. Versions below 2 get no nonce.
    Refused(AuthRefusal, Option<Nonce>),
}

/// Why a minion is not signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthRefusal {
    /// Its key is rejected or denied.
    Rejected,
    /// Its key waits to be accepted: try again.
    Pending,
    /// The master has as many minions as it may.
    Full,
}

impl AuthReply {
    /// Reads the signed part of an answer.
    ///
    /// # Errors
    /// When it is no decision.
    pub fn decode(load: &[u8]) -> Result<Self, MessageError> {
        let value = unpack(load, Reading::Wire).map_err(|source| unreadable(REPLY, source))?;
        Self::from_map(Fields::from_value(REPLY, value)?.rest())
    }

    /// The decision in an unpacked map.
    ///
    /// # Errors
    /// When it is no decision.
    pub fn from_map(map: Map) -> Result<Self, MessageError> {
        if map.contains_key("pub_key") {
            return Ok(Self::Accepted(Box::new(AuthGrant::from_map(map)?)));
        }
        let mut fields = Fields::new(REPLY, map);
        let refusal = match fields.take("ret") {
            None => return Err(fields.missing("ret")),
            Some(Value::Str(text)) if text == FULL => AuthRefusal::Full,
            // Salt's minions wait at anything that is true.
            Some(ret) if ret.is_true() => AuthRefusal::Pending,
            Some(_) => AuthRefusal::Rejected,
        };
        Ok(Self::Refused(refusal, fields.name("nonce")?))
    }

    /// The map that is packed and signed.
    pub fn to_map(&self) -> Map {
        match self {
            Self::Accepted(grant) => grant.to_map(),
            Self::Refused(refusal, nonce) => {
                let mut map = Map::with_capacity(2);
                map.put("ret", refusal.to_ret());
                map.put_some("nonce", nonce.as_ref());
                map
            }
        }
    }

    /// The bytes to sign and send.
    ///
    /// # Errors
    /// When a part cannot be packed.
    pub fn encode(&self) -> Result<Vec<u8>, PackError> {
        pack_map(&self.to_map(), Packing::Wire)
    }
}

impl AuthRefusal {
    fn to_ret(self) -> Value {
        match self {
            Self::Rejected => Value::Bool(false),
            Self::Pending => Value::Bool(true),
            Self::Full => FULL.into(),
        }
    }
}

/// What an accepted minion gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthGrant {
    /// The master's public key, a PEM text without an ending line break.
    pub public_key: String,
    /// The port that the master publishes on.
    pub publish_port: u16,
    /// The signing key's signature over `public_key`, in base64.
    pub pub_sig: Option<String>,
    /// The minion's token under the minion's key.
    pub token: Option<Vec<u8>>,
    /// The key of publications under the minion's key.
    pub aes: Vec<u8>,
    /// The key of this minion's requests under the minion's key.
    pub session: Vec<u8>,
    /// The master's mark on the hash of the publication key.
    pub sig: Vec<u8>,
    /// The request's nonce; versions below 2 get none.
    pub nonce: Option<Nonce>,
    /// Fields that Salt does not know.
    pub extra: Map,
}

impl AuthGrant {
    /// The grant in an unpacked map.
    ///
    /// # Errors
    /// When a field is missing, of a wrong type or not a valid name.
    pub fn from_map(map: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(REPLY, map);
        fields.take("enc");
        let port = fields.need("publish_port", Fields::uint)?;
        let publish_port =
            u16::try_from(port).map_err(|_| fields.bad_value("publish_port", "is beyond 65535"))?;
        Ok(Self {
            public_key: fields.need("pub_key", Fields::text)?,
            publish_port,
            pub_sig: fields.text("pub_sig")?,
            token: fields.bytes("token")?,
            aes: fields.need("aes", Fields::bytes)?,
            session: fields.need("session", Fields::bytes)?,
            sig: fields.need("sig", Fields::bytes)?,
            nonce: fields.name("nonce")?,
            extra: fields.rest(),
        })
    }

    /// The map that is packed and signed.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(9 + self.extra.len());
        map.put("enc", "pub");
        map.put("pub_key", self.public_key.as_str());
        map.put("publish_port", self.publish_port);
        map.put_some("pub_sig", self.pub_sig.as_deref());
        map.put_some("token", self.token.clone().map(Value::Bytes));
        map.put_bytes("aes", self.aes.clone());
        map.put_bytes("session", self.session.clone());
        map.put_bytes("sig", self.sig.clone());
        map.put_some("nonce", self.nonce.as_ref());
        map.extend(self.extra.clone());
        map
    }
}

const FULL: &str = "full";
const BAD_ENC_ALGO: &str = "bad enc algo";
const BAD_SIG_ALGO: &str = "bad sig algo";

fn text_or(
    fields: &mut Fields,
    field: &'static str,
    default: &str,
) -> Result<String, MessageError> {
    let text = fields.text(field)?;
    Ok(text.unwrap_or_else(|| default.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_refusal_keeps_its_meaning_and_its_nonce() {
        let nonce = Some(Nonce::from_random([7; 16]));
        for refusal in [
            AuthRefusal::Rejected,
            AuthRefusal::Pending,
            AuthRefusal::Full,
        ] {
            let reply = AuthReply::Refused(refusal, nonce.clone());
            assert_eq!(AuthReply::decode(&reply.encode().unwrap()), Ok(reply));
        }
    }

    #[test]
    fn an_answer_to_come_again_says_after_how_long() {
        for wait in [0, 1, 2_500, u64::from(u32::MAX)].map(Duration::from_millis) {
            let answer = AuthAnswer::ComeAgain(ComeAgain {
                wait,
                appointment: None,
            });
            let packed = pack_wire(&answer.to_value()).unwrap();
            assert_eq!(AuthAnswer::decode(&packed), Ok(answer));
        }
        let negative = Map::from([("halite", Map::from([("come_again_ms", -1)]))]);
        let clear = Map::from([("enc", Value::from("clear")), ("load", negative.into())]);
        let error = AuthAnswer::from_value(clear.into()).unwrap_err();
        assert_eq!(error.to_string(), "the sign-in reply has no `ret`");
    }

    #[test]
    fn a_grant_without_a_session_key_is_none() {
        let map = Map::from([("pub_key", Value::from("PEM")), ("publish_port", 1.into())]);
        let error = AuthReply::from_map(map).unwrap_err();
        assert_eq!(error.to_string(), "the sign-in reply has no `aes`");
    }

    #[test]
    fn fields_of_a_newer_peer_are_kept() {
        let request = AuthRequest {
            id: MinionId::parse("web1").unwrap(),
            nonce: Some(Nonce::from_random([0; 16])),
            enc_algo: ENC_ALGO_DEFAULT.to_owned(),
            sig_algo: SIG_ALGO_DEFAULT.to_owned(),
            autosign_grains: None,
            token: Some(vec![0xff; 4]),
            public_key: "PEM".to_owned(),
            extra: [("capabilities", vec![Value::from("replay")])].into(),
        };
        assert_eq!(AuthRequest::from_map(request.to_map()), Ok(request));
    }
}
