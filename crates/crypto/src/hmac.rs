//! HMAC-SHA256, which every message uses.

use openssl::error::ErrorStack;
use openssl::hash::{Hasher, MessageDigest};

use crate::secret::Secret;

/// Bytes of a code, and of the keys that are used here.
pub(crate) const HMAC_BYTES: usize = 32;

/// HMAC-SHA256 with a key that is hashed in once: a message costs two copies
/// of a digest's state, where the library's own interface would look up and
/// set up everything again. The library wipes these states when they go.
#[derive(Clone)]
pub(crate) struct Hmac {
    inner: Hasher,
    outer: Hasher,
}

impl Hmac {
    pub(crate) fn new(key: &[u8; HMAC_BYTES]) -> Result<Self, ErrorStack> {
        const SHA256_BLOCK_BYTES: usize = 64;
        let keyed = |pad: u8| {
            let mut block = Secret::new([pad; SHA256_BLOCK_BYTES]);
            for (byte, key) in block.expose_mut().iter_mut().zip(key) {
                *byte ^= key;
            }
            let mut hasher = Hasher::new(MessageDigest::sha256())?;
            hasher.update(block.expose())?;
            Ok(hasher)
        };
        Ok(Self {
            inner: keyed(0x36)?,
            outer: keyed(0x5c)?,
        })
    }

    /// The authentication code of a message.
    pub(crate) fn code(&self, bytes: &[u8]) -> Result<[u8; HMAC_BYTES], ErrorStack> {
        let mut inner = self.begin();
        inner.update(bytes)?;
        self.finish(inner)
    }

    /// A hasher for a message that comes in pieces.
    pub(crate) fn begin(&self) -> Hasher {
        self.inner.clone()
    }

    /// The HMAC of what was put into a hasher of `begin`.
    pub(crate) fn finish(&self, mut inner: Hasher) -> Result<[u8; HMAC_BYTES], ErrorStack> {
        let mut outer = self.outer.clone();
        outer.update(&inner.finish()?)?;
        let mut hmac = [0; HMAC_BYTES];
        hmac.copy_from_slice(&outer.finish()?);
        Ok(hmac)
    }
}
