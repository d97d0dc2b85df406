//! The records on disk of the jobs that this minion has begun and of the
//! publications that have arrived, for a later start and for other programs on this
//! machine.

pub(crate) mod claims;
pub(crate) mod gates;
pub(crate) mod proc_files;
