//! How each caller sends a request, and its answer.

use anyhow::{Context, Result};
use halite_crypto::Opened;
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::{SignIn, StandIn};

use crate::doors::{Caller, Outcome, Row};
use crate::stage::{LIMITED, PENDING, Peer, Stage, fields};

/// A key that is nobody's.
const NO_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// What came of a request, and how large the answer was.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) outcome: Outcome,
    pub(crate) bytes: usize,
}

/// Sends what a row asks for as a caller.
pub(crate) fn ask(stage: &Stage, caller: Caller, row: &Row, is_sealed: bool) -> Result<Told> {
    if row.cmd == "_auth" {
        return sign_in(stage, caller, row);
    }
    let fields = fields(row.cmd, row.fields)?;
    match peer(stage, caller) {
        // What local programs ask for needs no session, and no key is one.
        Some(peer) if is_sealed || !caller.is_unproven() => ask_sealed(stage, peer, &fields),
        _ => ask_clear(stage, caller, fields),
    }
}

fn peer(stage: &Stage, caller: Caller) -> Option<&Peer> {
    match caller {
        Caller::Stranger => Some(&stage.stranger),
        Caller::Pending => Some(&stage.pending),
        Caller::Accepted => Some(&stage.accepted),
        Caller::Granted => Some(&stage.granted),
        Caller::Limited | Caller::Local | Caller::Root => None,
    }
}

fn ask_sealed(stage: &Stage, peer: &Peer, fields: &[(String, Item)]) -> Result<Told> {
    // The envelope's own are those of the envelope.
    let is_own = |name: &str| ["nonce", "ts", "tok", "id"].contains(&name);
    let load: Vec<(&str, Item)> = fields
        .iter()
        .filter(|(name, _)| !is_own(name))
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let (request, nonce) = peer.who.request(&peer.session, &load);
    let reply = stage.master.connect()?.ask(&request.pack())?;
    let answer = Item::unpack(&reply)?;
    let is_sealed = answer.bytes().is_some() && !is_refusal(&answer);
    let outcome = match answer.bytes() {
        Some(sealed) if is_sealed => {
            match peer.session.session.open(sealed, Some(nonce.as_bytes())) {
                Ok(Opened::Payload(payload)) => outcome(&Item::unpack(&payload)?),
                Ok(Opened::Empty) => Outcome::Nothing,
                Err(error) => anyhow::bail!("an answer that is sealed otherwise: {error}"),
            }
        }
        _ => outcome(&answer),
    };
    Ok(Told {
        outcome,
        bytes: reply.len(),
    })
}

fn ask_clear(stage: &Stage, caller: Caller, mut fields: Vec<(String, Item)>) -> Result<Told> {
    let user = match caller {
        Caller::Limited => LIMITED,
        _ => "root",
    };
    let key = match caller {
        Caller::Limited => Some(stage.limited_key.as_str()),
        Caller::Root => Some(stage.root_key.as_str()),
        Caller::Local => Some(NO_KEY),
        _ => None,
    };
    if caller == Caller::Pending {
        fields.push(("id".to_owned(), Item::from(PENDING)));
    }
    fields.push(("user".to_owned(), Item::from(user)));
    if let Some(key) = key {
        fields.push(("key".to_owned(), Item::from(key)));
    }
    let load = fields
        .into_iter()
        .map(|(name, value)| (Item::from(name.as_str()), value))
        .collect();
    let request = StandIn::clear(Item::Map(load)).pack();
    let reply = stage.master.connect()?.ask(&request)?;
    Ok(Told {
        outcome: outcome(&Item::unpack(&reply)?),
        bytes: reply.len(),
    })
}

/// Signs in with the key that the caller has; users of the host have none that
/// the master knows.
fn sign_in(stage: &Stage, caller: Caller, row: &Row) -> Result<Told> {
    let is_bad = row.fields.contains("..");
    let made;
    let who = match peer(stage, caller) {
        Some(peer) if !is_bad => &peer.who,
        _ => {
            let id = if is_bad { "../x" } else { "of-a-user" };
            made = StandIn::with_key(id, stage.pending.who.key().clone())?;
            &made
        }
    };
    let reply = stage
        .master
        .connect()?
        .ask(&who.sign_in_request().pack())
        .context("a sign-in without an answer")?;
    let bytes = reply.len();
    let outcome = match who.granted(&reply)? {
        SignIn::Accepted(_) => Outcome::Session,
        SignIn::Pending => Outcome::Waits,
        SignIn::Refused => Outcome::Refused,
        SignIn::Other(answer) => outcome(&answer),
    };
    Ok(Told { outcome, bytes })
}

/// Whether an answer is one of the bare texts of a refusal.
fn is_refusal(answer: &Item) -> bool {
    const TEXTS: [&str; 4] = [
        "bad load",
        "payload and load must be a dict",
        "Some exception handling minion payload",
        "Server-side exception handling payload",
    ];
    let text = match answer {
        Item::Map(_) => answer.get("msg").and_then(Item::text),
        answer => answer.text(),
    };
    text.is_some_and(|text| TEXTS.iter().any(|refusal| text.starts_with(refusal)))
}

/// What an opened answer says.
fn outcome(answer: &Item) -> Outcome {
    if is_refusal(answer) {
        return Outcome::Refused;
    }
    match answer {
        Item::Map(map) if map.is_empty() => Outcome::Nothing,
        Item::Bytes(bytes) if bytes.is_empty() => Outcome::Nothing,
        Item::Map(_) => match answer.get("error").map(|error| error.get("name")) {
            Some(Some(name)) if name.text() == Some("AuthorizationError") => Outcome::Forbidden,
            Some(_) => Outcome::Unproven,
            None => Outcome::Answered,
        },
        _ => Outcome::Answered,
    }
}
