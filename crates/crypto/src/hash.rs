//! Digests as Salt's `hash_type` option names them.

use std::fmt;

use openssl::hash::{Hasher as OpensslHasher, MessageDigest, hash};

use crate::algorithm::UnknownAlgorithm;
use crate::random::must;

/// A digest that `hash_type` may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HashType {
    /// MD5.
    Md5,
    /// SHA-1.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256, the default.
    #[default]
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl HashType {
    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha224 => "sha224",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    /// The digest of that name; capitals do not count.
    ///
    /// # Errors
    /// When no digest has that name.
    pub fn parse(name: &str) -> Result<Self, UnknownAlgorithm> {
        match name.to_ascii_lowercase().as_str() {
            "md5" => Ok(Self::Md5),
            "sha1" => Ok(Self::Sha1),
            "sha224" => Ok(Self::Sha224),
            "sha256" => Ok(Self::Sha256),
            "sha384" => Ok(Self::Sha384),
            "sha512" => Ok(Self::Sha512),
            _ => Err(UnknownAlgorithm::new(
                "hash",
                name,
                "md5, sha1, sha224, sha256, sha384, sha512",
            )),
        }
    }

    fn digest(self) -> MessageDigest {
        match self {
            Self::Md5 => MessageDigest::md5(),
            Self::Sha1 => MessageDigest::sha1(),
            Self::Sha224 => MessageDigest::sha224(),
            Self::Sha256 => MessageDigest::sha256(),
            Self::Sha384 => MessageDigest::sha384(),
            Self::Sha512 => MessageDigest::sha512(),
        }
    }
}

impl fmt::Display for HashType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The digest of `bytes` in lower-case hexadecimal.
pub fn hash_hex(hash_type: HashType, bytes: &[u8]) -> String {
    hex(&must(hash(hash_type.digest(), bytes)))
}

/// A digest over data that comes in pieces.
pub struct Hasher(OpensslHasher);

impl Hasher {
    /// Starts a digest.
    pub fn new(hash_type: HashType) -> Self {
        Self(must(OpensslHasher::new(hash_type.digest())))
    }

    /// Adds the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        must(self.0.update(bytes));
    }

    /// The digest in lower-case hexadecimal.
    pub fn finish_hex(mut self) -> String {
        hex(&must(self.0.finish()))
    }
}

/// Lower-case hexadecimal digits of `bytes`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        assert_eq!(
            hash_hex(HashType::Md5, b"salt"),
            "ceb20772e0c9d240c75eb26b0e37abee"
        );
        assert_eq!(
            hash_hex(HashType::Sha256, b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn pieces_give_the_digest_of_the_whole() {
        for name in ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"] {
            let hash_type = HashType::parse(name).unwrap();
            assert_eq!(hash_type.name(), name);
            let mut hasher = Hasher::new(hash_type);
            hasher.update(b"sa");
            hasher.update(b"");
            hasher.update(b"lt");
            assert_eq!(hasher.finish_hex(), hash_hex(hash_type, b"salt"));
        }
        assert!(HashType::parse("crc32").is_err());
    }
}
