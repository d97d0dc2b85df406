//! Digests: their names, and what they make of data.

use halite_call::CallError;
use openssl::hash::{MessageDigest, hash};

use super::failed;

/// The digests that arguments may name.
const DIGESTS: [&str; 11] = [
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512_224",
    "sha512_256",
    "sha3_224",
    "sha3_256",
    "sha3_384",
    "sha3_512",
];

/// The name of a digest that there is.
pub(crate) fn digest(name: &str) -> Result<String, CallError> {
    let lower = name.to_lowercase();
    if DIGESTS.contains(&lower.as_str()) {
        return Ok(lower);
    }
    Err(CallError::command(format!(
        "Invalid value '{name}' for digest. Valid: {}",
        DIGESTS.join(", ")
    )))
}

pub(super) fn message_digest(name: &str) -> Result<MessageDigest, CallError> {
    let name = name.to_lowercase().replace('_', "-");
    MessageDigest::from_name(&name)
        .ok_or_else(|| CallError::command(format!("there is no digest {name} here")))
}

/// A digest of data.
pub(crate) fn digest_of(name: &str, data: &[u8]) -> Result<Vec<u8>, CallError> {
    let digest = hash(message_digest(name)?, data);
    Ok(digest.map_err(failed("could not hash"))?.to_vec())
}
