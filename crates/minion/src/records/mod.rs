//! What is on disk of the jobs that this minion has begun, for a later start of
//! it and for other programs of this machine.

pub(crate) mod claims;
pub(crate) mod proc_files;
