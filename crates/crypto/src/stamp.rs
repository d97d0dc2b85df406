//! When a sealed message was made, and by which of several senders with one key, in
//! a part that every message has: its IV.
//!
//! The IV of a stamped message is one block of AES-256 over the stamp, which for
//! CBC is as good as a random one as long as no stamp is used twice (NIST SP
//! 800-38A, appendix C). It is covered by the message's HMAC, costs no byte, and
//! looks random to readers that do not know of it.
//!
//! Invariant: the key of stamps is derived from the whole key of sealed messages
//! (the first step of HKDF-SHA256, RFC 5869) and used for nothing else.

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;

use crate::crypticle::{BLOCK_BYTES, Crypticle};
use crate::hmac::{HMAC_BYTES, Hmac};
use crate::random::must;
use crate::secret::Secret;

/// The salt of the extraction, and what the key is for.
const PURPOSE: &[u8; HMAC_BYTES] = b"halite: publications, version 1 ";

/// What every stamp begins with: a random IV does by chance, once in 2^45 times, as
/// the moment begins with zeros too.
const MARK: [u8; 4] = [0; 4];

/// Moments before this one, microseconds: far beyond every clock.
const MOMENT_END: u64 = 1 << 51;

/// Who has sealed a message, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Who, among those that seal with this key.
    pub sealer: u32,
    /// When, in microseconds since 1970 by its clock. It never gives a moment twice.
    pub moment: u64,
}

impl Stamp {
    fn to_block(self) -> [u8; BLOCK_BYTES] {
        let mut block = [0; BLOCK_BYTES];
        let (mark, rest) = block.split_at_mut(MARK.len());
        let (sealer, moment) = rest.split_at_mut(size_of::<u32>());
        mark.copy_from_slice(&MARK);
        sealer.copy_from_slice(&self.sealer.to_be_bytes());
        moment.copy_from_slice(&self.moment.to_be_bytes());
        block
    }

    fn from_block(block: &[u8]) -> Option<Self> {
        let rest = block.strip_prefix(&MARK)?;
        let (sealer, rest) = rest.split_first_chunk()?;
        let moment = u64::from_be_bytes(*rest.first_chunk()?);
        let sealer = u32::from_be_bytes(*sealer);
        (moment < MOMENT_END).then_some(Self { sealer, moment })
    }
}

/// The key of stamps from the key of sealed messages, in both its parts.
pub(crate) fn root(key: &[u8]) -> Secret<[u8; HMAC_BYTES]> {
    Secret::new(must(
        Hmac::new(PURPOSE).and_then(|extract| extract.code(key)),
    ))
}

impl Crypticle {
    /// Seals a packed object as [`Self::seal`] does, with a stamp that was not used
    /// before.
    pub fn seal_stamped(&self, payload: &[u8], stamp: Stamp) -> Vec<u8> {
        let iv = must(self.block(stamp.to_block(), true));
        self.seal_with_iv(&[], &[payload], None, iv)
    }

    /// The stamp of a message that was [opened](Self::open), if it has one.
    pub fn stamp(&self, message: &[u8]) -> Option<Stamp> {
        let iv = message.first_chunk::<BLOCK_BYTES>()?;
        Stamp::from_block(&must(self.block(*iv, false)))
    }

    /// One block, encrypted or decrypted.
    fn block(
        &self,
        block: [u8; BLOCK_BYTES],
        encrypts: bool,
    ) -> Result<[u8; BLOCK_BYTES], ErrorStack> {
        let mut context = CipherCtx::new()?;
        let (cipher, key) = (
            Some(Cipher::aes_256_ecb()),
            Some(&self.stamp_root.expose()[..]),
        );
        if encrypts {
            context.encrypt_init(cipher, key, None)?;
        } else {
            context.decrypt_init(cipher, key, None)?;
        }
        context.set_padding(false);
        // The library wants room for a block that it might hold back.
        let mut out = [0; 2 * BLOCK_BYTES];
        let end = context.cipher_update(&block, Some(&mut out))?;
        let rest = out.get_mut(end..).unwrap_or_default();
        context.cipher_final(rest)?;
        let mut first = [0; BLOCK_BYTES];
        first.copy_from_slice(&out[..BLOCK_BYTES]);
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opened, SymmetricKey};

    #[test]
    fn a_stamped_message_is_one_like_others_and_says_who_and_when() {
        let [ours, other] = [0, 1].map(|_| Crypticle::new(&SymmetricKey::generate()));
        let stamp = Stamp {
            sealer: 0xdead_beef,
            moment: 1_800_000_000_123_456,
        };
        let sealed = ours.seal_stamped(b"load", stamp);
        assert_eq!(sealed.len(), ours.seal(b"load", None).len());
        let opened = ours.open(&sealed, None).unwrap();
        assert_eq!(opened, Opened::Payload(b"load".to_vec()));
        assert_eq!(ours.stamp(&sealed), Some(stamp));
        // It shows nothing to others, and is nothing that they can change.
        assert!(!sealed.windows(4).any(|part| part == [0; 4]));
        assert_eq!(other.stamp(&sealed), None);
        let mut moved = sealed;
        moved[0] ^= 1;
        assert!(ours.open(&moved, None).is_err());
        for message in [ours.seal(b"load", None), b"short".to_vec(), Vec::new()] {
            assert_eq!(ours.stamp(&message), None);
        }
    }
}
