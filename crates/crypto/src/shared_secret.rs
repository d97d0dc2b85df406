//! Proofs that somebody knows a secret that people have chosen, without sending it.
//!
//! The key of the proofs is made by scrypt, so that guessing from a proof is slow.
//! Invariant: a proof is valid for one list of texts only, with the same boundaries
//! between them.

use openssl::pkcs5::scrypt;

use crate::hmac::{HMAC_BYTES, Hmac};
use crate::random::{constant_time_eq, must};
use crate::secret::Secret;

/// What making the key costs: 32 MiB and about a tenth of a second, once.
const COST_N: u64 = 1 << 15;
const COST_R: u64 = 8;
const COST_P: u64 = 1;
const COST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A secret that is shared, ready to prove it.
#[derive(Clone)]
pub struct SharedSecret(Hmac);

impl SharedSecret {
    /// Bytes of a proof.
    pub const PROOF_BYTES: usize = HMAC_BYTES;

    /// Makes the key of the proofs. `purpose` tells uses of the same secret
    /// apart. `None` for an empty secret, which everybody knows.
    pub fn new(secret: &Secret<String>, purpose: &str) -> Option<Self> {
        if secret.expose().is_empty() {
            return None;
        }
        let mut key = Secret::new([0; HMAC_BYTES]);
        must(scrypt(
            secret.expose().as_bytes(),
            purpose.as_bytes(),
            COST_N,
            COST_R,
            COST_P,
            COST_BYTES_MAX,
            key.expose_mut(),
        ));
        Some(Self(must(Hmac::new(key.expose()))))
    }

    /// The proof for these texts.
    pub fn prove(&self, texts: &[&[u8]]) -> [u8; Self::PROOF_BYTES] {
        let mut joined = Vec::new();
        for text in texts {
            joined.extend((text.len() as u64).to_be_bytes());
            joined.extend_from_slice(text);
        }
        must(self.0.code(&joined))
    }

    /// Whether somebody who knows the secret has made the proof for these texts.
    pub fn is_proven(&self, texts: &[&[u8]], proof: &[u8]) -> bool {
        constant_time_eq(&self.prove(texts), proof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    #[test]
    fn a_proof_is_of_one_secret_one_purpose_and_one_division_of_texts() {
        let ours = SharedSecret::new(&secret("correct horse"), "a").unwrap();
        let proof = ours.prove(&[b"ab", b"c"]);
        assert!(ours.is_proven(&[b"ab", b"c"], &proof));
        assert!(!ours.is_proven(&[b"a", b"bc"], &proof));
        assert!(!ours.is_proven(&[b"abc"], &proof));
        assert!(!ours.is_proven(&[b"ab", b"c"], &proof[1..]));
        for (text, purpose) in [("correct horse", "b"), ("wrong horse", "a")] {
            let other = SharedSecret::new(&secret(text), purpose).unwrap();
            assert!(!other.is_proven(&[b"ab", b"c"], &proof));
        }
        assert!(SharedSecret::new(&secret(""), "a").is_none());
    }
}
