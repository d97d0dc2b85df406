//! Names of banks and of keys in them.

use thiserror::Error;

use crate::error::StoreError;

/// Banks with credentials, with secrets, or for the master's use only. On a server they
/// are stored beside those of users.
const OWN: [&str; 13] = [
    "denied_keys",
    "files",
    "health",
    "jobs",
    "keys",
    "master_keys",
    "minions",
    "pillar",
    "proc",
    "publish_auth",
    "replay",
    "sessions",
    "tokens",
];

/// Banks of the master that users may read: what minions say of themselves.
const READ_ONLY: [&str; 2] = ["grains", "mine"];

/// Most bytes of one part of a name, so that `.p` fits into a file name.
const NAME_BYTES_MAX: usize = 250;

/// Most parts of the name of a bank.
const PARTS_MAX: usize = 16;

/// Why a bank could not be used.
#[derive(Debug, Error)]
pub enum BankError {
    /// The name of the bank is not allowed.
    #[error("{0:?} is not a valid name of a bank")]
    Bank(String),
    /// The bank is the master's own.
    #[error("the bank {0:?} belongs to the master itself")]
    Own(String),
    /// The bank is the master's own, and can be read.
    #[error("the bank {0:?} belongs to the master itself and can only be read")]
    ReadOnly(String),
    /// The name of the key is not allowed.
    #[error("{0:?} is not a valid name of a key")]
    Key(String),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The checked name of a bank that users may have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BankName(Vec<String>);

impl BankName {
    /// The name of a bank that is read.
    pub(crate) fn parse(text: &str) -> Result<Self, BankError> {
        let parts: Vec<&str> = text.split('/').collect();
        if parts.len() > PARTS_MAX || !parts.iter().all(|part| is_name(part)) {
            return Err(BankError::Bank(text.to_owned()));
        }
        match is_among(&OWN, text) {
            true => Err(BankError::Own(text.to_owned())),
            false => Ok(Self(parts.into_iter().map(str::to_owned).collect())),
        }
    }

    /// The name of a bank that is changed.
    pub(crate) fn parse_writable(text: &str) -> Result<Self, BankError> {
        let bank = Self::parse(text)?;
        match is_among(&READ_ONLY, text) {
            true => Err(BankError::ReadOnly(text.to_owned())),
            false => Ok(bank),
        }
    }

    pub(crate) fn parts(&self) -> &[String] {
        &self.0
    }
}

/// The checked name of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyName<'a>(&'a str);

impl<'a> KeyName<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, BankError> {
        match is_name(text) {
            true => Ok(Self(text)),
            false => Err(BankError::Key(text.to_owned())),
        }
    }

    pub(crate) fn as_str(self) -> &'a str {
        self.0
    }
}

/// Whether a bank is one of several, or below one. Some databases ignore case and
/// spaces at the end.
fn is_among(banks: &[&str], text: &str) -> bool {
    let first = text.split('/').next().unwrap_or_default().trim_end();
    banks.iter().any(|bank| bank.eq_ignore_ascii_case(first))
}

/// Whether a text is one part of a path, and not a hidden one.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= NAME_BYTES_MAX
        && !text.starts_with('.')
        && !text.contains(['/', '\0'])
}
