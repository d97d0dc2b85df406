//! Python packages and environments: `pip` and `virtualenv`.

pub(crate) mod pep440;
pub(crate) mod pip;
pub(crate) mod requirement;
pub(crate) mod virtualenv;
