//! Partitions: the execution module `partition`.

mod arguments;
mod functions;

pub(crate) use functions::MODULE;
