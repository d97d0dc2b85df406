//! Hashes of passwords: `$5$` and `$6$` of Ulrich Drepper's specification.
//!
//! Invariant: the password appears in no error and no log.

use halite_call::CallError;
use halite_crypto::{HashType, Hasher};

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const ROUNDS: usize = 5000;
const SALT_MAX: usize = 16;

/// Longest password, as in libcrypt (`CRYPT_MAX_PASSPHRASE_SIZE`): what is hashed
/// grows with the square of its length.
const PASSWORD_BYTES_MAX: usize = 512;

/// Hashes `password`, with a random salt if none is given.
pub(crate) fn hash(
    password: &str,
    salt: Option<&str>,
    algorithm: &str,
) -> Result<String, CallError> {
    let kind = match algorithm {
        "sha512" => HashType::Sha512,
        "sha256" => HashType::Sha256,
        other => {
            return Err(CallError::invocation(format!(
                "Algorithm '{other}' is not natively supported by this platform, use sha512 or sha256"
            )));
        }
    };
    if password.len() >= PASSWORD_BYTES_MAX {
        return Err(CallError::invocation(format!(
            "the password is too long: {} bytes at most",
            PASSWORD_BYTES_MAX - 1
        )));
    }
    if password.contains('\0') {
        return Err(CallError::invocation("the password contains a NUL byte"));
    }
    let random;
    let salt = match salt {
        Some(salt) => salt,
        None => {
            random = random_salt();
            &random
        }
    };
    let salt: String = salt
        .chars()
        .take_while(|c| *c != '$')
        .take(SALT_MAX)
        .collect();
    let digest = crypt(kind, password.as_bytes(), salt.as_bytes());
    let number = if algorithm == "sha512" { '6' } else { '5' };
    Ok(format!("${number}${salt}${digest}"))
}

fn random_salt() -> String {
    halite_crypto::random_bytes::<SALT_MAX>()
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte & 63)]))
        .collect()
}

fn digest(kind: HashType, parts: &[&[u8]]) -> Vec<u8> {
    let mut hasher = Hasher::new(kind);
    for part in parts {
        hasher.update(part);
    }
    let hex = hasher.finish_hex();
    (0..hex.len() / 2)
        .filter_map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok())
        .collect()
}

/// `bytes` repeated to `length`.
fn stretched(bytes: &[u8], length: usize) -> Vec<u8> {
    bytes.iter().copied().cycle().take(length).collect()
}

fn crypt(kind: HashType, key: &[u8], salt: &[u8]) -> String {
    let b = digest(kind, &[key, salt, key]);
    let mut a = [key, salt].concat();
    a.extend(stretched(&b, key.len()));
    let mut length = key.len();
    while length > 0 {
        a.extend_from_slice(if length & 1 == 1 { &b } else { key });
        length >>= 1;
    }
    let a = digest(kind, &[&a]);
    let p = stretched(&digest(kind, &[&key.repeat(key.len())]), key.len());
    let s_input = salt.repeat(16 + usize::from(a[0]));
    let s = stretched(&digest(kind, &[&s_input]), salt.len());
    let mut c = a;
    for round in 0..ROUNDS {
        let mut parts: Vec<&[u8]> = Vec::with_capacity(4);
        parts.push(if round & 1 == 1 { &p } else { &c });
        if round % 3 != 0 {
            parts.push(&s);
        }
        if round % 7 != 0 {
            parts.push(&p);
        }
        parts.push(if round & 1 == 1 { &c } else { &p });
        c = digest(kind, &parts);
    }
    encode(&c)
}

/// Groups of three bytes, in the order of the specification, as four signs.
fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut put = |a: u8, b: u8, c: u8, count: usize| {
        let mut word = u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c);
        for _ in 0..count {
            text.push(char::from(ALPHABET[(word & 63) as usize]));
            word >>= 6;
        }
    };
    if bytes.len() == 64 {
        let (mut a, mut b, mut c) = (0, 21, 42);
        for _ in 0..21 {
            put(bytes[a], bytes[b], bytes[c], 4);
            (a, b, c) = (b + 1, c + 1, a + 1);
        }
        put(0, 0, bytes[63], 2);
    } else {
        let (mut a, mut b, mut c) = (0, 10, 20);
        for _ in 0..10 {
            put(bytes[a], bytes[b], bytes[c], 4);
            (a, b, c) = (c + 1, a + 1, b + 1);
        }
        put(0, bytes[31], bytes[30], 3);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn hashes_are_those_of_the_specification() {
        assert_eq!(
            hash("Hello world!", Some("saltstring"), "sha512").unwrap(),
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
        );
        assert_eq!(
            hash("Hello world!", Some("saltstring"), "sha256").unwrap(),
            "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"
        );
    }

    #[test]
    fn a_password_that_would_take_all_memory_is_refused() {
        assert!(hash(&"x".repeat(511), None, "sha512").is_ok());
        for long in [512, 1 << 20] {
            let error = hash(&"x".repeat(long), None, "sha512").unwrap_err();
            assert!(error.to_string().contains("511 bytes at most"), "{error}");
        }
        assert!(hash("a\0b", None, "sha512").is_err());
    }

    #[test]
    fn a_salt_is_made_and_cut() {
        let made = hash("x", None, "sha512").unwrap();
        assert_eq!(made.split('$').nth(2).unwrap().len(), 16);
        let cut = hash("x", Some("0123456789abcdefXYZ$rest"), "sha256").unwrap();
        assert_eq!(cut.split('$').nth(2), Some("0123456789abcdef"));
        assert!(hash("x", None, "crypt").is_err());
    }
}
