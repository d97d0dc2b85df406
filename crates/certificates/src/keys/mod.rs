//! Creates, reads and writes keys, and signs with them. No OpenSSL type leaves this
//! module and `containers`.

mod digest;
mod pkcs12;
mod read;

use digest::message_digest;
pub(crate) use digest::{digest, digest_of};
use halite_call::CallError;
use halite_proto::Value;
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private, Public};
use openssl::rsa::Rsa;
use openssl::sign::Signer;
use openssl::symm::Cipher;
pub(crate) use pkcs12::{Opened, is_pkcs12, open_pkcs12};
use read::read;
pub(crate) use read::{Encoding, KeyError};

use crate::asn1::{Reader, tag};
use crate::text;

/// The smallest and the largest RSA key that is made.
const RSA_BITS_MIN: u32 = 512;
const RSA_BITS_MAX: u32 = 16384;

/// The kinds of keys that certificates are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Rsa,
    Ec,
    Ed25519,
    Ed448,
}

impl KeyKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rsa => "rsa",
            Self::Ec => "ec",
            Self::Ed25519 => "ed25519",
            Self::Ed448 => "ed448",
        }
    }

    /// Whether a digest is part of the signature's algorithm.
    pub(crate) fn has_digest(self) -> bool {
        matches!(self, Self::Rsa | Self::Ec)
    }

    fn of(id: Id) -> Result<Self, CallError> {
        match id {
            Id::RSA => Ok(Self::Rsa),
            Id::EC => Ok(Self::Ec),
            Id::ED25519 => Ok(Self::Ed25519),
            Id::ED448 => Ok(Self::Ed448),
            _ => Err(CallError::invocation("Did not recognize key type")),
        }
    }
}

pub(crate) fn failed(what: &str) -> impl Fn(ErrorStack) -> CallError + '_ {
    move |error| CallError::command(format!("{what}: {error}"))
}

/// A private key.
pub(crate) struct PrivateKey {
    key: PKey<Private>,
    pub(crate) kind: KeyKind,
}

impl PrivateKey {
    pub(crate) fn from_openssl(key: PKey<Private>) -> Result<Self, CallError> {
        let kind = KeyKind::of(key.id())?;
        Ok(Self { key, kind })
    }

    pub(super) fn openssl(&self) -> &PKey<Private> {
        &self.key
    }

    /// A new key; the size is that of RSA or of the curve.
    pub(crate) fn generate(algo: &str, size: Option<i64>) -> Result<Self, CallError> {
        let made = match algo {
            "rsa" => {
                let bits = match size.unwrap_or(2048) {
                    2048 => 2048,
                    3072 => 3072,
                    4096 => 4096,
                    _ => {
                        return Err(CallError::invocation(
                            "RSA key size must be either 2048, 3072 or 4096 bits.",
                        ));
                    }
                };
                Rsa::generate(bits).and_then(PKey::from_rsa)
            }
            "ec" => {
                let curve = match size.unwrap_or(256) {
                    256 => Nid::X9_62_PRIME256V1,
                    384 => Nid::SECP384R1,
                    521 => Nid::SECP521R1,
                    _ => {
                        return Err(CallError::invocation(
                            "EC key size must be either 256, 384, 521 bits.",
                        ));
                    }
                };
                EcGroup::from_curve_name(curve)
                    .and_then(|group| EcKey::generate(&group))
                    .and_then(PKey::from_ec_key)
            }
            "ed25519" => PKey::generate_ed25519(),
            "ed448" => PKey::generate_ed448(),
            other => {
                return Err(CallError::invocation(format!(
                    "Invalid algorithm specified for generating private key: {other}. Valid: rsa, ec, ed25519, ed448"
                )));
            }
        };
        Self::from_openssl(made.map_err(failed("could not make a key"))?)
    }

    /// A new RSA key of any size that OpenSSL makes.
    pub(crate) fn rsa(bits: u32) -> Result<Self, CallError> {
        if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) {
            return Err(CallError::invocation(format!(
                "An RSA key has {RSA_BITS_MIN} to {RSA_BITS_MAX} bits, not {bits}"
            )));
        }
        let made = Rsa::generate(bits).and_then(PKey::from_rsa);
        Self::from_openssl(made.map_err(failed("could not make a key"))?)
    }

    /// From a file, PEM, DER or PKCS#12.
    pub(crate) fn load(
        value: &Value,
        passphrase: Option<&str>,
    ) -> Result<(Self, Encoding), KeyError> {
        let data = text::load(value).map_err(KeyError::Unreadable)?;
        let (key, encoding) = read(&data, passphrase)?;
        let key = Self::from_openssl(key).map_err(KeyError::Unreadable)?;
        Ok((key, encoding))
    }

    pub(crate) fn bits(&self) -> u32 {
        self.key.bits()
    }

    pub(crate) fn public(&self) -> Result<PublicKey, CallError> {
        let der = self.key.public_key_to_der();
        PublicKey::from_der(&der.map_err(failed("could not read the public key"))?)
    }

    /// PKCS#8, protected if there is a passphrase.
    pub(crate) fn der(&self, passphrase: Option<&str>) -> Result<Vec<u8>, CallError> {
        let der = match passphrase {
            None => self.key.private_key_to_pkcs8(),
            Some(passphrase) => self
                .key
                .private_key_to_pkcs8_passphrase(Cipher::aes_256_cbc(), passphrase.as_bytes()),
        };
        der.map_err(failed("could not write the key"))
    }

    pub(crate) fn pem(&self, passphrase: Option<&str>) -> Result<String, CallError> {
        let label = match passphrase {
            None => "PRIVATE KEY",
            Some(_) => "ENCRYPTED PRIVATE KEY",
        };
        Ok(text::to_pem(label, &self.der(passphrase)?))
    }

    /// Signs `data`; the digest is used if the kind of key has one.
    pub(crate) fn sign(&self, digest: &str, data: &[u8]) -> Result<Vec<u8>, CallError> {
        let signer = if self.kind.has_digest() {
            Signer::new(message_digest(digest)?, &self.key)
        } else {
            Signer::new_without_digest(&self.key)
        };
        signer
            .and_then(|mut signer| signer.sign_oneshot_to_vec(data))
            .map_err(failed("could not sign"))
    }
}

/// A public key.
pub(crate) struct PublicKey {
    key: PKey<Public>,
    pub(crate) kind: KeyKind,
    pub(crate) der: Vec<u8>,
}

impl PublicKey {
    pub(crate) fn from_der(der: &[u8]) -> Result<Self, CallError> {
        let key = PKey::public_key_from_der(der)
            .map_err(|_| CallError::invocation("Could not load DER-encoded public key."))?;
        Self::from_openssl(key)
    }

    fn from_openssl(key: PKey<Public>) -> Result<Self, CallError> {
        let der = key.public_key_to_der();
        Ok(Self {
            kind: KeyKind::of(key.id())?,
            der: der.map_err(failed("could not read the public key"))?,
            key,
        })
    }

    pub(super) fn openssl(&self) -> &PKey<Public> {
        &self.key
    }

    pub(crate) fn load(value: &Value) -> Result<Self, CallError> {
        let data = text::load(value)?;
        if !text::is_pem(&data) {
            return Self::from_der(&data);
        }
        let bad = || CallError::invocation("Could not load PEM-encoded public key.");
        let pem = text::pems(&String::from_utf8_lossy(&data))
            .into_iter()
            .next();
        let pem = pem.ok_or_else(bad)?;
        let der = pem.data().ok_or_else(bad)?;
        let key = match pem.label.as_str() {
            "PUBLIC KEY" => PKey::public_key_from_der(&der),
            "RSA PUBLIC KEY" => Rsa::public_key_from_der_pkcs1(&der).and_then(PKey::from_rsa),
            _ => return Err(bad()),
        };
        Self::from_openssl(key.map_err(|_| bad())?)
    }

    pub(crate) fn pem(&self) -> String {
        text::to_pem("PUBLIC KEY", &self.der)
    }

    pub(crate) fn bits(&self) -> u32 {
        self.key.bits()
    }

    pub(crate) fn is_pair_of(&self, key: &PrivateKey) -> bool {
        self.key.public_eq(&key.key)
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        self.key.public_eq(&other.key)
    }
}

/// The identifier of a public key in DER: a digest of its bits.
pub(crate) fn key_identifier(der: &[u8]) -> Result<Vec<u8>, CallError> {
    let bits = (|| {
        let mut parts = Reader::one(der, tag::SEQUENCE)?.inside();
        parts.expect(tag::SEQUENCE)?;
        parts.expect(tag::BITS)?.bits()
    })()
    .map_err(|error| CallError::command(format!("could not read the public key: {error}")))?;
    digest_of("sha1", bits)
}

/// Random bytes of a serial number: 159 bits, so that it is not negative.
pub(crate) fn random_serial() -> Result<Vec<u8>, CallError> {
    let mut bytes = vec![0; 20];
    openssl::rand::rand_bytes(&mut bytes).map_err(failed("could not make a serial number"))?;
    if let Some(first) = bytes.first_mut() {
        *first = (*first & 0x7f) | 0x40;
    }
    Ok(bytes)
}
