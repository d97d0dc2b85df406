//! A minimal minion, which signs in and sends the given requests: for requests that
//! no honest minion sends, and for load.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use halite_crypto::{
    Crypticle, EncAlgo, Opened, PrivateKey, PublicKey, SigAlgo, SymmetricKey, random_bytes,
};

use crate::wire::msgpack::Item;
use crate::wire::zmtp::Connection;

/// The version of the request protocol of all current releases.
const VERSION: i64 = 3;

const KEY_BITS: u32 = 2048;

/// An identity.
#[derive(Clone, Debug)]
pub struct StandIn {
    id: String,
    key: PrivateKey,
    public_pem: String,
    token: Vec<u8>,
    /// Further fields of its sign-ins.
    extra: Vec<(Item, Item)>,
}

/// What a master answers to a sign-in.
#[derive(Debug)]
pub enum SignIn {
    /// The keys of the session.
    Accepted(Box<Session>),
    /// The key waits for a decision.
    Pending,
    /// The key is rejected, denied, or of a name that cannot be.
    Refused,
    /// Something else, as it came.
    Other(Item),
}

/// What an accepted minion holds.
pub struct Session {
    /// Seals requests and replies.
    pub session: Crypticle,
    /// Opens publications.
    pub publish: Crypticle,
}

impl fmt::Debug for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Session")
    }
}

impl StandIn {
    /// A new identity with a new key.
    pub fn new(id: &str) -> Result<Self> {
        Self::with_key(id, PrivateKey::generate(KEY_BITS)?)
    }

    /// An identity with a given key.
    pub fn with_key(id: &str, key: PrivateKey) -> Result<Self> {
        Ok(Self {
            id: id.to_owned(),
            public_pem: key.public()?.clean_pem()?,
            token: key.request_token()?,
            key,
            extra: Vec::new(),
        })
    }

    /// The same identity, whose sign-ins have the fields of this map, too.
    #[must_use]
    pub fn saying(mut self, extra: Item) -> Self {
        self.extra = match extra {
            Item::Map(fields) => fields,
            _ => Vec::new(),
        };
        self
    }

    /// The public key as a master stores it.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// The private key.
    pub fn key(&self) -> &PrivateKey {
        &self.key
    }

    /// The sign-in request.
    pub fn sign_in_request(&self) -> Item {
        let fields = [
            ("cmd", Item::from("_auth")),
            ("id", Item::from(self.id.as_str())),
            ("nonce", Item::from(nonce().as_str())),
            ("enc_algo", Item::from("OAEP-SHA1")),
            ("sig_algo", Item::from("PKCS1v15-SHA1")),
            ("pub", Item::from(self.public_pem.as_str())),
        ];
        let fields = fields.map(|(name, value)| (Item::from(name), value));
        Self::clear(Item::Map(
            fields.into_iter().chain(self.extra.clone()).collect(),
        ))
    }

    /// A load in the envelope of a request that is not sealed.
    pub fn clear(load: Item) -> Item {
        Item::map([
            ("enc", Item::from("clear")),
            ("load", load),
            ("version", Item::from(VERSION)),
        ])
    }

    /// Signs in; a signature of the reply that is wrong is an error.
    pub fn sign_in(&self, master: &mut Connection) -> Result<SignIn> {
        self.granted(&master.ask(&self.sign_in_request().pack())?)
    }

    /// What the bytes of the reply to a sign-in say.
    pub fn granted(&self, reply: &[u8]) -> Result<SignIn> {
        let reply = Item::unpack(reply)?;
        let (Some(load), Some(sig)) = (
            reply.get("load").and_then(Item::bytes),
            reply.get("sig").and_then(Item::bytes),
        ) else {
            return Ok(SignIn::Other(reply));
        };
        let grant = Item::unpack(load)?;
        match grant.get("ret") {
            Some(Item::Bool(true)) => return Ok(SignIn::Pending),
            Some(Item::Bool(false)) => return Ok(SignIn::Refused),
            Some(_) => return Ok(SignIn::Other(grant)),
            None => {}
        }
        let field = |name: &str| {
            grant
                .get(name)
                .with_context(|| format!("no {name} in the grant"))
        };
        let master_key =
            PublicKey::from_pem(field("pub_key")?.text().context("a key that is no text")?)?;
        ensure!(
            master_key.verify(SigAlgo::Pkcs1v15Sha1, load, sig),
            "the reply to the sign-in is signed wrongly"
        );
        let opened = |name: &str| -> Result<Crypticle> {
            let key = self.key.decrypt(
                EncAlgo::OaepSha1,
                field(name)?.bytes().context("a key that is no bytes")?,
            )?;
            let key = std::str::from_utf8(key.expose()).context("a key that is no text")?;
            Ok(Crypticle::new(&SymmetricKey::parse(key)?))
        };
        Ok(SignIn::Accepted(Box::new(Session {
            session: opened("session")?,
            publish: opened("aes")?,
        })))
    }

    /// Signs in; an error unless the master accepts.
    pub fn must_sign_in(&self, master: &mut Connection) -> Result<Session> {
        match self.sign_in(master)? {
            SignIn::Accepted(session) => Ok(*session),
            other => bail!("{} was not accepted: {other:?}", self.id),
        }
    }

    /// The sealed request with these fields and those that every request has.
    pub fn request(&self, session: &Session, load: &[(&str, Item)]) -> (Item, String) {
        let nonce = nonce();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let mut entries: Vec<(Item, Item)> = load
            .iter()
            .map(|(name, value)| (Item::from(*name), value.clone()))
            .collect();
        for (name, value) in [
            ("nonce", Item::from(nonce.as_str())),
            ("ts", Item::Int(now.into())),
            ("tok", Item::from(self.token.as_slice())),
            ("id", Item::from(self.id.as_str())),
        ] {
            if load.iter().all(|(given, _)| *given != name) {
                entries.push((Item::from(name), value));
            }
        }
        let sealed = session.session.seal(&Item::Map(entries).pack(), None);
        (self.envelope(&sealed), nonce)
    }

    /// Sealed bytes in the envelope of a request.
    pub fn envelope(&self, sealed: &[u8]) -> Item {
        Item::map([
            ("enc", Item::from("aes")),
            ("load", Item::from(sealed)),
            ("version", Item::from(VERSION)),
            ("id", Item::from(self.id.as_str())),
            ("enc_algo", Item::from("OAEP-SHA1")),
            ("sig_algo", Item::from("PKCS1v15-SHA1")),
        ])
    }

    /// Sends a request and opens the reply.
    pub fn ask(
        &self,
        master: &mut Connection,
        session: &Session,
        load: &[(&str, Item)],
    ) -> Result<Item> {
        let (request, nonce) = self.request(session, load);
        let reply = Item::unpack(&master.ask(&request.pack())?)?;
        let Some(sealed) = reply.bytes() else {
            bail!("a reply that is not sealed: {reply:?}");
        };
        match session.session.open(sealed, Some(nonce.as_bytes())) {
            Ok(Opened::Payload(payload)) => Item::unpack(&payload),
            Ok(Opened::Empty) => bail!("an empty reply"),
            Err(error) => bail!("{error} of {}", String::from_utf8_lossy(sealed)),
        }
    }
}

/// 32 hexadecimal digits.
fn nonce() -> String {
    random_bytes::<16>()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
