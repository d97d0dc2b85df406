//! Facts on their way between masters that share a key.

use halite_crypto::{Crypticle, EncAlgo, KeyError, Secret, SigAlgo, SymmetricKey};
use halite_proto::clear::ComparisonRequest;
use halite_proto::clear::comparison::SealedFacts;
use halite_proto::msgpack::pack_modern;
use halite_proto::{Map, PackError, Value};
use thiserror::Error;

use crate::clock::now_micros;
use crate::keys::{KEY_MARK, Keys};

/// Why the facts cannot be given.
#[derive(Debug, Error)]
pub(crate) enum SealError {
    #[error("could not pack the facts")]
    Pack(#[from] PackError),
    #[error("could not seal the facts")]
    Key(#[from] KeyError),
}

/// Seals what this master says for the master that asks, which has the same key.
///
/// # Errors
/// When they cannot be packed or sealed.
pub(crate) fn seal(
    keys: &Keys,
    request: &ComparisonRequest,
    mut facts: Map,
) -> Result<SealedFacts, SealError> {
    let private = keys.identity.private();
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
pub(crate) fn open(keys: &Keys, sealed: &SealedFacts) -> Option<Map> {
    let private = keys.identity.private();
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
