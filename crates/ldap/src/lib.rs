//! A directory (LDAP) says whose password it is, and which groups somebody is
//! in.
//!
//! Mirrors `salt/auth/ldap.py` (3008.5): the options `auth.ldap.*`, a search
//! for the user and a bind as that user. Invariant: nobody is let in but by a
//! bind with a name and a password, neither of them empty, that the directory
//! has confirmed; whatever else happens - no answer, a broken one, two entries
//! for one name - is a refusal or an error. What a user has typed reaches the
//! directory only escaped.

mod connection;
mod directory;
mod entry;
mod error;
pub mod limits;
mod names;
mod options;

pub use directory::Directory;
pub use error::{LdapError, OptionError};
