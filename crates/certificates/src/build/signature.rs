//! Signatures and their algorithms.

use halite_call::CallError;

use crate::asn1::{bits, null, oid, sequence};
use crate::keys::{KeyKind, PrivateKey};

/// A body with its signature.
pub(super) fn signed(
    key: &PrivateKey,
    digest: &str,
    algorithm: &[u8],
    body: Vec<u8>,
) -> Result<Vec<u8>, CallError> {
    let signature = key.sign(digest, &body)?;
    Ok(sequence(&[body, algorithm.to_vec(), bits(&signature)]))
}

/// Algorithms: kind of the key, digest, identifier.
const ALGORITHMS: &[(KeyKind, &str, &str)] = &[
    (KeyKind::Rsa, "sha1", "1.2.840.113549.1.1.5"),
    (KeyKind::Rsa, "sha224", "1.2.840.113549.1.1.14"),
    (KeyKind::Rsa, "sha256", "1.2.840.113549.1.1.11"),
    (KeyKind::Rsa, "sha384", "1.2.840.113549.1.1.12"),
    (KeyKind::Rsa, "sha512", "1.2.840.113549.1.1.13"),
    (KeyKind::Rsa, "sha3_224", "2.16.840.1.101.3.4.3.13"),
    (KeyKind::Rsa, "sha3_256", "2.16.840.1.101.3.4.3.14"),
    (KeyKind::Rsa, "sha3_384", "2.16.840.1.101.3.4.3.15"),
    (KeyKind::Rsa, "sha3_512", "2.16.840.1.101.3.4.3.16"),
    (KeyKind::Ec, "sha1", "1.2.840.10045.4.1"),
    (KeyKind::Ec, "sha224", "1.2.840.10045.4.3.1"),
    (KeyKind::Ec, "sha256", "1.2.840.10045.4.3.2"),
    (KeyKind::Ec, "sha384", "1.2.840.10045.4.3.3"),
    (KeyKind::Ec, "sha512", "1.2.840.10045.4.3.4"),
    (KeyKind::Ec, "sha3_224", "2.16.840.1.101.3.4.3.9"),
    (KeyKind::Ec, "sha3_256", "2.16.840.1.101.3.4.3.10"),
    (KeyKind::Ec, "sha3_384", "2.16.840.1.101.3.4.3.11"),
    (KeyKind::Ec, "sha3_512", "2.16.840.1.101.3.4.3.12"),
];

const ED25519: &str = "1.3.101.112";
const ED448: &str = "1.3.101.113";

pub(super) fn algorithm(kind: KeyKind, digest: &str) -> Result<Vec<u8>, CallError> {
    let id = match kind {
        KeyKind::Ed25519 => ED25519,
        KeyKind::Ed448 => ED448,
        kind => {
            let mut all = ALGORITHMS.iter();
            let found = all.find(|(known, name, _)| *known == kind && *name == digest);
            let (_, _, id) = found.ok_or_else(|| {
                CallError::command(format!(
                    "there is no signature of a key of the kind {} with {digest}",
                    kind.name()
                ))
            })?;
            id
        }
    };
    let mut parts = vec![oid(id)];
    if kind == KeyKind::Rsa {
        parts.push(null());
    }
    Ok(sequence(&parts))
}

/// The digest of a signature's algorithm; nothing for those without one.
pub(crate) fn digest_of_algorithm(id: &str) -> Option<&'static str> {
    let mut all = ALGORITHMS.iter();
    all.find(|(_, _, known)| *known == id)
        .map(|(_, digest, _)| *digest)
}

/// What results call an algorithm.
pub(crate) fn algorithm_name(id: &str) -> String {
    let found = ALGORITHMS.iter().find(|(_, _, known)| *known == id);
    match (id, found) {
        (ED25519, _) => "ed25519".to_owned(),
        (ED448, _) => "ed448".to_owned(),
        ("1.2.840.113549.1.1.10", _) => "rsassaPss".to_owned(),
        ("1.2.840.113549.1.1.4", _) => "md5WithRSAEncryption".to_owned(),
        (_, Some((KeyKind::Rsa, digest, _))) if !digest.contains('_') => {
            format!("{digest}WithRSAEncryption")
        }
        (_, Some((KeyKind::Ec, digest, _))) if !digest.contains('_') => {
            format!("ecdsa-with-{}", digest.to_uppercase())
        }
        _ => id.to_owned(),
    }
}
