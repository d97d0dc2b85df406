//! What minions ask a running master of ours for, each with its key.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use halite_crypto::PrivateKey;
use halite_integration_tests::Master;
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::{Session, StandIn};
use serde_json::Value;

use crate::rules::{Ask, Who};

const KEY_BITS: u32 = 2048;

/// The minions that ask.
pub(crate) struct Peers(BTreeMap<String, (StandIn, Option<Session>)>);

impl Peers {
    /// Has a key for each minion that asks among the accepted ones.
    pub(crate) fn accept(master: &Master, asks: &[Ask]) -> Result<Self> {
        let mut peers = BTreeMap::new();
        let mut key: Option<PrivateKey> = None;
        for ask in asks {
            let Who::Minion { id } = &ask.who else {
                continue;
            };
            if peers.contains_key(id) {
                continue;
            }
            let one = match &key {
                Some(key) => key.clone(),
                None => key.insert(PrivateKey::generate(KEY_BITS)?).clone(),
            };
            let peer = StandIn::with_key(id, one)?;
            let path = master.dir().join("pki/minions").join(id);
            fs::write(path, peer.public_pem())?;
            peers.insert(id.clone(), (peer, None));
        }
        Ok(Self(peers))
    }

    /// Asks; the answer in the words of the other ways.
    pub(crate) fn ask(&mut self, master: &Master, id: &str, ask: &Ask) -> Result<String> {
        let (peer, session) = self.0.get_mut(id).context("a minion without a key")?;
        let session = match session {
            Some(session) => session,
            None => session.insert(peer.must_sign_in(&mut master.connect()?)?),
        };
        let load = ask.load.as_object().context("no request")?;
        let mut fields = vec![("cmd", Item::from(ask.way.name()))];
        fields.extend(
            load.iter()
                .map(|(name, value)| (name.as_str(), item(value))),
        );
        let answer = peer.ask(&mut master.connect()?, session, &fields)?;
        Ok(match answer {
            Item::Map(map) if map.is_empty() => "refused".to_owned(),
            Item::Nil => "refused".to_owned(),
            Item::Bytes(bytes) if bytes.is_empty() => "refused".to_owned(),
            _ => "allowed".to_owned(),
        })
    }
}

fn item(value: &Value) -> Item {
    match value {
        Value::Null => Item::Nil,
        Value::Bool(value) => Item::Bool(*value),
        Value::Number(number) => Item::Int(number.as_i64().unwrap_or_default().into()),
        Value::String(text) => Item::from(text.as_str()),
        Value::Array(list) => Item::List(list.iter().map(item).collect()),
        Value::Object(map) => Item::Map(
            map.iter()
                .map(|(name, value)| (Item::from(name.as_str()), item(value)))
                .collect(),
        ),
    }
}
