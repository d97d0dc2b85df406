//! Keys that several masters derive from one secret, so that they need not send
//! them to each other.

use crate::crypticle::SymmetricKey;
use crate::error::KeyError;
use crate::hmac::{HMAC_BYTES, Hmac};
use crate::random::must;
use crate::rsa::PrivateKey;
use crate::secret::Secret;

/// What keys are derived from.
#[derive(Clone)]
pub struct DerivationRoot(Hmac);

impl DerivationRoot {
    /// The root that the holders of a private key share. `purpose` keeps the roots
    /// of one key apart.
    ///
    /// # Errors
    /// When the library cannot write the key.
    pub fn of_key(key: &PrivateKey, purpose: &[u8]) -> Result<Self, KeyError> {
        let pem = key.to_pem()?;
        // The text is the same for everybody: PKCS#1 has one form.
        let extract = must(Hmac::new(&[0; HMAC_BYTES]));
        let secret = Secret::new(must(extract.code(pem.expose().as_bytes())));
        let keyed = must(Hmac::new(secret.expose()));
        let root = Secret::new(must(keyed.code(purpose)));
        Ok(Self(must(Hmac::new(root.expose()))))
    }

    /// The key for what these parts say together.
    pub fn key(&self, parts: &[&[u8]]) -> SymmetricKey {
        let mut said = Vec::new();
        for part in parts {
            // With their lengths: no two lists of parts say the same.
            said.extend_from_slice(&(part.len() as u64).to_be_bytes());
            said.extend_from_slice(part);
        }
        let mut half = |number: u8| {
            said.push(number);
            let half = must(self.0.code(&said));
            said.pop();
            half
        };
        SymmetricKey::from_halves(half(1), half(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_that_of_its_parts_and_purpose() {
        let key = PrivateKey::generate(2048).unwrap();
        let again = PrivateKey::from_pem(key.to_pem().unwrap().expose().as_bytes(), None).unwrap();
        let root = DerivationRoot::of_key(&key, b"sessions").unwrap();
        let same = DerivationRoot::of_key(&again, b"sessions").unwrap();
        let other = DerivationRoot::of_key(&key, b"else").unwrap();
        let parts: [&[u8]; 2] = [b"web1", b"x"];
        assert!(root.key(&parts).is_same(&same.key(&parts)));
        assert!(!root.key(&parts).is_same(&other.key(&parts)));
        for others in [
            &[&b"web"[..], b"1x"][..],
            &[b"web1x"],
            &[b"web1", b"x", b""],
        ] {
            assert!(!root.key(&parts).is_same(&root.key(others)));
        }
    }
}
