//! Names of queues.

use std::fmt;

use crate::error::QueueError;
use crate::limits::NAME_BYTES_MAX;

/// The name of a queue: safe as a name of a file and, quoted, of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueName(String);

impl QueueName {
    /// Checks a name.
    ///
    /// # Errors
    /// When it would be no name of a file, or is one of sqlite's own.
    pub fn parse(name: &str) -> Result<Self, QueueError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let is_right = !name.is_empty()
            && name.len() <= NAME_BYTES_MAX
            && name.bytes().all(is_plain)
            && !name.starts_with(['.', '-'])
            && !name.to_ascii_lowercase().starts_with("sqlite_");
        match is_right {
            true => Ok(Self(name.to_owned())),
            false => Err(QueueError::Name {
                name: name.to_owned(),
            }),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As a part of a statement.
    pub(crate) fn quoted(&self) -> String {
        // What a name is made of holds no quote.
        format!("\"{}\"", self.0)
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
