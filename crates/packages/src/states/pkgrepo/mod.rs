//! States of package repositories.

mod compare;
mod functions;
mod repository;

pub(crate) use functions::MODULE;
