//! Sealed messages: AES-192-CBC, then HMAC-SHA256 over the ciphertext.
//!
//! A message is `IV || ciphertext || HMAC`; the plaintext starts with `pickle::` (a
//! historical name, the rest is msgpack) and, in replies, the nonce of the request.
//! Salt: `salt/crypt.py`, class `Crypticle`, 3006-3008.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;
use thiserror::Error;
use zeroize::Zeroize;

use crate::hmac::{HMAC_BYTES, Hmac};
use crate::large;
use crate::presence;
use crate::random::{constant_time_eq, must, random_bytes};
use crate::secret::Secret;
use crate::stamp;

const PREFIX: &[u8] = b"pickle::";
const AES_KEY_BYTES: usize = 24;
const HMAC_KEY_BYTES: usize = 32;
const KEY_BYTES: usize = AES_KEY_BYTES + HMAC_KEY_BYTES;
/// Bytes of a block, and of an IV.
pub(crate) const BLOCK_BYTES: usize = 16;

/// What is encrypted is hashed while the processor still has it at hand.
const CACHED_BYTES: usize = 16 * 1024;

/// Length of the nonce in front of a reply's content.
pub const NONCE_BYTES: usize = 32;

/// Why a text is not the key of sealed messages. The text is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a key: expected 76 characters of base64")]
pub struct BadSymmetricKey;

/// The key of sealed messages in the form in which it is stored and sent: 76
/// characters of base64 over the AES key and the HMAC key.
#[derive(Clone)]
pub struct SymmetricKey(Secret<String>);

impl SymmetricKey {
    /// Characters of the text form.
    pub const CHARS: usize = 76;

    /// Makes a new random key.
    pub fn generate() -> Self {
        let mut bytes = random_bytes::<KEY_BYTES>();
        let text = STANDARD.encode(bytes);
        bytes.zeroize();
        Self(Secret::new(text))
    }

    /// A key of so many derived bytes.
    pub(crate) fn from_halves(mut first: [u8; HMAC_BYTES], mut second: [u8; HMAC_BYTES]) -> Self {
        let mut bytes = [0; KEY_BYTES];
        bytes[..HMAC_BYTES].copy_from_slice(&first);
        bytes[HMAC_BYTES..].copy_from_slice(&second[..AES_KEY_BYTES]);
        let text = STANDARD.encode(bytes);
        for secret in [&mut first[..], &mut second, &mut bytes] {
            secret.zeroize();
        }
        Self(Secret::new(text))
    }

    /// Takes a key from its text form; white space around it is ignored.
    ///
    /// # Errors
    /// When the text is not 56 bytes in base64.
    pub fn parse(text: &str) -> Result<Self, BadSymmetricKey> {
        let text = text.trim_ascii();
        if text.len() != Self::CHARS {
            return Err(BadSymmetricKey);
        }
        let bytes = Secret::new(STANDARD.decode(text).map_err(|_| BadSymmetricKey)?);
        if bytes.expose().len() == KEY_BYTES {
            Ok(Self(Secret::new(text.to_owned())))
        } else {
            Err(BadSymmetricKey)
        }
    }

    /// The text form.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Whether both are the same key.
    pub fn is_same(&self, other: &Self) -> bool {
        constant_time_eq(self.expose().as_bytes(), other.expose().as_bytes())
    }
}

/// Why a sealed message was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OpenError {
    /// It is damaged, cut short, or sealed with another key.
    #[error("message authentication failed")]
    NotAuthentic,
    /// It answers another request than the one asked about.
    #[error("nonce verification error")]
    WrongNonce,
}

/// What a sealed message held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// The packed object.
    Payload(Vec<u8>),
    /// Authentic, but not marked as a packed object: an empty map by
    /// convention.
    Empty,
}

/// Seals and opens messages with one key.
#[derive(Clone)]
pub struct Crypticle {
    aes_key: Secret<[u8; AES_KEY_BYTES]>,
    hmac: Hmac,
    /// What the keys of large answers are made of.
    pub(crate) large_root: Secret<[u8; HMAC_BYTES]>,
    /// The key of proofs of presence.
    pub(crate) presence_root: Secret<[u8; HMAC_BYTES]>,
    /// The key of stamps.
    pub(crate) stamp_root: Secret<[u8; HMAC_BYTES]>,
}

impl Crypticle {
    /// Prepares the use of `key`.
    pub fn new(key: &SymmetricKey) -> Self {
        // The text was checked when the key was made.
        let bytes = Secret::new(STANDARD.decode(key.expose()).unwrap_or_default());
        let mut aes_key = Secret::new([0; AES_KEY_BYTES]);
        let mut hmac_key = Secret::new([0; HMAC_KEY_BYTES]);
        let halves = aes_key.expose_mut().iter_mut().chain(hmac_key.expose_mut());
        for (to, from) in halves.zip(bytes.expose()) {
            *to = *from;
        }
        Self {
            aes_key,
            hmac: must(Hmac::new(hmac_key.expose())),
            large_root: large::root(bytes.expose()),
            presence_root: presence::root(bytes.expose()),
            stamp_root: stamp::root(bytes.expose()),
        }
    }

    /// Seals a packed object, with the request's nonce if this is a reply.
    pub fn seal(&self, payload: &[u8], nonce: Option<&[u8]>) -> Vec<u8> {
        self.seal_behind(&[], &[payload], nonce)
    }

    /// Seals a packed object that comes in parts, behind bytes that stay as
    /// they are: those of the format that a sealed message travels in. A large
    /// one need not be copied together before, nor behind them after.
    pub fn seal_behind(&self, head: &[u8], parts: &[&[u8]], nonce: Option<&[u8]>) -> Vec<u8> {
        self.seal_with_iv(head, parts, nonce, random_bytes())
    }

    /// How long a sealed message is that holds so many bytes of payload.
    pub fn sealed_len(payload: usize, nonce: Option<&[u8]>) -> usize {
        let plain = PREFIX.len() + nonce.map_or(0, <[u8]>::len) + payload;
        BLOCK_BYTES + (plain / BLOCK_BYTES + 1) * BLOCK_BYTES + HMAC_BYTES
    }

    pub(crate) fn seal_with_iv(
        &self,
        head: &[u8],
        parts: &[&[u8]],
        nonce: Option<&[u8]>,
        iv: [u8; BLOCK_BYTES],
    ) -> Vec<u8> {
        must(self.try_seal(head, parts, nonce, iv))
    }

    fn try_seal(
        &self,
        head: &[u8],
        parts: &[&[u8]],
        nonce: Option<&[u8]>,
        iv: [u8; BLOCK_BYTES],
    ) -> Result<Vec<u8>, ErrorStack> {
        let payload = parts.iter().map(|part| part.len()).sum();
        let sealed_bytes = Self::sealed_len(payload, nonce);
        let begin = head.len();
        // The HMAC's place is the spare block that the library wants for what
        // it might hold back.
        let mut message = vec![0; begin + sealed_bytes];
        message[..begin].copy_from_slice(head);
        message[begin..begin + BLOCK_BYTES].copy_from_slice(&iv);

        let mut context = CipherCtx::new()?;
        context.encrypt_init(
            Some(Cipher::aes_192_cbc()),
            Some(self.aes_key.expose()),
            Some(&iv),
        )?;
        let mut hmac = self.hmac.begin();
        let (mut end, mut hashed) = (begin + BLOCK_BYTES, begin);
        let front = [PREFIX, nonce.unwrap_or_default()];
        for part in front.iter().chain(parts) {
            for piece in part.chunks(CACHED_BYTES) {
                end += context.cipher_update(piece, Some(&mut message[end..]))?;
                hmac.update(&message[hashed..end])?;
                hashed = end;
            }
        }
        end += context.cipher_final(&mut message[end..])?;
        hmac.update(&message[hashed..end])?;
        message.truncate(end);
        message.extend_from_slice(&self.hmac.finish(hmac)?);
        Ok(message)
    }

    /// Opens a sealed message; with `expect_nonce` it must be the reply to the
    /// request that had that nonce.
    ///
    /// # Errors
    /// When it is not authentic, or not that reply.
    pub fn open(&self, message: &[u8], expect_nonce: Option<&[u8]>) -> Result<Opened, OpenError> {
        let sealed = self.authentic(message).ok_or(OpenError::NotAuthentic)?;
        let skip = PREFIX.len() + expect_nonce.map_or(0, |_| NONCE_BYTES);
        let (front, mut payload) = self.decrypt(sealed, skip).ok_or(OpenError::NotAuthentic)?;
        let plain_bytes = front.len() + payload.len();
        // Salt looks at the last byte only, and so does every peer.
        let padding = payload.last().or_else(|| front.last());
        let end = match padding.map_or(0, |byte| usize::from(*byte)) {
            0 => 0,
            padding => plain_bytes.saturating_sub(padding),
        };
        let front = front.get(..end).unwrap_or(&front);
        let Some(rest) = front.strip_prefix(PREFIX) else {
            return Ok(Opened::Empty);
        };
        if let Some(nonce) = expect_nonce {
            let found = rest.get(..NONCE_BYTES).ok_or(OpenError::WrongNonce)?;
            if !constant_time_eq(found, nonce) {
                return Err(OpenError::WrongNonce);
            }
        }
        payload.truncate(end.saturating_sub(skip));
        Ok(Opened::Payload(payload))
    }

    /// IV and ciphertext of a message whose HMAC is right.
    fn authentic<'a>(&self, message: &'a [u8]) -> Option<&'a [u8]> {
        let (sealed, found) = message.split_last_chunk::<HMAC_BYTES>()?;
        let expected = must(self.hmac.code(sealed));
        (sealed.len() >= BLOCK_BYTES && constant_time_eq(&expected, found)).then_some(sealed)
    }

    /// What was sealed: the first `front` bytes of it, or all if there are no
    /// more, and what follows. Apart, so that a large payload need not be moved
    /// to where it begins.
    fn decrypt(&self, sealed: &[u8], front: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let (iv, ciphertext) = sealed.split_first_chunk::<BLOCK_BYTES>()?;
        if ciphertext.len() % BLOCK_BYTES != 0 {
            return None;
        }
        let blocks_of_front = front.div_ceil(BLOCK_BYTES) * BLOCK_BYTES;
        let (first, rest) = ciphertext.split_at(blocks_of_front.min(ciphertext.len()));
        let attempt = || -> Result<(Vec<u8>, Vec<u8>), ErrorStack> {
            let mut context = CipherCtx::new()?;
            context.decrypt_init(
                Some(Cipher::aes_192_cbc()),
                Some(self.aes_key.expose()),
                Some(iv),
            )?;
            context.set_padding(false);
            let mut head = vec![0; first.len() + BLOCK_BYTES];
            let end = context.cipher_update(first, Some(&mut head))?;
            head.truncate(end);
            let over = head.split_off(front.min(head.len()));
            let mut payload = vec![0; over.len() + rest.len() + BLOCK_BYTES];
            payload[..over.len()].copy_from_slice(&over);
            let mut end = over.len();
            end += context.cipher_update(rest, Some(&mut payload[end..]))?;
            end += context.cipher_final(&mut payload[end..])?;
            payload.truncate(end);
            Ok((head, payload))
        };
        attempt().ok()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use serde_json::Value;

    use super::*;

    #[test]
    fn with_the_same_iv_a_message_is_equal_byte_for_byte() {
        let gz = include_bytes!("../tests/vectors/crypticle.json.gz");
        let mut text = String::new();
        GzDecoder::new(&gz[..]).read_to_string(&mut text).unwrap();
        let vectors: Value = serde_json::from_str(&text).unwrap();
        let cases = vectors["cases"].as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let bytes = |field: &str| STANDARD.decode(case[field].as_str().unwrap()).unwrap();
            let key = &vectors["keys"][case["key"].as_str().unwrap()]["key_string"];
            let crypticle = Crypticle::new(&SymmetricKey::parse(key.as_str().unwrap()).unwrap());
            let sealed = bytes("encrypted");
            let iv = *sealed.first_chunk().unwrap();
            let nonce = case["nonce"].as_str().map(str::as_bytes);
            assert_eq!(
                crypticle.seal_with_iv(&[], &[&bytes("msgpack")], nonce, iv),
                sealed,
                "{}",
                case["name"]
            );
            assert_eq!(
                Crypticle::sealed_len(bytes("msgpack").len(), nonce),
                sealed.len()
            );
        }
    }

    #[test]
    fn parts_are_sealed_as_if_they_were_one() {
        let crypticle = Crypticle::new(&SymmetricKey::generate());
        let payload: Vec<u8> = (0..=u8::MAX).cycle().take(3 * CACHED_BYTES + 5).collect();
        let nonce = [b'n'; NONCE_BYTES];
        let whole = crypticle.seal_with_iv(&[], &[&payload], Some(&nonce), [7; BLOCK_BYTES]);
        for cut in [0, 1, 15, 16, CACHED_BYTES - 1, payload.len()] {
            let (one, other) = payload.split_at(cut);
            let parts: [&[u8]; 3] = [one, &[], other];
            let behind = crypticle.seal_with_iv(b"head", &parts, Some(&nonce), [7; BLOCK_BYTES]);
            assert_eq!(behind.strip_prefix(b"head"), Some(&whole[..]), "{cut}");
        }
        assert_eq!(
            crypticle.open(&whole, Some(&nonce)),
            Ok(Opened::Payload(payload))
        );
    }

    #[test]
    fn the_last_byte_alone_is_the_padding() {
        let crypticle = Crypticle::new(&SymmetricKey::generate());
        // A plaintext of whole blocks made without the library's padding: its
        // last byte says how much to drop, even all of it.
        for (last, expected) in [
            (1, Opened::Payload(b"payload".to_vec())),
            (8, Opened::Payload(Vec::new())),
            (0, Opened::Empty),
            (255, Opened::Empty),
        ] {
            let mut plain = *b"pickle::payload?";
            plain[15] = last;
            let iv = [7; BLOCK_BYTES];
            let mut context = CipherCtx::new().unwrap();
            context
                .encrypt_init(
                    Some(Cipher::aes_192_cbc()),
                    Some(crypticle.aes_key.expose()),
                    Some(&iv),
                )
                .unwrap();
            context.set_padding(false);
            let mut message = iv.to_vec();
            context.cipher_update_vec(&plain, &mut message).unwrap();
            let hmac = crypticle.hmac.code(&message).unwrap();
            message.extend_from_slice(&hmac);
            assert_eq!(crypticle.open(&message, None), Ok(expected), "{last}");
        }
    }
}
