//! To which user a job belongs.
//!
//! Invariant: a name alone does not identify a user. `bob` of a directory, `bob` of
//! this machine and a minion of that name are three, so the way of proof is kept
//! with the job. Where it is not known (jobs that Salt or an older master has
//! stored, or that the master has started itself), the job belongs to no user with
//! limited rights.

use std::fmt;

use halite_proto::{Map, Value};

/// The field of a stored job that holds it.
pub const PROVEN_BY: &str = "halite_proven_by";

/// How a user has proven their name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProvenBy {
    /// By a key file of this machine.
    Key,
    /// By a login of this kind, or a token of one.
    Login(String),
}

impl fmt::Display for ProvenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => f.write_str("key"),
            Self::Login(kind) => write!(f, "login {kind}"),
        }
    }
}

/// Records in a job's load how the name of its user was proven.
pub fn note_proof(load: &mut Map, by: Option<&ProvenBy>) {
    match by {
        Some(by) => {
            load.insert(PROVEN_BY, by.to_string());
        }
        None => {
            load.remove(PROVEN_BY);
        }
    }
}

/// Whether a job is this user's.
pub fn is_of(load: &Map, user: Option<&str>, by: Option<&ProvenBy>) -> bool {
    let is = |name: &str, wanted: &str| load.get(name).and_then(Value::as_str) == Some(wanted);
    let Some((user, by)) = user.zip(by) else {
        return false;
    };
    is("user", user) && is(PROVEN_BY, &by.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_somebody_together_with_its_proof() {
        let login = |kind: &str| ProvenBy::Login(kind.to_owned());
        let ways = [ProvenBy::Key, login("pam"), login("ldap"), login("key")];
        for (n, by) in ways.iter().enumerate() {
            let mut load = Map::from([("user", "bob")]);
            note_proof(&mut load, Some(by));
            for (m, other) in ways.iter().enumerate() {
                assert_eq!(is_of(&load, Some("bob"), Some(other)), n == m);
                assert!(!is_of(&load, Some("root"), Some(other)));
            }
            assert!(!is_of(&load, Some("bob"), None) && !is_of(&load, None, Some(by)));
            note_proof(&mut load, None);
            assert!(!is_of(&load, Some("bob"), Some(by)), "of Salt");
        }
    }
}
