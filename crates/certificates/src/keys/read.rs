//! Reading private keys, protected or not.
//!
//! Invariant: a key that is protected is read with its passphrase and no other;
//! OpenSSL never asks on a terminal.

use halite_call::CallError;
use openssl::pkey::{PKey, Private};

use super::{is_pkcs12, open_pkcs12};
use crate::asn1::{Reader, tag};
use crate::text::{self, Pem};

/// How data was encoded that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Pem,
    Der,
    Pkcs7Pem,
    Pkcs7Der,
    Pkcs12,
}

impl Encoding {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pem => "pem",
            Self::Der => "der",
            Self::Pkcs7Pem => "pkcs7_pem",
            Self::Pkcs7Der => "pkcs7_der",
            Self::Pkcs12 => "pkcs12",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        [
            Self::Pem,
            Self::Der,
            Self::Pkcs7Pem,
            Self::Pkcs7Der,
            Self::Pkcs12,
        ]
        .into_iter()
        .find(|encoding| encoding.name() == name)
    }
}

/// Why a private key cannot be read.
#[derive(Debug)]
pub(crate) enum KeyError {
    /// The passphrase is a wrong one.
    Invalid,
    /// A passphrase is needed.
    Missing,
    /// There is a passphrase, but nothing to open with it.
    Superfluous,
    /// It is no key.
    Unreadable(CallError),
}

impl From<KeyError> for CallError {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Invalid => Self::invocation("Bad decrypt - is the password correct?"),
            KeyError::Missing => {
                Self::invocation("Private key is encrypted. Please provide a password.")
            }
            KeyError::Superfluous => {
                Self::invocation("Private key is unencrypted. Please remove the password.")
            }
            KeyError::Unreadable(error) => error,
        }
    }
}

/// The key in data, PEM, DER or PKCS#12.
pub(super) fn read(
    data: &[u8],
    passphrase: Option<&str>,
) -> Result<(PKey<Private>, Encoding), KeyError> {
    if text::is_pem(data) {
        return read_pem(data, passphrase).map(|key| (key, Encoding::Pem));
    }
    if is_pkcs12(data) {
        let opened = open_pkcs12(data, passphrase)?;
        let key = opened.key.ok_or_else(|| {
            KeyError::Unreadable(CallError::command(
                "PKCS12-encoded blob does not contain a private key.",
            ))
        })?;
        return Ok((key.key, Encoding::Pkcs12));
    }
    let key = if is_protected(data) {
        unlock(data, passphrase)?
    } else {
        let unreadable = || {
            KeyError::Unreadable(CallError::invocation(
                "Could not deserialize binary data, neither as DER nor PKCS#12.",
            ))
        };
        let key = PKey::private_key_from_der(data).map_err(|_| unreadable())?;
        plain(key, passphrase)?
    };
    Ok((key, Encoding::Der))
}

fn plain(key: PKey<Private>, passphrase: Option<&str>) -> Result<PKey<Private>, KeyError> {
    match passphrase {
        None => Ok(key),
        Some(_) => Err(KeyError::Superfluous),
    }
}

fn unlock(der: &[u8], passphrase: Option<&str>) -> Result<PKey<Private>, KeyError> {
    let passphrase = passphrase.ok_or(KeyError::Missing)?;
    PKey::private_key_from_pkcs8_passphrase(der, passphrase.as_bytes())
        .map_err(|_| KeyError::Invalid)
}

/// Whether it is a PKCS#8 key that is encrypted: an algorithm, and octets.
fn is_protected(der: &[u8]) -> bool {
    let Ok(item) = Reader::one(der, tag::SEQUENCE) else {
        return false;
    };
    let mut parts = item.inside();
    parts.expect(tag::SEQUENCE).is_ok() && parts.expect(tag::OCTETS).is_ok()
}

fn read_pem(data: &[u8], passphrase: Option<&str>) -> Result<PKey<Private>, KeyError> {
    let unreadable = || {
        KeyError::Unreadable(CallError::invocation(
            "Could not load PEM-encoded private key",
        ))
    };
    let all = text::pems(&String::from_utf8_lossy(data));
    let is_key = |pem: &&Pem| pem.label.ends_with("PRIVATE KEY");
    let pem = all.iter().find(is_key).ok_or_else(unreadable)?;
    let der = pem.data().ok_or_else(unreadable)?;
    match pem.label.as_str() {
        "ENCRYPTED PRIVATE KEY" => unlock(&der, passphrase),
        _ if pem
            .headers
            .iter()
            .any(|header| header.contains("ENCRYPTED")) =>
        {
            let passphrase = passphrase.ok_or(KeyError::Missing)?;
            PKey::private_key_from_pem_passphrase(pem.written().as_bytes(), passphrase.as_bytes())
                .map_err(|_| KeyError::Invalid)
        }
        "PRIVATE KEY" | "RSA PRIVATE KEY" | "EC PRIVATE KEY" => plain(
            PKey::private_key_from_der(&der).map_err(|_| unreadable())?,
            passphrase,
        ),
        _ => Err(unreadable()),
    }
}
