//! A master key that is itself signed (`master_sign_pubkey`), so that minions
//! may trust a master they have not met.

use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{GeneralPurposeConfig, STANDARD};
use base64::{alphabet, engine::DecodePaddingMode};

use crate::algorithm::SigAlgo;
use crate::error::KeyError;
use crate::pem::clean_key;
use crate::rsa::{PrivateKey, PublicKey};

/// The signature over a master's public key as it is sent (`pub_sig`) and as
/// `salt-key --gen-signature` stores it: one line of base64 and its line end.
///
/// # Errors
/// When the signing key cannot sign.
pub fn sign_master_key(
    signing_key: &PrivateKey,
    algorithm: SigAlgo,
    master_public_pem: &str,
) -> Result<String, KeyError> {
    let signature = signing_key.sign(algorithm, clean_key(master_public_pem).as_bytes())?;
    let mut text = STANDARD.encode(signature);
    text.push('\n');
    Ok(text)
}

/// Whether `pub_sig` is the signing key's signature over `pub_key`, both taken
/// exactly as received.
pub fn verify_master_key(
    signing_key: &PublicKey,
    algorithm: SigAlgo,
    pub_key: &str,
    pub_sig: &[u8],
) -> bool {
    decode_lenient(pub_sig)
        .is_some_and(|signature| signing_key.verify(algorithm, pub_key.as_bytes(), &signature))
}

/// In front of a key that its predecessor signs, so that the signature is of
/// use for nothing else: no message of a master begins so.
const SUCCESSOR: &str = "halite master key change 1\n";

/// A master key's signature over the one that takes its place, in base64.
///
/// # Errors
/// When the key cannot sign.
pub fn sign_successor(old: &PrivateKey, new_public_pem: &str) -> Result<String, KeyError> {
    let signature = old.sign(
        SigAlgo::Pkcs1v15Sha224,
        successor(new_public_pem).as_bytes(),
    )?;
    Ok(STANDARD.encode(signature))
}

/// Whether the key `old` has named this one as the one in its place.
pub fn verify_successor(old: &PublicKey, new_public_pem: &str, signature: &str) -> bool {
    STANDARD.decode(signature).is_ok_and(|signature| {
        let text = successor(new_public_pem);
        old.verify(SigAlgo::Pkcs1v15Sha224, text.as_bytes(), &signature)
    })
}

fn successor(new_public_pem: &str) -> String {
    format!("{SUCCESSOR}{}", clean_key(new_public_pem))
}

/// Base64 as Python reads it: characters of no meaning are skipped.
fn decode_lenient(text: &[u8]) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let meant: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
        .collect();
    LENIENT.decode(meant).ok()
}
