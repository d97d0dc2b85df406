//! A reply that only this minion can open and only its master can have made: the
//! pillar.
//!
//! Salt 3006 to 3008: a fresh key, encrypted with the minion's public key, and
//! under that key the signed content, which repeats the key and the request's
//! nonce.

use halite_crypto::{
    Crypticle, EncAlgo, KeyError, Opened, PrivateKey, PublicKey, SigAlgo, SymmetricKey,
};

use halite_proto::pillar::{PillarAnswer, PillarData, SignedPillar};
use halite_proto::{Map, MessageError, Nonce};
use thiserror::Error;

/// Why a private reply is not used.
#[derive(Debug, Error)]
pub enum PrivateReplyError {
    /// It is not a private reply: the master does not know this session.
    #[error("it is not a private reply")]
    NotPrivate,
    /// The master reports an error.
    #[error("the master reports: {0}")]
    Reported(String),
    /// Its parts cannot be read.
    #[error("its content cannot be read")]
    Message(#[source] MessageError),
    /// Its key is not for this minion.
    #[error("its key cannot be decrypted")]
    Key(#[source] KeyError),
    /// Its key is invalid, or does not decrypt the rest.
    #[error("it cannot be decrypted with its key")]
    NotAuthentic,
    /// It is not signed by the master.
    #[error("it is not signed by the master")]
    Signature,
    /// It answers another request.
    #[error("it belongs to another request")]
    OtherRequest,
}

/// Opens a private reply to the request with this nonce.
///
/// # Errors
/// When any of its protections does not hold.
pub fn open(
    key: &PrivateKey,
    master: &PublicKey,
    enc_algo: &str,
    sig_algo: &str,
    nonce: &Nonce,
    reply: &[u8],
) -> Result<Map, PrivateReplyError> {
    let reply = match PillarAnswer::decode(reply).map_err(PrivateReplyError::Message)? {
        PillarAnswer::Private(reply) => reply,
        PillarAnswer::Error(text) => return Err(PrivateReplyError::Reported(text)),
        _ => return Err(PrivateReplyError::NotPrivate),
    };
    let enc_algo = EncAlgo::parse(enc_algo).map_err(|_| PrivateReplyError::NotAuthentic)?;
    let sig_algo = SigAlgo::parse(sig_algo).map_err(|_| PrivateReplyError::NotAuthentic)?;
    let plain = key
        .decrypt(enc_algo, &reply.key)
        .map_err(PrivateReplyError::Key)?;
    let once = std::str::from_utf8(plain.expose())
        .ok()
        .and_then(|text| SymmetricKey::parse(text).ok())
        .ok_or(PrivateReplyError::NotAuthentic)?;
    let Ok(Opened::Payload(packed)) = Crypticle::new(&once).open(&reply.pillar, None) else {
        return Err(PrivateReplyError::NotAuthentic);
    };
    let signed = SignedPillar::decode(&packed).map_err(PrivateReplyError::Message)?;
    if !master.verify(sig_algo, &signed.data, &signed.sig) {
        return Err(PrivateReplyError::Signature);
    }
    let data = PillarData::decode(&signed.data).map_err(PrivateReplyError::Message)?;
    if data.key != reply.key || data.nonce != *nonce {
        return Err(PrivateReplyError::OtherRequest);
    }
    Ok(data.pillar)
}
