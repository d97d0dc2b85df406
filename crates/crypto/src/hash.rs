//! Digests as Salt's `hash_type` option names them.

use std::fmt;

use openssl::hash::{Hasher as OpensslHasher, MessageDigest};
use openssl::sha::{Sha1, Sha224, Sha256, Sha384, Sha512};

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
}

impl fmt::Display for HashType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The digest of `bytes` in lower-case hexadecimal.
pub fn hash_hex(hash_type: HashType, bytes: &[u8]) -> String {
    let mut hasher = Hasher::new(hash_type);
    hasher.update(bytes);
    hasher.finish_hex()
}

/// A digest over data that comes in pieces.
pub struct Hasher(State);

/// The SHA family is computed without the library's registry of algorithms,
/// which only these functions do: to set that up takes a millisecond, which a
/// program that only hashes files would spend for nothing.
enum State {
    Md5(OpensslHasher),
    Sha1(Sha1),
    Sha224(Sha224),
    Sha256(Sha256),
    Sha384(Sha384),
    Sha512(Sha512),
}

impl Hasher {
    /// Starts a digest.
    pub fn new(hash_type: HashType) -> Self {
        Self(match hash_type {
            HashType::Md5 => State::Md5(must(OpensslHasher::new(MessageDigest::md5()))),
            HashType::Sha1 => State::Sha1(Sha1::new()),
            HashType::Sha224 => State::Sha224(Sha224::new()),
            HashType::Sha256 => State::Sha256(Sha256::new()),
            HashType::Sha384 => State::Sha384(Sha384::new()),
            HashType::Sha512 => State::Sha512(Sha512::new()),
        })
    }

    /// Adds the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Md5(state) => must(state.update(bytes)),
            State::Sha1(state) => state.update(bytes),
            State::Sha224(state) => state.update(bytes),
            State::Sha256(state) => state.update(bytes),
            State::Sha384(state) => state.update(bytes),
            State::Sha512(state) => state.update(bytes),
        }
    }

    /// The digest in lower-case hexadecimal.
    pub fn finish_hex(self) -> String {
        match self.0 {
            State::Md5(mut state) => hex(&must(state.finish())),
            State::Sha1(state) => hex(&state.finish()),
            State::Sha224(state) => hex(&state.finish()),
            State::Sha256(state) => hex(&state.finish()),
            State::Sha384(state) => hex(&state.finish()),
            State::Sha512(state) => hex(&state.finish()),
        }
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
            let digest = MessageDigest::from_name(name).unwrap();
            let known = hex(&openssl::hash::hash(digest, b"salt").unwrap());
            assert_eq!(hash_hex(hash_type, b"salt"), known);
        }
        assert!(HashType::parse("crc32").is_err());
    }
}
