//! The web server Apache: the execution module `apache`, with what Debian's
//! packages of it add.

pub(crate) mod configuration;
mod facts;
mod functions;
pub(crate) mod switches;

pub(crate) use functions::MODULE;
