//! Bytes behind a passphrase: for files that leave the machine.
//!
//! The key is made by scrypt, whose cost makes guessing slow, and the bytes are
//! sealed by AES-256-GCM. Invariant: a wrong passphrase and a changed file are
//! told from the right ones, and nothing of the content is given out then.

use openssl::pkcs5::scrypt;
use openssl::symm::{Cipher, decrypt_aead, encrypt_aead};
use thiserror::Error;

use crate::Secret;
use crate::random::random_bytes;

/// How such bytes begin.
const MAGIC: &[u8] = b"halite sealed 1\n";

const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// scrypt: 32 MiB and about a tenth of a second.
const COST_N: u64 = 1 << 15;
const COST_R: u64 = 8;
const COST_P: u64 = 1;
const COST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The shortest passphrase that is taken for sealing.
pub const PASSPHRASE_CHARS_MIN: usize = 8;

/// Why bytes could not be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PassphraseError {
    /// It could be guessed.
    #[error("the passphrase needs at least {PASSPHRASE_CHARS_MIN} characters")]
    TooShort,
    /// These are no such bytes.
    #[error("this is not a file of sealed keys")]
    NotSealed,
    /// The passphrase is wrong, or the bytes were changed.
    #[error("the passphrase is wrong, or the file is damaged")]
    Wrong,
    /// The library refuses.
    #[error("could not make a key of the passphrase")]
    Key,
}

/// Seals bytes behind a passphrase.
///
/// # Errors
/// When it is too short, or the library refuses.
pub fn seal(passphrase: &Secret<String>, plain: &[u8]) -> Result<Vec<u8>, PassphraseError> {
    if passphrase.expose().chars().count() < PASSPHRASE_CHARS_MIN {
        return Err(PassphraseError::TooShort);
    }
    let salt = random_bytes::<SALT_BYTES>();
    let nonce = random_bytes::<NONCE_BYTES>();
    let key = key_of(passphrase, &salt)?;
    let mut tag = [0; TAG_BYTES];
    let cipher = Cipher::aes_256_gcm();
    let sealed = encrypt_aead(cipher, key.expose(), Some(&nonce), MAGIC, plain, &mut tag)
        .map_err(|_| PassphraseError::Key)?;
    Ok([MAGIC, &salt, &nonce, &tag, &sealed].concat())
}

/// Opens what [`seal`] made.
///
/// # Errors
/// When it is something else, or the passphrase is wrong.
pub fn open(passphrase: &Secret<String>, bytes: &[u8]) -> Result<Secret<Vec<u8>>, PassphraseError> {
    let rest = bytes
        .strip_prefix(MAGIC)
        .ok_or(PassphraseError::NotSealed)?;
    let (salt, rest) = split(rest, SALT_BYTES)?;
    let (nonce, rest) = split(rest, NONCE_BYTES)?;
    let (tag, sealed) = split(rest, TAG_BYTES)?;
    let key = key_of(passphrase, salt)?;
    let cipher = Cipher::aes_256_gcm();
    decrypt_aead(cipher, key.expose(), Some(nonce), MAGIC, sealed, tag)
        .map(Secret::new)
        .map_err(|_| PassphraseError::Wrong)
}

fn split(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8]), PassphraseError> {
    bytes.split_at_checked(at).ok_or(PassphraseError::NotSealed)
}

fn key_of(passphrase: &Secret<String>, salt: &[u8]) -> Result<Secret<Vec<u8>>, PassphraseError> {
    let mut key = vec![0; KEY_BYTES];
    scrypt(
        passphrase.expose().as_bytes(),
        salt,
        COST_N,
        COST_R,
        COST_P,
        COST_BYTES_MAX,
        &mut key,
    )
    .map_err(|_| PassphraseError::Key)?;
    Ok(Secret::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    #[test]
    fn only_the_passphrase_opens_what_was_sealed() {
        let sealed = seal(&secret("open sesame"), b"the keys").unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"the keys"));
        let opened = open(&secret("open sesame"), &sealed).unwrap();
        assert_eq!(opened.expose(), b"the keys");
        let wrong = open(&secret("open barley"), &sealed).err();
        assert_eq!(wrong, Some(PassphraseError::Wrong));
    }

    #[test]
    fn a_change_anywhere_is_noticed() {
        let sealed = seal(&secret("open sesame"), b"the keys").unwrap();
        // One place in each part: magic, salt, nonce, tag, content.
        for at in [0, 17, 33, 45, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&secret("open sesame"), &changed).is_err(), "{at}");
        }
        for short in [&b""[..], b"halite sealed 1\n", &sealed[..40]] {
            let error = open(&secret("open sesame"), short).err();
            assert_eq!(error, Some(PassphraseError::NotSealed));
        }
    }

    #[test]
    fn a_passphrase_has_some_length() {
        let error = seal(&secret("sesame!"), b"").err();
        assert_eq!(error, Some(PassphraseError::TooShort));
    }
}
