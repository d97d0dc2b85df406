//! Another master compares itself with this one.

use std::sync::atomic::{AtomicI64, Ordering};

use halite_crypto::fingerprint_text;
use halite_crypto::{Crypticle, EncAlgo, HashType, KeyError, Secret, SigAlgo, SymmetricKey};
use halite_proto::clear::comparison::SealedFacts;
use halite_proto::clear::{ComparisonReply, ComparisonRequest};
use halite_proto::msgpack::pack_modern;
use halite_proto::{Map, PackError, Value};
use thiserror::Error;

use crate::clock::{now_micros, now_s};
use crate::comparison::facts;
use crate::error::chain;
use crate::master::Master;

/// How much the clocks of two masters may differ for them to talk, in seconds.
const CLOCKS_APART_MAX: u64 = 600;

/// Seconds between two answers with facts: they read all files.
const PAUSE_S: i64 = 1;

/// In front of the key of the facts. A minion that signs in has a token opened
/// and given back that was made for the master's key: without this mark it
/// could have a recorded key opened.
pub(crate) const KEY_MARK: &[u8] = b"halite.compare:";

/// When facts were gathered last.
static GATHERED: AtomicI64 = AtomicI64::new(0);

/// Why the facts cannot be given.
#[derive(Debug, Error)]
enum SealError {
    #[error("could not pack the facts")]
    Pack(#[from] PackError),
    #[error("could not seal the facts")]
    Key(#[from] KeyError),
}

/// Answers the question: with facts for who has this master's key.
pub(crate) fn compare(master: &Master, request: &ComparisonRequest) -> Value {
    let identity = &master.identity;
    let fingerprint = fingerprint_text(identity.public_pem().as_bytes(), HashType::Sha256);
    let sealed = match is_asked_by_holder(master, request) {
        true => seal(master, request)
            .map_err(|error| tracing::error!("could not answer another master: {}", chain(&error)))
            .ok(),
        false => None,
    };
    ComparisonReply {
        fingerprint,
        sealed,
    }
    .to_value()
}

fn is_asked_by_holder(master: &Master, request: &ComparisonRequest) -> bool {
    let now = now_s();
    if now.abs_diff(request.ts) > CLOCKS_APART_MAX {
        return false;
    }
    let Ok(public) = master.identity.private().public() else {
        return false;
    };
    let signed = ComparisonRequest::signed(&request.nonce, request.ts);
    if !public.verify(SigAlgo::Pkcs1v15Sha224, &signed, &request.sig) {
        return false;
    }
    // One that is played again costs no more than this.
    let last = GATHERED.swap(now, Ordering::Relaxed);
    now - last >= PAUSE_S || last > now
}

fn seal(master: &Master, request: &ComparisonRequest) -> Result<SealedFacts, SealError> {
    let private = master.identity.private();
    let mut facts = facts::gather(master);
    facts.insert("nonce", &request.nonce);
    facts.insert("clock_end", now_micros());
    let packed = pack_modern(&Value::Map(facts))?;
    let key = SymmetricKey::generate();
    let data = Crypticle::new(&key).seal(&packed, None);
    let marked = Secret::new([KEY_MARK, key.expose().as_bytes()].concat());
    Ok(SealedFacts {
        key: private
            .public()?
            .encrypt(EncAlgo::OaepSha224, marked.expose())?,
        sig: private.sign(SigAlgo::Pkcs1v15Sha224, &data)?,
        data,
    })
}

/// Opens the facts of another master that has this one's key.
pub(crate) fn open(master: &Master, sealed: &SealedFacts) -> Option<Map> {
    let private = master.identity.private();
    let public = private.public().ok()?;
    if !public.verify(SigAlgo::Pkcs1v15Sha224, &sealed.data, &sealed.sig) {
        return None;
    }
    let key = private.decrypt(EncAlgo::OaepSha224, &sealed.key).ok()?;
    let key = key.expose().strip_prefix(KEY_MARK)?;
    let key = SymmetricKey::parse(std::str::from_utf8(key).ok()?).ok()?;
    let opened = Crypticle::new(&key).open(&sealed.data, None).ok()?;
    let halite_crypto::Opened::Payload(packed) = opened else {
        return None;
    };
    match halite_proto::msgpack::unpack_modern(&packed).ok()? {
        Value::Map(facts) => Some(facts),
        _ => None,
    }
}
