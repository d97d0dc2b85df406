//! Bytes encrypted with a passphrase: for files that leave the machine.
//!
//! The key is made by scrypt, whose cost makes guessing slow, and the bytes are
//! sealed by AES-256-GCM. Invariant: a wrong passphrase or a changed file is
//! recognised, and none of the content is returned then.

use openssl::pkcs5::scrypt;
use openssl::symm::{Cipher, decrypt_aead, encrypt_aead};
use thiserror::Error;

use crate::Secret;
use crate::random::random_bytes;

/// How such bytes begin, and what making their key costs.
struct Form {
    magic: &'static [u8],
    cost_n: u64,
}

/// What is written: scrypt with 128 MiB and about half a second.
const NEWEST: Form = Form {
    magic: b"halite sealed 2\n",
    cost_n: 1 << 17,
};

/// What is read.
const FORMS: [Form; 2] = [
    NEWEST,
    Form {
        magic: b"halite sealed 1\n",
        cost_n: 1 << 15,
    },
];

const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

const COST_R: u64 = 8;
const COST_P: u64 = 1;
const COST_BYTES_MAX: u64 = 192 * 1024 * 1024;

/// The shortest passphrase that is taken for sealing.
pub const PASSPHRASE_CHARS_MIN: usize = 12;

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
    #[error("could not derive a key from the passphrase")]
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
    seal_as(&NEWEST, passphrase, plain)
}

fn seal_as(
    form: &Form,
    passphrase: &Secret<String>,
    plain: &[u8],
) -> Result<Vec<u8>, PassphraseError> {
    let salt = random_bytes::<SALT_BYTES>();
    let nonce = random_bytes::<NONCE_BYTES>();
    let key = derive_key(form, passphrase, &salt)?;
    let mut tag = [0; TAG_BYTES];
    let cipher = Cipher::aes_256_gcm();
    let sealed = encrypt_aead(
        cipher,
        key.expose(),
        Some(&nonce),
        form.magic,
        plain,
        &mut tag,
    )
    .map_err(|_| PassphraseError::Key)?;
    Ok([form.magic, &salt, &nonce, &tag, &sealed].concat())
}

/// Opens what [`seal`] made, in this release or an earlier one.
///
/// # Errors
/// When it is something else, or the passphrase is wrong.
pub fn open(passphrase: &Secret<String>, bytes: &[u8]) -> Result<Secret<Vec<u8>>, PassphraseError> {
    let (form, rest) = FORMS
        .iter()
        .find_map(|form| Some((form, bytes.strip_prefix(form.magic)?)))
        .ok_or(PassphraseError::NotSealed)?;
    let (salt, rest) = split(rest, SALT_BYTES)?;
    let (nonce, rest) = split(rest, NONCE_BYTES)?;
    let (tag, sealed) = split(rest, TAG_BYTES)?;
    let key = derive_key(form, passphrase, salt)?;
    let cipher = Cipher::aes_256_gcm();
    decrypt_aead(cipher, key.expose(), Some(nonce), form.magic, sealed, tag)
        .map(Secret::new)
        .map_err(|_| PassphraseError::Wrong)
}

fn split(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8]), PassphraseError> {
    bytes.split_at_checked(at).ok_or(PassphraseError::NotSealed)
}

fn derive_key(
    form: &Form,
    passphrase: &Secret<String>,
    salt: &[u8],
) -> Result<Secret<Vec<u8>>, PassphraseError> {
    let mut key = vec![0; KEY_BYTES];
    scrypt(
        passphrase.expose().as_bytes(),
        salt,
        form.cost_n,
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
        let sealed = seal(&secret("open, sesame!"), b"the keys").unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"the keys"));
        let opened = open(&secret("open, sesame!"), &sealed).unwrap();
        assert_eq!(opened.expose(), b"the keys");
        let wrong = open(&secret("open, barley!"), &sealed).err();
        assert_eq!(wrong, Some(PassphraseError::Wrong));
    }

    #[test]
    fn files_of_an_earlier_release_are_opened() {
        let sealed = seal_as(&FORMS[1], &secret("sesame"), b"the keys").unwrap();
        assert!(sealed.starts_with(b"halite sealed 1\n"));
        assert_eq!(
            open(&secret("sesame"), &sealed).unwrap().expose(),
            b"the keys"
        );
        // The form is a part of what is sealed.
        let renamed = [NEWEST.magic, &sealed[NEWEST.magic.len()..]].concat();
        assert_eq!(
            open(&secret("sesame"), &renamed).err(),
            Some(PassphraseError::Wrong)
        );
    }

    #[test]
    fn a_change_anywhere_is_noticed() {
        let sealed = seal(&secret("open, sesame!"), b"the keys").unwrap();
        // One place in each part: magic, salt, nonce, tag, content.
        for at in [0, 17, 33, 45, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&secret("open, sesame!"), &changed).is_err(), "{at}");
        }
        for short in [&b""[..], b"halite sealed 1\n", &sealed[..40]] {
            let error = open(&secret("open, sesame!"), short).err();
            assert_eq!(error, Some(PassphraseError::NotSealed));
        }
    }

    #[test]
    fn a_passphrase_has_some_length() {
        let error = seal(&secret("open sesame"), b"").err();
        assert_eq!(error, Some(PassphraseError::TooShort));
    }
}
