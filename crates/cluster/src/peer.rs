//! The name of a master of the cluster.

use std::fmt;

use halite_proto::{IdError, MinionId, Value};

/// A master's id, which is also the name of its file in `peers/`: checked as
/// ids of minions are, and not hidden.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(MinionId);

impl PeerId {
    /// Checks `text` and takes it.
    ///
    /// # Errors
    /// When it cannot be a file's name, or would be a hidden one.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let id = MinionId::parse(text).map_err(|error| IdError {
            what: "master id",
            ..error
        })?;
        if text.starts_with('.') {
            return Err(IdError {
                what: "master id",
                text: text.chars().take(80).collect(),
                why: "it begins with a dot",
            });
        }
        Ok(Self(id))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl AsRef<str> for PeerId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<&PeerId> for Value {
    fn from(id: &PeerId) -> Self {
        Self::from(id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leaves_its_directory_or_hides_in_it_is_refused() {
        for bad in [
            "", ".", "..", "../m1", "../x", "a/b", "a\0b", ".hidden", "a\\b",
        ] {
            assert!(PeerId::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(PeerId::parse("10.0.0.1").unwrap().as_str(), "10.0.0.1");
    }
}
