//! Messages from one sender to several receivers who share its key, over a carrier
//! that none of them trusts: AES-256-GCM, and an Ed25519 signature over the whole,
//! since everybody who can open a message could seal one too.
//!
//! A message is `head || nonce || ciphertext || tag || signature`. The head is in
//! the clear; it and a context that both sides know are authenticated.
//!
//! Invariant: a message is opened only if the sender itself sealed it, for this
//! context and under this head.

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;
use openssl::pkey::{Id, PKey, Private, Public};
use openssl::sha::Sha256;
use openssl::sign::{Signer, Verifier};

use crate::crypticle::OpenError;
use crate::random::{must, random_bytes};
use crate::secret::Secret;

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
const SIGNATURE_BYTES: usize = 64;

/// Bytes of what the others are given: the key, and what checks signatures.
pub const SHARED_KEY_BYTES: usize = 2 * KEY_BYTES;

/// The sender's side of a key.
pub struct BroadcastKey {
    cipher: Secret<[u8; KEY_BYTES]>,
    signing: PKey<Private>,
}

/// The side of those who are told.
pub struct BroadcastOpener {
    cipher: Secret<[u8; KEY_BYTES]>,
    signed_by: PKey<Public>,
}

impl BroadcastKey {
    /// How many bytes longer a message is than its head and its content.
    pub const OVERHEAD: usize = NONCE_BYTES + TAG_BYTES + SIGNATURE_BYTES;

    /// Makes a key.
    pub fn generate() -> Self {
        Self {
            cipher: Secret::new(random_bytes()),
            signing: must(PKey::generate_ed25519()),
        }
    }

    /// What the others are given, over a way that only they can read.
    pub fn shared(&self) -> Secret<[u8; SHARED_KEY_BYTES]> {
        let mut shared = Secret::new([0; SHARED_KEY_BYTES]);
        let (cipher, verifying) = shared.expose_mut().split_at_mut(KEY_BYTES);
        cipher.copy_from_slice(self.cipher.expose());
        verifying.copy_from_slice(&must(self.signing.raw_public_key()));
        shared
    }

    /// Seals a message.
    pub fn seal(&self, context: &[u8], head: &[u8], content: &[u8]) -> Vec<u8> {
        must(self.try_seal(context, head, content))
    }

    fn try_seal(&self, context: &[u8], head: &[u8], content: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        let nonce: [u8; NONCE_BYTES] = random_bytes();
        let mut message = Vec::with_capacity(head.len() + content.len() + Self::OVERHEAD);
        message.extend_from_slice(head);
        message.extend_from_slice(&nonce);
        let mut cipher = CipherCtx::new()?;
        cipher.encrypt_init(
            Some(Cipher::aes_256_gcm()),
            Some(self.cipher.expose()),
            Some(&nonce),
        )?;
        authenticate(&mut cipher, context, head)?;
        if !content.is_empty() {
            cipher.cipher_update_vec(content, &mut message)?;
        }
        cipher.cipher_final_vec(&mut message)?;
        let mut tag = [0; TAG_BYTES];
        cipher.tag(&mut tag)?;
        message.extend_from_slice(&tag);
        let mut signer = Signer::new_without_digest(&self.signing)?;
        let signature = signer.sign_oneshot_to_vec(&signed(context, &message))?;
        message.extend_from_slice(&signature);
        Ok(message)
    }
}

impl BroadcastOpener {
    /// Reads a sender's shared key; `None` if the second half is not a public key.
    pub fn from_shared(shared: &[u8; SHARED_KEY_BYTES]) -> Option<Self> {
        let (cipher, verifying) = shared.split_first_chunk::<KEY_BYTES>()?;
        Some(Self {
            cipher: Secret::new(*cipher),
            signed_by: PKey::public_key_from_raw_bytes(verifying, Id::ED25519).ok()?,
        })
    }

    /// Opens a message with a head of so many bytes: its content.
    ///
    /// # Errors
    /// When it is not authentic.
    pub fn open(
        &self,
        context: &[u8],
        head_bytes: usize,
        message: &[u8],
    ) -> Result<Vec<u8>, OpenError> {
        let short = OpenError::NotAuthentic;
        let (sealed, signature) = message.split_last_chunk::<SIGNATURE_BYTES>().ok_or(short)?;
        let (head, rest) = sealed.split_at_checked(head_bytes).ok_or(short)?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(short)?;
        let (content, tag) = rest.split_last_chunk::<TAG_BYTES>().ok_or(short)?;
        let is_signed = Verifier::new_without_digest(&self.signed_by)
            .and_then(|mut verifier| verifier.verify_oneshot(signature, &signed(context, sealed)));
        if !is_signed.unwrap_or(false) {
            return Err(OpenError::NotAuthentic);
        }
        self.decrypt(context, head, (nonce, content, tag))
            .map_err(|_| OpenError::NotAuthentic)
    }

    fn decrypt(
        &self,
        context: &[u8],
        head: &[u8],
        (nonce, content, tag): (&[u8; NONCE_BYTES], &[u8], &[u8; TAG_BYTES]),
    ) -> Result<Vec<u8>, ErrorStack> {
        let mut cipher = CipherCtx::new()?;
        cipher.decrypt_init(
            Some(Cipher::aes_256_gcm()),
            Some(self.cipher.expose()),
            Some(nonce),
        )?;
        cipher.set_tag(tag)?;
        authenticate(&mut cipher, context, head)?;
        let mut opened = Vec::with_capacity(content.len() + TAG_BYTES);
        if !content.is_empty() {
            cipher.cipher_update_vec(content, &mut opened)?;
        }
        cipher.cipher_final_vec(&mut opened)?;
        Ok(opened)
    }
}

fn authenticate(cipher: &mut CipherCtx, context: &[u8], head: &[u8]) -> Result<(), ErrorStack> {
    for part in [context, head].into_iter().filter(|part| !part.is_empty()) {
        cipher.cipher_update(part, None)?;
    }
    Ok(())
}

/// What is signed: the digest of the message behind its context, whose length
/// keeps the two apart.
fn signed(context: &[u8], message: &[u8]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(&(context.len() as u64).to_be_bytes());
    digest.update(context);
    digest.update(message);
    digest.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_sender_sealed_opens() {
        let key = BroadcastKey::generate();
        let opener = BroadcastOpener::from_shared(key.shared().expose()).unwrap();
        for content in [&b""[..], b"x", &[7; 100_000]] {
            let message = key.seal(b"of m1", b"head", content);
            assert_eq!(message.len(), 4 + content.len() + BroadcastKey::OVERHEAD);
            assert_eq!(opener.open(b"of m1", 4, &message).unwrap(), content);
            assert!(opener.open(b"of m2", 4, &message).is_err());
            assert!(opener.open(b"of m1", 3, &message).is_err());
            let step = (message.len() / 50).max(1);
            for at in (0..message.len()).step_by(step) {
                let mut other = message.clone();
                other[at] ^= 1;
                assert!(opener.open(b"of m1", 4, &other).is_err(), "{at}");
                assert!(opener.open(b"of m1", 4, &message[..at]).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn who_can_open_cannot_seal() {
        let key = BroadcastKey::generate();
        let opener = BroadcastOpener::from_shared(key.shared().expose()).unwrap();
        // Another one that was told the cipher's key, with a signature of its own.
        let insider = BroadcastKey {
            cipher: key.cipher.clone(),
            signing: PKey::generate_ed25519().unwrap(),
        };
        let forged = insider.seal(b"c", b"h", b"forged");
        assert!(opener.open(b"c", 1, &forged).is_err());
    }
}
