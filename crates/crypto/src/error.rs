//! What can go wrong with RSA keys.

use std::fmt;

use openssl::error::ErrorStack;
use thiserror::Error;

use crate::limits::{KEY_BITS_MAX, KEY_BITS_MIN};

/// Why a key could not be read, made or used.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The text holds no private key.
    #[error("no private key in PEM form")]
    ReadPrivate(#[source] BackendError),
    /// The text holds no public key.
    #[error("no public key in PEM form")]
    ReadPublic(#[source] BackendError),
    /// The text is far longer than any key.
    #[error("the key text has {bytes} bytes, more than any key")]
    TooLong {
        /// Length of the text.
        bytes: usize,
    },
    /// The private key is encrypted and no passphrase was given.
    #[error("the private key is encrypted and no passphrase is configured for it")]
    PassphraseMissing,
    /// The passphrase does not open the private key.
    #[error("the passphrase does not open the private key")]
    PassphraseWrong(#[source] BackendError),
    /// The key is of another kind.
    #[error("the key is not an RSA key")]
    NotRsa,
    /// The numbers of the key protect nothing, or cost too much.
    #[error("the numbers of the key do not form a safe RSA key")]
    Unsafe,
    /// The key is too small to be of use, or too large to be worked with.
    #[error("the key has {bits} bits, allowed are {KEY_BITS_MIN} to {KEY_BITS_MAX}")]
    Size {
        /// Bits of the modulus.
        bits: u32,
    },
    /// The key pair could not be made.
    #[error("could not generate a key pair")]
    Generate(#[source] BackendError),
    /// The key could not be written as text.
    #[error("could not write the key as PEM")]
    Encode(#[source] BackendError),
    /// The message could not be signed.
    #[error("could not sign")]
    Sign(#[source] BackendError),
    /// The message could not be encrypted, e.g. because it is too long.
    #[error("could not encrypt")]
    Encrypt(#[source] BackendError),
    /// The message was not encrypted for this key, or is damaged.
    #[error("could not decrypt: the message is damaged or made for another key")]
    Decrypt(#[source] BackendError),
}

/// The cryptographic library's own words about an error.
pub struct BackendError(ErrorStack);

impl std::error::Error for BackendError {}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.errors().first().and_then(|error| error.reason()) {
            Some(reason) => f.write_str(reason),
            None => f.write_str("the cryptographic library gives no reason"),
        }
    }
}

impl fmt::Debug for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl From<ErrorStack> for BackendError {
    fn from(stack: ErrorStack) -> Self {
        Self(stack)
    }
}
