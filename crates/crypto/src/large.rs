//! Large answers between two Halite peers: AES-256-GCM, which encrypts and
//! authenticates in one pass and several times as fast as `crypticle` does.
//!
//! An answer is `salt || ciphertext || tag`. Its key is used once: it is derived
//! (HKDF-SHA256, RFC 5869) from the whole key of sealed messages, with the nonce of
//! the request and the random salt in it, so that the IV may be all zeros and an
//! answer opens only for its own request.
//!
//! Invariant: no two answers have the same key, even for a request that is answered
//! twice, and an answer that does not authenticate is never returned.

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;

use crate::crypticle::{Crypticle, OpenError};
use crate::hmac::{HMAC_BYTES, Hmac};
use crate::random::{must, random_bytes};
use crate::secret::Secret;

/// The salt of the extraction, and what the keys are for.
const PURPOSE: &[u8; HMAC_BYTES] = b"halite: large answers, version 1";

const SALT_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
const IV: [u8; 12] = [0; 12];

/// The first step of HKDF: from the key of sealed messages, in both its parts,
/// to what the keys of single answers are made of.
pub(crate) fn root(key: &[u8]) -> Secret<[u8; HMAC_BYTES]> {
    Secret::new(must(
        Hmac::new(PURPOSE).and_then(|extract| extract.code(key)),
    ))
}

impl Crypticle {
    /// Seals the large answer to the request with `nonce`; like `seal_behind`
    /// it comes in parts and stands behind `head`.
    pub fn seal_large(&self, head: &[u8], parts: &[&[u8]], nonce: &[u8]) -> Vec<u8> {
        must(self.try_seal_large(head, parts, nonce, &random_bytes()))
    }

    /// How long a large answer is that holds so many bytes of payload.
    pub fn large_len(payload: usize) -> usize {
        SALT_BYTES + payload + TAG_BYTES
    }

    /// Opens the large answer to the request with `nonce` where it lies.
    ///
    /// # Errors
    /// When it is not authentic or answers another request; what is in
    /// `message` then is of no use.
    pub fn open_large<'m>(
        &self,
        message: &'m mut [u8],
        nonce: &[u8],
    ) -> Result<&'m [u8], OpenError> {
        let (salt, rest) = message
            .split_first_chunk_mut::<SALT_BYTES>()
            .ok_or(OpenError::NotAuthentic)?;
        let (content, tag) = rest
            .split_last_chunk_mut::<TAG_BYTES>()
            .ok_or(OpenError::NotAuthentic)?;
        let opened = self.decrypt_large(content, salt, tag, nonce);
        opened.map_err(|_| OpenError::NotAuthentic)?;
        Ok(content)
    }

    fn try_seal_large(
        &self,
        head: &[u8],
        parts: &[&[u8]],
        nonce: &[u8],
        salt: &[u8; SALT_BYTES],
    ) -> Result<Vec<u8>, ErrorStack> {
        let payload = parts.iter().map(|part| part.len()).sum();
        let mut message = vec![0; head.len() + Self::large_len(payload)];
        let (front, rest) = message.split_at_mut(head.len());
        front.copy_from_slice(head);
        let (front, rest) = rest.split_at_mut(SALT_BYTES);
        front.copy_from_slice(salt);
        let (mut content, tag) = rest.split_at_mut(payload);

        let key = self.large_key(nonce, salt)?;
        let mut context = CipherCtx::new()?;
        context.encrypt_init(Some(Cipher::aes_256_gcm()), Some(key.expose()), Some(&IV))?;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            let (to, left) = content.split_at_mut(part.len());
            context.cipher_update(part, Some(to))?;
            content = left;
        }
        // Nothing is held back in this mode.
        context.cipher_final(&mut [])?;
        context.tag(tag)?;
        Ok(message)
    }

    fn decrypt_large(
        &self,
        content: &mut [u8],
        salt: &[u8; SALT_BYTES],
        tag: &[u8; TAG_BYTES],
        nonce: &[u8],
    ) -> Result<(), ErrorStack> {
        let key = self.large_key(nonce, salt)?;
        let mut context = CipherCtx::new()?;
        context.decrypt_init(Some(Cipher::aes_256_gcm()), Some(key.expose()), Some(&IV))?;
        context.set_tag(tag)?;
        let bytes = content.len();
        if bytes > 0 {
            context.cipher_update_inplace(content, bytes)?;
        }
        context.cipher_final(&mut [])?;
        Ok(())
    }

    /// The second step of HKDF, of which one block is what the cipher takes.
    fn large_key(
        &self,
        nonce: &[u8],
        salt: &[u8; SALT_BYTES],
    ) -> Result<Secret<[u8; HMAC_BYTES]>, ErrorStack> {
        const FIRST_BLOCK: u8 = 1;
        let expand = Hmac::new(self.large_root.expose())?;
        let mut hasher = expand.begin();
        hasher.update(nonce)?;
        hasher.update(salt)?;
        hasher.update(&[FIRST_BLOCK])?;
        Ok(Secret::new(expand.finish(hasher)?))
    }
}

#[cfg(test)]
mod tests {
    use openssl::md::Md;
    use openssl::pkey::Id;
    use openssl::pkey_ctx::PkeyCtx;

    use super::*;
    use crate::SymmetricKey;
    use crate::crypticle::NONCE_BYTES;

    const NONCE: [u8; NONCE_BYTES] = [b'n'; NONCE_BYTES];

    fn crypticle() -> Crypticle {
        Crypticle::new(&SymmetricKey::generate())
    }

    #[test]
    fn parts_open_as_one_behind_their_head() {
        let crypticle = crypticle();
        let payload: Vec<u8> = (0..=u8::MAX).cycle().take(100_003).collect();
        for cut in [0, 1, 15, 16, 70_000, payload.len()] {
            let (one, other) = payload.split_at(cut);
            let mut sealed = crypticle.seal_large(b"head", &[one, &[], other], &NONCE);
            assert_eq!(sealed.len(), 4 + Crypticle::large_len(payload.len()));
            let (head, message) = sealed.split_at_mut(4);
            assert_eq!(head, b"head");
            assert_eq!(crypticle.open_large(message, &NONCE), Ok(&payload[..]));
        }
        let mut nothing = crypticle.seal_large(&[], &[], &NONCE);
        assert_eq!(crypticle.open_large(&mut nothing, &NONCE), Ok(&[][..]));
    }

    #[test]
    fn nothing_changed_cut_or_meant_for_others_opens() {
        let crypticle = crypticle();
        let sealed = crypticle.seal_large(&[], &[b"a payload"], &NONCE);
        let refused = |mut message: Vec<u8>, crypticle: &Crypticle, nonce| {
            let opened = crypticle.open_large(&mut message, nonce);
            assert_eq!(opened, Err(OpenError::NotAuthentic));
        };
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            refused(changed, &crypticle, &NONCE);
            refused(sealed[..at].to_vec(), &crypticle, &NONCE);
        }
        refused([&sealed[..], b"x"].concat(), &crypticle, &NONCE);
        refused(sealed.clone(), &crypticle, &[b'm'; NONCE_BYTES]);
        refused(sealed, &self::crypticle(), &NONCE);
        // Nor does what the other way of sealing makes.
        refused(crypticle.seal(&[0; 100], Some(&NONCE)), &crypticle, &NONCE);
    }

    #[test]
    fn no_two_answers_have_the_same_key() {
        let crypticle = crypticle();
        let [one, other] = [0, 1].map(|_| crypticle.seal_large(&[], &[&[0; 64]], &NONCE));
        assert_ne!(one[SALT_BYTES..], other[SALT_BYTES..]);
    }

    #[test]
    fn the_key_is_what_hkdf_says() {
        let key = [7; 56];
        let mut crypticle = crypticle();
        crypticle.large_root = root(&key);
        let salt = [9; SALT_BYTES];
        let mut hkdf = PkeyCtx::new_id(Id::HKDF).unwrap();
        hkdf.derive_init().unwrap();
        hkdf.set_hkdf_md(Md::sha256()).unwrap();
        hkdf.set_hkdf_salt(PURPOSE).unwrap();
        hkdf.set_hkdf_key(&key).unwrap();
        hkdf.add_hkdf_info(&[&NONCE[..], &salt].concat()).unwrap();
        let mut expected = [0; HMAC_BYTES];
        hkdf.derive(Some(&mut expected)).unwrap();
        assert_eq!(
            *crypticle.large_key(&NONCE, &salt).unwrap().expose(),
            expected
        );
    }
}
