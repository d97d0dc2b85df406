//! Passwords of roles in PostgreSQL's formats: MD5, and SCRAM-SHA-256 of RFC 5802.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use halite_call::{CallError, python};
use halite_crypto::{HashType, Hasher, constant_time_eq, hash_hex, random_bytes};
use halite_proto::Value;

const ITERATIONS: u32 = 4096;
/// More would hold up the minion for longer than anybody wants to wait.
const ITERATIONS_MAX: u32 = 1_000_000;
const BLOCK: usize = 64;
const DIGEST: usize = 32;

/// How a password is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Plain,
    Md5,
    Scram,
}

impl Method {
    /// The method that the argument `encrypted` selects; MD5 by default, as in Salt.
    pub(crate) fn from_encrypted(encrypted: &Value) -> Result<Self, CallError> {
        match encrypted {
            Value::Nil | Value::Bool(true) => Ok(Self::Md5),
            Value::Bool(false) => Ok(Self::Plain),
            Value::Str(text) if text == "md5" => Ok(Self::Md5),
            Value::Str(text) if text == "scram-sha-256" => Ok(Self::Scram),
            other => Err(CallError::exception(
                "ValueError",
                format!("Unknown password algorithm: {}", python::str(other)),
            )),
        }
    }
}

const MD5: &str = "md5";
const SCRAM: &str = "SCRAM-SHA-256";

/// The password of a role as it is handed to the server; one that is no plain
/// text already stays.
pub(crate) fn kept(role: &str, password: &str, method: Method) -> String {
    match method {
        Method::Md5 if !password.starts_with(MD5) => md5(role, password),
        Method::Scram if !password.starts_with(SCRAM) => {
            scram(password, &random_bytes::<16>(), ITERATIONS)
        }
        _ => password.to_owned(),
    }
}

/// Whether the server keeps just this password, in this way.
pub(crate) fn is_kept(role: &str, password: &str, verifier: &str, method: Method) -> bool {
    let expected = match method {
        Method::Plain => Some(password.to_owned()),
        Method::Md5 => Some(kept(role, password, method)),
        Method::Scram if password.starts_with(SCRAM) => Some(password.to_owned()),
        Method::Scram => parts(verifier).map(|(count, salt)| scram(password, &salt, count)),
    };
    expected.is_some_and(|expected| constant_time_eq(expected.as_bytes(), verifier.as_bytes()))
}

fn md5(role: &str, password: &str) -> String {
    format!(
        "md5{}",
        hash_hex(HashType::Md5, format!("{password}{role}").as_bytes())
    )
}

/// Iterations and salt of a verifier.
fn parts(verifier: &str) -> Option<(u32, Vec<u8>)> {
    let rest = verifier.strip_prefix(SCRAM)?.strip_prefix('$')?;
    let (count, rest) = rest.split_once(':')?;
    let (salt, _) = rest.split_once('$')?;
    let count = count
        .parse()
        .ok()
        .filter(|count| *count <= ITERATIONS_MAX)?;
    Some((count, STANDARD.decode(salt).ok()?))
}

fn scram(password: &str, salt: &[u8], iterations: u32) -> String {
    let salted = derived(password.as_bytes(), salt, iterations);
    let client = hmac(&salted, b"Client Key");
    let stored = sha256(&[&client]);
    let server = hmac(&salted, b"Server Key");
    let [salt, stored, server] = [salt, &stored, &server].map(|bytes| STANDARD.encode(bytes));
    format!("{SCRAM}${iterations}:{salt}${stored}:{server}")
}

/// PBKDF2 with one block.
fn derived(password: &[u8], salt: &[u8], iterations: u32) -> [u8; DIGEST] {
    let mut last = hmac(password, &[salt, &1_u32.to_be_bytes()].concat());
    let mut all = last;
    for _ in 1..iterations {
        last = hmac(password, &last);
        for (byte, more) in all.iter_mut().zip(last) {
            *byte ^= more;
        }
    }
    all
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; DIGEST] {
    let mut block = [0; BLOCK];
    let hashed;
    let key = match key.len() > BLOCK {
        true => {
            hashed = sha256(&[key]);
            &hashed[..]
        }
        false => key,
    };
    for (byte, key) in block.iter_mut().zip(key) {
        *byte = *key;
    }
    let inner = sha256(&[&block.map(|byte| byte ^ 0x36), message]);
    sha256(&[&block.map(|byte| byte ^ 0x5c), &inner])
}

fn sha256(parts: &[&[u8]]) -> [u8; DIGEST] {
    let mut hasher = Hasher::new(HashType::Sha256);
    for part in parts {
        hasher.update(part);
    }
    let hex = hasher.finish_hex();
    let mut bytes = [0; DIGEST];
    for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
        let digit = |letter: u8| char::from(letter).to_digit(16).unwrap_or_default();
        let value = pair
            .iter()
            .fold(0, |value, letter| value * 16 + digit(*letter));
        *byte = u8::try_from(value).unwrap_or_default();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by Salt's module for the same salt.
    const KEPT: &str = "SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$nQpbZ77WudtqufPwikHXGRt6g2QJ4zns8bZLw273DRM=:jn2amWP1q1h+jgjy0YTO14S6/F02SV7taipOeB7ef20=";

    #[test]
    fn passwords_are_kept_as_by_the_server() {
        assert_eq!(md5("ann", "secret"), MD5_OF_ANN);
        assert!(is_kept("ann", "secret", MD5_OF_ANN, Method::Md5));
        assert!(!is_kept("ann", "other", MD5_OF_ANN, Method::Md5));
        assert_eq!(scram("pencil", b"0123456789abcdef", 4096), KEPT);
        assert!(is_kept("ann", "pencil", KEPT, Method::Scram));
        assert!(!is_kept("ann", "pen", KEPT, Method::Scram));
        assert!(!is_kept("ann", "pencil", "md5abc", Method::Scram));
        assert!(!is_kept(
            "ann",
            "x",
            "SCRAM-SHA-256$99999999:YQ==$a:b",
            Method::Scram
        ));
        assert_eq!(kept("ann", KEPT, Method::Scram), KEPT);
        assert_eq!(kept("ann", "x", Method::Plain), "x");
        let long = "p".repeat(70);
        assert!(is_kept(
            "a",
            &long,
            &kept("a", &long, Method::Scram),
            Method::Scram
        ));
    }

    const MD5_OF_ANN: &str = "md59d792a3a8853c2411afb9163d088c036";
}
