//! The algorithm names that peers put into their messages.

use std::fmt;

use openssl::hash::MessageDigest;
use thiserror::Error;

/// A name that is none of the known algorithms'.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown {what} algorithm {name:?}, known are {known}")]
pub struct UnknownAlgorithm {
    /// What the algorithm is for.
    pub what: &'static str,
    /// The name, shortened.
    pub name: String,
    /// The names that would do.
    pub known: &'static str,
}

impl UnknownAlgorithm {
    pub(crate) fn new(what: &'static str, name: &str, known: &'static str) -> Self {
        const SHOWN_CHARS_MAX: usize = 40;
        Self {
            what,
            name: name.chars().take(SHOWN_CHARS_MAX).collect(),
            known,
        }
    }
}

/// How short secrets are encrypted for the owner of an RSA key
/// (`encryption_algorithm`, `enc_algo`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EncAlgo {
    /// OAEP with SHA-1, the default everywhere.
    #[default]
    OaepSha1,
    /// OAEP with SHA-224.
    OaepSha224,
}

impl EncAlgo {
    /// The name on the wire and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::OaepSha1 => "OAEP-SHA1",
            Self::OaepSha224 => "OAEP-SHA224",
        }
    }

    /// The algorithm of that name.
    ///
    /// # Errors
    /// When no algorithm has that name.
    pub fn parse(name: &str) -> Result<Self, UnknownAlgorithm> {
        match name {
            "OAEP-SHA1" => Ok(Self::OaepSha1),
            "OAEP-SHA224" => Ok(Self::OaepSha224),
            _ => Err(UnknownAlgorithm::new(
                "encryption",
                name,
                "OAEP-SHA1, OAEP-SHA224",
            )),
        }
    }

    pub(crate) fn digest(self) -> MessageDigest {
        match self {
            Self::OaepSha1 => MessageDigest::sha1(),
            Self::OaepSha224 => MessageDigest::sha224(),
        }
    }
}

impl fmt::Display for EncAlgo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How messages are signed with an RSA key (`signing_algorithm`,
/// `publish_signing_algorithm`, `sig_algo`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SigAlgo {
    /// PKCS#1 v1.5 with SHA-1, the default everywhere.
    #[default]
    Pkcs1v15Sha1,
    /// PKCS#1 v1.5 with SHA-224.
    Pkcs1v15Sha224,
}

impl SigAlgo {
    /// The name on the wire and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pkcs1v15Sha1 => "PKCS1v15-SHA1",
            Self::Pkcs1v15Sha224 => "PKCS1v15-SHA224",
        }
    }

    /// The algorithm of that name.
    ///
    /// # Errors
    /// When no algorithm has that name.
    pub fn parse(name: &str) -> Result<Self, UnknownAlgorithm> {
        match name {
            "PKCS1v15-SHA1" => Ok(Self::Pkcs1v15Sha1),
            "PKCS1v15-SHA224" => Ok(Self::Pkcs1v15Sha224),
            _ => Err(UnknownAlgorithm::new(
                "signing",
                name,
                "PKCS1v15-SHA1, PKCS1v15-SHA224",
            )),
        }
    }

    pub(crate) fn digest(self) -> MessageDigest {
        match self {
            Self::Pkcs1v15Sha1 => MessageDigest::sha1(),
            Self::Pkcs1v15Sha224 => MessageDigest::sha224(),
        }
    }

    /// What PKCS#1 puts in front of the digest: the DER head of `DigestInfo`.
    pub(crate) fn digest_info_head(self) -> &'static [u8] {
        match self {
            Self::Pkcs1v15Sha1 => &[
                0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04,
                0x14,
            ],
            Self::Pkcs1v15Sha224 => &[
                0x30, 0x2d, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
                0x04, 0x05, 0x00, 0x04, 0x1c,
            ],
        }
    }
}

impl fmt::Display for SigAlgo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
