//! Codes by which a program knows again what it has given out.
//!
//! Invariant: the key never leaves the process, and no two processes have the same.

use crate::hmac::{HMAC_BYTES, Hmac};
use crate::random::{constant_time_eq, must, random_bytes};
use crate::secret::Secret;

/// Bytes of a code.
pub const CODE_BYTES: usize = HMAC_BYTES;

/// Makes and checks the codes of this process.
#[derive(Clone)]
pub struct OwnCodes(Hmac);

impl OwnCodes {
    /// With a new key.
    pub fn generate() -> Self {
        let key = Secret::new(random_bytes::<HMAC_BYTES>());
        Self(must(Hmac::new(key.expose())))
    }

    /// The code for a value that is handed out.
    pub fn code(&self, given: &[u8]) -> [u8; CODE_BYTES] {
        must(self.0.code(given))
    }

    /// Whether the code belongs to this value.
    pub fn is_code(&self, given: &[u8], code: &[u8]) -> bool {
        constant_time_eq(&self.code(given), code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_of_one_process_and_one_text() {
        let (ours, other) = (OwnCodes::generate(), OwnCodes::generate());
        let code = ours.code(b"one");
        assert!(ours.is_code(b"one", &code));
        assert!(!ours.is_code(b"two", &code));
        assert!(!ours.is_code(b"one", &code[..CODE_BYTES - 1]));
        assert!(!other.is_code(b"one", &code));
    }
}
