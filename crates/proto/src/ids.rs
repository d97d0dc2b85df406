//! Names that cannot hold a bad value.
//!
//! A path, a socket name or an access rule is only ever built from one of these, so
//! the decoder already rejects a name that could leave its directory (the lesson of
//! a dozen path traversal CVEs of Salt).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Longest minion id that is accepted, in bytes: a file name's limit.
pub const MINION_ID_BYTES_MAX: usize = 255;

/// Longest environment name that is accepted, in bytes.
pub const SALTENV_BYTES_MAX: usize = 255;

/// Why a text is not the name it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid {what} {text:?}: {why}")]
pub struct IdError {
    /// What the text should have been.
    pub what: &'static str,
    /// The text, shortened.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl IdError {
    fn new(what: &'static str, text: &str, why: &'static str) -> Self {
        const SHOWN_CHARS_MAX: usize = 80;
        Self {
            what,
            text: text.chars().take(SHOWN_CHARS_MAX).collect(),
            why,
        }
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Checks `text` and takes it.
            ///
            /// # Errors
            /// When the text is not a valid name of this kind.
            pub fn parse(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                match $check(&text) {
                    Ok(()) => Ok(Self(text)),
                    Err(why) => Err(IdError::new($what, &text, why)),
                }
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl From<&$name> for crate::Value {
            fn from(id: &$name) -> Self {
                Self::Str(id.0.clone())
            }
        }
    };
}

text_id! {
    /// A minion's name: one path component, as Salt's masters require
    /// (no `/`, `\` or NUL, not empty, `.` or `..`).
    MinionId, "minion id", check_minion_id
}

text_id! {
    /// A job id: `YYYYMMDDhhmmssffffff` in UTC, with `_<pid>` behind it where
    /// `unique_jid` is on.
    Jid, "job id", check_jid
}

text_id! {
    /// A file or pillar environment: one path component, or `__env__`.
    SaltEnv, "environment", check_saltenv
}

text_id! {
    /// A function name, `module.function`.
    Fun, "function name", check_fun
}

text_id! {
    /// An event tag: text without the blank line that ends it on the bus.
    Tag, "event tag", check_tag
}

text_id! {
    /// A request's nonce: 32 ASCII letters and digits. Ours and Salt's are
    /// hexadecimal.
    Nonce, "nonce", check_nonce
}

impl Jid {
    /// Digits in the part that names the time.
    pub const DIGITS: usize = 20;

    /// Takes the digits of a moment, which the caller has just written.
    pub(crate) fn from_digits(digits: String) -> Self {
        debug_assert_eq!(check_jid(&digits), Ok(()));
        Self(digits)
    }

    /// The time part, without a `_<pid>` suffix.
    pub fn digits(&self) -> &str {
        &self.0[..Self::DIGITS]
    }
}

impl SaltEnv {
    /// The environment used where none is named.
    pub fn base() -> Self {
        Self("base".to_owned())
    }
}

impl Nonce {
    /// Bytes of a nonce, as it stands in front of an encrypted reply.
    pub const BYTES: usize = 32;

    /// Makes a nonce of 16 random bytes.
    pub fn from_random(random: [u8; 16]) -> Self {
        use fmt::Write;
        let mut text = String::with_capacity(32);
        for byte in random {
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }
}

/// The request address of a master, `tcp://host:port`, with an IPv6 address in
/// brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MasterUri {
    host: String,
    port: u16,
}

impl MasterUri {
    /// The address of `host` (a name, an IPv4 or a bare IPv6 address).
    ///
    /// # Errors
    /// When the host is empty or holds characters no host name has.
    pub fn new(host: impl Into<String>, port: u16) -> Result<Self, IdError> {
        let host = host.into();
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
        if host.is_empty() {
            Err(IdError::new("master address", &host, "the host is empty"))
        } else if port == 0 {
            Err(IdError::new("master address", &host, "the port is 0"))
        } else if !host.chars().all(good) {
            Err(IdError::new(
                "master address",
                &host,
                "a host name has no such character",
            ))
        } else {
            Ok(Self { host, port })
        }
    }

    /// The host, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for MasterUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "tcp://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "tcp://{}:{}", self.host, self.port)
        }
    }
}

fn check_component(text: &str, bytes_max: usize) -> Result<(), &'static str> {
    if text.is_empty() {
        Err("it is empty")
    } else if text.len() > bytes_max {
        Err("it is longer than 255 bytes")
    } else if text == "." || text == ".." {
        Err("it names a directory")
    } else if text.contains(['/', '\\']) {
        Err("it contains a path separator")
    } else if text.contains('\0') {
        Err("it contains a null byte")
    } else {
        Ok(())
    }
}

fn check_minion_id(text: &str) -> Result<(), &'static str> {
    check_component(text, MINION_ID_BYTES_MAX)?;
    if text.contains(['\n', '\r']) {
        Err("it contains a line break")
    } else if text.contains(char::is_control) {
        // An admin looks at the names that strangers send on a terminal, and
        // accepts them by what is to be seen there.
        Err("it contains a control character")
    } else if text.contains(crate::shown::is_unseen) {
        Err("it contains a character that cannot be seen")
    } else {
        Ok(())
    }
}

fn check_saltenv(text: &str) -> Result<(), &'static str> {
    check_component(text, SALTENV_BYTES_MAX)
}

fn check_jid(text: &str) -> Result<(), &'static str> {
    const BYTES_MAX: usize = 64;
    let bytes = text.as_bytes();
    let (time, rest) = bytes
        .split_at_checked(Jid::DIGITS)
        .ok_or("it is shorter than 20 digits")?;
    if !time.iter().all(u8::is_ascii_digit) {
        return Err("its first 20 characters are not all digits");
    }
    match rest {
        [] => Ok(()),
        [b'_', tail @ ..] if !tail.is_empty() && bytes.len() <= BYTES_MAX => {
            let good = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            if tail.iter().all(good) {
                Ok(())
            } else {
                Err("its suffix is not alphanumeric")
            }
        }
        _ => Err("what follows its 20 digits is not `_` and a suffix"),
    }
}

fn check_fun(text: &str) -> Result<(), &'static str> {
    const BYTES_MAX: usize = 255;
    let good = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    if text.is_empty() {
        Err("it is empty")
    } else if text.len() > BYTES_MAX {
        Err("it is longer than 255 bytes")
    } else if !text.chars().all(good) {
        Err("it holds a character that no function name has")
    } else {
        Ok(())
    }
}

fn check_tag(text: &str) -> Result<(), &'static str> {
    const BYTES_MAX: usize = 4096;
    if text.is_empty() {
        Err("it is empty")
    } else if text.len() > BYTES_MAX {
        Err("it is longer than 4096 bytes")
    } else if text.contains("\n\n") || text.ends_with('\n') {
        Err("it contains a blank line or ends with a line break")
    } else {
        Ok(())
    }
}

fn check_nonce(text: &str) -> Result<(), &'static str> {
    if text.len() == Nonce::BYTES && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        Ok(())
    } else {
        Err("it is not 32 letters and digits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_a_directory_are_refused() {
        for evil in [
            "",
            ".",
            "..",
            "a/b",
            "../a",
            "/etc",
            "a\\b",
            "a\0b",
            "a\nb",
            "a\x1b[2Jb",
            "a\u{9b}b",
            "a\u{202e}b",
            "a\u{200b}",
            "a\u{2028}b",
            "\u{feff}a",
        ] {
            assert!(MinionId::parse(evil).is_err(), "{evil:?}");
        }
        for fine in ["web1", "web 1", "...", "ž", "-x", "a.b.example.com"] {
            assert!(MinionId::parse(fine).is_ok(), "{fine:?}");
        }
    }

    #[test]
    fn a_jid_is_twenty_digits_and_maybe_a_suffix() {
        assert!(Jid::parse("20261120141841939742").is_ok());
        assert!(Jid::parse("20261120141841939742_4711").is_ok());
        for bad in [
            "",
            "req",
            "2026112014184193974",
            "202611201418419397421",
            "2026112014184193974x",
            "20261120141841939742_",
            "20261120141841939742_../x",
            "20261120141841939742/x",
        ] {
            assert!(Jid::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_ipv6_master_has_brackets() {
        assert_eq!(
            MasterUri::new("::1", 4506).unwrap().to_string(),
            "tcp://[::1]:4506"
        );
        assert_eq!(
            MasterUri::new("m1", 4506).unwrap().to_string(),
            "tcp://m1:4506"
        );
        assert!(MasterUri::new("a b", 4506).is_err());
    }
}
