//! Who may do what: the ways to log in.

pub(crate) mod logins;
