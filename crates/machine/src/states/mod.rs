//! State modules.

pub(crate) mod keyboard;
pub(crate) mod locale;
pub(crate) mod measures;
pub(crate) mod process;
pub(crate) mod timezone;
