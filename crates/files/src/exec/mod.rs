//! The execution module `file`.

mod attributes;
mod backups;
mod block;
mod comment;
pub(crate) mod content;
mod find;
mod functions;
mod line;
pub(crate) mod links;
mod managed;
pub(crate) mod paths;
mod replace;
pub(crate) mod stats;
pub(crate) mod tree;

pub(crate) use functions::MODULE;
