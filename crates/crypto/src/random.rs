//! Randomness, and comparison in constant time.

use openssl::error::ErrorStack;

/// `N` bytes from the cryptographic random generator.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    must(openssl::rand::rand_bytes(&mut bytes));
    bytes
}

/// Whether the two are equal, found in a time that depends on nothing but
/// their lengths.
pub fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && openssl::memcmp::eq(a, b)
}

/// The result of an operation that fails only when the machine gives neither
/// memory nor randomness, or when the cryptographic library is built without
/// the primitives of the protocol: nothing safe can be done after that.
#[expect(
    clippy::panic,
    reason = "going on without randomness or ciphers would send secrets in the clear"
)]
pub(crate) fn must<T>(result: Result<T, ErrorStack>) -> T {
    match result {
        Ok(value) => value,
        Err(stack) => panic!("the cryptographic library is unusable: {stack}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_sees_content_and_length() {
        assert!(constant_time_eq(b"", b""));
        assert!(constant_time_eq(b"abc", b"abc"));
        assert!(!constant_time_eq(b"abc", b"abd"));
        assert!(!constant_time_eq(b"abc", b"ab"));
    }

    #[test]
    fn random_bytes_differ() {
        assert_ne!(random_bytes::<16>(), random_bytes::<16>());
    }
}
