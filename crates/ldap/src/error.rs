//! Errors of asking a directory.

use thiserror::Error;

use crate::limits::ASK_TIME_MAX;

/// What is wrong with the options.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum OptionError {
    /// An option is missing.
    #[error("auth.ldap.{option} is missing: {why}")]
    Missing {
        /// Which.
        option: &'static str,
        /// What it is needed for.
        why: &'static str,
    },
    /// An option has a value that it cannot have.
    #[error("auth.ldap.{option}: {why}")]
    Wrong {
        /// Which.
        option: &'static str,
        /// What is wrong.
        why: String,
    },
}

/// Why the directory could not be asked, or what it said is of no use.
#[derive(Debug, Error)]
pub enum LdapError {
    /// No server could be reached.
    #[error("could not connect to {uri}")]
    Connect {
        /// The last one that was tried.
        uri: String,
        /// Why not.
        source: Box<ldap3::LdapError>,
    },
    /// A question was not answered.
    #[error("could not {what}")]
    Ask {
        /// What was to be done.
        what: &'static str,
        /// Why not.
        source: Box<ldap3::LdapError>,
    },
    /// The directory refuses what is not about the user.
    #[error("could not {what}: the directory says {code} {text:?}")]
    Refused {
        /// What was to be done.
        what: &'static str,
        /// The result code.
        code: u32,
        /// What it says about it.
        text: String,
    },
    /// A name of an entry is empty, which would be a bind as nobody.
    #[error("the directory gives an entry without a name")]
    NoName,
    /// A template does not render.
    #[error("auth.ldap.{option} does not render")]
    Template {
        /// Which.
        option: &'static str,
        /// Why.
        source: halite_jinja::Error,
    },
    /// It takes too long.
    #[error("the directory has not answered within {ASK_TIME_MAX:?}")]
    TooLate,
    /// It could not be asked at all, or its answer was none.
    #[error("the directory could not be asked")]
    Broken(#[source] std::io::Error),
}
