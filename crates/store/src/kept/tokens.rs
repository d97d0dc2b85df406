//! The form of a token.

use std::fmt;

use halite_crypto::{HashType, hash_hex, random_bytes};
use halite_proto::{Map, Value};

/// Most characters of a token: the digits of the longest hash.
const TOKEN_CHARS_MAX: usize = 128;

/// Random bytes behind a token.
const SEED_BYTES: usize = 512;

/// A text in the form of a token: hexadecimal digits. Its debugging output does not show
/// them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenId(String);

impl TokenId {
    /// A new token, as long as a hash of this type.
    pub fn generate(hash_type: HashType) -> Self {
        Self(hash_hex(hash_type, &random_bytes::<SEED_BYTES>()))
    }

    /// The token that a text is, `None` if it cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_token = !text.is_empty()
            && text.len() <= TOKEN_CHARS_MAX
            && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_token.then(|| Self(text.to_owned()))
    }

    /// The digits.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenId(..)")
    }
}

/// Whether a token has expired; `None` if it has no expiry.
pub(crate) fn is_over(data: &Map, now_s: i64) -> Option<bool> {
    let expire = data.get("expire").and_then(Value::as_f64)?;
    #[expect(clippy::cast_precision_loss, reason = "seconds of our time fit")]
    let now_s = now_s as f64;
    Some(expire < now_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hexadecimal_digits_are_a_token() {
        for text in ["", "../tokens", "x", "a/b", &"0".repeat(129)] {
            assert_eq!(TokenId::parse(text), None);
        }
        let token = TokenId::parse("0aF").unwrap();
        assert_eq!(token.expose(), "0aF");
        assert_eq!(format!("{token:?}"), "TokenId(..)");
    }
}
