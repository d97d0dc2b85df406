//! Logins with an LDAP directory: it checks passwords and lists groups.
//!
//! Mirrors `salt/auth/ldap.py` (3008.5): the options `auth.ldap.*`, a search
//! for the user and a bind as that user. Invariant: a login succeeds only by a bind with a non-empty name and
//! a non-empty password that the directory has confirmed. Anything else, such as no
//! answer, a malformed one or two entries for one name, is a refusal or an error. User
//! input reaches the directory only escaped.

mod connection;
mod directory;
mod entry;
mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod limits;
mod names;
mod options;

pub use directory::Directory;
pub use error::{LdapError, OptionError};
